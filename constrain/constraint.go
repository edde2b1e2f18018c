package constrain

// Constraint and Matcher: what a text must fit, and how far one text has come.

import "fmt"

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
	mask(s state, open []uint64) error     // adds ids; not those that end a text
	accept(s state, id int) (state, error) // a dead state if the id is not open
}

// state is what an automaton knows of a text; dead if no text begins like this.
type state interface{ dead() bool }

// A Text is how far a text has come under a constraint. It implements Matcher.
type Text struct {
	a      automaton
	states []state // before each id, and now
	ended  bool    // the newest id ends the text
}

// Start returns a Matcher of an empty text.
func (c *Constraint) Start() (*Text, error) {
	s, err := c.a.root()
	if err != nil {
		return nil, err
	}
	return &Text{a: c.a, states: []state{s}}, nil
}

// A NotOpenError is an id that a constraint does not allow where it came.
type NotOpenError struct {
	ID    int
	Bytes []byte
}

func (e *NotOpenError) Error() string {
	return fmt.Sprintf("id %d (%q) does not fit the constraint here", e.ID, e.Bytes)
}

func (t *Text) now() state { return t.states[len(t.states)-1] }

// Complete says whether the text may end here.
func (t *Text) Complete() bool { return !t.ended && t.a.accepts(t.now()) }

// Mask implements Matcher.
func (t *Text) Mask(open []uint64) error {
	v := t.a.vocabulary()
	clear(open)
	if len(open) < v.Words() { // a model that has fewer ids than its vocabulary
		all := make([]uint64, v.Words())
		err := t.Mask(all)
		copy(open, all)
		return err
	}
	if t.ended {
		return nil
	}
	if err := t.a.mask(t.now(), open); err != nil {
		return err
	}
	if t.a.accepts(t.now()) {
		v.openEnds(open)
	}
	return nil
}

// Accept implements Matcher.
func (t *Text) Accept(id int) error {
	v := t.a.vocabulary()
	switch {
	case id < 0 || id >= v.size:
		return fmt.Errorf("id %d: want ids below %d", id, v.size)
	case t.ended:
		return fmt.Errorf("id %d: the text has ended", id)
	case v.isEnd(id) && t.a.accepts(t.now()):
		t.states, t.ended = append(t.states, t.now()), true
		return nil
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
	return &Text{a: t.a, states: append([]state(nil), t.states...), ended: t.ended}
}
