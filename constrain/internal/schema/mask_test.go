package schema

// Masks: what they cost, counted in visits of nodes, and that shortcuts change nothing.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// gpt2 is GPT-2's vocabulary, for all tests.
var gpt2 = sync.OnceValue(func() *Vocabulary {
	ids, err := trie.New(walks.Tokens(), []int{walks.EndOfText}, nil)
	if err != nil {
		panic(err)
	}
	return &Vocabulary{Trie: ids}
})

func newForm(schema string, o Options) (*Form, []string, error) {
	return Compile(gpt2(), []byte(schema), o, automaton.NewMeter(context.Background(), nil, nil, len(schema)))
}

func compile(t *testing.T, schema string, o Options) *Form {
	t.Helper()
	f, _, err := newForm(schema, o)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return f
}

// accepts reports whether a text of JSON has the form.
func accepts(f *Form, text string) bool {
	t := walks.Of(f)
	return walks.Feed(t, text) && t.Complete()
}

// counted are schemas with counted repeats, and others whose masks are found by looking ahead.
var counted = []struct {
	text string
	most int // visits that nine masks in ten need at most
}{
	{`{"type":"string","pattern":"^(.{0,99}\\n)*$","maxLength":5000}`, 4000},
	{`{"type":"string","pattern":"^[A-Z].{0,99}\\.$","maxLength":5000}`, 16000},
	{`{"type":"array","items":{"type":"string","pattern":"^x.{0,99}$"},"maxItems":5000}`, 4000},
	{`{"type":"string","pattern":"^[^\"]{20,40}x?$","minLength":5}`, 50000},
	{`{"type":"string","minLength":99,"maxLength":5000}`, 4000},
	{`{"type":"string","pattern":"^([a-z]{0,99},)*$","maxLength":5000,"minLength":4000}`, 50000},
	{`{"type":"string","pattern":"[^a]b","minLength":5,"maxLength":80}`, 80000},
	{`{"type":"string","pattern":"^[^\\n]*(\\n[^x]{2})?$","minLength":3,"maxLength":70}`, 80000},
	{`{"type":"string","pattern":"^(é|.{3}ü)*.{0,12}$","maxLength":90}`, 100000},
}

// TestMasksAreThoseOfAWalk: a mask is the same with and without looking ahead, and those of counted
// repeats need no walk over the vocabulary.
func TestMasksAreThoseOfAWalk(t *testing.T) {
	cases.NotShort(t)
	for _, x := range counted {
		form := compile(t, x.text, Options{})
		var visits []int
		for seed := range cases.Of(3, 10) {
			w, text := walks.New(rand.New(rand.NewPCG(uint64(seed), 5))), walks.Of(form)
			for range 16 {
				if n := checkWalk(t, x.text, text); n > 0 {
					visits = append(visits, n)
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
		if len(visits) == 0 {
			t.Errorf("%s: no mask needed a walk", x.text)
			continue
		}
		if slices.Sort(visits); visits[len(visits)*9/10] > x.most {
			t.Errorf("%s: nine masks in ten need up to %d visits, want %d", x.text,
				visits[len(visits)*9/10], x.most)
		}
	}
}

// TestNamesAreComparedOnlyWhereFewFollow: a mask compares names with those of an object only where so
// few names begin like the text that they could all be taken, and tries no bytes that cannot follow.
func TestNamesAreComparedOnlyWhereFewFollow(t *testing.T) {
	var names, tools []string
	for i := range 500 {
		names = append(names, fmt.Sprintf(`"field_%d":true`, i))
		tools = append(tools, fmt.Sprintf(`{"type":"object","properties":{"name":{"const":"tool%d"}},"required":["name"]}`, i))
	}
	properties := `{"type":"object","properties":{` + strings.Join(names, ",") + `},`
	for _, x := range []struct {
		schema, text string
		most         int
	}{
		{properties + `"patternProperties":{"^x-":true},"additionalProperties":false}`, `{"x-`, 1 << 17},
		{properties + `"propertyNames":{"maxLength":20}}`, `{"abc`, 1 << 22},
		{`{"oneOf":[` + strings.Join(tools, ",") + `]}`, `{"name": `, 1 << 16},
	} {
		f := compile(t, x.schema, Options{Space: 1})
		at := walks.Of(f)
		if !walks.Feed(at, x.text) {
			t.Fatalf("%s is not accepted", x.text)
		}
		if err := f.Mask(at.State, make([]uint64, gpt2().Words()), math.MaxInt, x.most); err != nil {
			t.Errorf("the mask after %s needs more than %d steps: %v", x.text, x.most, err)
		}
	}
}

// checkWalk compares the mask of a string that is being read with that of a walk over the whole
// trie, and returns how many nodes the mask visits.
func checkWalk(t *testing.T, form string, text *walks.Text) int {
	t.Helper()
	v := gpt2()
	visits := 0
	for _, p := range text.State.([]part) {
		if p.kind != partString {
			continue
		}
		w := &jsonWalk{j: text.Form.(*Form), most: maxVisits}
		plain := &lexMask{open: make([]uint64, v.Words())}
		fast := &lexMask{open: make([]uint64, v.Words())}
		w.findInTrie(plain, v.Nodes, 0, &p)
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

// TestStringsNearTheEndHaveAllIDsThatFit: in a string, an id is open exactly if what the text needs
// after it is not more than what is left.
func TestStringsNearTheEndHaveAllIDsThatFit(t *testing.T) {
	cases.NotShort(t)
	v := gpt2()
	for schema, begun := range map[string][]string{
		`{"type":"string"}`: {`"`, `"a`, `"\`, `"\u0`, `"\ud83d`, "\"\xf0\x9f"},
		`{"items":{"type":"array","items":{"type":"string"}}}`:        {`[["`, `[["a","b`, `[["a",`},
		`{"type":"string","minLength":9}`:                             {`"`, `"abcd`, `"abcdefgh`, `"abcdefghij`},
		`{"type":"string","minLength":3,"maxLength":12}`:              {`"`, `"abcd`, `"abcdefghij`},
		`{"type":"string","pattern":"^[a-z]+ [0-9]{3,}$"}`:            {`"`, `"abcd`, `"abcd 1`, `"abcd 1234`},
		`{"type":"string","pattern":"^(ab|c)*$","minLength":5}`:       {`"`, `"ab`, `"ababc`},
		`{"properties":{"a":{"type":"string"}},"required":["a","b"]}`: {`{"a":"`, `{"a":"x`},
	} {
		f := compile(t, schema, Options{})
		for _, text := range begun {
			w := walks.Of(f)
			if !walks.Feed(w, text) {
				t.Fatalf("%s: %s is not taken", schema, text)
			}
			need := map[int]int{}
			for id, bytes := range v.Bytes {
				if next, err := f.Accept(w.State, id); len(bytes) > 0 && err == nil && next != nil {
					need[id] = f.Need(next)
				}
			}
			for left := range 16 {
				open := make([]uint64, v.Words())
				if err := f.Mask(w.State, open, left, math.MaxInt); err != nil {
					t.Fatal(err)
				}
				for id := range v.Bytes {
					n, may := need[id]
					if is := open[id>>6]>>(id&63)&1 != 0; is != (may && n <= left) {
						t.Errorf("%s: after %s with %d left, id %d (%q), which needs %d, is open: %v", schema, text,
							left, id, v.Bytes[id], n, is)
					}
				}
			}
		}
	}
}
