// Package pipeline is the graph of a run, for any of Beam's runners: the input is divided into
// pieces, each piece is processed on some worker, and the results are combined in one place.
//
//	match → cut → pack → work on a piece → finish
//
// A filter then ranks all documents, and distributes the pieces again.
//
// Only descriptors of sources, parts and pieces are sent, and one summary for each piece: texts are
// read where they are scored, and records are written from there. A piece may be processed twice,
// if a worker dies or a runner tries again; both attempts write the same bytes under the same
// names.
package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"picogpt/x/corpus/internal/finish"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/work"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(input.Source), error](&matchFn{})
	register.DoFn3x1[context.Context, input.Source, func(input.Part), error](&cutFn{})
	register.DoFn4x0[int, func(*[]byte) bool, func(*input.Part) bool, func(job.Piece)](&packFn{})
	register.DoFn3x1[context.Context, job.Piece, func(work.Summary), error](&workFn{})
	register.DoFn3x1[context.Context, int, func(*work.Summary) bool, error](&finishFn{})
	register.Emitter1[input.Source]()
	register.Emitter1[input.Part]()
	register.Emitter1[job.Piece]()
	register.Emitter1[work.Summary]()
	register.Iter1[input.Part]()
	register.Iter1[work.Summary]()
}

// New returns the graph. For a share of the pieces it has no last step: the run that completes the
// last piece finishes.
func New(j *job.Job) *beam.Pipeline {
	p := beam.NewPipeline()
	s := p.Root()
	sources := beam.ParDo(s.Scope("Match"), &matchFn{j.Input}, beam.Impulse(s))
	parts := beam.ParDo(s.Scope("Cut"), &cutFn{j.Input.PieceBytes}, beam.Reshuffle(s, sources))
	pieces := beam.ParDo(s.Scope("Pack"), &packFn{j.Input.PieceBytes, j.Share},
		atLeastOnce(s, parts))
	done := beam.ParDo(s.Scope("Work"), &workFn{Job: *j}, beam.Reshuffle(s, pieces))
	switch {
	case !j.Share.All():
	case j.Command == job.Filter:
		filter(s, j, done)
	default:
		beam.ParDo0(s.Scope("Finish"), &finishFn{*j}, together(s, done))
	}
	return p
}

// together passes all elements to one call.
func together(s beam.Scope, c beam.PCollection) beam.PCollection {
	return beam.GroupByKey(s, beam.AddFixedKey(s, c))
}

// atLeastOnce passes all elements to one call, which is made even if there are none: a group
// without elements does not exist, so an extra element is added.
func atLeastOnce(s beam.Scope, c beam.PCollection) beam.PCollection {
	return beam.CoGroupByKey(s, beam.AddFixedKey(s, beam.Impulse(s)), beam.AddFixedKey(s, c))
}

// A matchFn lists the sources.
type matchFn struct{ Input input.Options }

func (f *matchFn) ProcessElement(ctx context.Context, _ []byte, emit func(input.Source)) error {
	sources, err := input.Match(ctx, f.Input)
	for _, source := range sources {
		emit(source)
	}
	return failure(err)
}

// A cutFn divides a source into parts.
type cutFn struct{ PieceBytes int64 }

func (f *cutFn) ProcessElement(ctx context.Context, s input.Source, emit func(input.Part)) error {
	parts, err := input.Cut(ctx, s, f.PieceBytes)
	for _, part := range parts {
		emit(part)
	}
	return failure(err)
}

// A packFn makes pieces of the parts, and emits those of the share. There is at least one piece, so
// that there is something to finish.
type packFn struct {
	PieceBytes int64
	Share      job.Share
}

func (f *packFn) ProcessElement(
	_ int, _ func(*[]byte) bool, next func(*input.Part) bool, emit func(job.Piece),
) {
	var parts []input.Part
	for part := (input.Part{}); next(&part); part = (input.Part{}) {
		parts = append(parts, part)
	}
	packed := input.Pack(parts, f.PieceBytes)
	if len(packed) == 0 {
		packed = append(packed, nil)
	}
	work.This.All.Store(0)
	for i, parts := range packed {
		if f.Share.Has(i) {
			work.This.All.Add(1)
			emit(job.Piece{Index: i, Of: len(packed), Parts: parts})
		}
	}
}

// A workFn does the work on a piece.
type workFn struct {
	Job job.Job

	counts counts
}

func (f *workFn) Setup() { f.counts = newCounts() }

func (f *workFn) ProcessElement(
	ctx context.Context, p job.Piece, emit func(work.Summary),
) error {
	summary, err := work.This.Do(ctx, &f.Job, &p)
	if err != nil {
		return failure(fmt.Errorf("piece %d of %d: %w", p.Index+1, p.Of, err))
	}
	f.counts.add(ctx, summary)
	emit(*summary)
	return nil
}

// A finishFn writes the results for the whole corpus.
type finishFn struct{ Job job.Job }

func (f *finishFn) ProcessElement(
	ctx context.Context, _ int, next func(*work.Summary) bool,
) error {
	return failure(finish.Write(ctx, &f.Job, summaries(next)))
}

// summaries returns the summaries of all pieces.
func summaries(next func(*work.Summary) bool) []work.Summary {
	return collect(next, func(s *work.Summary) int { return s.Piece.Index })
}

// collect returns the results of pieces in order. A piece that was processed twice counts once.
func collect[T any](next func(*T) bool, index func(*T) int) (all []T) {
	for x := *new(T); next(&x); x = *new(T) {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b T) int { return index(&a) - index(&b) })
	return slices.CompactFunc(all, func(a, b T) bool { return index(&a) == index(&b) })
}

// mark begins a function's description of its failure. Runners put text around it.
const mark = "corpus failed: "

// failure returns a marked error, in one line.
func failure(err error) error {
	if err == nil {
		return nil
	}
	//lint:ignore ST1005 the end of the line is that of what is marked
	return fmt.Errorf("%s%s\n", mark, strings.Join(strings.Fields(err.Error()), " "))
}

// Cause returns a function's description of its failure, if a runner's error contains it.
func Cause(err error) string {
	_, said, found := strings.Cut(err.Error(), mark)
	if !found {
		return ""
	}
	said, _, _ = strings.Cut(said, "\n")
	return said
}

// Beam's metrics.

const space = "corpus" // prefix of the names of metrics

// counts are the metrics of a piece of work.
type counts struct {
	records, errors, tokens, pieces beam.Counter
	speed                           beam.Distribution // tokens a second of a piece
}

func newCounts() counts {
	return counts{
		beam.NewCounter(space, "records"), beam.NewCounter(space, "errors"),
		beam.NewCounter(space, "tokens"), beam.NewCounter(space, "pieces"),
		beam.NewDistribution(space, "tokens_per_second"),
	}
}

func (c *counts) add(ctx context.Context, s *work.Summary) {
	c.records.Inc(ctx, int64(s.Records))
	c.errors.Inc(ctx, int64(s.Errors))
	c.tokens.Inc(ctx, int64(s.Tokens))
	c.pieces.Inc(ctx, 1)
	if s.Seconds > 0 && !s.Resumed {
		c.speed.Update(ctx, int64(float64(s.Tokens)/s.Seconds))
	}
}

// selectCounts are those of a filter's second phase.
type selectCounts struct{ kept, dropped, unranked beam.Counter }

func newSelectCounts() selectCounts {
	return selectCounts{beam.NewCounter(space, "kept"), beam.NewCounter(space, "dropped"),
		beam.NewCounter(space, "unranked")}
}

func (c *selectCounts) add(ctx context.Context, k *work.Kept) {
	c.kept.Inc(ctx, int64(k.Kept))
	c.dropped.Inc(ctx, int64(k.Dropped))
	c.unranked.Inc(ctx, int64(k.Unranked))
}
