package decode

// The text of a stream: stop strings are never shown in part, and runes never split.

import (
	"bytes"

	"picogpt/tokenizer"
)

// textStream turns the bytes of a text, as they become certain, into text that can be shown at
// once. It holds back the bytes that may yet turn out to begin a stop string or that begin a rune
// whose rest has not come. What it gives, put together, is the tokens' bytes exactly, cut before
// the stop string; bytes that cannot be part of a rune pass as they are.
type textStream struct {
	stops  [][]byte
	held   []byte // every match, complete or begun, lies inside
	exempt int    // bytes at the beginning of held, and to come, in which no match ends
}

// newTextStream returns a text stream in whose first bytes, so many, no stop string ends.
func newTextStream(stops []string, exempt int) *textStream {
	t := &textStream{exempt: exempt}
	for _, s := range stops {
		t.stops = append(t.stops, []byte(s))
	}
	return t
}

// fork returns a text stream that holds back the same.
func (t *textStream) fork() *textStream {
	return &textStream{stops: t.stops, held: bytes.Clone(t.held), exempt: t.exempt}
}

// push takes the next bytes and returns the text that is decided. The text ends, and stopped is
// true, at the first byte where a stop string is complete, and is cut where that string begins (the
// longest, if several are).
func (t *textStream) push(certain string) (text string, stopped bool) {
	for i := range len(certain) {
		t.held = append(t.held, certain[i])
		if start := t.match(); start >= 0 {
			text = string(t.held[:start])
			t.held = t.held[:0]
			return text, true
		}
	}
	n := tokenizer.WholeRunes(t.held[:t.begun()])
	text = string(t.held[:n])
	t.held = append(t.held[:0], t.held[n:]...)
	t.exempt = max(0, t.exempt-n)
	return text, false
}

// flush returns what is held back, at the end of a text that no stop string ended.
func (t *textStream) flush() string {
	text := string(t.held)
	t.held = t.held[:0]
	return text
}

// match returns where the longest stop string that ends held begins, or -1.
func (t *textStream) match() int {
	start := -1
	if len(t.held) <= t.exempt {
		return start
	}
	for _, stop := range t.stops {
		at := len(t.held) - len(stop)
		if at >= 0 && bytes.HasSuffix(t.held, stop) && (start < 0 || at < start) {
			start = at
		}
	}
	return start
}

// begun returns where the longest proper beginning of a stop string that ends held begins;
// len(held) if none does.
func (t *textStream) begun() int {
	start := len(t.held)
	for _, stop := range t.stops {
		for n := min(len(stop)-1, len(t.held)); n > len(t.held)-start; n-- {
			if bytes.HasSuffix(t.held, stop[:n]) {
				start = len(t.held) - n
			}
		}
	}
	return start
}
