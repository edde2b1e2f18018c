package work

// Measuring and scoring: gpt perplexity for each document, and gpt score for the lines of a file.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"picogpt/eval"
	"picogpt/internal/lines"
)

// perplexity measures each document of the items.
func (r *run) perplexity(ctx context.Context, items iter.Seq[*item]) iter.Seq2[outcome, error] {
	o := &r.job.Perplexity
	requests := func(yield func(eval.DocumentRequest) bool) {
		for it := range items {
			documents, err := r.documents(it)
			if err != nil {
				documents = []eval.Document{{}}
			}
			for _, d := range documents {
				if !yield(eval.DocumentRequest{Document: d, Tag: it, Err: err}) {
					return
				}
			}
		}
	}
	return func(yield func(outcome, error) bool) {
		options := eval.Options{Protocol: o.Protocol, Window: o.Window, Stride: o.Stride}
		n := 0
		for d, err := range eval.MeasureEach(ctx, r.loaded.Model, requests, options) {
			// Total would report it only after all is measured
			if n++; err == nil && n > 1 && o.Protocol != eval.LMEval {
				yield(outcome{}, fmt.Errorf("%s, line %d: a second document, want 1 for %s",
					d.Tag.(*item).Source, d.Tag.(*item).First, o.Protocol))
				return
			}
			var bad *eval.RequestError
			made := outcome{}
			switch {
			case errors.As(err, &bad):
				made, err = outcome{item: d.Tag.(*item), err: bad.Err}, nil
			case err == nil:
				made = measured(&d)
			}
			if !yield(made, err) {
				return
			}
		}
	}
}

// documents returns the documents of an item: one, or the pages of a file of WikiText.
func (r *run) documents(it *item) ([]eval.Document, error) {
	t := r.loaded.encoder(r.job.Fields.Special)
	if it.Err != nil {
		return nil, it.Err
	}
	if it.form == "wikitext" {
		text, err := eval.NewWikiText(r.job.Perplexity.Protocol, t, it.Text)
		return text.Documents, err
	}
	q := eval.Request{Text: it.Text}
	if it.Object != nil {
		in := lines.RequestReader{TextField: r.job.Fields.Text}
		var err error
		if q, err = in.Object(it.Object); err != nil {
			return nil, err
		}
	}
	switch {
	case q.Pair:
		return nil, errors.New("context and continuation, want text or tokens: a document is measured whole")
	case q.Tokens != nil:
		return eval.NewTokens(q.Tokens, t).Documents, nil
	}
	d, err := eval.NewDocument(t, q.Text)
	return []eval.Document{d}, err
}

// measured returns the outcome of a measurement. Its record, of which only the digest is kept, has
// the document's tokens and the log-probability of each scored token.
func measured(d *eval.Measured) (o outcome) {
	o.item = d.Tag.(*item)
	record := &eval.Record{ID: o.item.ID, Tokens: d.IDs, LogProbs: make([]*float64, len(d.IDs))}
	o.records = []*eval.Record{record}
	for i, x := range d.LogProbs {
		if !math.IsNaN(x) {
			record.LogProbs[i] = &x
			o.entry.Count++
			o.entry.Sum += x
		}
	}
	o.entry.Tokens, o.entry.Words, o.entry.Bytes = d.Tokens, d.Words, d.Bytes
	o.entry.Scored, o.entry.Windows, o.entry.Squares = d.Scored, d.Windows, d.Squares
	return o
}

// Scoring: gpt score for the lines of a file.

// score makes the records of gpt score.
func (r *run) score(ctx context.Context, items iter.Seq[*item]) iter.Seq2[outcome, error] {
	o := &r.job.Score
	in := lines.RequestReader{TextField: r.job.Fields.Text}
	out := lines.Output{Fields: o.Fields, Keep: o.Keep, Offsets: o.Offsets}
	requests := func(yield func(eval.Request) bool) {
		for it := range items {
			q := eval.Request{Text: it.Text, Err: it.Err}
			if it.Err == nil && it.Object != nil {
				q, q.Err = in.Object(it.Object)
			}
			if q.Tag = it; !yield(q) {
				return
			}
		}
	}
	options := eval.ScoreOptions{BOS: o.BOS, Top: o.Top}
	return func(yield func(outcome, error) bool) {
		t := r.loaded.encoder(r.job.Fields.Special)
		for s, err := range eval.Score(ctx, r.loaded.Model, t, requests, options) {
			var bad *eval.RequestError
			made := outcome{}
			switch {
			case errors.As(err, &bad):
				made, err = outcome{item: s.Tag.(*item), err: bad.Err}, nil
			case err == nil:
				made, err = r.scored(&out, &s)
			}
			if !yield(made, err) {
				return
			}
		}
	}
}

// scored returns the outcome of a score.
func (r *run) scored(out *lines.Output, s *eval.Scored) (o outcome, err error) {
	o.item = s.Tag.(*item)
	record := out.Record(&o.item.Row, s)
	o.records = []*eval.Record{&record.Record}
	o.entry.Count, o.entry.Sum = s.Count, s.Sum
	if r.shard != nil {
		o.line, err = out.Line(&o.item.Row, record)
	}
	return o, err
}
