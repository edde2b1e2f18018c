package eval_test

// What Perplexity refuses, and what it does when it is stopped. Documents measured separately: in
// any groups and added up in order, they give Measure's result for the text.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

func TestPerplexityRefusesByName(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ids := func(n int) []int { return make([]int, n) }
	for _, c := range []struct {
		tokens []int
		o      eval.Options
		want   string
	}{
		{nil, eval.Options{}, "text: 0 tokens, want at least 2 for hf"},
		{ids(1), eval.Options{}, "text: 1 tokens, want at least 2 for hf"},
		{nil, eval.Options{Protocol: eval.LMEval}, "text: 0 tokens, want at least 1 for lm-eval"},
		{ids(45), eval.Options{Protocol: eval.LlamaCpp},
			"text: 45 tokens, want at least 46 (two windows of 23) for llama.cpp"},
		{[]int{1, 2, 29}, eval.Options{}, "token 2: id 29, want 0 to 28"},
		{[]int{1, -1}, eval.Options{}, "token 1: id -1, want 0 to 28"},
		{ids(99), eval.Options{Protocol: "gptq"},
			`protocol "gptq": want one of hf, lm-eval, llama.cpp`},
		{ids(99), eval.Options{Window: 24}, "window: 24, want 2 to 23 (n_positions) for hf"},
		{ids(99), eval.Options{Window: 1}, "window: 1, want 2 to 23"},
		{ids(99), eval.Options{Window: -1}, "window: -1, want 2 to 23"},
		{ids(99), eval.Options{Protocol: eval.LlamaCpp, Window: 2}, "window: 2, want 3 to 23"},
		{ids(99), eval.Options{Window: 10, Stride: 11}, "stride: 11, want 1 to 10 (the window)"},
		{ids(99), eval.Options{Stride: -3}, "stride: -3, want 1 to 23 (the window)"},
		{ids(99), eval.Options{Protocol: eval.LMEval, Stride: 5},
			"stride: 5, want none: lm-eval's windows are disjoint"},
		{ids(99), eval.Options{Batch: -1}, "batch: -1, want 1 or more"},
	} {
		_, err := eval.Perplexity(context.Background(), m, c.tokens, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestLMEvalNeedsABOS(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 1})
	m := testmodel.New(t, config, file, model.Options{})
	_, err := eval.Perplexity(context.Background(), m, []int{1, 2},
		eval.Options{Protocol: eval.LMEval})
	if err == nil || !strings.Contains(err.Error(), "bos_token_id") {
		t.Errorf("%v, want an error that names bos_token_id", err)
	}
	config, file = fixture.Checkpoint(fixture.Options{Seed: 1,
		Config: map[string]any{"eos_token_id": 7}})
	m = testmodel.New(t, config, file, model.Options{})
	r, err := eval.Perplexity(context.Background(), m, []int{1, 2},
		eval.Options{Protocol: eval.LMEval})
	if err != nil || r.BOS != "7 before each document" {
		t.Errorf("BOS %q, %v, want the eos_token_id", r.BOS, err)
	}
}

func TestDocumentsEachBeginWithABOS(t *testing.T) {
	m := tinyModel(t, model.Options{})
	a, b := []int{1, 2, 3, 4, 5}, []int{6, 7, 8}
	sum := 0.0
	for _, d := range [][]int{a, b} {
		r, err := eval.Perplexity(context.Background(), m, d, eval.Options{Protocol: eval.LMEval})
		if err != nil {
			t.Fatal(err)
		}
		sum += r.NLL * float64(r.Scored)
	}
	text := eval.Text{Documents: []eval.Document{{Tokens: a, Words: 2, Bytes: 9}, {},
		{Tokens: b, Words: 1, Bytes: 4}}}
	r, err := eval.Measure(context.Background(), m, text, eval.Options{Protocol: eval.LMEval})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "nll", r.NLL, sum/8)
	near(t, "word perplexity", r.WordPerplexity, math.Exp(sum/3))
	near(t, "byte perplexity", r.BytePerplexity, math.Exp(sum/13))
	near(t, "bits per byte", r.BitsPerByte, sum/13/math.Ln2)
	if _, err := eval.Measure(context.Background(), m, text, eval.Options{}); err == nil {
		t.Error("hf: no error for two documents")
	}
}

func TestStoppedMeasurementsArePartial(t *testing.T) {
	m := tinyModel(t, model.Options{})
	tokens := readOracle(t).Random
	for _, p := range eval.Protocols() {
		ctx, cancel := context.WithCancel(context.Background())
		var seen []eval.Progress
		o := eval.Options{Protocol: p, Batch: 2, Progress: func(p eval.Progress) {
			if seen = append(seen, p); len(seen) == 2 {
				cancel()
			}
		}}
		r, err := eval.Perplexity(ctx, m, tokens, o)
		if !errors.Is(err, context.Canceled) || !r.Partial {
			t.Fatalf("%s: %v, partial %t", p, err, r.Partial)
		}
		if len(seen) != 2 || seen[1].Done != 4*23 || seen[1].Total != 200 ||
			seen[1].Perplexity != r.Perplexity {
			t.Errorf("%s: progress %+v", p, seen)
		}
		whole, err := eval.Perplexity(context.Background(), m, tokens[:4*23],
			eval.Options{Protocol: p})
		if err != nil {
			t.Fatal(err)
		}
		if whole.NLL != r.NLL || whole.Scored != r.Scored {
			t.Errorf("%s: %v over %d, want %v over %d", p, r.NLL, r.Scored, whole.NLL, whole.Scored)
		}
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		r, err = eval.Perplexity(ctx, m, tokens, o)
		if !errors.Is(err, context.Canceled) || !math.IsNaN(r.Perplexity) {
			t.Errorf("%s: stopped before it began: %v, %v", p, r.Perplexity, err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}

func TestResultJSON(t *testing.T) {
	m := tinyModel(t, model.Options{})
	text := must(eval.NewText(eval.HF, letters{}, "abc", "cab"))
	r, err := eval.Measure(context.Background(), m, text, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields(`protocol perplexity nll stderr tokens scored words bytes word_perplexity byte_perplexity
		bits_per_byte window stride bos sha256 model dtype partial`) {
		if _, ok := keys[k]; !ok {
			t.Errorf("no %s in %s", k, b)
		}
	}
	if keys["stderr"] != nil || keys["words"] != 1.0 || keys["bytes"] != 6.0 ||
		keys["dtype"] != "f32" {
		t.Errorf("%s", b)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("abccab"))); r.SHA256 != want {
		t.Errorf("SHA-256 %s, want %s", r.SHA256, want)
	}
	if one := must(eval.NewText(eval.HF, letters{}, "abccab")); one.SHA256 != text.SHA256 ||
		!slices.Equal(one.Documents[0].Tokens, text.Documents[0].Tokens) {
		t.Error("two files are not one text")
	}
	if two := must(eval.NewText(eval.LMEval, letters{}, "abc", "cab")); len(two.Documents) != 2 ||
		two.SHA256 != text.SHA256 {
		t.Error("two files are not two documents")
	}
}

func TestStorySHA256(t *testing.T) {
	text, ids := story(t)
	got := must(eval.NewText(eval.HF, runes{}, text))
	if want := readOracle(t).SHA256; got.SHA256 != want {
		t.Errorf("%s, want %s", got.SHA256, want)
	}
	if len(ids) == 0 {
		t.Error("no ids")
	}
}

func TestAnInfiniteLogitIsAnError(t *testing.T) {
	m := spoiled(t)
	r, err := eval.Perplexity(context.Background(), m, readOracle(t).Random, eval.Options{})
	var bad *model.NonFiniteError
	if !errors.As(err, &bad) || !r.Partial {
		t.Errorf("%v, partial %t, want a NonFiniteError", err, r.Partial)
	}
}

// spoiled is a model with a NaN in its last layer norm.
func spoiled(t *testing.T) *model.Model {
	o := fixture.Options{Seed: 1}
	tensors := fixture.Tensors(o)
	for i := range tensors {
		if tensors[i].Name == "ln_f.weight" {
			tensors[i].Data = append([]byte{0, 0, 0xc0, 0x7f}, tensors[i].Data[4:]...)
		}
	}
	return testmodel.New(t, fixture.Config(o), file(t, tensors), model.Options{})
}

// file is a safetensors file.
func file(t *testing.T, tensors []weights.Tensor) []byte {
	var b bytes.Buffer
	if err := weights.Write(&b, nil, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// windowings are options for the tiny model, whose context has 23 positions.
var windowings = []eval.Options{
	{}, {Stride: 7}, {Window: 9, Stride: 4}, {Window: 5, Stride: 1}, {Window: 2},
	{Protocol: eval.LMEval}, {Protocol: eval.LMEval, Window: 8}, {Protocol: eval.LMEval, Window: 1},
	{Protocol: eval.LlamaCpp}, {Protocol: eval.LlamaCpp, Window: 12},
	{Protocol: eval.LlamaCpp, Window: 3},
}

// randomDocuments are of all lengths from least on, tagged with their number.
func randomDocuments(rng *rand.Rand, n, least int) []eval.DocumentRequest {
	all := make([]eval.DocumentRequest, n)
	for i := range all {
		d := eval.Document{Tokens: make([]int, least+rng.IntN(1+rng.IntN(120))), Words: rng.IntN(9),
			Bytes: rng.IntN(99)}
		for j := range d.Tokens {
			d.Tokens[j] = rng.IntN(29)
		}
		all[i] = eval.DocumentRequest{Document: d, Tag: i}
	}
	return all
}

// measureShuffled measures the documents in another order and in several runs, as a pipeline may,
// and returns what is measured in their own order.
func measureShuffled(
	t *testing.T, m *model.Model, rng *rand.Rand, all []eval.DocumentRequest, o eval.Options,
) []eval.Measured {
	t.Helper()
	shuffled := slices.Clone(all)
	rng.Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	measured := make([]eval.Measured, len(all))
	for len(shuffled) > 0 {
		n := 1 + rng.IntN(len(shuffled))
		o.Batch, o.Progress = rng.IntN(4), nil
		index := 0
		for d, err := range eval.MeasureEach(context.Background(), m,
			slices.Values(shuffled[:n]), o) {
			if err != nil || d.Index != index {
				t.Fatalf("document %d: %d, %v", index, d.Index, err)
			}
			index++
			measured[d.Tag.(int)] = d
		}
		if index != n {
			t.Fatalf("%d of %d documents measured", index, n)
		}
		shuffled = shuffled[n:]
	}
	return measured
}

// shown is a result with all digits of its numbers, so that NaN equals NaN.
func shown(r eval.Result) string { return fmt.Sprintf("%+v", r) }

func TestDocumentsMeasuredAnywhereAddUpToMeasure(t *testing.T) {
	cases.NotShort(t)
	models := []*model.Model{tinyModel(t, model.Options{}), tinyModel(t, model.Options{Threads: 3})}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, o := range windowings {
		least := map[eval.Protocol]int{"": 2, eval.LMEval: 0, eval.LlamaCpp: 2 * 23}[o.Protocol]
		all := randomDocuments(rng, 40, least)
		measured := measureShuffled(t, models[1], rng, all, o)
		texts := [][]int{} // the documents of a text, by number
		for i := range all {
			if len(all[i].Tokens) > 0 {
				texts = append(texts, []int{i})
			}
		}
		if o.Protocol == eval.LMEval {
			texts = append(texts, rng.Perm(len(all)), rng.Perm(len(all))[:7])
		}
		for _, text := range texts {
			total := must(eval.NewTotal(o, models[0].Config()))
			var whole eval.Text
			for _, i := range text {
				total.Add(&measured[i])
				whole.Documents = append(whole.Documents, all[i].Document)
			}
			want := must(eval.Measure(context.Background(), models[0], whole, o))
			got := must(total.Result())
			got.DType, got.CacheDType = want.DType, want.CacheDType
			if shown(got) != shown(want) {
				t.Errorf("%+v, documents %v:\n%s, want\n%s", o, text, shown(got), shown(want))
			}
		}
	}
}

// before returns what the definition of the protocol puts before token i, or none if it does not
// score the token.
func before(o eval.Options, ids []int, i int) []int {
	w, n := o.Window, len(ids)
	switch o.Protocol {
	case eval.LMEval:
		end := min(i/w*w+w, n)
		if i < w {
			return append([]int{3}, ids[:i]...)
		}
		return ids[end-w-1 : i]
	case eval.LlamaCpp:
		if first := i / w * w; first+w <= n && i-first > w/2 {
			return ids[first:i]
		}
		return nil
	}
	first := 0
	for first+w <= i {
		first += o.Stride
	}
	return ids[first:i]
}

func TestLogProbsOfEachToken(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ids := readOracle(t).Random[:75]
	for _, o := range []eval.Options{
		{Window: 23, Stride: 23}, {Window: 10, Stride: 4}, {Protocol: eval.LMEval, Window: 23},
		{Protocol: eval.LMEval, Window: 8}, {Protocol: eval.LlamaCpp, Window: 12},
	} {
		request := eval.DocumentRequest{Document: eval.Document{Tokens: ids, Words: 7, Bytes: 99}}
		for d, err := range eval.MeasureEach(context.Background(), m, one(request), o) {
			if err != nil || d.Tokens != 75 || d.Words != 7 || d.Bytes != 99 ||
				!slices.Equal(d.IDs, ids) || len(d.LogProbs) != 75 {
				t.Fatalf("%+v: %+v, %v", o, d, err)
			}
			for i, got := range d.LogProbs {
				context := before(o, ids, i)
				if len(context) == 0 {
					if !math.IsNaN(got) {
						t.Errorf("%+v: token %d has %v, want none", o, i, got)
					}
					continue
				}
				want := logprob(t, m, append(slices.Clone(context), ids[i])...)
				near(t, fmt.Sprintf("%+v: token %d", o, i), got, want)
			}
		}
	}
}

func TestDocumentsThatCannotBeMeasured(t *testing.T) {
	m := poisoned(t)
	broken := errors.New("a broken line")
	const good, letterF = 1, 5
	document := func(ids ...int) eval.DocumentRequest {
		return eval.DocumentRequest{Document: eval.Document{Tokens: ids}}
	}
	long := slices.Repeat([]int{good}, 60)
	spoiled := slices.Concat(long, []int{letterF}, long)
	for _, c := range []struct {
		o    eval.Options
		r    eval.DocumentRequest
		want string // "" where it can
	}{
		{eval.Options{}, document(good, good), ""},
		{eval.Options{}, document(good), "text: 1 tokens, want at least 2 for hf"},
		{eval.Options{}, document(), "text: 0 tokens, want at least 2 for hf"},
		{eval.Options{}, document(good, 29), "token 1: id 29, want 0 to 28 (the model's vocabulary)"},
		{eval.Options{}, eval.DocumentRequest{Err: broken}, "a broken line"},
		{eval.Options{}, document(spoiled...), "not finite"},
		{eval.Options{Window: 4}, document(letterF, good), "not finite"},
		{eval.Options{}, document(good, letterF), ""}, // after the last that is evaluated
		{eval.Options{Protocol: eval.LlamaCpp, Window: 8}, document(long[:15]...),
			"text: 15 tokens, want at least 16 (two windows of 8) for llama.cpp"},
		{eval.Options{Protocol: eval.LlamaCpp, Window: 8}, document(long[:16]...), ""},
	} {
		for _, batch := range []int{0, 1, 3} {
			c.o.Batch = batch
			c.r.Tag = "it"
			fine := eval.DocumentRequest{Document: eval.Document{Tokens: long}, Tag: "fine"}
			requests := []eval.DocumentRequest{fine, c.r, c.r, fine}
			var got []string
			for d, err := range eval.MeasureEach(context.Background(), m,
				slices.Values(requests), c.o) {
				var bad *eval.RequestError
				switch {
				case errors.As(err, &bad) && bad.Index == d.Index && bad.Tag == d.Tag &&
					d.Tokens == 0 && d.Windows == nil:
					got = append(got, fmt.Sprint(d.Index, d.Tag, " ", bad.Err))
				case err == nil:
					got = append(got, fmt.Sprint(d.Index, d.Tag, " ", len(d.Windows) > 0))
				default:
					t.Fatalf("%+v: %+v, %v", c, d, err)
				}
			}
			want := []string{"0fine true", "1it true", "2it true", "3fine true"}
			for i := range want {
				if c.want != "" && i%3 != 0 {
					want[i] = strings.TrimSuffix(want[i], "true") + c.want
				}
				if i >= len(got) || !strings.Contains(got[i], want[i]) &&
					!(c.want == "not finite" && strings.Contains(got[i], c.want)) {
					t.Errorf("%+v: %q, want %q", c, got, want[i])
				}
			}
		}
	}
}

func TestTotalsThatNoProtocolDefines(t *testing.T) {
	m := tinyModel(t, model.Options{})
	two := &eval.Measured{Tokens: 50, Windows: []float64{1}, Scored: 1}
	for _, c := range []struct {
		protocol eval.Protocol
		add      []*eval.Measured
		want     string
	}{
		{eval.HF, []*eval.Measured{two, two}, "text: 2 documents, want 1 for hf"},
		{eval.LlamaCpp, []*eval.Measured{two, two}, "text: 2 documents, want 1 for llama.cpp"},
		{eval.HF, nil, "text: 0 tokens, want at least 2 for hf"},
		{eval.LMEval, []*eval.Measured{{}, {}}, "text: 0 tokens, want at least 1 for lm-eval"},
	} {
		total := must(eval.NewTotal(eval.Options{Protocol: c.protocol}, m.Config()))
		text := eval.Text{}
		for _, d := range c.add {
			total.Add(d)
			text.Documents = append(text.Documents, eval.Document{Tokens: make([]int, d.Tokens)})
		}
		_, err := total.Result()
		_, same := eval.Measure(context.Background(), m, text, eval.Options{Protocol: c.protocol})
		if err == nil || same == nil || err.Error() != c.want || same.Error() != c.want {
			t.Errorf("%s: %v, and of Measure %v, want %s", c.protocol, err, same, c.want)
		}
	}
	if _, err := eval.NewTotal(eval.Options{Window: 99}, m.Config()); err == nil {
		t.Error("no error for a window of 99")
	}
}

func TestMeasureEachTakesOneEvalAndStops(t *testing.T) {
	m := tinyModel(t, model.Options{})
	taken := 0
	endless := func(yield func(eval.DocumentRequest) bool) {
		for yield(eval.DocumentRequest{Document: eval.Document{Tokens: make([]int, 10)}}) {
			taken++
		}
	}
	for range eval.MeasureEach(context.Background(), m, endless, eval.Options{}) {
		break
	}
	// 64 windows and one or two that were read ahead; fewer only if the machine slept.
	if taken < 25 || taken > 66 {
		t.Errorf("%d documents for the first answer, want about 64", taken)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for _, err := range eval.MeasureEach(ctx, m, endless, eval.Options{Batch: 2}) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n > 12 {
		t.Errorf("%v after %d", last, n)
	}
	n = 0
	for _, err := range eval.MeasureEach(context.Background(), m, endless,
		eval.Options{Stride: -1}) {
		if n++; err == nil || !strings.Contains(err.Error(), "stride: -1") {
			t.Errorf("%v, want that the stride is refused", err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers, want the error alone", n)
	}
}

func TestADocumentIsThatOfNewText(t *testing.T) {
	const text = "Once upon a time,\n there was  a cat. "
	d := must(eval.NewDocument(tokenizer.GPT2(), text))
	want := must(eval.NewText(eval.LMEval, tokenizer.GPT2(), text)).Documents[0]
	if fmt.Sprint(d) != fmt.Sprint(want) || d.Words != 9 || d.Bytes != len(text) {
		t.Errorf("%+v, want %+v", d, want)
	}
	m := testmodel.Demo(t, model.Options{})
	o := eval.Options{Protocol: eval.LMEval}
	total := must(eval.NewTotal(o, m.Config()))
	for d, err := range eval.MeasureEach(context.Background(), m,
		one(eval.DocumentRequest{Document: d}), o) {
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		s := scoreOne(t, m, tokenizer.GPT2(), eval.Request{Text: text}, eval.ScoreOptions{BOS: true})
		for i, token := range s.Tokens {
			sum += d.LogProbs[i]
			if token.LogProb != d.LogProbs[i] {
				t.Errorf("token %d: %v, of Score %v", i, d.LogProbs[i], token.LogProb)
			}
		}
		total.Add(&d)
		near(t, "total", must(total.Result()).NLL, -sum/float64(d.Tokens))
	}
}
