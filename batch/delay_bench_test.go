package batch_test

// Latencies of a Batcher's callers, for the shape of GPT-2's smallest model with random weights:
//
//	go test ./batch -run - -bench 'Neighbour|EightUsers|SharedPrefix|Overhead|ScoredPairs' -benchtime 3x

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// smallest returns the model.
func smallest(b *testing.B) *model.Model {
	b.Helper()
	shape, err := checkpoint.RandomShape("gpt2")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := checkpoint.WriteRandom(context.Background(), dir, shape); err != nil {
		b.Fatal(err)
	}
	return testmodel.Open(b, dir, model.Options{})
}

func manyIDs(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i * 7919 % 50000
	}
	return ids
}

// ordinary returns options for n tokens of any kind.
func ordinary(n int) decode.Options {
	return decode.Options{MaxTokens: n, EndOfText: []int{}, Params: sample.Params{Temperature: 0.8,
		TopK: 40}}
}

// consume takes the tokens of a text.
func consume(b *testing.B, tokens iter.Seq2[decode.Token, error]) {
	for _, err := range tokens {
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkNeighbourOfALongPrompt: a text is generated, and prompts of 1,000 tokens join after 30
// tokens. It reports the median wait for a token before, the longest and the 90th percentile of the
// waits after that, and how long the first token of all prompts took.
func BenchmarkNeighbourOfALongPrompt(b *testing.B) {
	m := smallest(b)
	batcher := batch.New(m, batch.Options{})
	defer batcher.Close()
	scored := decode.Options{Echo: decode.EchoOnly, Top: 5}
	for _, c := range []struct {
		name    string
		prompts int
		o       decode.Options
	}{
		{"one", 1, ordinary(1)}, {"four", 4, ordinary(1)}, {"scored", 1, scored},
		{"four-scored", 4, scored},
	} {
		b.Run(c.name, func(b *testing.B) { neighbour(b, batcher, c.prompts, c.o) })
	}
}

func neighbour(b *testing.B, batcher *batch.Batcher, prompts int, o decode.Options) {
	var usual, most, longest, first time.Duration
	for b.Loop() {
		var waits []time.Duration
		var users sync.WaitGroup
		last, ended := time.Now(), make(chan bool)
	text:
		for range batcher.Generate(context.Background(), manyIDs(5), ordinary(900)) {
			waits = append(waits, time.Since(last))
			last = time.Now()
			if len(waits) == 30 {
				start := time.Now()
				for i := range prompts {
					ids := manyIDs(1000)
					ids[0] = i // nothing in common
					users.Go(func() { consume(b, batcher.Generate(context.Background(), ids, o)) })
				}
				go func() {
					users.Wait()
					first += time.Since(start)
					close(ended)
				}()
			}
			select {
			case <-ended:
				break text
			default:
			}
		}
		<-ended
		before := slices.Sorted(slices.Values(waits[1:30]))
		usual += before[len(before)/2]
		after := slices.Sorted(slices.Values(waits[30:]))
		most += after[len(after)*9/10]
		longest = max(longest, after[len(after)-1])
	}
	b.ReportMetric(float64(usual.Milliseconds())/float64(b.N), "usual-ms")
	b.ReportMetric(float64(most.Milliseconds())/float64(b.N), "nine-of-ten-ms")
	b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "first-token-ms")
}

// BenchmarkSharedPrefix: eight prompts with 900 tokens in common and 8 of their own, at the same
// time: it reports the time until all have their first token, and that of one such prompt alone.
func BenchmarkSharedPrefix(b *testing.B) {
	m := smallest(b)
	for _, c := range []struct {
		name string
		o    decode.Options
	}{{"plain", ordinary(1)}, {"scored", decode.Options{Echo: decode.EchoOnly, Top: 5}}} {
		b.Run(c.name, func(b *testing.B) {
			took := func(n int) time.Duration {
				batcher := batch.New(m, batch.Options{PrefixBytes: 1 << 31})
				defer batcher.Close()
				start := time.Now()
				var users sync.WaitGroup
				for i := range n {
					ids := manyIDs(908)
					ids[900] = i
					users.Go(func() { consume(b, batcher.Generate(context.Background(), ids, c.o)) })
				}
				users.Wait()
				return time.Since(start)
			}
			var one, eight time.Duration
			for b.Loop() {
				one, eight = one+took(1), eight+took(8)
			}
			b.ReportMetric(float64(one.Milliseconds())/float64(b.N), "one-ms")
			b.ReportMetric(eight.Seconds()/one.Seconds(), "eight/one")
		})
	}
}

// BenchmarkEightUsers: 40 tokens for each of eight prompts of 20 tokens, in one batch and each by
// itself.
func BenchmarkEightUsers(b *testing.B) {
	m := smallest(b)
	batcher := batch.New(m, batch.Options{})
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

// BenchmarkOverhead: a token of a Batcher's text and of Generate's, on a model that costs little.
func BenchmarkOverhead(b *testing.B) {
	m := testmodel.Demo(b, model.Options{Threads: 2})
	batcher := batch.New(m, batch.Options{})
	defer batcher.Close()
	ctx, prompt := context.Background(), manyIDs(4)
	token := func(text func() iter.Seq2[decode.Token, error]) time.Duration {
		start := time.Now()
		consume(b, text())
		return time.Since(start) / 200
	}
	least := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for range 10 {
			least[0] = min(least[0], token(func() iter.Seq2[decode.Token, error] {
				return decode.Generate(ctx, m.NewSession(), prompt, ordinary(200))
			}))
			least[1] = min(least[1], token(func() iter.Seq2[decode.Token, error] {
				return batcher.Generate(ctx, prompt, ordinary(200))
			}))
		}
	}
	b.ReportMetric(float64(least[0].Microseconds()), "µs-alone")
	b.ReportMetric(float64((least[1]-least[0]).Nanoseconds())/1e3, "µs-more")
}

// BenchmarkScoredPairs: prompts of two tokens that are scored, from eight callers, on the demo.
func BenchmarkScoredPairs(b *testing.B) {
	m := testmodel.Demo(b, model.Options{Threads: 2})
	batcher := batch.New(m, batch.Options{PrefixBytes: 1 << 28})
	defer batcher.Close()
	o := decode.Options{Echo: decode.EchoOnly, Top: 1}
	const callers, each = 8, 500
	for b.Loop() {
		var users sync.WaitGroup
		for i := range callers {
			users.Go(func() {
				for j := range each {
					consume(b, batcher.Generate(context.Background(), []int{i, j}, o))
				}
			})
		}
		users.Wait()
	}
	b.ReportMetric(float64(b.N)*callers*each/b.Elapsed().Seconds(), "requests/s")
}
