package decode

// Strings found in a text as its bytes come: those that end it, and those that it may not have.

import "slices"

// A finder finds strings by the algorithm of Knuth, Morris and Pratt (1977).
type finder struct {
	strings []needle
	exempt  int // bytes at the text's beginning that were the prompt's: no string ends in them
}

// A needle is one of the strings.
type needle struct {
	text string

	// The length of the longest beginning that ends each beginning, without that itself. It grows
	// with the longest beginning that came: strings may be far longer than texts.
	borders []int // [up to len(text)+1], at least 2
}

// A textEnd is where a text ends that grows.
type textEnd struct {
	at      int   // bytes before it
	matched []int // of each string, the length of its longest beginning that ends here
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
// begins at start; if none is, start is -1.
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

// begun returns how many bytes before e may begin a string that is complete later.
func (f *finder) begun(e *textEnd) (n int) {
	for i := range f.strings {
		matched := e.matched[i]
		if s := &f.strings[i]; matched == len(s.text) {
			matched = s.borders[matched]
		}
		n = max(n, matched)
	}
	return n
}

// extend returns how long the longest beginning is that ends a text, given that of the text without
// its last byte.
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
