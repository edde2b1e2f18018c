// The result of encoding so far.

package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// A Span is a range of bytes of a text, [Start, End).
type Span struct{ Start, End int }

// encoded is the result of encoding so far.
type encoded struct {
	ids       []int
	spans     []Span // [len(ids)] if wantSpans
	wantSpans bool
	special   bool // special tokens in the text become their ids
	track     bool // passages know their origin
	pause     func() error
	arcSpace  []arc
	symbols   symbols
}

// add appends one token. A span never begins before the one before it: without this rule it would
// if bytes of a character come before unknown characters that wait (charbpe.go).
func (e *encoded) add(id int, s Span) {
	e.ids = append(e.ids, id)
	if e.wantSpans {
		if n := len(e.spans); n > 0 {
			s.Start = max(s.Start, e.spans[n-1].Start)
			s.End = max(s.Start, s.End)
		}
		e.spans = append(e.spans, s)
	}
}

// cut removes tokens, so that n are left.
func (e *encoded) cut(n int) {
	e.ids = e.ids[:n]
	if e.wantSpans {
		e.spans = e.spans[:n]
	}
}

// unknown appends the token for text that the vocabulary has no token for. If there is no such
// token, it returns an error that names the first character and its byte.
func (e *encoded) unknown(id uint32, p passage, from, to int) error {
	if id == none {
		_, size := utf8.DecodeRuneInString(p.text[from:])
		return fmt.Errorf("byte %d of the text, %s: the vocabulary has no token for it",
			p.span(from, to).Start, quote.Short(p.text[from:from+size], 60))
	}
	e.add(int(id), p.span(from, to))
	return nil
}

// bytes appends a token for each byte, if all bytes have one.
func (e *encoded) bytes(ids *[256]uint32, p passage, from, to int) bool {
	for i := from; i < to; i++ {
		if ids[p.text[i]] == none {
			return false
		}
	}
	for i := from; i < to; i++ {
		e.add(int(ids[p.text[i]]), p.span(i, i+1))
	}
	return true
}

// arcs returns n arcs, which the caller sets.
func (e *encoded) arcs(n int) []arc {
	if cap(e.arcSpace) < n {
		e.arcSpace = make([]arc, n+n/2)
	}
	return e.arcSpace[:n]
}
