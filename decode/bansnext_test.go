package decode

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

func TestADistributionHasNoIDThatCompletesABannedString(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Tom said: é, Once upon a ti")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		isNew int
		ban   []string
	}{
		{0, []string{"me"}}, {0, []string{"time"}}, {1, []string{"time", " the", "on a"}},
		{2, []string{" time", "ti"}}, {9, []string{"a tiny", "é, Once upon a time", "x"}},
	} {
		o := Options{Vocabulary: tok, Ban: c.ban, Params: sample.Params{Temperature: 1,
			Generated: c.isNew}}
		st, err := NewStream(m.NewSession(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		in, _ := st.Input(0)
		if err := m.Eval(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		d, err := st.Distribution()
		if err != nil {
			t.Fatal(err)
		}
		tail, err := tok.Decode(prompt[len(prompt)-c.isNew:])
		if err != nil {
			t.Fatal(err)
		}
		found := map[int]bool{}
		for _, k := range d.Chances {
			found[k.ID] = true
		}
		out := 0
		for id := range tok.Size() {
			text, err := tok.Text(id)
			if err != nil {
				t.Fatal(err)
			}
			want := !slices.ContainsFunc(c.ban, func(ban string) bool {
				return id != 50256 && strings.Count(tail+text, ban) > strings.Count(tail, ban)
			})
			if !want {
				out++
			}
			if found[id] != want {
				t.Fatalf("%+v: id %d, %q, may come next: %v, want %v", c, id, text, found[id], want)
			}
		}
		if step := d.Steps[len(d.Steps)-1]; out == 0 || step.Name != "ban" ||
			step.Left != tok.Size()-out {
			t.Errorf("%+v: %d ids are out, steps %v", c, out, d.Steps)
		}
		st.Stop()
	}
}
