package grammar

// Forms: looking ahead changes no mask, a text need not wait for the mask of another, and machines
// keep their states within bounds.

import (
	"context"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// gpt2 is GPT-2's vocabulary, for all tests.
var gpt2 = sync.OnceValue(func() *trie.Trie {
	ids, err := trie.New(walks.Tokens(), []int{walks.EndOfText}, nil)
	if err != nil {
		panic(err)
	}
	return ids
})

func compile(t *testing.T, re string) *Form {
	t.Helper()
	m := automaton.NewMeter(context.Background(), nil, nil, len(re))
	n, err := automaton.Regex(re, re, m)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(re, gpt2(), n, nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMasksAreThoseOfAWalk: a mask is the same with and without looking ahead.
func TestMasksAreThoseOfAWalk(t *testing.T) {
	cases.NotShort(t)
	v := gpt2()
	for _, re := range []string{`.{0,99}`, `[^x]{0,300}y?`, `(.{0,9}\n){0,20}`,
		`[\x20-\x{10ffff}]{3,9}`, `[^\n]{2,60}\n`} {
		f := compile(t, re)
		f.Need(f.Start()) // from now on there are ends
		for seed := range cases.Of(3, 10) {
			w, text := walks.New(rand.New(rand.NewPCG(uint64(seed), 5))), walks.Of(f)
			for range 16 {
				for _, s := range text.State.([]place) {
					for _, left := range []int{anyNumber, 0, 1, 3, 12} {
						plain, fast := make([]uint64, v.Words()), make([]uint64, v.Words())
						f.m.Begin()
						f.walk(plain, left, math.MaxInt).below(v.Nodes, 0, s.spot)
						f.maskOf(s.spot, fast, left, math.MaxInt)
						if !slices.Equal(plain, fast) {
							t.Fatalf("%s: with %d left the mask has %v, a walk %v", re, left,
								walks.Opened(fast), walks.Opened(plain))
						}
					}
				}
				if err := text.Mask(w.Mask); err != nil {
					t.Fatal(err)
				}
				id := w.Choose(false)
				if id < 0 {
					break
				}
				if err := text.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestAMaskWaitsForNoOther: while another text computes one, a mask of few steps is given up.
func TestAMaskWaitsForNoOther(t *testing.T) {
	f := compile(t, `.{0,99}`)
	open := make([]uint64, gpt2().Words())
	f.mu.Lock()
	f.long.Add(1)
	if err := f.Mask(f.Start(), open, math.MaxInt, 1<<20-1); err != automaton.ErrSteps || !f.Busy() {
		t.Errorf("a form that is busy: %v, busy %v", err, f.Busy())
	}
	f.long.Add(-1)
	f.mu.Unlock()
	if err := f.Mask(f.Start(), open, math.MaxInt, 1<<20-1); err != nil || f.Busy() {
		t.Errorf("a form that is free: %v, busy %v", err, f.Busy())
	}
}

func TestStatesThatAreForgottenChangeNothing(t *testing.T) {
	cases.NotShort(t)
	const re = `(?s:.*)a.{300}|[a-f]{2,400}`
	judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
	f := compile(t, re)
	m, states := walks.Of(f), []any{f.Start()}
	before := heap()
	w := walks.New(rand.New(rand.NewPCG(2, 2)))
	text := ""
	var masks [][]uint64
	for i := range 60 {
		if err := m.Mask(w.Mask); err != nil {
			t.Fatal(err)
		}
		if m.Complete() != judge.MatchString(text) {
			t.Errorf("%q: complete is %v", text, m.Complete())
		}
		masks = append(masks, append([]uint64(nil), w.Mask...))
		id := w.Choose(false)
		if err := m.Accept(id); err != nil {
			t.Fatal(err)
		}
		states = append(states, m.State)
		text += string(gpt2().Bytes[id])
		if i%7 == 0 {
			f.m.Forget()
		}
	}
	if held := (heap() - before) >> 20; held > 300 {
		t.Errorf("%d MiB are held, want 300 at most", held)
	}
	for i := len(masks) - 1; i >= 0; i -= 5 {
		m.State = states[i]
		if err := m.Mask(w.Mask); err != nil {
			t.Fatal(err)
		}
		for k, word := range masks[i] {
			if w.Mask[k] != word {
				t.Fatalf("another mask after %d ids than before", i)
			}
		}
	}
	runtime.KeepAlive(f)
}

// heap returns the bytes that are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSumsNeedNoStack: a rule that begins and ends with itself leads to the same states, and so to
// the same stored masks, however often it comes.
func TestSumsNeedNoStack(t *testing.T) {
	const sums = "root ::= sum\nsum ::= sum \"+\" sum | product\nproduct ::= product \"*\" sum | [0-9]"
	m := automaton.NewMeter(context.Background(), nil, nil, 0)
	n, err := GBNF(gpt2(), sums, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New("grammar", gpt2(), n, nil, m)
	if err != nil {
		t.Fatal(err)
	}
	after := func(text string) place {
		w := walks.Of(f)
		if !walks.Feed(w, text) || !w.Complete() {
			t.Fatalf("%s is not taken", text)
		}
		return w.State.([]place)[0]
	}
	if after("1+1") != after("1+2+3+4+5+6") {
		t.Error("a long sum has another state than a short one")
	}
}
