// Command digest prints one SHA-256 of what the engine computes: for each number format of the
// weights and of the cache, the bits of the demo's logits, and texts of seeds with the bits of their
// log-probabilities. It is the same on every machine: make digest.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"os"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

func main() {
	sum, err := digest(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "digest:", err)
		os.Exit(1)
	}
	fmt.Println(sum)
}

const prompt = "Once upon a time, there was a little girl named Lily. One day"

// texts are ways to choose a token that together use the samplers' arithmetic: exponentials,
// logarithms, sums and orders.
var texts = []sample.Params{
	{},
	{Temperature: 0.8, TopK: 40, Seed: 1},
	{Temperature: 1.3, TopP: 0.95, MinP: 0.01, RepeatPenalty: 1.2, Seed: 2},
	{Temperature: 1, Typical: 0.9, TopNSigma: 2, Seed: 3},
}

// formats are those of the weights, each with one of the cache.
var formats = [][2]string{
	{"f32", "f32"}, {"f16", "f32"}, {"f16", "f16"}, {"bf16", "f32"}, {"q8", "f32"}, {"q4", "f16"},
	{"q8", "q8"},
}

// digest returns the SHA-256 in hexadecimal.
func digest(ctx context.Context) (string, error) {
	h := sha256.New()
	for _, f := range formats {
		fmt.Fprintf(h, "%s %s\n", f[0], f[1])
		if err := add(ctx, h, model.Options{Format: f[0], CacheFormat: f[1]}); err != nil {
			return "", fmt.Errorf("%s, cache %s: %w", f[0], f[1], err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// add adds what the demo computes in one format.
func add(ctx context.Context, h hash.Hash, o model.Options) error {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := model.New(ctx, c.Config, c.Tensors, o)
	if err != nil {
		return err
	}
	defer m.Close()
	tok := tokenizer.GPT2()
	ids, err := tok.Encode(prompt)
	if err != nil {
		return err
	}
	s := m.NewSession()
	defer s.Release()
	if err := m.Eval(ctx, model.Input{Session: s, Tokens: ids}); err != nil {
		return err
	}
	binary.Write(h, binary.LittleEndian, s.Logits())
	for _, p := range texts {
		o := decode.Options{Params: p, MaxTokens: 12, Vocabulary: tok}
		for t, err := range decode.Generate(ctx, m.NewSession(), ids, o) {
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%d %q %s ", t.ID, t.Text, t.Finish)
			binary.Write(h, binary.LittleEndian, t.LogProb)
		}
	}
	return nil
}
