package grammar

// Masks: looking ahead changes nothing, and a text need not wait for the mask of another.

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"picogpt/constrain/internal/meter"
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
	f, err := Regex(gpt2(), re, meter.New(context.Background(), nil, nil, len(re)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMasksAreThoseOfAWalk: a mask is the same with and without looking ahead.
func TestMasksAreThoseOfAWalk(t *testing.T) {
	v := gpt2()
	for _, re := range []string{`.{0,99}`, `[^x]{0,300}y?`, `(.{0,9}\n){0,20}`,
		`[\x20-\x{10ffff}]{3,9}`, `[^\n]{2,60}\n`} {
		f := compile(t, re)
		for seed := range cases.Of(3, 10) {
			w, text := walks.New(rand.New(rand.NewPCG(uint64(seed), 5))), walks.Of(f)
			for range 16 {
				for _, s := range text.State.([]place) {
					plain, fast := make([]uint64, v.Words()), make([]uint64, v.Words())
					f.m.Begin()
					f.walk(v.Nodes, s, plain, math.MaxInt)
					f.maskOf(s, fast, math.MaxInt)
					if !slices.Equal(plain, fast) {
						t.Fatalf("%s: the mask has %v, a walk %v", re, walks.Opened(fast),
							walks.Opened(plain))
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
	if err := f.Mask(f.Start(), open, 1<<20-1); err != meter.ErrSteps || !f.Busy() {
		t.Errorf("a form that is busy: %v, busy %v", err, f.Busy())
	}
	f.long.Add(-1)
	f.mu.Unlock()
	if err := f.Mask(f.Start(), open, 1<<20-1); err != nil || f.Busy() {
		t.Errorf("a form that is free: %v, busy %v", err, f.Busy())
	}
}
