package gpu

// Small passes on a driver that records. Their launches depend on a few numbers only, because
// tokens, positions and pages are in the plan.

// A shape holds everything that the launches of a small pass depend on.
type shape struct {
	rows, alone, wanted, best int
	pool                      Buffer
}

// mostRecordings bounds the number of stored recordings.
const mostRecordings = 64

// recordings holds the recordings of a driver that makes them; for any other driver, the recorder
// is nil.
type recordings struct {
	recorder Recorder
	kept     map[shape]Recording // 0 for a shape that was launched and not recorded yet
}

// fit reports whether a pass is one of those that are recorded.
func (r *recordings) fit(rows, tiles int) bool {
	return r.recorder != nil && rows <= mostFew && tiles == 0
}

// forget drops all recordings, because the memory that they use is about to change.
func (r *recordings) forget() {
	for _, kept := range r.kept {
		if kept != 0 {
			r.recorder.Forget(kept)
		}
	}
	clear(r.kept)
}

// launched records that a pass of some shape was launched, kernel by kernel.
func (r *recordings) launched(of shape) {
	if len(r.kept) >= mostRecordings {
		r.forget()
	}
	r.kept[of] = 0
}

// shape returns the shape of a small pass, whose rows are one group.
func (q *queue) shape() shape {
	q.Gather(0)
	return shape{q.rows, q.plan.alone, len(q.Wanted), q.chosen(), q.pool.buffer}
}

// replay replays the recording for a small pass, and reports whether it did. The first pass of a
// shape is launched kernel by kernel: a driver may load a kernel at its first launch, and CUDA
// before 12.3 cannot do that while it records.
func (q *queue) replay(of shape) bool {
	kept, ok := q.recordings.kept[of]
	if !ok {
		return false
	}
	q.chooser.k = of.best
	if kept == 0 {
		if kept = q.record(); q.err != nil {
			return true
		}
		q.recordings.kept[of] = kept
	}
	q.err = fromDevice(q.recordings.recorder.Replay(kept))
	return true
}

// record records the launches of a small pass. They do not wait between layers.
func (q *queue) record() Recording {
	kept, err := q.recordings.recorder.Record(func() error {
		q.embed()
		for i := range q.stack.h {
			q.block(i)
		}
		if n := len(q.Wanted); n > 0 {
			q.logits(0, n)
		}
		return q.err
	})
	q.err = fromDevice(err)
	return kept
}
