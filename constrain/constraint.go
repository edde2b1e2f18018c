package constrain

// Constraint and Matcher: what a text must fit, and how far one text has come.

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Matcher follows one text, token by token. *Text is one; a program may bring its own. A Matcher
// belongs to one goroutine; its forks may run beside it.
type Matcher interface {
	// Mask sets the bit of each id that may come next, id 64i+j in bit j of open[i], and clears
	// the others. open may have more bits than there are ids, or fewer. Nothing is open after an
	// end of text. An error means that the rules exceed a budget here: the text cannot be
	// continued under them.
	Mask(open []uint64) error

	// Accept adds an id to the text. It errs, and changes nothing, if the id is not open.
	Accept(id int) error

	// Rewind takes the newest n ids back.
	Rewind(n int) error

	// Fork returns a Matcher of the same text that continues on its own.
	Fork() Matcher
}

// A Constraint is what texts must fit, compiled for a vocabulary. Any number of texts may use it
// at once.
type Constraint struct{ a automaton }

// automaton is what the kinds of constraints have in common. States never change.
type automaton interface {
	vocabulary() *Vocabulary
	root() (state, error)
	accepts(s state) bool
	mask(s state, open []uint64, steps int) error // adds ids; not those that end a text
	accept(s state, id int) (state, error)        // a dead state if the id is not open
	busy() bool                                   // accept may have to wait for another text's mask
	held() int                                    // bytes of memory, about
}

// state is what an automaton knows of a text; dead if no text begins like this.
type state interface{ dead() bool }

// A Text is how far a text has come under a constraint. It implements Matcher.
type Text struct {
	a      automaton
	ends   []int   // ids that end the text
	states []state // before each id, and now
	ended  bool    // the newest id ends the text
}

// Start returns a Matcher of an empty text.
func (c *Constraint) Start() (*Text, error) {
	s, err := c.a.root()
	if err != nil {
		return nil, err
	}
	return &Text{a: c.a, ends: c.a.vocabulary().ends, states: []state{s}}, nil
}

// EndWith makes some ids end the text, in place of the vocabulary's Ends: they are open exactly
// where the text may end, and their bytes count for nothing. Without ids no token ends the text.
// A grammar can still read one that has no bytes, by its name or its number.
func (t *Text) EndWith(ids []int) { t.ends = slices.Clone(ids) }

// A NotOpenError is an id that a constraint does not allow where it came.
type NotOpenError struct {
	ID    int
	Bytes []byte
}

func (e *NotOpenError) Error() string {
	return fmt.Sprintf("id %d (%q) does not fit the constraint here", e.ID, e.Bytes)
}

func (t *Text) now() state { return t.states[len(t.states)-1] }

// Complete says whether the text is of the form, as it is.
func (t *Text) Complete() bool { return t.ended || t.a.accepts(t.now()) }

// errSteps says that a mask needs more steps than there may be.
var errSteps = errors.New("too many steps")

// Mask implements Matcher.
func (t *Text) Mask(open []uint64) error { return t.maskWithin(open, math.MaxInt) }

// MaskWithin is Mask if that takes at most so many steps, of some 20 ns each; else done is false and
// open is not what may come next. What was found is kept: the next try takes less.
func (t *Text) MaskWithin(open []uint64, steps int) (done bool, err error) {
	err = t.maskWithin(open, steps)
	if err == errSteps {
		return false, nil
	}
	return true, err
}

// Busy says whether Accept may have to wait because the mask of another text of the constraint is
// being found, and takes long.
func (t *Text) Busy() bool { return t.a.busy() }

func (t *Text) maskWithin(open []uint64, steps int) error {
	clear(open)
	if t.ended {
		return nil
	}
	all := open
	if words := t.a.vocabulary().Words(); len(open) < words { // a model with fewer ids
		all = make([]uint64, words)
	}
	if err := t.a.mask(t.now(), all, steps); err != nil {
		return err
	}
	copy(open, all)
	accepts := t.a.accepts(t.now())
	for _, id := range t.ends {
		switch bit := uint64(1) << (id & 63); {
		case id < 0 || id>>6 >= len(open):
		case accepts:
			open[id>>6] |= bit
		case len(t.a.vocabulary().Bytes(id)) > 0:
			open[id>>6] &^= bit
		}
	}
	return nil
}

// Accept implements Matcher.
func (t *Text) Accept(id int) error {
	v, end := t.a.vocabulary(), slices.Contains(t.ends, id)
	switch {
	case !end && (id < 0 || id >= v.size):
		return fmt.Errorf("id %d: want ids below %d", id, v.size)
	case t.ended:
		return fmt.Errorf("id %d: the text has ended", id)
	case end && t.a.accepts(t.now()):
		t.states, t.ended = append(t.states, t.now()), true
		return nil
	case end && (id >= v.size || len(v.bytes[id]) > 0):
		return &NotOpenError{id, v.Bytes(id)}
	}
	next, err := t.a.accept(t.now(), id)
	if err != nil {
		return err
	}
	if next.dead() {
		return &NotOpenError{id, v.bytes[id]}
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
	return &Text{a: t.a, ends: t.ends, states: slices.Clone(t.states), ended: t.ended}
}
