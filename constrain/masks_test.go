package constrain

// Masks of few steps.

import (
	"slices"
	"testing"

	"picogpt/dev/walks"
)

// TestALongMaskIsGivenUp: with few steps there is no mask and no error, and a later attempt
// succeeds.
func TestALongMaskIsGivenUp(t *testing.T) {
	v := gpt2()
	for _, x := range []hostile{
		{`{"type":"string","pattern":"^([a-z]{0,99},)*$","maxLength":5000,"minLength":4000}`, 's', nil},
		{`{"type":"string","pattern":"[^a]b","minLength":5,"maxLength":80}`, 's', nil},
		{`{"type":"string","pattern":"^(é|.{3}ü)*.{0,12}$","maxLength":90}`, 's', nil},
		{`.{0,99}`, 'r', nil}, {`(.{0,9}\n){0,20}`, 'r', nil},
		{`root ::= [^\n]{2,60} "\n"`, 'g', nil},
	} {
		_, c, err := work(x, x.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		if x.kind == 's' {
			walks.Feed(text, `"`)
		}
		open, want := make([]uint64, v.Words()), make([]uint64, v.Words())
		if done, err := text.MaskWithin(open, 10); done || err != nil {
			t.Errorf("%s: in 10 steps: %v, %v", x.name, done, err)
		}
		if err := text.Mask(want); err != nil {
			t.Fatal(err)
		}
		if done, err := text.MaskWithin(open, 1<<20); !done || err != nil || !slices.Equal(open, want) {
			t.Errorf("%s: %v, %v, or another mask", x.name, done, err)
		}
	}
}
