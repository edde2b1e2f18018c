package batch

// Masks of constraints: a slow one is found in a goroutine of its own, so that other texts do not
// wait for it.

// quickMask bounds the search for a mask between two steps of the batch, in the searcher's own
// steps: some 100 µs, of which most masks take a hundredth.
const quickMask = 1 << 13

// masked reports whether the mask for a text's next token is known, or will be found when the token
// is chosen. If not, it is being found, and the loop is woken when it is there.
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

// findMask finds a mask, one at a time, unless the request has ended, as the loop will notice.
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
