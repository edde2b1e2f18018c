package constrain

// Alphabet: the characters, divided into the classes that an automaton distinguishes.

import (
	"fmt"
	"iter"
	"sort"
	"unicode"
)

// An alphabet gives each character a class: characters of one class are in the same charsets.
type alphabet struct {
	ascii   [128]uint16
	starts  []rune   // the first character of each piece, a run of characters of one class
	class   []uint16 // the class of each piece
	members []rune   // one character of each class
}

// newAlphabet returns the coarsest alphabet for some charsets.
func newAlphabet(what string, sets []charset, m *meter) (*alphabet, error) {
	type event struct {
		at  rune
		set int32
	}
	var events []event
	for i, s := range sets {
		if err := m.charge(4 + 24*len(s)); err != nil { // the cost of sorting
			return nil, err
		}
		for _, r := range s {
			events = append(events, event{r.lo, int32(i)}, event{r.hi + 1, int32(i)})
		}
	}
	sort.Slice(events, func(i, j int) bool { return events[i].at < events[j].at })
	a := &alphabet{}
	in := make([]byte, (len(sets)+7)/8) // the sets that contain the piece
	known := map[string]uint16{}
	piece := func(at rune) {
		c, ok := known[string(in)]
		if !ok {
			c = uint16(len(a.members))
			known[string(in)] = c
			a.members = append(a.members, at)
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
		if err := m.charge(8 + len(in)/8); err != nil {
			return nil, err
		}
		if at <= unicode.MaxRune {
			piece(at)
		}
		if len(a.members) > maxClasses {
			return nil, fmt.Errorf("%s: more than %d kinds of characters", what, maxClasses)
		}
	}
	for r := range a.ascii {
		a.ascii[r] = a.class[a.piece(rune(r))]
	}
	return a, nil
}

// piece returns the piece that contains a character.
func (a *alphabet) piece(r rune) int {
	return sort.Search(len(a.starts), func(i int) bool { return a.starts[i] > r }) - 1
}

// of returns the class of a character.
func (a *alphabet) of(r rune) uint16 {
	if r < 128 {
		return a.ascii[r]
	}
	return a.class[a.piece(r)]
}

// any reports whether a property holds for the class of a character from lo to hi.
func (a *alphabet) any(lo, hi rune, holds func(class uint16) bool) bool {
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

// classesOf returns the classes of the pieces from lo to hi.
func (a *alphabet) classesOf(lo, hi rune) []uint16 { return a.class[a.piece(lo) : a.piece(hi)+1] }

// pieces yields the runs of characters of one class from lo to hi.
func (a *alphabet) pieces(lo, hi rune) iter.Seq2[runeRange, uint16] {
	return func(yield func(runeRange, uint16) bool) {
		for i := a.piece(lo); i < len(a.starts) && a.starts[i] <= hi; i++ {
			last := hi
			if i+1 < len(a.starts) {
				last = min(hi, a.starts[i+1]-1)
			}
			if !yield(runeRange{max(lo, a.starts[i]), last}, a.class[i]) {
				return
			}
		}
	}
}

// size returns the number of pieces.
func (a *alphabet) size() int { return len(a.starts) }

// those returns the classes of the characters of a set.
func (a *alphabet) those(set charset) (list []uint16) {
	in := make([]bool, len(a.members))
	for _, r := range set {
		for _, class := range a.classesOf(r.lo, r.hi) {
			if !in[class] {
				in[class] = true
				list = append(list, class)
			}
		}
	}
	return list
}
