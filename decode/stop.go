package decode

// Stop strings and runes: stop strings are never shown in part, and runes are never split.

import (
	"bytes"
	"slices"

	"picogpt/tokenizer"
)

// textStream turns the bytes of a text, as they become certain, into text that can be shown at
// once. It holds back the bytes that may be the beginning of a stop string, or of a rune whose
// other bytes have not arrived. Its texts, concatenated, are the tokens' bytes exactly, cut before
// the stop string, or with keep behind it; bytes that cannot be part of a rune pass unchanged.
type textStream struct {
	stops finder
	keep  bool // the text ends with the stop string, and not before it
	heldText
}

// heldText is the part of a text that is not shown yet.
type heldText struct {
	end  textEnd // the end of the text
	held []byte  // the bytes before end; they contain every stop string, complete or not
}

func (h *heldText) clone() heldText {
	end := textEnd{h.end.at, slices.Clone(h.end.matched)}
	return heldText{end, bytes.Clone(h.held)}
}

// newTextStream returns a text stream; no stop string ends in its first exempt bytes.
func newTextStream(stops []string, keep bool, exempt int) *textStream {
	t := &textStream{keep: keep}
	t.stops, t.end = newFinder(stops, exempt)
	return t
}

// fork returns an independent copy of the text stream.
func (t *textStream) fork() *textStream {
	return &textStream{t.stops.fork(), t.keep, t.clone()}
}

// push takes the next bytes and returns the text that is decided. At the first byte where a stop
// string is complete the text ends: stopped is true, and the text is cut where that string begins
// (the longest, if there are several), or with keep after that byte.
func (t *textStream) push(certain string) (text string, stopped bool) {
	for i := range len(certain) {
		t.held = append(t.held, certain[i])
		if start := t.stops.next(&t.end, certain[i]); start >= 0 {
			if text = string(t.held); !t.keep {
				text = text[:len(text)-(t.end.at-start)]
			}
			t.held = t.held[:0]
			return text, true
		}
	}
	n := tokenizer.WholeRunes(t.held[:len(t.held)-t.stops.pendingBytes(&t.end)])
	text = string(t.held[:n])
	t.held = append(t.held[:0], t.held[n:]...)
	return text, false
}

// flush returns the text that is held back, at the end of a text that no stop string ended.
func (t *textStream) flush() string {
	text := string(t.held)
	t.held = t.held[:0]
	return text
}
