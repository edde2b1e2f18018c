package decode

// Finds strings in a text as its bytes arrive: stop strings and banned strings.

import "slices"

// A finder finds strings by the algorithm of Knuth, Morris and Pratt (1977).
type finder struct {
	strings []needle
	exempt  int // bytes at the text's beginning that belong to the prompt: no string ends in them
}

// A needle is one of the strings.
type needle struct {
	text string

	// borders[n] is the length of the longest border (proper prefix that is also a suffix) of the
	// first n bytes. It grows with the longest prefix that is matched: strings may be far longer
	// than texts.
	borders []int // [up to len(text)+1], at least 2
}

// A textEnd is a position in a growing text, its end so far.
type textEnd struct {
	at      int   // how many bytes precede it
	matched []int // of each string, the length of its longest prefix that ends here
}

func newFinder(list []string, exempt int) (finder, textEnd) {
	f := finder{exempt: exempt}
	for _, s := range list {
		f.strings = append(f.strings, needle{s, []int{0, 0}})
	}
	return f, textEnd{matched: make([]int, len(list))}
}

// fork returns a finder that another goroutine may use.
func (f *finder) fork() finder {
	c := finder{slices.Clone(f.strings), f.exempt}
	for i := range c.strings { // it does not append to what both have
		c.strings[i].borders = slices.Clip(c.strings[i].borders)
	}
	return c
}

// next adds a byte to the text that ends at e. If strings are complete with it, the longest of them
// begins at start; if there are none, start is -1.
func (f *finder) next(e *textEnd, b byte) (start int) {
	e.at++
	start = -1
	for i := range f.strings {
		s := &f.strings[i]
		n := s.extend(e.matched[i], b)
		e.matched[i] = n
		if n == len(s.text) && e.at > f.exempt && (start < 0 || e.at-n < start) {
			start = e.at - n
		}
	}
	return start
}

// pendingBytes returns how many of the bytes before e may be the beginning of an incomplete string.
func (f *finder) pendingBytes(e *textEnd) (n int) {
	for i := range f.strings {
		matched := e.matched[i]
		if s := &f.strings[i]; matched == len(s.text) {
			matched = s.borders[matched]
		}
		n = max(n, matched)
	}
	return n
}

// extend returns the length of the longest prefix that ends the text, given that of the text
// without its last byte.
func (s *needle) extend(n int, last byte) int {
	for n > 0 && (n == len(s.text) || s.text[n] != last) {
		n = s.borders[n]
	}
	if s.text[n] == last {
		n++
	}
	if n == len(s.borders) {
		s.borders = append(s.borders, s.extend(s.borders[n-1], s.text[n-1]))
	}
	return n
}
