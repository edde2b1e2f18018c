// Passages: parts of a text on their way through the pipeline, that know where they came from.

package tokenizer

// A passage is a part of a text, or what a normalizer or a pre-tokenizer made of it.
type passage struct {
	text  string
	at    int    // byte of the whole text at which it begins
	spans []Span // [len(text)] what each byte stands for in the whole text; nil: byte i for at+i
}

// slice returns a part of a passage.
func (p passage) slice(from, to int) passage {
	q := passage{text: p.text[from:to], at: p.at + from}
	if p.spans != nil {
		q.spans = p.spans[from:to]
		if from < len(p.spans) {
			q.at = p.spans[from].Start
		}
	}
	return q
}

// span returns what a part of a passage stands for in the whole text.
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

// A rewriting makes a passage of another one, from left to right. What is neither replaced nor
// dropped is kept. Where nothing changes, nothing is copied.
type rewriting struct {
	from  passage
	track bool // the result tells where it came from
	done  int  // bytes of from that are kept, replaced or dropped
	text  []byte
	spans []Span
}

// rewrite begins to rewrite a passage. A passage whose origin is known keeps it.
func rewrite(p passage, track bool) rewriting {
	return rewriting{from: p, track: track || p.spans != nil}
}

// keep copies what comes before byte to.
func (w *rewriting) keep(to int) {
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

// replace puts text in the place of the bytes from, up to to.
func (w *rewriting) replace(from, to int, text string) {
	w.keep(from)
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
	w.keep(len(w.from.text))
	p := passage{text: string(w.text), at: w.from.at}
	if w.track {
		p.spans = w.spans
		if len(p.spans) > 0 {
			p.at = p.spans[0].Start
		}
	}
	return p
}
