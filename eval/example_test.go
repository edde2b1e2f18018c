package eval_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// load returns a model of the demo checkpoint, which is in the program. For one in a folder, begin
// with checkpoint.Open.
func load() *model.Model {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return m
}

func ExamplePerplexity() {
	m := load()
	defer m.Close()
	text := "Once upon a time, there was a little girl named Lily. " +
		"She loved to play outside in the sun."
	tokens, err := tokenizer.GPT2().Encode(text)
	if err != nil {
		log.Fatal(err)
	}
	r, err := eval.Perplexity(context.Background(), m, tokens, eval.Options{Protocol: eval.LMEval})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d tokens, perplexity %.4f\n", r.Scored, r.Tokens, r.Perplexity)
	// Output: 22 of 22 tokens, perplexity 1.3985
}

func ExampleMeasureEach() {
	m := load()
	defer m.Close()
	o := eval.Options{Protocol: eval.LMEval}
	documents := func(yield func(eval.DocumentRequest) bool) {
		for _, text := range []string{"Once upon a time", "", "there was a cat."} {
			d, err := eval.NewDocument(tokenizer.GPT2(), text)
			if !yield(eval.DocumentRequest{Document: d, Tag: text, Err: err}) {
				return
			}
		}
	}
	total, err := eval.NewTotal(o, m.Config())
	if err != nil {
		log.Fatal(err)
	}
	for d, err := range eval.MeasureEach(context.Background(), m, documents, o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q: %d tokens\n", d.Tag, d.Tokens)
		total.Add(&d)
	}
	r, err := total.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d documents, perplexity %.4f\n", r.Documents, r.Perplexity)
	// Output:
	// "Once upon a time": 4 tokens
	// "": 0 tokens
	// "there was a cat.": 5 tokens
	// 3 documents, perplexity 30.1481
}

func ExampleScore() {
	m := load()
	defer m.Close()
	requests := []eval.Request{
		{Context: "Once upon a", Text: " time", Pair: true},
		{Context: "Once upon a", Text: " dragon", Pair: true},
	}
	for s, err := range eval.Score(context.Background(), m, tokenizer.GPT2(),
		slices.Values(requests), eval.ScoreOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q %.3f\n", s.Text, s.Sum)
	}
	// Output:
	// " time" -0.002
	// " dragon" -15.875
}

func ExampleChoose() {
	m := load()
	defer m.Close()
	labels := []string{" happy", " sad"}
	a, err := eval.Choose(context.Background(), m, tokenizer.GPT2(),
		"Lily lost her toy. She was very", labels...)
	if err != nil {
		log.Fatal(err)
	}
	for i, p := range a.Probabilities {
		fmt.Printf("%.4f%s\n", p, labels[i])
	}
	// Output:
	// 0.2172 happy
	// 0.7828 sad
}

func ExampleExpectPerplexity() {
	m := load()
	defer m.Close()
	t := new(testing.T) // what func TestPerplexity(t *testing.T) is given

	text, _ := eval.NewText(eval.HF, tokenizer.GPT2(),
		"Once upon a time, there was a little girl named Lily.")
	r := eval.ExpectPerplexity(t, m, text, eval.Options{}, "1.22")

	fmt.Printf("failed: %t, perplexity %.2f", t.Failed(), r.Perplexity)
	// Output: failed: false, perplexity 1.22
}
