// Passages: parts of a text in the pipeline, which know their origin.

package tokenizer

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
