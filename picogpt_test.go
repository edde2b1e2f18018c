package picogpt_test

// Package picogpt on the demo: the same texts as by package decode, from many goroutines, and its
// errors.

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt"
	"picogpt/checkpoint"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/eval"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/weights/demo"
)

func openDemo(t testing.TB) *picogpt.GPT {
	t.Helper()
	g, err := picogpt.OpenFS(context.Background(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// write returns the text that follows a prompt.
func write(t testing.TB, g *picogpt.GPT, prompt string, o picogpt.Options) string {
	t.Helper()
	var b strings.Builder
	for tok, err := range g.Generate(context.Background(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(tok.Text)
	}
	return b.String()
}

// behind returns the text that package decode generates with these options.
func behind(t testing.TB, g *picogpt.GPT, prompt string, o decode.Options) string {
	t.Helper()
	ids, err := g.Tokenizer().Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	o.Vocabulary = g.Tokenizer()
	var b strings.Builder
	for tok, err := range decode.Generate(context.Background(), g.Model().NewSession(), ids, o) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(tok.Text)
	}
	return b.String()
}

// sampling returns Sampling's options with a length and a seed.
func sampling(tokens int, seed uint64) picogpt.Options {
	o := picogpt.Sampling()
	o.MaxTokens, o.Seed = tokens, seed
	return o
}

// A text is that of package decode with the same options: Sampling has the command's, and what
// needs a tokenizer has the checkpoint's.
func TestTheOptionsAreDecodes(t *testing.T) {
	cases.NotShort(t)
	g := openDemo(t)
	lily, err := g.Tokenizer().Encode(" Lily")
	if err != nil || len(lily) != 1 {
		t.Fatal(lily, err)
	}
	command := sample.Params{Temperature: 0.8, TopK: 40, Seed: 3}
	girl, err := g.Tokenizer().Encode(" little girl")
	if err != nil || len(girl) != 2 {
		t.Fatal(girl, err)
	}
	biased, dry, ends := sampling(30, 3), sampling(60, 3), sampling(0, 3)
	sequences, sequenceIDs := sampling(30, 3), command
	sequences.SequenceBias = []sample.Bias{{Text: " little girl", Value: -9}}
	sequenceIDs.SequenceBias = []sample.Bias{{IDs: girl, Value: -9}}
	biased.Bias = []sample.Bias{{Text: " Lily", Value: 9}}
	dry.DRY.Multiplier = 2
	ends.Stop, ends.Ban, ends.TopP = []string{"."}, []string{" was"}, 0.9
	biasedIDs, dryParams, endsParams := command, command, command
	biasedIDs.Bias = []sample.Bias{{IDs: lily, Value: 9}}
	dryParams.DRY = sample.DRY{Multiplier: 2, Base: 1.75, AllowedLength: 2}
	if dryParams.DRYStrings, err = sample.NewDRYStrings(t.Context(), g.Tokenizer(),
		sample.UsualBreakers()); err != nil {
		t.Fatal(err)
	}
	endsParams.TopP = 0.9
	for i, c := range []struct{ door, behind decode.Options }{
		{sampling(30, 3), decode.Options{MaxTokens: 30, Params: command}},
		{picogpt.Options{MaxTokens: 30}, decode.Options{MaxTokens: 30}},
		{biased, decode.Options{MaxTokens: 30, Params: biasedIDs}},
		{sequences, decode.Options{MaxTokens: 30, Params: sequenceIDs}},
		{dry, decode.Options{MaxTokens: 60, Params: dryParams}},
		{ends, decode.Options{Stop: ends.Stop, Ban: ends.Ban, Params: endsParams}},
	} {
		if got, want := write(t, g, "Lily said", c.door),
			behind(t, g, "Lily said", c.behind); got != want || got == "" {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	if write(t, g, "Lily said", sampling(60, 3)) == write(t, g, "Lily said", dry) {
		t.Error("DRY changes nothing")
	}
}

// A healed prompt is Healing's.
func TestAPromptIsHealed(t *testing.T) {
	g := openDemo(t)
	tokens, err := g.Tokenizer().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	const prompt = "There was a little gi"
	ids, err := g.Tokenizer().Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	o := picogpt.Options{MaxTokens: 2, Healing: decode.NewHealing(tokens, ids, 0)}
	if got, want := write(t, g, prompt, o), " girl named"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCompleteTellsWhatALoopWould(t *testing.T) {
	g, ctx := openDemo(t), t.Context()
	o := sampling(25, 4)
	if got, err := g.Complete(ctx, "Tom", o); err != nil || got != write(t, g, "Tom", o) {
		t.Errorf("%q, %v, want %q", got, err, write(t, g, "Tom", o))
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if got, err := g.Complete(done, "Tom", o); !errors.Is(err, context.Canceled) || got != "" {
		t.Errorf("cancelled: %q, %v", got, err)
	}
	v, err := constrain.VocabularyOf(g.Tokenizer(), g.Model().Config().EndTokens())
	if err != nil {
		t.Fatal(err)
	}
	form, err := constrain.Regex(v, `[a-z ]{20,}\.`)
	if err != nil {
		t.Fatal(err)
	}
	if o.Constraint, err = form.Start(); err != nil {
		t.Fatal(err)
	}
	o.MaxTokens, o.Echo, o.MayCut = 3, decode.EchoPrompt, true
	const want = "constraint: want a text of its form, found the beginning of one: it ended " +
		"after 3 tokens (length)"
	if got, err := g.Complete(ctx, "Tom", o); err == nil || err.Error() != want ||
		len(got) < 6 {
		t.Errorf("no end: %q, %v", got, err)
	}
}

func TestManyUsersGetTheirOwnTexts(t *testing.T) {
	cases.NotShort(t)
	g := openDemo(t)
	prompts := []string{"Once upon a time", "Tom and Sue", "The dog", "", "One day, a cat",
		"It was hot."}
	want := make([]string, len(prompts))
	for i, p := range prompts {
		want[i] = write(t, g, p, sampling(25, uint64(i+1)))
	}
	var wg sync.WaitGroup
	for i, p := range prompts {
		wg.Go(func() {
			if got := write(t, g, p, sampling(25, uint64(i+1))); got != want[i] {
				t.Errorf("%q: %q, want %q", p, got, want[i])
			}
		})
	}
	wg.Wait()
	samples := make([]string, 3)
	for tok, err := range g.Samples(context.Background(), prompts[0], 3, sampling(25, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		samples[tok.Sample] += tok.Text
	}
	if samples[0] != want[0] || samples[1] == samples[0] {
		t.Errorf("samples %q, want the first to be %q", samples, want[0])
	}
	if n := g.Model().CacheBytes(); n != 0 {
		t.Errorf("%d bytes of cache when all texts have ended", n)
	}
}

// Without a seed every loop gives another text, and its last token has the seed of that text.
// TestSamplingOfACheckpoint: what its generation_config.json says takes the place of Sampling, and
// other options have none of it.
func TestSamplingOfACheckpoint(t *testing.T) {
	open := func(generation string) *picogpt.GPT {
		files := folder.Memory{"config.json": demo.Config(), "model.safetensors": demo.Weights(),
			"generation_config.json": []byte(`{"eos_token_id":50256` + generation + `}`)}
		g, err := picogpt.OpenFS(t.Context(), files, picogpt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	g := open(`,"temperature":0.5,"top_k":0,"suppress_tokens":[11],"max_new_tokens":9`)
	got, err := g.Sampling()
	want := picogpt.Sampling()
	want.Temperature, want.TopK, want.BanIDs = 0.5, 0, []sample.Ban{{IDs: []int{11}}}
	want.MaxTokens, want.Unasked = 9, true
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got.Seed, want.Seed = 1, 1
	if a, b := write(t, g, "Once upon a time", got), write(t, openDemo(t), "Once upon a time",
		want); a != b {
		t.Errorf("%q, want %q", a, b)
	}
	greedy := picogpt.Options{MaxTokens: 20}
	if a, b := write(t, g, "Once", greedy), write(t, openDemo(t), "Once", greedy); a != b {
		t.Errorf("options of a program: %q, want %q", a, b)
	}
	v, err := constrain.VocabularyOf(g.Tokenizer(), g.Model().Config().EndTokens())
	if err != nil {
		t.Fatal(err)
	}
	form, err := constrain.Regex(v, `( Lily){12,}`)
	if err == nil {
		got.Constraint, err = form.Start()
	}
	c, err2 := g.NewChat("")
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	got.BanIDs = []sample.Ban{{IDs: []int{50256}}} // so that it does not end by itself
	n := 0
	for _, err := range c.Answer(t.Context(), "Hello", got) { // max_new_tokens is no budget of a form
		if n++; err != nil || n > 256 {
			break
		}
	}
	if n != 256 {
		t.Errorf("an answer of a form has %d tokens, want those of other answers, 256", n)
	}
	if got, err := openDemo(t).Sampling(); err != nil || !reflect.DeepEqual(got, picogpt.Sampling()) {
		t.Errorf("without the file: %+v, %v", got, err)
	}
	if _, err := open(`,"top_k":-1`).Sampling(); err == nil ||
		!strings.HasPrefix(err.Error(), "generation_config.json: top_k -1: ") {
		t.Error(err)
	}
}

func TestASeedIsDrawnAndTold(t *testing.T) {
	g, ctx := openDemo(t), context.Background()
	type text struct {
		text string
		seed uint64
	}
	read := func(tokens iter.Seq2[picogpt.Token, error], n int) []text {
		texts := make([]text, n)
		for tok, err := range tokens {
			if err != nil {
				t.Fatal(err)
			}
			at := &texts[tok.Sample]
			if at.seed != 0 {
				t.Errorf("sample %d has a seed before its last token", tok.Sample)
			}
			at.text, at.seed = at.text+tok.Text, tok.Seed
		}
		return texts
	}
	o := picogpt.Options{MaxTokens: 12, Params: sample.Params{Temperature: 1.5}}
	again := g.Generate(ctx, "Lily", o)
	drawn := slices.Concat(read(again, 1), read(again, 1),
		read(g.Samples(ctx, "Lily", 3, o), 3))
	for i, d := range drawn {
		o.Seed = d.seed
		if got := read(g.Generate(ctx, "Lily", o), 1)[0]; d.seed == 0 || got != d {
			t.Errorf("%+v the first time, %+v with its seed", d, got)
		}
		for _, other := range drawn[:i] {
			if d.seed == other.seed || d.text == other.text {
				t.Errorf("%+v and %+v", d, other)
			}
		}
	}
	if drawn[3].seed != drawn[2].seed+1 || drawn[4].seed != drawn[2].seed+2 {
		t.Errorf("samples of seeds %d, %d, %d", drawn[2].seed, drawn[3].seed, drawn[4].seed)
	}
	o.Seed, o.Temperature = 9, 0
	if got := read(g.Generate(ctx, "Lily", o), 1)[0]; got.seed != 0 {
		t.Errorf("a greedy text has the seed %d", got.seed)
	}
}

func TestAConfigReachesTheModelAndTheBatcher(t *testing.T) {
	c := picogpt.Config{Model: model.Options{Threads: 1, Format: "q8", CacheBytes: 1000}}
	g, err := picogpt.OpenFS(context.Background(), demo.FS(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if m := g.Model(); m.Threads() != 1 || m.Format() != "q8" {
		t.Errorf("%d threads, format %s", m.Threads(), m.Format())
	}
	for _, err := range g.Generate(context.Background(), "x", picogpt.Options{}) {
		if !errors.Is(err, model.ErrCacheFull) {
			t.Errorf("error %v, want ErrCacheFull", err)
		}
	}
	if _, err := picogpt.OpenFS(context.Background(),
		demo.FS(), picogpt.Config{Model: model.Options{Format: "q3"}}); err == nil {
		t.Error("format q3 is accepted")
	}
}

func TestScoreAndChoose(t *testing.T) {
	g, ctx := openDemo(t), context.Background()
	s, err := g.Score(ctx, "Once upon a time")
	if err != nil || len(s.Tokens) != 4 || s.Count != 3 || !(s.Sum < 0) {
		t.Fatalf("score %+v, error %v", s, err)
	}
	n := 0
	for many, err := range g.Scores(ctx, slices.Values([]eval.Request{{Text: "Once upon a time"},
		{Text: "The end."}}), eval.ScoreOptions{}) {
		if err != nil || n == 0 && many.Sum != s.Sum {
			t.Errorf("score %v, error %v, want %v", many.Sum, err, s.Sum)
		}
		n++
	}
	a, err := g.Choose(ctx, "Once upon a", " time", " spoon")
	if err != nil || a.Best != 0 || !(a.Probabilities[0] > 0.99) ||
		math.Abs(a.Probabilities[0]+a.Probabilities[1]-1) > 1e-9 {
		t.Errorf("answer %+v, error %v", a, err)
	}
	for all, err := range g.Answers(ctx, slices.Values([]eval.Question{{Context: "Once upon a",
		Choices: []string{" time", " spoon"}}})) {
		if n++; err != nil || !slices.Equal(all.Probabilities, a.Probabilities) {
			t.Errorf("answer %+v, error %v", all, err)
		}
	}
	if n != 3 {
		t.Errorf("%d results, want 3", n)
	}
}

func TestTheDoorSaysWhatIsWrong(t *testing.T) {
	ctx := context.Background()
	if _, err := picogpt.Open(ctx, t.TempDir(), picogpt.Config{}); err == nil ||
		!strings.Contains(err.Error(), "no checkpoint in this directory") {
		t.Errorf("no checkpoint: error %v", err)
	}
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := picogpt.Open(ctx, dir, picogpt.Config{}); !errors.Is(err, checkpoint.ErrNoTokenizer) {
		t.Errorf("no tokenizer: error %v", err)
	}
	g := openDemo(t)
	fails := func(what string, tokens func(yield func(picogpt.Token, error) bool), want string) {
		t.Helper()
		for _, err := range tokens {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", what, err, want)
			}
			return
		}
		t.Errorf("%s: nothing", what)
	}
	for _, params := range []sample.Params{{TopP: 2}, {Temperature: -1},
		{Bias: []sample.Bias{{Text: "two tokens", Value: 1}}}} {
		var bad *sample.OptionError
		if err := last(g.Generate(ctx, "x", picogpt.Options{Params: params})); !errors.As(err, &bad) {
			t.Errorf("%+v: error %v, want an OptionError", params, err)
		}
	}
	fails("too long", g.Generate(ctx, strings.Repeat("word ", 3000), picogpt.Options{}), "context")
	fails("samples", g.Samples(ctx, "x", 0, picogpt.Options{}), "samples 0")
	done, cancel := context.WithCancel(ctx)
	cancel()
	fails("cancelled", g.Generate(done, "x", picogpt.Options{}), "canceled")
	if _, err := g.Choose(ctx, "x"); err == nil {
		t.Error("no choices: no error")
	}
	g.Close()
	g.Close()
	fails("closed", g.Generate(ctx, "x", picogpt.Options{}), "closed")
	if _, err := g.Score(ctx, "x y"); !errors.Is(err, model.ErrClosed) {
		t.Errorf("Score after Close: error %v", err)
	}
}
