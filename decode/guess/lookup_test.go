package guess

// Prompt lookup finds the tokens that Hugging Face's finds, and continues beside a change.

import (
	"slices"
	"testing"

	"picogpt/dev/fixture"
)

// written is a text that has only tokens.
type written []int

func (w written) Context() []int { return w }

func (w written) Done() bool                           { return false }
func (w written) Pending() int                         { return 1 }
func (w written) Room() int                            { return 10 }
func (w written) Propose([]int)                        {}
func (w written) Guess() int                           { return 0 }
func (w written) Rehearse()                            {}
func (w written) Choose([]float32, []int) (int, error) { return 0, nil }

func TestLookupIsHuggingFaces(t *testing.T) {
	var cases []struct {
		IDs       []int `json:"ids"`
		Num       int   `json:"num"`
		NGram     int   `json:"ngram"`
		MaxLength int   `json:"max_length"`
		Draft     []int `json:"draft"`
	}
	if err := fixture.Decoding("lookup", &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		n := c.Num
		if c.MaxLength > 0 { // a Text's room
			n = min(n, c.MaxLength-len(c.IDs)-1)
		}
		got, _, _ := lookup(c.IDs, n, c.NGram, []int{0})
		if !slices.Equal(got, c.Draft) {
			t.Errorf("%v, %d tokens, n-grams of %d: %v, want %v", c.IDs, c.Num, c.NGram, got, c.Draft)
		}
	}
}

// TestLookupContinuesBesideAChange copies a text and replaces some of it.
func TestLookupContinuesBesideAChange(t *testing.T) {
	document := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	s := &attempt{Text: written(nil)}
	for _, c := range []struct{ written, want []int }{
		{[]int{1}, []int{2, 3, 4}},
		{[]int{1, 2}, []int{3, 4, 5}},
		{[]int{1, 2, 20}, []int{4, 5, 6}}, // in place of 3
		{[]int{1, 2, 20, 4}, []int{5, 6, 7}},
		{[]int{1, 2, 20, 4, 21, 22}, []int{7, 8, 9}},
		{[]int{1, 2, 20, 4, 21, 22, 8}, []int{9, 1, 2}}, // 7 is left out, and 8 is found
		{[]int{1, 2, 20, 4, 21, 22, 8, 23}, []int{1, 2, 20}},
	} {
		text := written(slices.Concat(document, c.written))
		s.Text = text
		n, kind := (lookupGuesser{most: 3}).outlook(s, 10)
		if !slices.Equal(s.ids, c.want) || n != 3 || kind >= len((lookupGuesser{}).kinds()) {
			t.Errorf("after %v: %v, kind %d; want %v", text, s.ids, kind, c.want)
		}
	}
	s.Text = written{5, 6} // it slid
	if n, _ := (lookupGuesser{most: 3}).outlook(s, 10); n != 0 {
		t.Errorf("%d guesses for a text that is too short", n)
	}
}
