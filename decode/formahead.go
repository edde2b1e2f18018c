package decode

// Masks of a Batcher: what takes long is found beside the steps, so that no form makes the texts of
// others wait.

import "picogpt/constrain"

// quickMask is how many steps the mask of a text may take between two steps of the batch: some
// 100 µs, of which most masks take a hundredth.
const quickMask = 1 << 13

// A mask is what may come next in a text, or why nothing may.
type mask struct {
	open     []uint64
	err      error
	panicked any
}

// A quick is a Matcher that gives up what takes long. *constrain.Text is one.
type quick interface {
	MaskWithin(open []uint64, steps int) (done bool, err error)
	Busy() bool // Accept would wait for the mask of another text
}

// masked reports whether the mask for a text's next token is known, or will be found when the token
// is chosen. One that takes long is being found after it, and the goroutine is told when it is.
func (b *Batcher) masked(t *task) bool {
	s := t.Stream
	if s.constraint == nil || s.forks || s.mask != nil {
		return true
	}
	if s.finding != nil {
		select {
		case s.mask = <-s.finding:
			s.finding = nil
			return true
		default:
			return false
		}
	}
	form, ok := s.constraint.(quick)
	if !ok {
		return true
	}
	m := &mask{open: make([]uint64, (s.limits.vocabulary+63)/64)}
	if m.find(func() (err error) {
		ok, err = form.MaskWithin(m.open, quickMask)
		return err
	}); ok || m.panicked != nil {
		s.mask = m
		return true
	}
	s.finding = make(chan *mask, 1)
	b.workers.Add(1)
	go b.findMask(m, s.constraint, t.request, s.finding)
	return false
}

// busy reports whether a text's next token has to wait until its form is free.
func (t *task) busy() bool {
	form, ok := t.constraint.(quick)
	return ok && form.Busy()
}

// findMask finds a mask, one at a time, unless nobody waits for it any more.
func (b *Batcher) findMask(m *mask, form constrain.Matcher, r *request, found chan<- *mask) {
	defer b.workers.Done()
	defer b.kick()
	b.finding <- struct{}{}
	defer func() { <-b.finding }()
	if b.ctx.Err() != nil || r.left.Load() || r.ended.Load() != nil {
		m.err = ErrBatcherClosed
	} else {
		m.find(func() error { return form.Mask(m.open) })
	}
	found <- m
}

// find calls f, whose panic is that of the text's caller.
func (m *mask) find(f func() error) {
	defer func() { m.panicked = recover() }()
	m.err = f()
}

// take makes a mask that was found the sampler's.
func (m *mask) take(s *Sampler) error {
	if m.panicked != nil {
		panic(m.panicked)
	}
	s.open = m.open
	return m.err
}

var _ quick = (*constrain.Text)(nil)
