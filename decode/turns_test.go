package decode

// The order of the tokens of several texts.

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// TestSamplesTakeTurnsWhateverIsGuessed: drafts are measured, so that their number differs from run
// to run; here there are none, few, and as many as there can be.
func TestSamplesTakeTurnsWhateverIsGuessed(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 64})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	prompt := []int{1, 2, 3, 1, 2, 3, 1, 2, 3}
	o := Options{MaxTokens: 40, Params: sample.Params{Temperature: 0.7, Seed: 3}}
	order := func(o Options) string {
		var all []string
		for tok, err := range Samples(t.Context(), m.NewSession(), prompt, 11, o) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(tok.Sample, ":", tok.ID, tok.Finish))
		}
		return strings.Join(all, " ")
	}
	want := order(o)
	for _, lookup := range []int{1, 4, 16} {
		for _, always := range []bool{false, true} {
			o.Lookup, o.alwaysDraft = lookup, always
			if got := order(o); got != want {
				t.Errorf("lookup %d, always %v: %s\nwant %s", lookup, always, got, want)
			}
		}
	}
}

// TestTurns takes tokens of three texts as they come, and an error that waits for its turn.
func TestTurns(t *testing.T) {
	q, got := newTurns(3), ""
	yield := func(tok Token, err error) bool {
		if err != nil {
			got += " " + err.Error()
		} else {
			got += fmt.Sprintf(" %d%d", tok.Sample, tok.ID)
		}
		return true
	}
	step := func(more, wantMore bool, want string) {
		t.Helper()
		if got = strings.TrimSpace(got); got != want || more != wantMore {
			t.Errorf("%q and %v, want %q and %v", got, more, want, wantMore)
		}
		got = ""
	}
	take := func(text, id int) { q.add(text, Token{Sample: text, ID: id}, nil) }
	take(0, 0)
	take(0, 1)
	take(0, 2)
	step(q.pass(yield), true, "00")
	take(2, 0)
	step(q.pass(yield), true, "")
	take(1, 0)
	step(q.pass(yield), true, "10 20 01")
	q.add(2, Token{}, errors.New("wrong"))
	step(q.pass(yield), true, "")
	step(q.end(2, yield), true, "")
	step(q.end(1, yield), false, "wrong")
	if q.room(1) != mostAhead || q.room(0) != mostAhead-1 {
		t.Errorf("room for %d and %d more tokens", q.room(0), q.room(1))
	}
}
