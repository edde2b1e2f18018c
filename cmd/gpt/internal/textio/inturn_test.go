package textio

import (
	"slices"
	"testing"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/decode"
)

func TestSamplesComeOneAfterAnother(t *testing.T) {
	token := func(sample, id int, finish string) decode.Token {
		return decode.Token{Sample: sample, ID: id, Finish: finish}
	}
	made := []decode.Token{
		token(0, 1, ""), token(1, 2, decode.FinishStop), token(2, 3, ""),
		token(0, 4, ""), token(2, 5, decode.FinishLength),
		token(0, 6, decode.FinishLength), token(3, 7, ""), token(3, 8, decode.FinishLength),
	}
	var got []int
	o := inOrder{print: func(t decode.Token) error { got = append(got, t.ID); return nil }}
	for _, m := range made {
		if err := o.push(m); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 4, 6, 2, 3, 5, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	o.print = func(decode.Token) error { return process.ErrClosedPipe }
	if err := o.push(token(4, 9, "")); err != process.ErrClosedPipe {
		t.Errorf("got %v, want the printer's error", err)
	}
}
