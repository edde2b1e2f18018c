package eval_test

// The protocols, the scores and the readers, compared with testdata/make_oracle.py, which follows
// the definitions and uses none of this code.

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

// oracle is testdata/oracle.json.
type oracle struct {
	Random     []int `json:"random"`
	Perplexity []struct {
		Checkpoint string        `json:"checkpoint"`
		Length     int           `json:"length"`
		Protocol   eval.Protocol `json:"protocol"`
		Window     int           `json:"window"`
		Stride     int           `json:"stride"`
		NLL        float64       `json:"nll"`
		Perplexity float64       `json:"perplexity"`
		Scored     int           `json:"scored"`
		StdErr     *float64      `json:"stderr"`
	} `json:"perplexity"`
	Scores []struct {
		Checkpoint string    `json:"checkpoint"`
		Tokens     []int     `json:"tokens"`
		LogProbs   []float64 `json:"logprobs"`
		Ranks      [][2]int  `json:"ranks"`
		Entropies  []float64 `json:"entropies"`
	} `json:"scores"`
	WikiText []struct {
		Text  string `json:"text"`
		Lines string `json:"lines"`
		Pages []struct {
			Page        string `json:"page"`
			Detokenized string `json:"detokenized"`
			Words       int    `json:"words"`
			Bytes       int    `json:"bytes"`
		} `json:"pages"`
	} `json:"wikitext"`
	SHA256 string `json:"story_sha256"`
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func readOracle(t testing.TB) oracle {
	var o oracle
	readJSON(t, "testdata/oracle.json", &o)
	return o
}

func story(t testing.TB) (text string, ids []int) {
	b, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	readJSON(t, "testdata/story.ids.json", &ids)
	return string(b), ids
}

// tinyModel is the fixture "plain", whose vocabulary has 29 ids, with id 3 as its BOS.
func tinyModel(t testing.TB, o model.Options) *model.Model {
	goldens, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldens {
		if g.Name != "plain" {
			continue
		}
		var config map[string]any
		if err := json.Unmarshal(g.Config, &config); err != nil {
			t.Fatal(err)
		}
		config["bos_token_id"] = 3
		b, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		return testmodel.New(t, b, g.File, o)
	}
	t.Fatal("no golden plain")
	return nil
}

// letters is a vocabulary for the tiny model: id i is the letter 'a'+i.
type letters struct{}

func (l letters) Encode(text string) ([]int, error) {
	ids, _, err := l.EncodeSpans(text)
	return ids, err
}

func (letters) EncodeSpans(text string) (ids []int, spans []tokenizer.Span, err error) {
	for i := range len(text) {
		ids = append(ids, int(text[i]-'a'))
		spans = append(spans, tokenizer.Span{Start: i, End: i + 1})
	}
	return ids, spans, nil
}

func (letters) DecodeSpans(ids []int) (text string, spans []tokenizer.Span, err error) {
	for i, id := range ids {
		text += string(rune('a' + id))
		spans = append(spans, tokenizer.Span{Start: i, End: i + 1})
	}
	return text, spans, nil
}

func (letters) Text(id int) (string, error) { return string(rune('a' + id)), nil }

// must returns what comes without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// near checks that two numbers agree to 1e-6 of the wanted one.
func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// close32 checks a number of a single token, which has the error of float32 logits.
func close32(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-5+1e-6*math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestPerplexityAgreesWithTheDefinitions(t *testing.T) {
	cases.NotShort(t)
	o := readOracle(t)
	_, ids := story(t)
	models := map[string]*model.Model{"demo": testmodel.Demo(t, model.Options{}),
		"tiny": tinyModel(t, model.Options{})}
	for i, want := range o.Perplexity {
		tokens := o.Random
		if want.Checkpoint == "demo" {
			if tokens = ids; i%4 != 1 && !cases.Long {
				continue // the tiny model has all kinds of windows
			}
		}
		options := eval.Options{Protocol: want.Protocol, Window: want.Window, Stride: want.Stride}
		got, err := eval.Perplexity(context.Background(), models[want.Checkpoint],
			tokens[:want.Length], options)
		if err != nil {
			t.Errorf("%+v: %v", want, err)
			continue
		}
		near(t, "nll", got.NLL, want.NLL)
		near(t, "perplexity", got.Perplexity, want.Perplexity)
		if got.Scored != want.Scored || got.Tokens != want.Length || got.Partial {
			t.Errorf("%+v: scored %d of %d, partial %t", want, got.Scored, got.Tokens, got.Partial)
		}
		if want.StdErr != nil {
			near(t, "stderr", got.StdErr, *want.StdErr)
		} else if !math.IsNaN(got.StdErr) {
			t.Errorf("%+v: stderr %v, want none", want, got.StdErr)
		}
	}
}

func TestScoresAgreeWithTheDefinitions(t *testing.T) {
	models := map[string]*model.Model{"demo": testmodel.Demo(t, model.Options{}),
		"tiny": tinyModel(t, model.Options{})}
	toks := map[string]eval.Tokenizer{"demo": tokenizer.GPT2(), "tiny": letters{}}
	for _, want := range readOracle(t).Scores {
		s := scoreOne(t, models[want.Checkpoint], toks[want.Checkpoint],
			eval.Request{Tokens: want.Tokens}, eval.ScoreOptions{})
		if len(s.Tokens) != len(want.Tokens) || s.Count != len(want.Tokens)-1 {
			t.Fatalf("%d tokens, %d scored, want %d", len(s.Tokens), s.Count, len(want.Tokens))
		}
		sum := 0.0
		for i, lp := range want.LogProbs {
			got := s.Tokens[i+1]
			close32(t, "logprob", got.LogProb, lp)
			close32(t, "entropy", got.Entropy, want.Entropies[i])
			if r := want.Ranks[i]; got.Rank < r[0] || got.Rank > r[1] {
				t.Errorf("token %d: rank %d, want %d to %d", i+1, got.Rank, r[0], r[1])
			}
			sum += lp
		}
		near(t, "sum", s.Sum, sum)
		near(t, "mean", s.Mean, sum/float64(len(want.LogProbs)))
	}
}

// scoreOne scores a single request.
func scoreOne(t testing.TB, m *model.Model, tok eval.Tokenizer, r eval.Request,
	o eval.ScoreOptions) eval.Scored {
	t.Helper()
	s, err := eval.ScoreOne(context.Background(), m, tok, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func one[T any](v T) func(func(T) bool) { return func(yield func(T) bool) { yield(v) } }

// runes is an encoder that keeps the text: id by rune.
type runes struct{}

func (runes) Encode(text string) (ids []int, err error) {
	for _, r := range text {
		ids = append(ids, int(r))
	}
	return ids, nil
}

func TestWikiTextReadersAgreeWithPython(t *testing.T) {
	for _, want := range readOracle(t).WikiText {
		hf := must(eval.NewWikiText(eval.HF, runes{}, want.Text))
		if got := string32(hf.Documents[0].Tokens); got != want.Lines {
			t.Errorf("lines of %q: %q, want %q", want.Text, got, want.Lines)
		}
		lm := must(eval.NewWikiText(eval.LMEval, runes{}, want.Text))
		if len(lm.Documents) != len(want.Pages) {
			t.Errorf("%q: %d pages, want %d", want.Text, len(lm.Documents), len(want.Pages))
			continue
		}
		i := 0
		for line, page := range eval.WikiPages(want.Text) {
			d, p := lm.Documents[i], want.Pages[i]
			i++
			if page != p.Page || !reflect.DeepEqual(must(eval.NewWikiPage(runes{}, page)), d) {
				t.Errorf("page %q on line %d, want %q", page, line, p.Page)
			}
			if rest := strings.Join(lines(want.Text)[line-1:], "\n"); !strings.HasPrefix(rest, page) {
				t.Errorf("page %q is not on line %d of %q", page, line, want.Text)
			}
			if got := string32(d.Tokens); got != p.Detokenized {
				t.Errorf("page %q: %q, want %q", p.Page, got, p.Detokenized)
			}
			if d.Words != p.Words || d.Bytes != p.Bytes {
				t.Errorf("page %q: %d words and %d bytes, want %d and %d", p.Page, d.Words, d.Bytes,
					p.Words, p.Bytes)
			}
		}
	}
}

// lines are those of a text as Python reads it.
func lines(text string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

func string32(ids []int) string {
	r := make([]rune, len(ids))
	for i, id := range ids {
		r[i] = rune(id)
	}
	return string(r)
}
