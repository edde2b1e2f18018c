package constrain

// Masks: what they cost, counted in visits of nodes, and that shortcuts change nothing.

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/internal/testing/cases"
)

// counted are forms with counted repeats, and others whose masks are found by looking ahead.
var counted = []struct {
	kind byte
	text string
	most int // visits that nine masks in ten need at most
}{
	{'s', `{"type":"string","pattern":"^(.{0,99}\\n)*$","maxLength":5000}`, 4000},
	{'s', `{"type":"string","pattern":"^[A-Z].{0,99}\\.$","maxLength":5000}`, 16000},
	{'s', `{"type":"array","items":{"type":"string","pattern":"^x.{0,99}$"},"maxItems":5000}`, 4000},
	{'s', `{"type":"string","pattern":"^[^\"]{20,40}x?$","minLength":5}`, 50000},
	{'s', `{"type":"string","minLength":99,"maxLength":5000}`, 4000},
	{'s', `{"type":"string","pattern":"^([a-z]{0,99},)*$","maxLength":5000,"minLength":4000}`, 50000},
	{'s', `{"type":"string","pattern":"[^a]b","minLength":5,"maxLength":80}`, 80000},
	{'s', `{"type":"string","pattern":"^[^\\n]*(\\n[^x]{2})?$","minLength":3,"maxLength":70}`, 80000},
	{'s', `{"type":"string","pattern":"^(é|.{3}ü)*.{0,12}$","maxLength":90}`, 100000},
	{'r', `.{0,99}`, 0}, {'r', `[^x]{0,300}y?`, 0}, {'r', `(.{0,9}\n){0,20}`, 0},
	{'r', `[\x20-\x{10ffff}]{3,9}`, 0},
	{'g', `root ::= [^\n]{2,60} "\n"`, 0},
}

// TestMasksAreThoseOfAWalk: a mask is the same with and without looking ahead, and those of counted
// repeats need no walk over the vocabulary.
func TestMasksAreThoseOfAWalk(t *testing.T) {
	v, seeds := gpt2(), 3
	if cases.Long {
		seeds = 10
	}
	for _, x := range counted {
		m, c, err := work(hostile{kind: x.kind}, x.text, nil)
		if err != nil {
			t.Fatalf("%s: %v (%d steps)", x.text, err, m.Used)
		}
		var visits []int
		for seed := range seeds {
			w := &walker{rand.New(rand.NewPCG(uint64(seed), 5)), make([]uint64, v.Words())}
			text, err := c.Start()
			if err != nil {
				t.Fatal(err)
			}
			for range 16 {
				if n := checkWalk(t, x.text, text); n > 0 {
					visits = append(visits, n)
				}
				if err := text.Mask(w.mask); err != nil {
					t.Fatal(err)
				}
				w.mask[endOfText>>6] &^= 1 << (endOfText & 63)
				id := w.choose(false)
				if id < 0 {
					break
				}
				if err := text.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
		}
		if x.kind == 's' && len(visits) == 0 {
			t.Errorf("%s: no mask needed a walk", x.text)
			continue
		}
		if slices.Sort(visits); x.kind == 's' && visits[len(visits)*9/10] > x.most {
			t.Errorf("%s: nine masks in ten need up to %d visits, want %d", x.text,
				visits[len(visits)*9/10], x.most)
		}
	}
}

// checkWalk compares the mask of a string that is being read, or of a machine, with that of a walk
// over the whole trie, and returns how many nodes the mask visits.
func checkWalk(t *testing.T, form string, text *Text) int {
	t.Helper()
	v := gpt2()
	if f, ok := text.of.form.(*grammarForm); ok {
		for _, s := range text.now().([]grammarState) {
			plain, fast := make([]uint64, v.Words()), make([]uint64, v.Words())
			f.m.Begin()
			f.walk(v.ids.Nodes, s, plain, math.MaxInt)
			f.maskOf(s, fast, math.MaxInt)
			if !slices.Equal(plain, fast) {
				t.Fatalf("%s: the mask has %v, a walk %v", form, opened(fast), opened(plain))
			}
		}
		return 0
	}
	visits := 0
	for _, p := range text.now().([]part) {
		if p.kind != partString {
			continue
		}
		w := &jsonWalk{j: text.of.form.(*jsonAutomaton), most: maxVisits}
		plain := &lexMask{open: make([]uint64, v.Words())}
		fast := &lexMask{open: make([]uint64, v.Words())}
		w.findInTrie(plain, v.ids.Nodes, 0, &p)
		w.work = 0
		w.findString(fast, 0, &p)
		visits = max(visits, w.work)
		exits := func(m *lexMask) []exit {
			slices.SortFunc(m.exits, func(a, b exit) int { return int(a.node - b.node) })
			return m.exits
		}
		if !slices.Equal(plain.open, fast.open) || !slices.Equal(exits(plain), exits(fast)) {
			t.Fatalf("%s: a mask is not that of a walk", form)
		}
		if fast.chars < plain.chars {
			t.Fatalf("%s: ids of up to %d characters, a walk finds %d", form, fast.chars, plain.chars)
		}
	}
	return visits
}

// TestKeptMasksAreCounted: the counted memory is that of the stored masks, before and after all are
// dropped.
func TestKeptMasksAreCounted(t *testing.T) {
	var l lexMasks
	w := &jsonWalk{most: maxVisits}
	forgotten := false
	for i := range 40 {
		before := len(l.masks)
		l.get(lexKey{node: int32(i)}, w, func() *lexMask {
			return &lexMask{open: make([]uint64, maxLexBytes/8/12)}
		})
		forgotten = forgotten || len(l.masks) < before
		held := int64(0)
		for _, m := range l.masks {
			held += int64(8*len(m.open)) + 256
		}
		if held != l.held.Load() || held > maxLexBytes || held == 0 {
			t.Fatalf("%d masks: %d bytes are held and %d counted", i+1, held, l.held.Load())
		}
	}
	if !forgotten {
		t.Error("no mask was forgotten")
	}
}

// TestALongMaskIsGivenUp: with few steps there is no mask and no error, and a later attempt
// succeeds.
func TestALongMaskIsGivenUp(t *testing.T) {
	v := gpt2()
	for _, x := range counted[5:] {
		_, c, err := work(hostile{kind: x.kind}, x.text, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		if x.kind == 's' {
			feed(t, text, v, []byte(`"`))
		}
		open, want := make([]uint64, v.Words()), make([]uint64, v.Words())
		if done, err := text.MaskWithin(open, 10); done || err != nil {
			t.Errorf("%s: in 10 steps: %v, %v", x.text, done, err)
		}
		if err := text.Mask(want); err != nil {
			t.Fatal(err)
		}
		if done, err := text.MaskWithin(open, 1<<20); !done || err != nil || !slices.Equal(open, want) {
			t.Errorf("%s: %v, %v, or another mask", x.text, done, err)
		}
		if m, ok := text.of.form.(*grammarForm); ok { // while another text computes it
			m.mu.Lock()
			m.long.Add(1)
			if done, err := text.MaskWithin(open, 1<<20-1); done || err != nil || !text.Busy() {
				t.Errorf("%s: a busy form: %v, %v, busy %v", x.text, done, err, text.Busy())
			}
			m.long.Add(-1)
			m.mu.Unlock()
		}
	}
}
