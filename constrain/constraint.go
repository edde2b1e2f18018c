package constrain

// Constraint and Text: what a text must match, and the state of one text: the ids that may come
// next, and what it must continue with.

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/grammar"
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
// such as formats that nobody defines; and, with [SchemaOptions].Closed, that objects are closed,
// or which one could not be; which valid texts are left out; and that no end of its texts is known,
// which [Text.Within] needs. Each is one line.
func (c *Constraint) Notes() []string {
	notes := slices.Clone(c.notes)
	if c.form.Need(c.form.Start()) >= never {
		notes = append(notes, "no end of its texts is known: the bound on their tokens may cut them")
	}
	return notes
}

// Bytes returns approximately how much memory the constraint takes now: the compiled form, and what
// it stores of its texts. The vocabulary is not counted.
func (c *Constraint) Bytes() int { return c.form.Bytes() }

// form is the interface of both kinds of forms. A state is what may follow after some text; it
// never changes.
type form interface {
	Start() (state any)
	Accepts(state any) bool // the text may end
	// adds the open ids, except those that end a text, and those after which the text needs more
	// than left others, so far as is known
	Mask(state any, open []uint64, left, steps int) error
	Accept(state any, id int) (next any, err error) // nil if the id is not open
	Busy() bool                                     // Accept may wait for the mask of another text
	Bytes() int                                     // memory, approximately
	Need(state any) int                             // ids that complete the text suffice
	End(state any) []int                            // such ids, perhaps fewer
	Roomy(state any, left int) bool                 // Mask with left adds all, and that is known
}

// A Text is the state of one text under a constraint. It implements Matcher.
type Text struct {
	of     *Constraint
	ends   []int // ids that end the text
	states []any // before each id, and the current one
	ended  bool  // the newest id ends the text
	within limit
}

// Start returns a Matcher for an empty text.
func (c *Constraint) Start() (*Text, error) {
	return &Text{of: c, ends: c.vocab.ends, states: []any{c.form.Start()}}, nil
}

// EndWith sets the ids that end the text, instead of the vocabulary's Ends: they are open only
// where the text may end, and their bytes do not count. Without ids no token ends the text. A
// grammar can still read an end token that has no bytes by its name or number.
func (t *Text) EndWith(ids []int) { t.ends, t.within.asked = slices.Clone(ids), false }

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
	if err == automaton.ErrSteps {
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
	if err := t.of.form.Mask(t.now(), all, math.MaxInt, steps); err != nil {
		return err
	}
	if err := t.inTime(all, steps); err != nil {
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
	t.follow(id)
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
		w := &t.within // which keeps no end that begins after this
		w.ends = slices.DeleteFunc(w.ends, func(e end) bool { return e.after >= len(t.states) })
	}
	return nil
}

// Fork implements Matcher.
func (t *Text) Fork() Matcher {
	w := t.within
	return &Text{of: t.of, ends: t.ends, states: slices.Clone(t.states), ended: t.ended,
		within: limit{most: w.most, ends: slices.Clone(w.ends), asked: w.asked, can: w.can}}
}

// Forced returns the bytes that must follow, at most so many and a character: every text of the
// form that begins like this one continues with them. It looks no further where the text may end,
// where it may continue in two ways, and where finding out takes long; so it may return fewer.
func (t *Text) Forced(most int) (forced []byte) {
	if t.ended {
		return nil
	}
	if f, ok := t.of.form.(*grammar.Form); ok && !f.Mixed() {
		return f.Forced(t.now(), most)
	}
	v := t.of.vocab.ids
	ahead := &Text{of: t.of, ends: t.ends, states: []any{t.now()}}
	var open []uint64
	for len(forced) < most && !ahead.Busy() && !ahead.divided() {
		if open == nil {
			open = make([]uint64, v.Words())
		}
		if ahead.maskWithin(open, forcedSteps) != nil {
			break
		}
		b, ok := v.First(open)
		if !ok || ahead.Accept(v.Alone(b)) != nil {
			break
		}
		forced = append(forced, b)
	}
	return forced
}

// forcedSteps bounds the search for a mask.
const forcedSteps = 1 << 10

// divided reports whether the text may continue with two bytes of a few, which takes less time
// than its mask.
func (t *Text) divided() bool {
	v, ways := t.of.vocab.ids, 0
	for _, b := range []byte(`e1" ,]}0`) {
		id := v.Alone(b)
		if id < 0 {
			continue
		}
		if next, err := t.of.form.Accept(t.now(), id); err == nil && next != nil {
			if ways++; ways > 1 {
				return true
			}
		}
	}
	return false
}

// Prefixes yields the ids that may come next where some bytes are forced, those with which the
// bytes begin, and how many bytes each has: the shortest first.
func (t *Text) Prefixes(forced []byte) iter.Seq2[int, int] {
	return func(yield func(id, n int) bool) {
		v, at := t.of.vocab.ids, 0
		for i, b := range forced {
			if at = v.Child(at, b); at < 0 {
				return
			}
			for id := range v.Same(at) {
				if !slices.Contains(t.ends, id) && !yield(id, i+1) {
					return
				}
			}
		}
	}
}
