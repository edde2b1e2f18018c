package batch

// Masks that take long are found beside the steps, so that no form makes the texts of others wait.

// quickMask is how many steps the mask of a text may take between two steps of the batch: some
// 100 µs, of which most masks take a hundredth.
const quickMask = 1 << 13

// masked reports whether the mask for a text's next token is known, or will be found when the token
// is chosen. One that takes long is being found after it, and the goroutine is told when it is.
func (b *Batcher) masked(t *task) bool {
	if t.finding != nil {
		select {
		case <-t.finding:
			t.finding = nil
			return true
		default:
			return false
		}
	}
	rest := t.FindMask(quickMask)
	if rest == nil {
		return true
	}
	t.finding = make(chan struct{})
	b.workers.Add(1)
	go b.findMask(rest, t.request, t.finding)
	return false
}

// findMask finds a mask, one at a time, unless its request ends before.
func (b *Batcher) findMask(find func(), r *request, found chan<- struct{}) {
	defer b.workers.Done()
	defer b.kick()
	b.finding <- struct{}{}
	defer func() { <-b.finding }()
	if b.ctx.Err() == nil && !r.left.Load() && r.ended.Load() == nil {
		find()
		close(found)
	}
}
