// Passages: parts of a text in the pipeline, which know their origin, and the bound on what rules
// may make of one.

package tokenizer

import (
	"fmt"
)

// A passage is a part of a text, or what a normalizer or a pre-tokenizer has made of it.
type passage struct {
	text  string
	at    int    // byte of the whole text at which it begins
	spans []Span // [len(text)] the part of the whole text for each byte; nil: byte i is at+i
	bound *bound // nil: none
}

// slice returns a part of a passage.
func (p passage) slice(from, to int) passage {
	q := passage{text: p.text[from:to], at: p.at + from, bound: p.bound}
	if p.spans != nil {
		q.spans = p.spans[from:to]
		if from < len(p.spans) {
			q.at = p.spans[from].Start
		}
	}
	return q
}

// span returns the part of the whole text for a part of a passage.
func (p passage) span(from, to int) Span {
	switch {
	case p.spans == nil:
		return Span{p.at + from, p.at + to}
	case from < to:
		return Span{p.spans[from].Start, max(p.spans[from].Start, p.spans[to-1].End)}
	case from < len(p.spans):
		return Span{p.spans[from].Start, p.spans[from].Start}
	case from > 0:
		return Span{p.spans[from-1].End, p.spans[from-1].End}
	}
	return Span{p.at, p.at}
}

// A rewriting makes one passage from another, from left to right. Bytes that are neither replaced
// nor dropped are copied. If nothing changes, nothing is copied.
type rewriting struct {
	from  passage
	track bool // the result knows its origin
	done  int  // bytes of from that were copied, replaced or dropped
	full  bool // the bound is reached: nothing is written any more
	text  []byte
	spans []Span
}

// rewrite begins to rewrite a passage. The result knows its origin if p does, or if track is set.
func rewrite(p passage, track bool) rewriting {
	return rewriting{from: p, track: track || p.spans != nil}
}

// copyTo copies the bytes before byte to.
func (w *rewriting) copyTo(to int) {
	if w.full {
		return
	}
	if w.text == nil {
		w.text = make([]byte, 0, len(w.from.text)+len(w.from.text)/8+16)
	}
	w.text = append(w.text, w.from.text[w.done:to]...)
	if w.track {
		for i := w.done; i < to; i++ {
			w.spans = append(w.spans, w.from.span(i, i+1))
		}
	}
	w.done = to
}

// replace replaces the bytes from up to to by text.
func (w *rewriting) replace(from, to int, text string) {
	w.copyTo(from)
	w.full = w.full || !w.from.bound.grow(len(text)-(to-from))
	if w.full {
		return
	}
	w.text = append(w.text, text...)
	if w.track {
		span := w.from.span(from, to)
		for range len(text) {
			w.spans = append(w.spans, span)
		}
	}
	w.done = to
}

// result returns the new passage.
func (w *rewriting) result() passage {
	if w.text == nil {
		return w.from
	}
	w.copyTo(len(w.from.text))
	p := passage{text: string(w.text), at: w.from.at, bound: w.from.bound}
	if w.track {
		p.spans = w.spans
		if len(p.spans) > 0 {
			p.at = p.spans[0].Start
		}
	}
	return p
}

// A bound is on the bytes by which all rules together lengthen one text, and on their steps: a file
// of some bytes can say that each letter becomes a million, or that a thousand patterns are tried
// at each. No rule of Unicode makes more than 11 bytes of one, and spelling bytes as characters at
// most doubles that; the patterns of gpt-4o take 10 to 120 steps for a byte.
type bound struct {
	bytes  int // of the text
	grown  int
	worked int // steps: bytes that a rule reads, and what its pattern tries
	err    error

	pause func() error // asked between steps; its error ends the work. It may be nil
	since int          // steps since it was asked
}

const (
	growthFor = 32 // of each byte of a text
	growth    = 64 << 10
	workFor   = 512 // of each byte of a text
	work      = 16 << 20
	workPart  = 32       // steps of a part or a replacement besides its bytes
	pauseFor  = 64 << 10 // steps
)

// grow counts so many bytes more or less. It is false where the bound is reached.
func (b *bound) grow(bytes int) bool {
	if b == nil {
		return true
	}
	b.grown += max(0, bytes)
	if most := growth + growthFor*b.bytes; b.grown > most && b.err == nil {
		b.err = fmt.Errorf("a text of %d bytes grows by more than %d "+
			"by the rules of the vocabulary", b.bytes, most)
	}
	return b.work(workPart) == nil
}

// work counts steps. It returns the error of what was done before, or that of pause.
func (b *bound) work(steps int) error {
	if b == nil {
		return nil
	}
	b.worked += steps
	if most := work + workFor*b.bytes; b.worked > most && b.err == nil {
		b.err = fmt.Errorf("a text of %d bytes takes more than %d steps "+
			"by the rules of the vocabulary", b.bytes, most)
	}
	if b.since += steps; b.since >= pauseFor && b.err == nil && b.pause != nil {
		b.err, b.since = b.pause(), 0
	}
	return b.err
}

// fail keeps the error of a rule.
func (b *bound) fail(err error) {
	if b != nil && b.err == nil {
		b.err = err
	}
}
