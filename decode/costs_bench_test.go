package decode_test

// The cost of filters, beams and guesses compared with a stream without them, for the shape of
// GPT-2's smallest model with random weights. The compared runs take turns; the least or the median
// of many counts. Times are only good on a quiet machine:
//
//	go test -c -o decode.test ./decode
//	./decode.test -test.run - -test.bench 'Cost' -test.benchtime 1x

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/tokenizer"
)

// smallest makes the model.
func smallest(b *testing.B) *model.Model { return smallestIn(b, "") }

func smallestIn(b *testing.B, format string) *model.Model {
	b.Helper()
	shape, err := checkpoint.RandomShape("gpt2")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := checkpoint.WriteRandom(context.Background(), dir, shape); err != nil {
		b.Fatal(err)
	}
	return testmodel.Open(b, dir, model.Options{Format: format})
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

// everyFilter returns options with all filters and the steps that depend on the context.
func everyFilter() decode.Options {
	o := decode.Options{EndOfText: []int{}, Params: sample.Params{Temperature: 0.8, TempRange: 0.5,
		TempExponent: 1, TopNSigma: 3, TopH: 0.9, TopK: 40, TopP: 0.95, MinP: 0.01, Typical: 0.9,
		Epsilon: 1e-3, Eta: 1e-3, XTCProbability: 0.5, XTCThreshold: 0.1, RepeatPenalty: 1.1,
		FrequencyPenalty: 0.1, PresencePenalty: 0.1, NoRepeatNgram: 4}}
	o.DRY = sample.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2}
	return o
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkCostOfFilters: a token of each stream in turn.
func BenchmarkCostOfFilters(b *testing.B) {
	for _, format := range []string{"f32", "q4"} {
		b.Run(format, func(b *testing.B) {
			m := smallestIn(b, format)
			names := []string{"greedy", "top-k", "all"}
			ways := []decode.Options{{EndOfText: []int{}}, ordinary(0), everyFilter()}
			times := make([][]time.Duration, len(ways))
			for b.Loop() {
				var streams []*decode.Stream
				for _, o := range ways {
					st, err := decode.NewStream(m.NewSession(), manyIDs(50), o)
					if err != nil {
						b.Fatal(err)
					}
					streams = append(streams, st)
				}
				for n := range 100 {
					for i, st := range streams {
						start := time.Now()
						in, _ := st.Input(0)
						if err := m.Eval(context.Background(), in); err != nil {
							b.Fatal(err)
						}
						if _, _, err := st.Next(); err != nil {
							b.Fatal(err)
						}
						if n > 0 {
							times[i] = append(times[i], time.Since(start))
						}
					}
				}
			}
			greedy := median(times[0])
			b.ReportMetric(greedy.Seconds()*1e3, "ms-greedy")
			for i, name := range names[1:] {
				b.ReportMetric(median(times[i+1]).Seconds()/greedy.Seconds(), name+"/greedy")
			}
		})
	}
}

// takes times a text, and counts its steps: tokens that were not guessed.
func takes(
	b *testing.B, m *model.Model, prompt []int, o decode.Options,
) (took time.Duration, steps int) {
	start := time.Now()
	for t, err := range decode.Generate(context.Background(), m.NewSession(), prompt, o) {
		if err != nil {
			b.Fatal(err)
		}
		if !t.Guessed {
			steps++
		}
	}
	return time.Since(start), steps
}

// BenchmarkCostOfBeams: four beams and one stream, 24 tokens.
func BenchmarkCostOfBeams(b *testing.B) {
	m := smallest(b)
	one, four := time.Hour, time.Hour
	for b.Loop() {
		for range 5 {
			o := decode.Options{MaxTokens: 24, EndOfText: []int{}}
			took, _ := takes(b, m, manyIDs(50), o)
			one = min(one, took)
			start := time.Now()
			if _, err := search.Beams(context.Background(), m.NewSession(), manyIDs(50),
				search.BeamOptions{Beams: 4}, o); err != nil {
				b.Fatal(err)
			}
			four = min(four, time.Since(start))
		}
	}
	b.ReportMetric(one.Seconds()*1e3/24, "ms-token")
	b.ReportMetric(four.Seconds()/one.Seconds(), "beams/stream")
}

// BenchmarkCostOfGuesses: 200 tokens with each kind of speculation and without.
func BenchmarkCostOfGuesses(b *testing.B) {
	m, near := smallest(b), smallestIn(b, "q8")
	far := testmodel.Demo(b, model.Options{})
	repeating := make([]int, 60)
	for i := range repeating {
		repeating[i] = i % 12
	}
	for name, prompt := range map[string][]int{"random": manyIDs(60), "repeating": repeating} {
		b.Run(name, func(b *testing.B) {
			ways := []decode.Options{{}, {Lookup: 10}, {Draft: &guess.Model{Model: near}},
				{Draft: &guess.Model{Model: far}}}
			names := []string{"none", "lookup", "near-draft", "far-draft"}
			least := make([]time.Duration, len(ways))
			for b.Loop() {
				for i, o := range ways {
					o.MaxTokens, o.EndOfText, o.Temperature, o.TopK = 200, []int{}, 1, 40
					took, _ := takes(b, m, prompt, o)
					if least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			for i, name := range names[1:] {
				b.ReportMetric(least[i+1].Seconds()/least[0].Seconds(), name+"/none")
			}
			b.ReportMetric(least[0].Seconds()*1e3/200, "ms-token")
		})
	}
}

// BenchmarkLookupOnAnEdit: the demo writes a story that it has read, or an edit of it. It would not
// do so by itself, so Choose makes it.
func BenchmarkLookupOnAnEdit(b *testing.B) {
	m, tok := testmodel.Demo(b, model.Options{}), tokenizer.GPT2()
	tokens, err := tok.Bytes()
	if err != nil {
		b.Fatal(err)
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{})
	if err != nil {
		b.Fatal(err)
	}
	const story = "Once upon a time, there was a little girl named Lily. She loved to play with her " +
		"ball. One day, she went to the park with her mom. She saw a big, red ball and wanted to play " +
		"with it. Lily asked her mom if she could play with it, but her mom said no. Lily was sad and " +
		"did not want to play with her ball. But then, a boy came to help her."
	edit := strings.NewReplacer("Lily", "Tom", "park", "beach", "red", "blue").Replace(story)
	for name, text := range map[string]string{"same": story, "edit": edit} {
		b.Run(name, func(b *testing.B) {
			ids, err := tok.Encode(story + "\n\n")
			if err != nil {
				b.Fatal(err)
			}
			c, err := constrain.Choice(v, text)
			if err != nil {
				b.Fatal(err)
			}
			start, err := c.Start()
			if err != nil {
				b.Fatal(err)
			}
			least, steps := [2]time.Duration{time.Hour, time.Hour}, [2]int{}
			for b.Loop() {
				for range 10 {
					for i, lookup := range []int{0, 3} {
						took, n := takes(b, m, ids, decode.Options{Constraint: start, Lookup: lookup})
						least[i], steps[i] = min(least[i], took), n
					}
				}
			}
			b.ReportMetric(least[0].Seconds()/least[1].Seconds(), "none/lookup")
			b.ReportMetric(float64(steps[0])/float64(steps[1]), "tokens/step")
		})
	}
}
