package decode

// Masks of constraints that are found before their token is chosen, so that what takes long can run
// beside the steps of a batch.

import (
	"picogpt/constrain"
	"picogpt/sample"
)

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

// FindMask finds the mask of the constraint for the next token, unless that takes more than so many
// steps of *constrain.Text. Then it returns a function that finds it, to be called once, in any
// goroutine; until that has returned the stream takes no Input, Next, Push or Fork. Without FindMask,
// and with constraints of other types, a mask is found when the token is chosen.
func (s *Stream) FindMask(steps int) (rest func()) {
	form, ok := s.constraint.(quick)
	if !ok || s.access == AccessForks || s.mask != nil {
		return nil
	}
	m := &mask{open: make([]uint64, (s.limits.vocabulary+63)/64)}
	s.mask = m
	m.find(func() (err error) {
		ok, err = form.MaskWithin(m.open, steps)
		return err
	})
	if ok || m.panicked != nil {
		return nil
	}
	return func() { m.find(func() error { return form.(constrain.Matcher).Mask(m.open) }) }
}

// Busy reports whether Next has to wait until another text's mask is found.
func (s *Stream) Busy() bool {
	form, ok := s.constraint.(quick)
	return ok && form.Busy()
}

// find calls f, whose panic is that of the text's caller.
func (m *mask) find(f func() error) {
	defer func() { m.panicked = recover() }()
	m.err = f()
}

// take makes a mask that was found the sampler's.
func (m *mask) take(s *sample.Sampler) error {
	if m.panicked != nil {
		panic(m.panicked)
	}
	s.Open = m.open
	return m.err
}

var _ quick = (*constrain.Text)(nil)
