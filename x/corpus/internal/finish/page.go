package finish

// The report: the contents of a corpus's page.

import (
	"encoding/json"
	"fmt"
	"math"

	"picogpt/internal/strictjson"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/report"
)

// titles are the titles of the pages.
var titles = map[string]string{job.Score: "Scores of documents", job.Filter: "Filter by perplexity",
	job.Perplexity: "Perplexity", job.Generate: "Continuations"}

// report returns the page of a corpus.
func (c *Corpus) report(j *job.Job) (*report.Report, error) {
	m := &c.Manifest
	options, err := options(m.Options)
	if err != nil {
		return nil, err
	}
	r := &report.Report{
		Title: titles[m.Command], Digest: m.Digest.String(), Options: options,
		Model:   fmt.Sprintf("%s, %s", m.Model.Name, m.Model.DType),
		Records: int64(m.Records), Errors: int64(m.Errors), Tokens: int64(m.Tokens),
		Duplicates: int64(m.Duplicates),
	}
	if m.Perplexity != nil {
		r.Perplexity = *m.Perplexity
	}
	for _, reason := range m.Reasons {
		r.Reasons = append(r.Reasons, report.Reason{Text: reason.Text, Count: int64(reason.Count)})
	}
	if !j.Ranks() {
		return r, nil
	}
	r.Histogram = &c.Histogram
	for _, q := range m.Quantiles {
		r.Quantiles = append(r.Quantiles,
			report.Quantile{Percent: float64(q.Percent), Perplexity: number(q.Perplexity)})
	}
	if m.Filtered != nil {
		r.Filter = c.filtered()
	}
	return r, nil
}

// filtered returns the page's description of a filter.
func (c *Corpus) filtered() *report.Filter {
	f := &report.Filter{Kept: int64(c.Manifest.Kept)}
	for _, cut := range c.Manifest.Cuts {
		f.Cuts = append(f.Cuts, report.Cut{Label: cut.Label, Perplexity: number(cut.Perplexity),
			Share: float64(cut.Below) / float64(max(1, c.Ranked)), KeepsBelow: cut.Keeps == "below"})
	}
	return f
}

// number returns a perplexity of a manifest, NaN if it is infinite.
func number(x *float64) float64 {
	if x == nil {
		return math.Inf(1)
	}
	return *x
}

// options returns the options of a run with their names in the manifest.
func options(o any) (all []report.Option, _ error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	err = strictjson.Members(b, func(key string, value json.RawMessage) error {
		var text string
		switch {
		case value[0] == '{': // options of one command
			within, err := options(value)
			all = append(all, within...)
			return err
		case json.Unmarshal(value, &text) == nil:
			all = append(all, report.Option{Name: key, Value: text})
		default:
			all = append(all, report.Option{Name: key, Value: string(value)})
		}
		return nil
	})
	return all, err
}
