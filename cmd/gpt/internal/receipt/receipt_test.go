package receipt

// The logits of a receipt are those from which its tokens were chosen.

import (
	"context"
	"iter"
	"math"
	"testing"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// beams returns the tokens of the best text of a search.
func beams(
	ctx context.Context, s *model.Session, prompt []int, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		found, err := search.Beams(ctx, s, prompt,
			search.BeamOptions{Beams: 3, Return: 1, LengthPenalty: 1, Groups: 1}, o)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		for _, t := range found[0].Tokens {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func contrastive(
	ctx context.Context, s *model.Session, prompt []int, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return search.Contrastive(ctx, s, prompt, 0.6, o)
}

func TestTheLogitsOfAReceiptAreThoseThatChoseItsTokens(t *testing.T) {
	cases.NotShort(t)
	ck, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	m, err := model.New(context.Background(), ck.Config, ck.Tensors, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tok := tokenizer.GPT2()
	for name, c := range map[string]struct {
		texts func(
			context.Context, *model.Session, []int, decode.Options,
		) iter.Seq2[decode.Token, error]
		decode.Options
		sample.Params
	}{
		"sampled": {decode.Generate, decode.Options{MaxTokens: 20},
			sample.Params{Temperature: 1.5, TopK: 40}},
		"greedy": {decode.Generate, decode.Options{MaxTokens: 20}, sample.Params{}},
		"slides": {decode.Generate, decode.Options{MaxTokens: 260, Overflow: decode.OverflowSlide},
			sample.Params{Temperature: 3}},
		"beams":       {beams, decode.Options{MaxTokens: 20}, sample.Params{RepeatPenalty: 1.2}},
		"contrastive": {contrastive, decode.Options{MaxTokens: 10}, sample.Params{TopK: 40}},
		"steered": {decode.Generate, decode.Options{MaxTokens: 10, Ban: []string{" she"}},
			sample.Params{Temperature: 0.8, Guidance: &sample.Guidance{Scale: 1.5},
				Mirostat: sample.Mirostat{Version: 2, Tau: 5, Eta: 0.1}}},
	} {
		o := c.Options
		o.Params = c.Params
		o.Vocabulary, o.Seed = tok, 1
		prompt := []int{7454, 2402, 257, 640}
		var tokens []decode.Token
		for _, err := range Keep(c.texts(t.Context(), m.NewSession(), prompt, o), &tokens) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		logProbs := make([]float64, len(tokens)) // as the rows of the receipt have them
		err = visitRows(m, prompt, tokens, func(i int, logits []float32) {
			logProbs[i] = float64(logits[tokens[i].ID]) - m.Leaves().LogSumExp(logits)
		})
		if err != nil {
			t.Fatal(err)
		}
		slid := false
		for i, x := range logProbs {
			slid = slid || tokens[i].Dropped > 0
			if math.Float64bits(x) != math.Float64bits(tokens[i].LogProb) {
				t.Errorf("%s: token %d: log-probability %v, want %v", name, i, x,
					tokens[i].LogProb)
			}
		}
		if name == "slides" && !slid {
			t.Errorf("%s: the context did not slide", name)
		}
	}
}
