package main

// That the logits of a receipt are those that were seen when its tokens were chosen.

import (
	"context"
	"math"
	"testing"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

func TestTheLogitsOfAReceiptAreThoseThatChoseItsTokens(t *testing.T) {
	ck, err := checkpoint.OpenFS(demo.FS())
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	m, err := model.New(context.Background(), ck.Config, ck.Tensors, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a, tok := newApp(), tokenizer.GPT2()
	for _, flags := range [][]string{
		{"--max-tokens=20", "--temp=1.5"},
		{"--max-tokens=20", "--temp=0"},
		{"--max-tokens=260", "--temp=3", "--top-k=0", "--overflow=slide"},
		{"--max-tokens=20", "--beams=3", "--repeat-penalty=1.2"},
		{"--max-tokens=10", "--contrastive=0.6"},
		{"--max-tokens=10", "--guidance=1.5", "--ban= she", "--mirostat=2"},
	} {
		c, f, err := parseOptions(flags, recordable)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.settle(f.Given())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.openTexts(a, m, tok, &o); err != nil {
			t.Fatal(err)
		}
		o.Vocabulary, o.Seed = tok, 1
		prompt := []int{7454, 2402, 257, 640}
		var tokens []decode.Token
		for _, err := range kept(c.texts(context.Background(), m, prompt, o,
			c.Search.newScores()), &tokens) {
			if err != nil {
				t.Fatal(err)
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
				t.Errorf("%v: token %d: log-probability %v, want %v", flags, i, x,
					tokens[i].LogProb)
			}
		}
		if c.Overflow == "slide" && !slid {
			t.Errorf("%v: the context did not slide", flags)
		}
	}
}
