package kernels

// Whether a goroutine is inside a Run. Such a goroutine must not wait for that Run to end.

// Inside reports whether the calling goroutine is one of the team's workers during a Run.
func (t *Team) Inside() bool {
	id := t.goroutine()
	for i := range t.workers {
		if t.workers[i].goroutine.Load() == id {
			return true
		}
	}
	return false
}
