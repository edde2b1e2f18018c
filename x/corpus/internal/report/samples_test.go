package report

// Reports for the tests: corpora as they are, and as they should not be.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// sample makes a report of documents with these perplexities.
func sample(perplexities []float64) *Report {
	r := &Report{
		Title: "Perplexity of 20 files", Model: "gpt2 (124M), q8",
		Command: "corpus score --input 'texts/*.jsonl.zst' --output out/",
		Options: []Option{{"text field", "text"}, {"context", "1024"}},
		Digest:  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Records: int64(len(perplexities)), Tokens: 412 * int64(len(perplexities)),
		Histogram: &Histogram{},
	}
	var known []float64
	for _, p := range perplexities {
		r.Histogram.Add(p)
		if !math.IsNaN(p) {
			known = append(known, p)
		}
	}
	slices.Sort(known)
	for _, q := range []float64{0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100} {
		if n := len(known); n > 0 {
			r.Quantiles = append(r.Quantiles, Quantile{q, known[rank(q/100, n)]})
			r.Perplexity = known[n/2]
		}
	}
	return r
}

func rank(share float64, n int) int { return max(0, int(math.Ceil(share*float64(n)))-1) }

// keep filters by quantiles.
func keep(perplexities []float64, low, high float64) *Report {
	r, sorted := sample(perplexities), slices.Sorted(slices.Values(perplexities))
	n := len(sorted)
	r.Title = "Filter by perplexity"
	r.Command = "corpus filter --input 'texts/*.jsonl' --output out/ --keep 0.1..0.7"
	r.Filter = &Filter{Kept: int64(math.Round((high - low) * float64(n))), Cuts: []Cut{
		{fmt.Sprint("quantile ", low), sorted[rank(low, n)], low, false},
		{fmt.Sprint("quantile ", high), sorted[rank(high, n)], high, true}}}
	return r
}

// logNormal are perplexities of documents of the web: a hump, a long tail, a few that are noise.
func logNormal(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]float64, n)
	for i := range all {
		switch u := r.Float64(); {
		case u < 0.03: // what is repeated many times
			all[i] = math.Exp(1 + 0.4*math.Abs(r.NormFloat64()))
		case u < 0.0302:
			all[i] = math.Exp(10 + 2*r.NormFloat64())
		default:
			all[i] = math.Exp(3.7 + 0.75*r.NormFloat64() + 0.2*r.ExpFloat64())
		}
	}
	return all
}

const webDocuments = 20_000

func samples() map[string]*Report {
	web := logNormal(webDocuments)
	all := map[string]*Report{
		"web": sample(web), "empty": sample(nil), "one": sample([]float64{43.7}),
		"same":    sample(slices.Repeat([]float64{20}, 1000)),
		"nothing": {}, "none": sample([]float64{math.NaN(), math.NaN()}),
		"outside": sample([]float64{0.5, math.Inf(1), 1e13, math.NaN()}),
		"few":     sample([]float64{12, 15, 17.5, 18, 22, 30, 31, 33, 70, 400}),
		"kept":    keep(web, 0.1, 0.7), "edge": keep(web, 0.001, 0.999),
		"narrow": keep(web, 0.5, 0.51), "one kept": keep([]float64{43.7}, 0.1, 0.7),
	}
	below := sample(web)
	below.Title = "Filter by perplexity"
	kept := int64(0)
	for _, p := range web {
		if p < 50 {
			kept++
		}
	}
	below.Filter = &Filter{kept, []Cut{{"--below 50", 50, float64(kept) / float64(len(web)), true}}}
	below.Errors = 1234
	below.Duplicates = 17
	below.Took = 83*time.Minute + 12*time.Second
	below.Reasons = []Reason{
		{"invalid UTF-8 at byte 1203", 3}, {`no field "text"`, 1201},
		{"line longer than 64 MiB, want at most that much of a document", 12},
		{"invalid JSON: unexpected end of input", 9},
	}
	all["below"] = below

	far := sample(web)
	far.Filter = &Filter{far.Records, []Cut{{"--below 1e9", 1e9, 1, true}}}
	all["far"] = far

	huge := sample(web)
	for i := range huge.Histogram.Counts {
		huge.Histogram.Counts[i] *= 50_000_000
	}
	huge.Records, huge.Tokens = 1e12, 412e12
	all["huge"] = huge

	hostile := keep(web, 0.1, 0.7)
	for _, s := range []*string{&hostile.Title, &hostile.Command, &hostile.Model, &hostile.Digest,
		&hostile.Filter.Cuts[0].Label, &hostile.Filter.Cuts[1].Label} {
		*s = attack
	}
	hostile.Options = []Option{{attack, attack}}
	hostile.Errors = 30
	for range 30 {
		hostile.Reasons = append(hostile.Reasons, Reason{attack, 1})
	}
	all["hostile"] = hostile
	return all
}

const attack = "\"'><script>alert(1)</script></title></style></svg><img src=x onerror=alert(1)> {{.}} ]]>\u202e\x00\x1b\xff"
