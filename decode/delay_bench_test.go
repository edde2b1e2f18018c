package decode_test

// What a Batcher's callers feel, at the shape of GPT-2's smallest model with random weights:
//
//	go test ./decode -run - -bench 'Neighbour|EightUsers' -benchtime 3x

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/internal/bench"
	"picogpt/model"
)

// smallest makes the model.
func smallest(b *testing.B) *model.Model { return smallestIn(b, "") }

func smallestIn(b *testing.B, format string) *model.Model {
	b.Helper()
	shape, err := bench.Shape("gpt2")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := bench.WriteRandom(context.Background(), dir, shape, 1); err != nil {
		b.Fatal(err)
	}
	m, err := model.Load(context.Background(), dir, model.Options{Format: format})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

func manyIDs(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i * 7919 % 50000
	}
	return ids
}

// ordinary asks for n tokens, whatever they are.
func ordinary(n int) decode.Options {
	return decode.Options{MaxTokens: n, EndOfText: []int{}, Temperature: 0.8, TopK: 40}
}

// consume takes the tokens of a text.
func consume(b *testing.B, tokens iter.Seq2[decode.Token, error]) {
	for _, err := range tokens {
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkNeighbourOfALongPrompt: a text is written, a prompt of 1,000 tokens joins after 30
// tokens. Reported are the median wait for a token before and the longest one after that, and how
// long the prompt's first token took.
func BenchmarkNeighbourOfALongPrompt(b *testing.B) {
	m := smallest(b)
	batcher := decode.NewBatcher(m, decode.BatcherOptions{})
	defer batcher.Close()
	var usual, longest, first time.Duration
	for b.Loop() {
		var waits []time.Duration
		var users sync.WaitGroup
		last, ended := time.Now(), make(chan bool)
	text:
		for range batcher.Generate(context.Background(), manyIDs(5), ordinary(300)) {
			waits = append(waits, time.Since(last))
			last = time.Now()
			if len(waits) == 30 {
				users.Go(func() {
					start := time.Now()
					consume(b, batcher.Generate(context.Background(), manyIDs(1000), ordinary(1)))
					first += time.Since(start)
					close(ended)
				})
			}
			select {
			case <-ended:
				break text
			default:
			}
		}
		users.Wait()
		before := slices.Sorted(slices.Values(waits[1:30]))
		usual += before[len(before)/2]
		longest = max(longest, slices.Max(waits[30:]))
	}
	b.ReportMetric(float64(usual.Milliseconds())/float64(b.N), "usual-ms")
	b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "first-token-ms")
}

// BenchmarkEightUsers: 40 tokens for each of eight prompts of 20 tokens, in one batch and each by
// itself.
func BenchmarkEightUsers(b *testing.B) {
	m := smallest(b)
	batcher := decode.NewBatcher(m, decode.BatcherOptions{})
	defer batcher.Close()
	eight := func(user func() iter.Seq2[decode.Token, error]) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				var users sync.WaitGroup
				for range 8 {
					users.Go(func() { consume(b, user()) })
				}
				users.Wait()
			}
		}
	}
	ctx, prompt := context.Background(), manyIDs(20)
	b.Run("batch", eight(func() iter.Seq2[decode.Token, error] {
		return batcher.Generate(ctx, prompt, ordinary(40))
	}))
	b.Run("alone", eight(func() iter.Seq2[decode.Token, error] {
		return decode.Generate(ctx, m.NewSession(), prompt, ordinary(40))
	}))
}
