package serve_test

// The field steer with dictionaries: what requests do to features.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside/sae"
	"picogpt/inside/steer"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// dictionaries returns those of the demo, by names.
func dictionaries(t testing.TB, m *model.Model) []serve.Steering {
	t.Helper()
	d, err := sae.Open(fixture.Dictionary(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	r, err := d.For(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return append(two(), serve.Steering{Name: "stories", Dictionary: &serve.Dictionary{
		Model: m, Features: r.Features, Digest: r.Digest(), Edits: r.Edits}})
}

func TestRequestsChangeFeatures(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 2})
	all := dictionaries(t, m)
	c := startWith(t, m, serve.Options{Steer: all})
	edits := func(changes ...sae.Change) []model.Edit {
		t.Helper()
		e, err := all[2].Dictionary.Edits(changes...)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	texts := map[string]bool{}
	for _, x := range []struct {
		steer string
		edits []model.Edit
	}{
		{`[]`, nil},
		{`[{"name":"stories","feature":7,"to":40}]`, edits(sae.Change{Feature: 7, To: 40})},
		{`[{"name":"stories","feature":7,"scale":-25.5},{"feature":9,"to":0,"name":"stories"}]`,
			edits(sae.Change{Feature: 7, Add: true, To: -25.5}, sae.Change{Feature: 9})},
		{`[{"name":"stories","feature":7,"to":30},{"name":"warm"}]`, slices.Concat(
			editsOf(t, steer.Scaled{Vector: all[0].Vector, Scale: 0.5}), edits(sae.Change{Feature: 7, To: 30}))},
	} {
		want, _ := direct(t, m, "One day, Lily", decode.Options{MaxTokens: 12, Edits: x.edits,
			Params: sample.Params{Temperature: 1, Seed: 3}})
		texts[want] = true
		r, text := c.post("/v1/completions", fmt.Sprintf(
			`{"prompt":"One day, Lily","max_tokens":12,"seed":3,"steer":%s}`, x.steer))
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", x.steer, text)
		} else if a := decoded[answer](t, text); a.Choices[0].Text != want {
			t.Errorf("%s: %q, want %q", x.steer, a.Choices[0].Text, want)
		}
	}
	if _, document := c.do("GET", "/openapi.json", ""); !strings.Contains(document, `"feature":{"maximum":255,"minimum":0,`) {
		t.Error("/openapi.json says nothing of features")
	}
	if len(texts) != 4 {
		t.Errorf("texts %v, want 4 different ones", texts)
	}
	for list, want := range map[string]string{
		`[{"name":"story","feature":7,"to":0}]`:                                  "want warm, cold, stories",
		`[{"name":"stories","to":0}]`:                                            "want a feature of a dictionary",
		`[{"name":"warm","feature":7}]`:                                          "and none of a vector",
		`[{"name":"warm","to":7}]`:                                               "and none of a vector",
		`[{"name":"stories","feature":7,"to":7,"scale":2}]`:                      "with scale or to",
		`[{"name":"stories","feature":256,"to":0}]`:                              "0 to 255",
		`[{"name":"stories","feature":7,"to":1e9}]`:                              "want a number from",
		`[{"name":"stories","feature":7},{"name":"stories","feature":7,"to":3}]`: "comes twice",
	} {
		r, text := c.post("/v1/completions", fmt.Sprintf(`{"prompt":"A","max_tokens":1,"steer":%s}`, list))
		e := decoded[struct {
			Error struct{ Message, Param string }
		}](t, text).Error
		if r.StatusCode != http.StatusBadRequest || e.Param != "steer" || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %d, %s, want %q", list, r.StatusCode, text, want)
		}
	}
}

func TestDictionariesOfOtherModelsAreRefused(t *testing.T) {
	m, other := testmodel.Demo(t, model.Options{Threads: 1}), testmodel.Demo(t, model.Options{Threads: 1})
	if s, err := serve.New(m, tokenizer.GPT2(), serve.Options{Steer: dictionaries(t, other)}); err == nil {
		s.Close()
		t.Error("a dictionary of another model is taken")
	}
}
