package constrain

// Constraint and Matcher: what a text must match, and the state of one text.

import (
	"fmt"
	"math"
	"slices"

	"picogpt/constrain/internal/meter"
	"picogpt/decode/matcher"
)

// A Matcher is what package decode asks of a text's form. *Text implements it.
type Matcher = matcher.Matcher

// A NotOpenError says that a constraint does not allow an id at its position.
type NotOpenError = matcher.NotOpenError

// A Constraint is what texts must match, compiled for a vocabulary. Any number of texts may use it
// concurrently.
type Constraint struct {
	vocab *Vocabulary
	form  form
	notes []string
}

// Notes says what a schema contains that restricts nothing, though its author may have meant it to,
// such as formats that nobody defines; and, with [SchemaOptions].Closed, that objects are closed, or
// which one could not be. Each is one line.
func (c *Constraint) Notes() []string { return slices.Clone(c.notes) }

// Bytes returns approximately how much memory the constraint takes now: the compiled form, and what
// it stores of its texts. The vocabulary is not counted.
func (c *Constraint) Bytes() int { return c.form.Bytes() }

// form is the interface of both kinds of forms. A state is what may follow after some text; it
// never changes.
type form interface {
	Start() (state any)
	Accepts(state any) bool // the text may end
	// adds the open ids, except those that end a text
	Mask(state any, open []uint64, steps int) error
	Accept(state any, id int) (next any, err error) // nil if the id is not open
	Busy() bool                                     // Accept may wait for the mask of another text
	Bytes() int                                     // memory, approximately
}

// A Text is the state of one text under a constraint. It implements Matcher.
type Text struct {
	of     *Constraint
	ends   []int // ids that end the text
	states []any // before each id, and the current one
	ended  bool  // the newest id ends the text
}

// Start returns a Matcher for an empty text.
func (c *Constraint) Start() (*Text, error) {
	return &Text{of: c, ends: c.vocab.ends, states: []any{c.form.Start()}}, nil
}

// EndWith sets the ids that end the text, instead of the vocabulary's Ends: they are open only
// where the text may end, and their bytes do not count. Without ids no token ends the text. A
// grammar can still read an end token that has no bytes by its name or number.
func (t *Text) EndWith(ids []int) { t.ends = slices.Clone(ids) }

func (t *Text) now() any { return t.states[len(t.states)-1] }

// Complete reports whether the text matches the form as it is.
func (t *Text) Complete() bool { return t.ended || t.of.form.Accepts(t.now()) }

// Mask implements Matcher.
func (t *Text) Mask(open []uint64) error { return t.maskWithin(open, math.MaxInt) }

// MaskWithin is Mask if that takes at most the given number of steps, of about 20 ns each.
// Otherwise done is false, and open does not hold the mask. Partial results are stored: the next
// attempt takes fewer steps.
func (t *Text) MaskWithin(open []uint64, steps int) (done bool, err error) {
	err = t.maskWithin(open, steps)
	if err == meter.ErrSteps {
		return false, nil
	}
	return true, err
}

// Busy reports whether Accept may have to wait, because a long computation of a mask for another
// text of the constraint is running.
func (t *Text) Busy() bool { return t.of.form.Busy() }

func (t *Text) maskWithin(open []uint64, steps int) error {
	clear(open)
	if t.ended {
		return nil
	}
	all, v := open, t.of.vocab
	if words := v.Words(); len(open) < words { // a model with fewer ids
		all = make([]uint64, words)
	}
	if err := t.of.form.Mask(t.now(), all, steps); err != nil {
		return err
	}
	copy(open, all)
	accepts := t.of.form.Accepts(t.now())
	for _, id := range t.ends {
		switch bit := uint64(1) << (id & 63); {
		case id < 0 || id>>6 >= len(open):
		case accepts:
			open[id>>6] |= bit
		case len(v.Bytes(id)) > 0:
			open[id>>6] &^= bit
		}
	}
	return nil
}

// Accept implements Matcher.
func (t *Text) Accept(id int) error {
	v, end := t.of.vocab, slices.Contains(t.ends, id)
	switch {
	case !end && (id < 0 || id >= v.Size()):
		return fmt.Errorf("id %d: want ids below %d", id, v.Size())
	case t.ended:
		return fmt.Errorf("id %d: the text has ended", id)
	case end && t.of.form.Accepts(t.now()):
		t.states, t.ended = append(t.states, t.now()), true
		return nil
	case end && (id >= v.Size() || len(v.Bytes(id)) > 0):
		return &NotOpenError{ID: id, Bytes: v.Bytes(id)}
	}
	next, err := t.of.form.Accept(t.now(), id)
	if err != nil {
		return err
	}
	if next == nil {
		return &NotOpenError{ID: id, Bytes: v.Bytes(id)}
	}
	t.states = append(t.states, next)
	return nil
}

// Rewind implements Matcher.
func (t *Text) Rewind(n int) error {
	if n < 0 || n >= len(t.states) {
		return fmt.Errorf("rewind by %d: want from 0 to the %d ids of the text", n,
			len(t.states)-1)
	}
	if n > 0 {
		t.states, t.ended = t.states[:len(t.states)-n], false
	}
	return nil
}

// Fork implements Matcher.
func (t *Text) Fork() Matcher {
	return &Text{of: t.of, ends: t.ends, states: slices.Clone(t.states), ended: t.ended}
}
