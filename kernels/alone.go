package kernels

// Work that is too small to share: one worker does it as a team of one.

// Alone runs body on the first worker, which is a team of one in body; the other workers wait. It
// ends with a barrier. Small passes run so: the bits do not depend on it.
func Alone(w *Worker, body func(w *Worker)) {
	t := w.team
	if t.solo == nil {
		body(w)
		return
	}
	if w.id == 0 {
		t.solo.Run(body)
	}
	w.Sync()
}

// RunAlone is Run for a worker that is a team of one: the other workers are not woken.
func (t *Team) RunAlone(body func(w *Worker)) {
	if t.solo == nil {
		t.Run(body)
		return
	}
	t.lock()
	defer t.running.Unlock()
	if !t.closed {
		t.workers[0].goroutine.Store(t.goroutine())
		defer t.workers[0].goroutine.Store(0)
		t.solo.Run(body)
	}
}
