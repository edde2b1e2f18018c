package serve_test

// Control vectors that requests name.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/dev/texts"
	"picogpt/inside/steer"
	"picogpt/internal/cpu"
	"picogpt/internal/engine"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// aVector is a vector of the demo: one number in each of its directions.
func aVector(x float32, layers ...int) steer.Vector {
	v := steer.Vector{}
	for _, n := range layers {
		v[n] = make([]float32, 128)
		v[n][7*n] = x
	}
	return v
}

// two are vectors that change what the demo says.
func two() []serve.Steering {
	return []serve.Steering{
		{Name: "warm", Vector: aVector(10, 1, 2), Scale: 0.5}, {Name: "cold", Vector: aVector(-9, 2, 3)}}
}

// editsOf returns the edits of a sum of some of them.
func editsOf(t *testing.T, list ...steer.Scaled) []model.Edit {
	t.Helper()
	edits, err := steer.Edits(list)
	if err != nil {
		t.Fatal(err)
	}
	return edits
}

// 40 requests in one batch: each has the text and the numbers of the same edits alone.
func TestSteeredRequestsAreAnsweredBesideOthers(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	o := serve.Options{Steer: two()}
	o.Batcher.MaxStreams, o.Batcher.PrefixBytes = 40, 1<<30
	c := startWith(t, m, o)
	warm, cold := o.Steer[0].Vector, o.Steer[1].Vector
	kinds := []struct {
		field string
		edits []model.Edit
	}{
		{``, nil},
		{`,"steer":[]`, nil},
		{`,"steer":[{"name":"warm"}]`, editsOf(t, steer.Scaled{Vector: warm, Scale: 0.5})},
		{`,"steer":[{"name":"warm","scale":-1.5},{"name":"cold","scale":1}]`,
			editsOf(t, steer.Scaled{Vector: warm, Scale: -0.75}, steer.Scaled{Vector: cold, Scale: 1})},
	}
	const prompt = "One day, a girl named Lily went to the"
	var running sync.WaitGroup
	different := map[string]bool{}
	for i := range 40 {
		kind := kinds[i%4]
		want, tokens := direct(t, m, prompt, decode.Options{MaxTokens: 6, Edits: kind.edits, Top: 1,
			Params: sample.Params{Temperature: 1, Seed: uint64(i / 4)}})
		different[fmt.Sprint(tokens[0].Top)] = true
		running.Go(func() {
			r, text := c.post("/v1/completions", fmt.Sprintf(
				`{"prompt":%q,"max_tokens":6,"seed":%d,"logprobs":1%s}`, prompt, i/4, kind.field))
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", kind.field, text)
				return
			}
			got := decoded[answer](t, text).Choices[0]
			if got.Text != want {
				t.Errorf("%s: %q, want %q", kind.field, got.Text, want)
			}
			for j, p := range got.Logprobs.TokenLogprobs {
				if p.String() != fmt.Sprint(tokens[j].LogProb) {
					t.Errorf("%s: token %d: %s, want %v", kind.field, j, p, tokens[j].LogProb)
				}
			}
		})
	}
	running.Wait()
	if len(different) != 3 {
		t.Errorf("%d different first tokens, want those of 3 steerings", len(different))
	}
}

// Prompts are shared only with requests that are steered alike.
func TestOnlyRequestsThatAreSteeredAlikeSharePrompts(t *testing.T) {
	o := serve.Options{Steer: two(), CacheShare: serve.ShareAll}
	o.Batcher.PrefixBytes = 1 << 30
	c := start(t, o)
	prompt := strings.ReplaceAll(fmt.Sprint(texts.UpTo(1000, 1040)), " ", ",")
	for i, x := range []struct {
		steer string
		want  int
	}{
		{`[]`, 0}, {`[{"name":"warm"}]`, 0}, {`[{"name":"warm","scale":2}]`, 0},
		{`[{"name":"cold"},{"name":"warm"}]`, 0}, {`[{"name":"warm","scale":1}]`, 39}, {`[]`, 39},
		{`[{"name":"cold"}]`, 0},
	} {
		_, text := c.post("/v1/completions", `{"max_tokens":1,"prompt":`+prompt+`,"steer":`+x.steer+`}`)
		if want := fmt.Sprintf(`"cached_tokens":%d}`, x.want); !strings.Contains(text, want) {
			t.Errorf("request %d: %s, want %s", i, text, want)
		}
	}
}

func TestChatsAndBeamsAreSteered(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{Steer: two(), Template: "{{.Text}}"})
	edits := editsOf(t, steer.Scaled{Vector: two()[1].Vector, Scale: 2})
	want, _ := direct(t, m, "Tom was", decode.Options{MaxTokens: 5, Edits: edits})
	_, text := c.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"Tom was"}],
		"temperature":0,"max_tokens":5,"steer":[{"name":"cold","scale":2}]}`)
	if a := decoded[struct {
		Choices []struct{ Message struct{ Content string } }
	}](t, text); len(a.Choices) != 1 || a.Choices[0].Message.Content != want {
		t.Errorf("%s, want %q", text, want)
	}
	for i, choice := range c.complete(`{"prompt":["Tom was","Lily"],"n":2,"seed":4,"max_tokens":5,
		"steer":[{"name":"cold","scale":2}]}`).Choices {
		want, _ := direct(t, m, []string{"Tom was", "Lily"}[i/2], decode.Options{MaxTokens: 5, Edits: edits,
			Params: sample.Params{Temperature: 1, Seed: uint64(4 + i%2)}})
		if choice.Text != want {
			t.Errorf("choice %d: %q, want %q", i, choice.Text, want)
		}
	}
	tok := tokenizer.GPT2()
	ids, err := tok.Encode("Tom was")
	if err != nil {
		t.Fatal(err)
	}
	found, err := search.Beams(context.Background(), m.NewSession(), ids, search.BeamOptions{Beams: 3, Return: 1},
		decode.Options{MaxTokens: 5, Edits: edits, Vocabulary: tok})
	if err != nil {
		t.Fatal(err)
	}
	want = ""
	for _, token := range found[0].Tokens {
		want += token.Text
	}
	if a := c.complete(`{"prompt":"Tom was","use_beam_search":true,"best_of":3,"max_tokens":5,
		"steer":[{"name":"cold","scale":2}]}`); a.Choices[0].Text != want {
		t.Errorf("beams: %q, want %q", a.Choices[0].Text, want)
	}
}

func TestSteeringThatIsRefused(t *testing.T) {
	c := start(t, serve.Options{Steer: append(two(), serve.Steering{Name: "huge", Vector: aVector(1e38, 1)})})
	for steer, message := range map[string]string{
		`[{"name":"hot"}]`:                               "want warm, cold, huge, found hot",
		`[{}]`:                                           "want a name in each, found none",
		`{"name":"warm"}`:                                "want an array",
		`["warm"]`:                                       "want an object, found a string",
		`[{"name":"warm"},{"name":"warm"}]`:              "warm comes twice",
		`[{"name":"warm","scale":1000001}]`:              "want a number from -1e+06 to 1e+06, found 1000001",
		`[{"name":"warm","scale":"1"}]`:                  `want a number, found "1"`,
		`[{"name":7}]`:                                   "want a string, found 7",
		`[{"name":"huge","scale":10}]`:                   "direction.1, scaled: number 7 is not finite",
		`[` + strings.Repeat(`{},`, 1000) + `{}]`:        "found",
		`[{"name":"warm","scale":1e999}]`:                "found 1e999",
		`[{"name":"` + strings.Repeat("x", 9000) + `"}]`: "found",
	} {
		c.refused("/v1/completions", `{"prompt":"a","steer":`+steer+`}`, 400, "steer", message)
	}
	plain := start(t, serve.Options{})
	plain.refused("/v1/completions", `{"steer":[{"name":"warm"}]}`, 400, "steer",
		`this server has no control vectors (gpt serve --steer NAME=FILE loads one), found warm`)
	r, _ := c.post("/v1/completions", `{"prompt":"a","max_tokens":1,"steer":[{"name":"warm","by":1}]}`)
	if got := r.Header.Get("X-Ignored-Fields"); r.StatusCode != 200 || got != "steer.by" {
		t.Errorf("status %d, X-Ignored-Fields: %q", r.StatusCode, got)
	}
	// What makes the logits infinite ends its own text only.
	var running sync.WaitGroup
	running.Go(func() {
		c.refused("/v1/completions", `{"prompt":"Lily","max_tokens":3,"steer":[{"name":"huge"}]}`, 400,
			"steer", "the model's logits are not finite with it: want smaller scales")
	})
	running.Go(func() {
		want := start(t, serve.Options{}).complete(`{"prompt":"Lily","max_tokens":30,"seed":1}`)
		if a := c.complete(`{"prompt":"Lily","max_tokens":30,"seed":1}`); a.Choices[0].Text != want.Choices[0].Text {
			t.Errorf("beside it: %q, want %q", a.Choices[0].Text, want.Choices[0].Text)
		}
	})
	running.Wait()
}

func TestModelsNameTheVectors(t *testing.T) {
	for want, o := range map[string]serve.Options{
		`"max_model_len":256,"steer":["warm","cold"]}`: {Steer: two(), NoInside: true},
		`"max_model_len":256}`:                         {NoInside: true},
	} {
		c := start(t, o)
		for _, path := range []string{"/v1/models", "/v1/models/demo"} {
			if _, text := c.do("GET", path, ""); !strings.Contains(text, want) {
				t.Errorf("%s: %s, want %s", path, text, want)
			}
		}
	}
}

func TestTheFingerprintIsOfTheVectorsToo(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	of := func(list ...serve.Steering) string { return serve.FingerprintOf(m, "w", "t", list...) }
	a, b := two()[0], two()[1]
	if of(a, b) != of(b, a) {
		t.Error("the order of the vectors is in the fingerprint")
	}
	seen := map[string]string{}
	scaled, renamed, changed := a, a, a
	scaled.Scale, renamed.Name, changed.Vector = 0.25, "b", aVector(10.000001, 1, 2)
	for name, list := range map[string][]serve.Steering{"none": nil, "one": {a}, "two": {a, b},
		"scaled": {scaled}, "renamed": {renamed}, "changed": {changed}} {
		if other, is := seen[of(list...)]; is {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[of(list...)] = name
	}
}

// A device is a GPU for the model: it computes on the processor.
type device struct{}

func (device) Open(
	_ context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	return cpu.New(team, p, b), nil
}

func TestVectorsThatAreRefused(t *testing.T) {
	demo := testmodel.Demo(t, model.Options{Threads: 1})
	gpu := testmodel.Demo(t, model.Options{Threads: 1, Device: device{}})
	narrow := steer.Vector{1: {1, 2}}
	for _, x := range []struct {
		m    *model.Model
		list []serve.Steering
		want string
	}{
		{gpu, two(), "steering warm: traces and edits: a GPU has none, want the processor"},
		{demo, []serve.Steering{two()[0], two()[0]}, "steering warm: two vectors of that name"},
		{demo, []serve.Steering{{Vector: two()[0].Vector}}, "steering 0: a name of 0 bytes"},
		{demo, []serve.Steering{{Name: "a"}}, "steering a: a vector without a direction"},
		{demo, []serve.Steering{{Name: "a", Vector: narrow}}, "steering a: direction.1: 2 numbers, want 128"},
		{demo, []serve.Steering{{Name: "a", Vector: aVector(1, 4)}}, "steering a: direction.4: the model"},
		{demo, []serve.Steering{{Name: "a", Vector: aVector(1e38, 1), Scale: 10}}, "steering a: direction.1, scaled"},
	} {
		s, err := serve.New(x.m, tokenizer.GPT2(), serve.Options{Steer: x.list})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	if list := two(); !slices.EqualFunc(list, two(), func(a, b serve.Steering) bool { return a.Scale == b.Scale }) {
		t.Error("the caller's list was changed")
	}
}
