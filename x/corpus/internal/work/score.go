package work

// Scoring: gpt score for the lines of a file.

import (
	"context"
	"errors"
	"iter"

	"picogpt/eval"
	"picogpt/internal/lines"
)

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
