package charset

// Alphabet: the characters, divided into the classes that an automaton distinguishes.

import (
	"fmt"
	"iter"
	"sort"
	"unicode"

	"picogpt/constrain/internal/meter"
)

// An Alphabet gives each character a class: characters of one class are in the same charsets.
type Alphabet struct {
	ASCII   [128]uint16
	starts  []rune   // the first character of each piece, a run of characters of one class
	class   []uint16 // the class of each piece
	Members []rune   // one character of each class
}

// maxClasses bounds the kinds of characters that an alphabet may distinguish.
const maxClasses = 1 << 12

// NewAlphabet returns the coarsest alphabet for some charsets.
func NewAlphabet(what string, sets []Set, m *meter.Meter) (*Alphabet, error) {
	type event struct {
		at  rune
		set int32
	}
	var events []event
	for i, s := range sets {
		if err := m.Charge(4 + 24*len(s)); err != nil { // the cost of sorting
			return nil, err
		}
		for _, r := range s {
			events = append(events, event{r.Lo, int32(i)}, event{r.Hi + 1, int32(i)})
		}
	}
	sort.Slice(events, func(i, j int) bool { return events[i].at < events[j].at })
	a := &Alphabet{}
	in := make([]byte, (len(sets)+7)/8) // the sets that contain the piece
	known := map[string]uint16{}
	piece := func(at rune) {
		c, ok := known[string(in)]
		if !ok {
			c = uint16(len(a.Members))
			known[string(in)] = c
			a.Members = append(a.Members, at)
		}
		if n := len(a.class); n == 0 || a.class[n-1] != c {
			a.starts, a.class = append(a.starts, at), append(a.class, c)
		}
	}
	if len(events) == 0 || events[0].at > 0 {
		piece(0)
	}
	for i := 0; i < len(events); {
		at := events[i].at
		for ; i < len(events) && events[i].at == at; i++ {
			in[events[i].set/8] ^= 1 << (events[i].set % 8)
		}
		if err := m.Charge(8 + len(in)/8); err != nil {
			return nil, err
		}
		if at <= unicode.MaxRune {
			piece(at)
		}
		if len(a.Members) > maxClasses {
			return nil, fmt.Errorf("%s: more than %d kinds of characters", what, maxClasses)
		}
	}
	for r := range a.ASCII {
		a.ASCII[r] = a.class[a.piece(rune(r))]
	}
	return a, nil
}

// piece returns the piece that contains a character.
func (a *Alphabet) piece(r rune) int {
	return sort.Search(len(a.starts), func(i int) bool { return a.starts[i] > r }) - 1
}

// Of returns the class of a character.
func (a *Alphabet) Of(r rune) uint16 {
	if r < 128 {
		return a.ASCII[r]
	}
	return a.beyond(r)
}

// beyond is of for characters beyond ASCII: so short, of is inlined.
func (a *Alphabet) beyond(r rune) uint16 { return a.class[a.piece(r)] }

// Any reports whether a property holds for the class of a character from lo to hi.
func (a *Alphabet) Any(lo, hi rune, holds func(class uint16) bool) bool {
	if lo > hi {
		return false
	}
	for i := a.piece(lo); i < len(a.starts) && a.starts[i] <= hi; i++ {
		if holds(a.class[i]) {
			return true
		}
	}
	return false
}

// Classes returns the classes of the pieces from lo to hi.
func (a *Alphabet) Classes(lo, hi rune) []uint16 { return a.class[a.piece(lo) : a.piece(hi)+1] }

// Pieces yields the runs of characters of one class from lo to hi.
func (a *Alphabet) Pieces(lo, hi rune) iter.Seq2[Range, uint16] {
	return func(yield func(Range, uint16) bool) {
		for i := a.piece(lo); i < len(a.starts) && a.starts[i] <= hi; i++ {
			last := hi
			if i+1 < len(a.starts) {
				last = min(hi, a.starts[i+1]-1)
			}
			if !yield(Range{max(lo, a.starts[i]), last}, a.class[i]) {
				return
			}
		}
	}
}

// Size returns the number of pieces.
func (a *Alphabet) Size() int { return len(a.starts) }

// Those returns the classes of the characters of a set.
func (a *Alphabet) Those(set Set) (list []uint16) {
	in := make([]bool, len(a.Members))
	for _, r := range set {
		for _, class := range a.Classes(r.Lo, r.Hi) {
			if !in[class] {
				in[class] = true
				list = append(list, class)
			}
		}
	}
	return list
}
