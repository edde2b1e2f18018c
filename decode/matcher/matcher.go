// Package matcher is the wall between texts in the making and what they must match: package decode
// asks a [Matcher], package constrain makes some, and neither imports the other.
package matcher

import "fmt"

// A Matcher follows one text, token by token. *constrain.Text implements it; a program may bring
// its own. One goroutine at a time may use a Matcher; its forks may be used concurrently with it.
type Matcher interface {
	// Mask sets the bit of each id that may come next, id 64i+j in bit j of open[i], and clears all
	// others. open may have more bits than there are ids, or fewer. After a token that ends the
	// text no id is open. An error means that the rules exceed a bound here, so that the text
	// cannot continue.
	Mask(open []uint64) error

	// Accept adds an id to the text. It returns an error, and changes nothing, if the id is not
	// open.
	Accept(id int) error

	// Rewind removes the newest n ids.
	Rewind(n int) error

	// Fork returns an independent Matcher of the same text.
	Fork() Matcher
}

// Begin returns a fork of m for a new text, or nil for nil. It knows which ids end the text, if m has
// a method for that, as *constrain.Text has.
func Begin(m Matcher, ends []int) Matcher {
	if m == nil {
		return nil
	}
	fork := m.Fork()
	if f, ok := fork.(interface{ EndWith(ids []int) }); ok {
		f.EndWith(ends)
	}
	return fork
}

// A NotOpenError says that a Matcher does not allow an id at its position.
type NotOpenError struct {
	ID    int
	Bytes []byte
}

func (e *NotOpenError) Error() string {
	return fmt.Sprintf("id %d (%q) does not fit the constraint here", e.ID, e.Bytes)
}
