package main

// The work that every peer does, and the required first tokens.

import (
	"context"
	"encoding/json"
	"os"

	"picogpt/checkpoint"
	"picogpt/model"
)

// A job is read by the peers' scripts.
type job struct {
	Layers    int    `json:"layers"`
	Heads     int    `json:"heads"`
	HeadSize  int    `json:"head_size"`
	Positions int    `json:"positions"`
	Prompt    []int  `json:"prompt"` // to prefill
	Feed      []int  `json:"feed"`   // to decode after it, one by one
	Greedy    greedy `json:"greedy"`
}

// greedy is the greedy continuation of a prompt by our own engine in float32.
type greedy struct {
	Prompt []int `json:"prompt"`
	IDs    []int `json:"ids"` // the likeliest token each time
	// the least difference between the best logit and the second best, over IDs: if it is smaller
	// than rounding errors, peers may give other ids
	Margin float32   `json:"margin"`
	Logits []float32 `json:"logits"` // after the prompt
}

func writeJob(path string, c *source, dir string, prompt, gen int) error {
	g := c.config
	gen = min(gen, g.Positions/2)
	prompt = min(prompt, g.Positions-gen)
	j := job{Layers: g.Layer, Heads: g.Head, HeadSize: g.Embd / g.Head, Positions: g.Positions}
	tokens := make([]int, max(prompt, gen)) // the same as in gpt bench
	for i := range tokens {
		tokens[i] = (i*7919 + 11) % g.VocabSize
	}
	j.Prompt, j.Feed = tokens[:prompt], tokens[:gen]
	var err error
	if j.Greedy, err = ours(dir); err != nil {
		return err
	}
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

// ours runs the engine for 20 tokens after "Once upon a time", or after the first ids of a small
// vocabulary.
func ours(dir string) (greedy, error) {
	ctx := context.Background()
	c, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return greedy{}, err
	}
	defer c.Close()
	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{Format: "f32"})
	if err != nil {
		return greedy{}, err
	}
	defer m.Close()
	r := greedy{Prompt: []int{7454, 2402, 257, 640}}
	if m.Config().VocabSize <= 7454 {
		r.Prompt = []int{0, 1, 2, 3}
	}
	s := m.NewSession()
	next := r.Prompt
	for len(r.IDs) < 20 {
		if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: next}); err != nil {
			return r, err
		}
		if r.Logits == nil {
			r.Logits = append(r.Logits, s.Logits()...)
		}
		best, margin := argmax(s.Logits())
		if len(r.IDs) == 0 || margin < r.Margin {
			r.Margin = margin
		}
		next = []int{best}
		r.IDs = append(r.IDs, best)
	}
	return r, nil
}

// argmax returns the index of the first greatest logit and its difference to the next greatest.
func argmax(x []float32) (best int, margin float32) {
	second := -1
	for i, v := range x {
		switch {
		case i == 0:
		case v > x[best]:
			best, second = i, best
		case second < 0 || v > x[second]:
			second = i
		}
	}
	if second < 0 {
		return best, 0
	}
	return best, x[best] - x[second]
}
