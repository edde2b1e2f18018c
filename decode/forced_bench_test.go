package decode

// What drafts of forced text gain: whole texts, with and without them in turn.
//
//	go test -c -o decode.test ./decode
//	chrt -f 50 ./decode.test -test.run - -test.bench Forced -test.benchtime 1x

import (
	"context"
	"slices"
	"testing"
	"time"

	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// BenchmarkForced writes texts with the demo under forms that force about half of their bytes, and
// under one that forces none: medians of 11 runs each way.
func BenchmarkForced(b *testing.B) {
	m, tok := testmodel.Demo(b, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Once upon a time, there was a little girl.")
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range forcedForms {
		for _, way := range []struct {
			name        string
			temperature float64
		}{{"greedy", 0}, {"sampled", 0.8}} {
			b.Run(form.name+"/"+way.name, func(b *testing.B) {
				c, err := form.compile(gpt2())
				if err != nil {
					b.Fatal(err)
				}
				text, err := c.Start()
				if err != nil {
					b.Fatal(err)
				}
				o := Options{Vocabulary: tok, MaxTokens: 150}
				o.Temperature, o.TopK = way.temperature, 40
				var times [2][]time.Duration
				forced, bytes, tokens := 0, 0, 0
				for b.Loop() {
					for range 12 {
						for i := range times {
							var took time.Duration
							for o.Seed = 1; o.Seed <= 3; o.Seed++ {
								if o.Constraint = text; i == 0 {
									o.Constraint = unforced{text}
								}
								start := time.Now()
								at := text.Fork().(interface {
									Forced(int) []byte
									Accept(int) error
								})
								for t, err := range Generate(context.Background(), m.NewSession(), prompt, o) {
									if err != nil {
										b.Fatal(err)
									}
									if i == 0 {
										continue
									}
									wait := time.Now()
									n := len(gpt2().Bytes(t.ID))
									forced, bytes, tokens = forced+min(n, len(at.Forced(n))), bytes+n, tokens+1
									if err := at.Accept(t.ID); err != nil {
										b.Fatal(err)
									}
									start = start.Add(time.Since(wait))
								}
								took += time.Since(start)
							}
							times[i] = append(times[i], took)
						}
					}
				}
				for _, t := range times {
					slices.Sort(t)
				}
				without, with := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(100*float64(forced)/float64(bytes), "%forced")
				b.ReportMetric(without.Seconds()*1e3, "ms-without")
				b.ReportMetric(with.Seconds()*1e3, "ms-with")
				b.ReportMetric(without.Seconds()/with.Seconds(), "without/with")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
