package gpu

// Small passes on a driver that records. Their launches depend on a few numbers only, because
// tokens, positions and pages are in the plan; and the numbers of rows are rounded up to a few
// sizes, so that a server's passes, whose texts come and go, are replayed all the same.

import (
	"math/bits"
	"slices"

	"picogpt/internal/engine"
)

// A shape holds everything that the launches of a small pass depend on.
type shape struct {
	rows, wanted, best int  // the numbers of rows are sizes
	single             bool // each text has one row
	words              int  // of the plan, if the recording copies it
	pool               Buffer
}

const (
	leastPlan      = 1024 // words of a plan that is copied; the scratch memory has as many
	mostFew        = 64   // rows of a pass that is recorded
	mostRecordings = 64   // stored at a time
)

// sizeOf returns the number of rows of the recording for a pass of n rows: 1, 2, 4, or a multiple
// of 8. The rows that are added have no text (see plan.pad).
func sizeOf(n int) int {
	switch {
	case n <= 2:
		return n
	case n <= 4:
		return 4
	}
	return (n + 7) / 8 * 8
}

// recordings holds the recordings of a driver that makes them; for any other driver, the recorder
// is nil.
type recordings struct {
	recorder Recorder
	kept     []recording // the one that was used last is the last
}

// A recording is that of a shape; 0 for a shape that was launched and not recorded yet.
type recording struct {
	of shape
	Recording
}

// fit reports whether a pass is one of those that are recorded: few rows, and no text whose rows
// attend together.
func (r *recordings) fit(p *engine.Pass, rows int) bool {
	return r.recorder != nil && rows <= mostFew &&
		!slices.ContainsFunc(p.Spans, func(s engine.Span) bool {
			return len(s.Tokens) >= leastTiled
		})
}

// forget drops all recordings, because the memory that they use is about to change.
func (r *recordings) forget() {
	for len(r.kept) > 0 {
		r.drop(0)
	}
}

// drop drops one recording.
func (r *recordings) drop(i int) {
	if kept := r.kept[i].Recording; kept != 0 {
		r.recorder.Forget(kept)
	}
	r.kept = slices.Delete(r.kept, i, i+1)
}

// launched stores that a pass of some shape was launched, kernel by kernel. If there are too many
// recordings, the one that was not used for longest goes.
func (r *recordings) launched(of shape) {
	if len(r.kept) == mostRecordings {
		r.drop(0)
	}
	r.kept = append(r.kept, recording{of: of})
}

// find returns the recording of a shape, which is then the last one used, or nil.
func (r *recordings) find(of shape) *recording {
	i := slices.IndexFunc(r.kept, func(k recording) bool { return k.of == of })
	if i < 0 {
		return nil
	}
	found, last := r.kept[i], len(r.kept)-1
	copy(r.kept[i:], r.kept[i+1:])
	r.kept[last] = found
	return &r.kept[last]
}

// shape returns the shape of a small pass, whose rows are one group.
func (q *queue) shape() shape {
	q.Gather(0)
	of := shape{rows: q.rows, wanted: q.plan.wanted, best: q.chosen(), pool: q.pool.buffer,
		single: q.plan.single}
	if q.scratch.hostPlan != nil {
		of.words = max(leastPlan, 1<<bits.Len(uint(len(q.plan.words)-1)))
	}
	return of
}

// replay replays the recording for a small pass, and reports whether it did. The first pass of a
// shape is launched kernel by kernel: a driver may load a kernel at its first launch, and CUDA
// before 12.3 cannot do that while it records.
func (q *queue) replay(of shape) bool {
	kept := q.recordings.find(of)
	if kept == nil {
		return false
	}
	q.chooser.k = of.best
	if kept.Recording == 0 {
		made := q.record(of)
		if q.err != nil {
			return true
		}
		kept.Recording = made
	}
	if of.words > 0 {
		copy(q.scratch.hostPlan, bytesOf(q.plan.words))
	} else if q.writePlan(); q.err != nil {
		return true
	}
	q.replayed = true
	q.err = fromDevice(q.recordings.recorder.Replay(kept.Recording))
	return true
}

// record records the launches of a small pass, which do not wait between layers. If the host has
// memory for it, the copies of the plan and of the best logits are recorded too.
func (q *queue) record(of shape) Recording {
	s := &q.scratch
	made, err := q.recordings.recorder.Record(func() error {
		if of.words > 0 {
			q.err = fromDevice(q.driver.Write(s.plan, 0, s.hostPlan[:4*of.words]))
		}
		q.embed()
		for i := range q.stack.h {
			q.block(i)
		}
		if n := q.plan.wanted; n > 0 {
			q.logits(0, n)
		}
		if of.best > 0 && s.hostBest != nil && q.err == nil {
			words := of.wanted * bestWords(of.best)
			q.err = fromDevice(q.driver.Read(s.hostBest[:4*words], s.best, 0))
		}
		return q.err
	})
	q.err = fromDevice(err)
	return made
}
