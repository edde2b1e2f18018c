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

	"picogpt/dev/cases"
	"picogpt/tokenizer"
)

// EndOfText is the id that ends a text of GPT-2's.
const EndOfText = 50256

// Tokens returns the bytes of GPT-2's ids.
var Tokens = sync.OnceValue(func() [][]byte {
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		panic(err)
	}
	return tokens
})

// alone returns the id of each byte.
var alone = sync.OnceValue(func() (ids [256]int) {
	for id, b := range Tokens() {
		if len(b) == 1 {
			ids[b[0]] = id
		}
	}
	return ids
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
	Mask(state any, open []uint64, left, steps int) error
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
	return t.Form.Mask(t.State, open, math.MaxInt, math.MaxInt)
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
	ids := alone()
	for i := range len(text) {
		if m.Accept(ids[text[i]]) != nil {
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
func New(r *rand.Rand) *Walker { return &Walker{r, make([]uint64, (len(Tokens())+63)/64)} }

// Write returns a text, and whether it is complete after at most n ids.
func (w *Walker) Write(t testing.TB, m Matcher, n int) (string, bool) {
	t.Helper()
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
		text.Write(Tokens()[id])
	}
	return text.String(), m.Complete()
}

// Choose draws an open id. Ids that end something are drawn more often, above all late in a text.
func (w *Walker) Choose(late bool) int {
	open := func(id int) bool { return w.Mask[id>>6]>>(id&63)&1 != 0 }
	ids := alone()
	if late || w.Rand.IntN(4) == 0 {
		for _, b := range []byte(`"}],:`) {
			if id := ids[b]; open(id) && w.Rand.IntN(8) > 0 {
				return id
			}
		}
	}
	if w.Rand.IntN(2) == 0 {
		var some []int
		for _, id := range ids {
			if open(id) {
				some = append(some, id)
			}
		}
		if len(some) > 0 {
			return some[w.Rand.IntN(len(some))]
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
