package textzip

// Speeds, of a model of GPT-2's size: go test -run - -bench . ./x/textzip

import (
	"context"
	"errors"
	"testing"
	"time"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/eval"
	"picogpt/model"
)

// small is a random model of the shape of GPT-2's smallest, and ids that are no text's.
func small(b *testing.B) (z zipper, ids []int) {
	b.Helper()
	dir := b.TempDir()
	o := fixture.Options{Vocab: 50257, Positions: 1024, Embd: 768, Head: 12, Layer: 12, DType: "F16"}
	if err := fixture.Write(dir, o); err != nil {
		b.Fatal(err)
	}
	c, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	for id := 1000; len(ids) < 3*1024; id = (id*7 + 11) % 40_000 {
		ids = append(ids, id)
	}
	return load(b, c, model.Options{}), ids
}

// BenchmarkStreams reads 64 tokens of each of 8 streams, then of one, in turns.
func BenchmarkStreams(b *testing.B) {
	z, ids := small(b)
	const tokens = 64
	speed := func(streams int) float64 {
		k := z.codec(Options{Streams: streams})
		symbols := make([][]symbol, streams)
		for i := range symbols {
			symbols[i] = make([]symbol, tokens)
			if err := k.evaluate(b.Context(), k.windows(ids[i*tokens:][:tokens], symbols[i])); err != nil {
				b.Fatal(err)
			}
		}
		payload := interleave(symbols)
		ctx, cancel := context.WithCancel(b.Context())
		steps, start := 0, time.Now()
		_, err := k.decode(ctx, payload, streams*leastSegment, func(int) {
			if steps++; steps == tokens {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
		return float64(streams*tokens) / time.Since(start).Seconds()
	}
	var one, eight float64
	for b.Loop() {
		one += speed(1)
		eight += speed(8)
	}
	b.ReportMetric(one/float64(b.N), "1-stream-tokens/s")
	b.ReportMetric(eight/float64(b.N), "8-streams-tokens/s")
	b.ReportMetric(eight/one, "ratio")
}

// BenchmarkAgainstPerplexity evaluates the same windows as package eval does, in turns. Tokens that
// windows repeat count.
func BenchmarkAgainstPerplexity(b *testing.B) {
	z, ids := small(b)
	k := z.codec(Options{})
	var zip, perplexity time.Duration
	for b.Loop() {
		start := time.Now()
		for _, w := range k.windows(ids, make([]symbol, len(ids))) {
			if err := k.evaluate(b.Context(), []window{w}); err != nil {
				b.Fatal(err)
			}
		}
		zip += time.Since(start)
		start = time.Now()
		_, err := eval.Perplexity(b.Context(), z.m, ids, eval.Options{Stride: 768})
		if err != nil {
			b.Fatal(err)
		}
		perplexity += time.Since(start)
	}
	b.ReportMetric(perplexity.Seconds()/zip.Seconds(), "ratio")
	b.ReportMetric(zip.Seconds()/float64(b.N), "s/compress")
	b.ReportMetric(perplexity.Seconds()/float64(b.N), "s/perplexity")
}
