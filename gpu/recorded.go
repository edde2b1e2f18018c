package gpu

// Small passes on a driver that records: their launches depend on nothing but a few numbers, since
// tokens, positions and pages are in the plan.

// A shape is what the launches of a small pass depend on.
type shape struct {
	rows, alone, wanted, best int
	pool                      Buffer
}

// mostRecordings bounds how many shapes are kept.
const mostRecordings = 64

// recordings are the recordings of a driver that makes them; of another, the recorder is nil.
type recordings struct {
	recorder Recorder
	kept     map[shape]Recording // 0 of a shape that has been launched, and not recorded yet
}

// fit reports whether a pass is one of those that are recorded.
func (r *recordings) fit(rows, tiles int) bool {
	return r.recorder != nil && rows <= mostFew && tiles == 0
}

// forget drops all recordings: the memory that they use is about to change.
func (r *recordings) forget() {
	for _, kept := range r.kept {
		if kept != 0 {
			r.recorder.Forget(kept)
		}
	}
	clear(r.kept)
}

// launched notes that a pass of some shape has been launched, kernel by kernel.
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

// replay launches a small pass at once, as it has been recorded, and reports whether it did. The
// first pass of a shape is left to be launched kernel by kernel: a driver may load a kernel when it
// is launched for the first time, and CUDA before 12.3 cannot while it records.
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

// record records the launches of a small pass. Nothing waits among them, as layers may.
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
