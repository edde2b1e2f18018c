package search

// Searches of a toy model equal those of another program, step by step.

import (
	"encoding/json"
	"testing"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// counted is Beams, and counts the steps.
func counted(
	t *testing.T, m *model.Model, prompt []int, b BeamOptions, o decode.Options,
) (found []Beam, steps int) {
	t.Helper()
	root, err := decode.NewStream(m.NewSession(), prompt, o)
	if err == nil {
		err = root.Prefill(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newBeamSearch(b.withDefaults(), o, root)
	for ; !s.done(); steps++ {
		if batch := s.batch(); len(batch) > 0 {
			if err := m.Eval(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.advance(); err != nil {
			t.Fatal(err)
		}
	}
	return s.best(), steps
}

func TestBeamSearchIsHuggingFacesOnAToy(t *testing.T) {
	m := testmodel.Toy(t)
	for _, key := range []string{"toy_beam", "toy_group"} {
		var cases []beamCase
		if err := fixture.Decoding(key, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			b, o := c.options()
			var prompt []int
			if err := json.Unmarshal(c.Prompt, &prompt); err != nil {
				t.Fatal(err)
			}
			got, evals := counted(t, m, prompt, b, o)
			c.check(t, got)
			if evals != c.Evals {
				t.Errorf("%v: %d evaluations, want %d", &c, evals, c.Evals)
			}
		}
	}
}
