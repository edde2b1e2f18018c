// Package walks has what the tests of forms share: GPT-2's vocabulary, and texts that only masks
// steer.
package walks

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"picogpt/constrain/internal/trie"
	"picogpt/internal/testing/cases"
	"picogpt/tokenizer"
)

// EndOfText is the id that ends a text of GPT-2's.
const EndOfText = 50256

// Tokens returns the bytes of GPT-2's ids.
func Tokens() [][]byte {
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		panic(err)
	}
	return tokens
}

// GPT2 returns the trie of GPT-2's ids.
var GPT2 = sync.OnceValue(func() *trie.Trie {
	v, err := trie.New(Tokens(), []int{EndOfText}, nil)
	if err != nil {
		panic(err)
	}
	return v
})

// Opened returns the ids of a mask, ascending.
func Opened(mask []uint64) (ids []int) {
	for id := range 64 * len(mask) {
		if mask[id>>6]>>(id&63)&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// A Matcher follows one text, as *constrain.Text does.
type Matcher interface {
	Mask(open []uint64) error
	Accept(id int) error
	Complete() bool
}

// A Form is one of the packages grammar and schema.
type Form interface {
	Start() any
	Accepts(state any) bool
	Mask(state any, open []uint64, steps int) error
	Accept(state any, id int) (next any, err error)
}

// A Text is a Matcher of a form that has no ids that end it.
type Text struct {
	Form
	State any
}

// Of returns an empty text of a form.
func Of(f Form) *Text { return &Text{f, f.Start()} }

// Mask implements Matcher.
func (t *Text) Mask(open []uint64) error {
	clear(open)
	return t.Form.Mask(t.State, open, math.MaxInt)
}

type errString string

func (e errString) Error() string { return string(e) }

const errNotOpen = errString("the id is not open")

// Accept implements Matcher.
func (t *Text) Accept(id int) error {
	next, err := t.Form.Accept(t.State, id)
	switch {
	case err != nil:
		return err
	case next == nil:
		return errNotOpen
	}
	t.State = next
	return nil
}

// Complete implements Matcher.
func (t *Text) Complete() bool { return t.Accepts(t.State) }

// Feed takes a text into a matcher, one id for each byte, and reports whether all were open.
func Feed(m Matcher, text string) bool {
	v := GPT2()
	for i := range len(text) {
		if m.Accept(int(v.Nodes[v.Child(0, text[i])].ID)) != nil {
			return false
		}
	}
	return true
}

// A Walker writes texts that only the masks steer.
type Walker struct {
	Rand *rand.Rand
	Mask []uint64
}

// New returns a Walker with an empty mask.
func New(r *rand.Rand) *Walker { return &Walker{r, make([]uint64, GPT2().Words())} }

// Write returns a text, and whether it is complete after at most n ids.
func (w *Walker) Write(t testing.TB, m Matcher, n int) (string, bool) {
	t.Helper()
	v := GPT2()
	var text strings.Builder
	for i := range n {
		if err := m.Mask(w.Mask); err != nil {
			t.Fatalf("%q: %v", text.String(), err)
		}
		if m.Complete() && w.Rand.IntN(3) == 0 {
			return text.String(), true
		}
		w.Mask[EndOfText>>6] &^= 1 << (EndOfText & 63)
		id := w.Choose(i > n/3)
		if id < 0 {
			if !m.Complete() {
				t.Fatalf("%q: no id is open, and the text may not end", text.String())
			}
			return text.String(), true
		}
		if err := m.Accept(id); err != nil {
			t.Fatalf("%q: an open id: %v", text.String(), err)
		}
		text.Write(v.Bytes[id])
	}
	return text.String(), m.Complete()
}

// Choose draws an open id. Ids that end something are drawn more often, above all late in a text.
func (w *Walker) Choose(late bool) int {
	open := func(id int) bool { return w.Mask[id>>6]>>(id&63)&1 != 0 }
	v := GPT2()
	if late || w.Rand.IntN(4) == 0 {
		for _, b := range []byte(`"}],:`) {
			if id := int(v.Nodes[v.Child(0, b)].ID); open(id) && w.Rand.IntN(8) > 0 {
				return id
			}
		}
	}
	if w.Rand.IntN(2) == 0 {
		var alone []int
		for i := 1; i < len(v.Nodes); i += int(v.Nodes[i].Size) {
			if id := int(v.Nodes[i].ID); open(id) {
				alone = append(alone, id)
			}
		}
		if len(alone) > 0 {
			return alone[w.Rand.IntN(len(alone))]
		}
	}
	count := 0
	for _, word := range w.Mask {
		count += bits.OnesCount64(word)
	}
	if count == 0 {
		return -1
	}
	pick := w.Rand.IntN(count)
	for i, word := range w.Mask {
		if n := bits.OnesCount64(word); pick >= n {
			pick -= n
			continue
		}
		for ; pick > 0; pick-- {
			word &= word - 1
		}
		return 64*i + bits.TrailingZeros64(word)
	}
	return -1
}

// Run writes n texts with seeds of their own, more in long runs, and has those that end judged.
func Run(t *testing.T, name string, n int, start func() Matcher, judge func(text string) error) {
	t.Helper()
	if cases.Long {
		n *= 20
	}
	done := 0
	for seed := range n {
		text, complete := New(rand.New(rand.NewPCG(uint64(seed), 7))).Write(t, start(), 200)
		if !complete {
			continue
		}
		done++
		if err := judge(text); err != nil {
			t.Errorf("wrote %s: %v", text, err)
		}
	}
	if done == 0 {
		t.Errorf("%s: no walk came to an end", name)
	}
}
