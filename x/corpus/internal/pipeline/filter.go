package pipeline

// The second phase of a filter: after all documents are ranked, the pieces are distributed again,
// and their kept documents are written.
//
//	work → cuts → select from a piece → finish

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"picogpt/x/corpus/internal/finish"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/work"
)

func init() {
	register.DoFn5x1[context.Context, int, func(*work.Summary) bool, func(work.Selection),
		func([]byte), error](&cutsFn{})
	register.DoFn3x1[context.Context, work.Selection, func(work.Kept), error](&selectFn{})
	register.DoFn4x1[context.Context, int, func(*work.Kept) bool, func(*[]byte) bool, error](
		&finishFilterFn{})
	register.Emitter1[work.Selection]()
	register.Emitter1[work.Kept]()
	register.Emitter1[[]byte]()
	register.Iter1[work.Kept]()
	register.Iter1[[]byte]()
}

// filter adds the second phase to the graph.
func filter(s beam.Scope, j *job.Job, done beam.PCollection) {
	selections, corpus := beam.ParDo2(s.Scope("Cuts"), &cutsFn{*j}, together(s, done))
	kept := beam.ParDo(s.Scope("Select"), &selectFn{Job: *j}, beam.Reshuffle(s, selections))
	all := beam.CoGroupByKey(s, beam.AddFixedKey(s, kept), beam.AddFixedKey(s, corpus))
	beam.ParDo0(s.Scope("Finish"), &finishFilterFn{*j}, all)
}

// A cutsFn finds the cuts, and distributes the pieces again. Only the last step gets the results
// for all documents.
type cutsFn struct{ Job job.Job }

func (f *cutsFn) ProcessElement(
	ctx context.Context, _ int, next func(*work.Summary) bool, emit func(work.Selection),
	corpus func([]byte),
) error {
	all := summaries(next)
	c, err := finish.Add(ctx, &f.Job, all)
	if err != nil {
		return failure(err)
	}
	b, err := c.Encode()
	if err != nil {
		return failure(err)
	}
	for i := range all {
		emit(work.Selection{Piece: all[i].Piece, Errors: all[i].Errors, Cuts: c.Keep,
			Corpus: c.Manifest.Digest.String()})
	}
	corpus(b)
	return nil
}

// A selectFn writes the kept documents of a piece.
type selectFn struct {
	Job job.Job

	counts selectCounts
}

func (f *selectFn) Setup() { f.counts = newSelectCounts() }

func (f *selectFn) ProcessElement(
	ctx context.Context, s work.Selection, emit func(work.Kept),
) error {
	kept, err := work.This.Select(ctx, &f.Job, &s)
	if err != nil {
		return failure(fmt.Errorf("piece %d of %d: %w", s.Piece.Index+1, s.Piece.Of, err))
	}
	f.counts.add(ctx, kept)
	emit(*kept)
	return nil
}

// A finishFilterFn writes the results for the whole corpus.
type finishFilterFn struct{ Job job.Job }

func (f *finishFilterFn) ProcessElement(
	ctx context.Context, _ int, next func(*work.Kept) bool, corpus func(*[]byte) bool,
) error {
	var b []byte
	if !corpus(&b) {
		return failure(fmt.Errorf("the cuts are lost"))
	}
	c, err := finish.Decode(b)
	if err != nil {
		return failure(err)
	}
	all := collect(next, func(k *work.Kept) int { return k.Piece.Index })
	return failure(c.WriteKept(ctx, &f.Job, all))
}
