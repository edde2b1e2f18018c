package gpu

// Small passes on a driver that records: their launches depend on nothing but a few numbers, since
// tokens, positions and pages are in the plan.

import "context"

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
	kept     map[shape]Recording
}

// fit reports whether a pass is one of those that are recorded.
func (r *recordings) fit(rows, tiles int) bool {
	return r.recorder != nil && rows <= mostFew && tiles == 0
}

// forget drops all recordings: the memory that they use is about to change.
func (r *recordings) forget() {
	for _, kept := range r.kept {
		r.recorder.Forget(kept)
	}
	clear(r.kept)
}

// replay launches the whole pass at once, as it was recorded when a pass had this shape for the
// first time.
func (q *queue) replay() {
	q.Gather(0)
	q.chooser.k = q.chosen()
	r := &q.recordings
	of := shape{q.rows, q.plan.alone, len(q.Wanted), q.chooser.k, q.pool.buffer}
	kept, ok := r.kept[of]
	if !ok {
		if len(r.kept) >= mostRecordings {
			r.forget()
		}
		var err error
		kept, err = r.recorder.Record(func() error {
			q.layers(context.Background())
			if n := len(q.Wanted); n > 0 {
				q.logits(0, n)
			}
			return q.err
		})
		if q.err = fromDevice(err); err != nil {
			return
		}
		r.kept[of] = kept
	}
	q.err = fromDevice(r.recorder.Replay(kept))
}
