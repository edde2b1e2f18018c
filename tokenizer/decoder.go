// Decoding one id at a time.

package tokenizer

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// A Decoder turns the ids of one text into its bytes, one id at a time. In some vocabularies the
// bytes of a token depend on the tokens around it, so a Decoder has state; one goroutine may use it
// at a time. The results of all calls of Push and Flush, joined, are the text.
type Decoder interface {
	// Push takes the next id and returns the bytes that are now certain. These may be empty, and
	// may begin or end inside a rune: see [WholeRunes]. An unknown id is an error and changes
	// nothing. It is an error too if the rules of the vocabulary make too much of the text so far.
	Push(id int) (string, error)

	// Flush returns the remaining bytes, and removes them, at the end of a text.
	Flush() string

	// Fork returns a Decoder in the same state, for another continuation.
	Fork() Decoder
}

// NewDecoder returns a Decoder for the ids that follow `before`, which may be empty.
func (t *Tokenizer) NewDecoder(before []int) Decoder {
	if len(t.decoding.steps) == 0 { // nothing depends on what was before, which may be long
		return plainDecoder{t.decoding.tokens}
	}
	for _, id := range slices.Backward(before) {
		if _, special := slices.BinarySearch(t.special, id); !special {
			d := t.decoding.decoder(true)
			d.Push(id) // the text of the next id may depend on it
			return d
		}
	}
	return t.decoding.decoder(false)
}

// Stream turns a sequence of ids into a sequence of non-empty texts, none of which ends inside a
// rune: at most three bytes of an incomplete rune are held back. Bytes that cannot become valid
// UTF-8 are not held back, and incomplete bytes at the end come last. An error of ids, or an
// unknown id, is yielded after the text before it and ends the sequence.
func (t *Tokenizer) Stream(ids iter.Seq2[int, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d := t.NewDecoder(nil)
		held := ""
		for id, err := range ids {
			text := ""
			if err == nil {
				text, err = d.Push(id)
			}
			if err != nil {
				if rest := held + d.Flush(); rest == "" || yield(rest, nil) {
					yield("", err)
				}
				return
			}
			if held != "" {
				text = held + text
			}
			whole := WholeRunes(text)
			held = text[whole:]
			if whole > 0 && !yield(text[:whole], nil) {
				return
			}
		}
		rest, err := flushed(d)
		if rest = held + rest; rest != "" && !yield(rest, nil) {
			return
		}
		if err != nil {
			yield("", err)
		}
	}
}

// WholeRunes returns the length of s without an incomplete rune at its end, which has at most three
// bytes. Bytes that cannot become valid UTF-8 count as whole.
func WholeRunes[T string | []byte](s T) int {
	for i := max(0, len(s)-utf8.UTFMax+1); i < len(s); i++ {
		if utf8.RuneStart(s[i]) && !utf8.FullRuneInString(string(s[i:])) {
			return i
		}
	}
	return len(s)
}

// decoding says how the tokens of a vocabulary are joined. Without steps, a text is its tokens,
// joined.
type decoding struct {
	*tokens
	steps []decodeStep
}

// A decodeStep is a step of a decoder.
type decodeStep interface {
	// push takes the text of one token and returns the text that is certain.
	push(s *decodeState, text string) string
}

// A holdingStep is a step that may hold text back: flush returns it at the end.
type holdingStep interface {
	decodeStep
	flush(s *decodeState) string
}

// decodeState is the state of a step in one text.
type decodeState struct {
	tokens int // before this one
	held   string
	last   rune   // last rune that was returned
	all    []byte // of a wholeText
	first  bool   // the text, or all, begins here
	bound  *bound // of the decoder
}

// decoder returns a decoder for the beginning of a text or, if within is set, for the middle of
// one.
func (d *decoding) decoder(within bool) Decoder {
	if len(d.steps) == 0 {
		return plainDecoder{d.tokens}
	}
	states := make([]decodeState, len(d.steps))
	if within {
		for i := range states {
			states[i].tokens = 1
		}
	}
	return newStepDecoder(d, states, bound{})
}

// A plainDecoder returns the bytes of each token; it has no state.
type plainDecoder struct{ *tokens }

func (d plainDecoder) Push(id int) (string, error) { return d.token(id) }
func (d plainDecoder) Flush() string               { return "" }
func (d plainDecoder) Fork() Decoder               { return d }

// A stepDecoder is a decoder in the middle of a text.
type stepDecoder struct {
	*decoding
	states []decodeState // [steps]
	bound  bound         // of the text so far
}

func newStepDecoder(d *decoding, states []decodeState, b bound) *stepDecoder {
	s := &stepDecoder{d, states, b}
	for i := range s.states {
		s.states[i].bound = &s.bound
	}
	return s
}

func (d *stepDecoder) Push(id int) (string, error) {
	text, err := d.token(id)
	if err != nil {
		return "", err
	}
	d.bound.bytes += len(text)
	for i, step := range d.steps {
		if err := d.bound.work(workPart + len(text)); err != nil {
			return "", err
		}
		text = step.push(&d.states[i], text)
		d.states[i].tokens++
	}
	return text, d.bound.err
}

func (d *stepDecoder) Flush() string {
	text := ""
	for i, step := range d.steps {
		if text != "" {
			text = step.push(&d.states[i], text)
		}
		if holding, ok := step.(holdingStep); ok {
			text += holding.flush(&d.states[i])
		}
	}
	return text
}

// flushed is Flush, with an error if the rest is too long.
func flushed(d Decoder) (string, error) {
	text := d.Flush()
	if s, ok := d.(*stepDecoder); ok && s.bound.err != nil {
		return "", s.bound.err
	}
	return text, nil
}

func (d *stepDecoder) Fork() Decoder {
	states := slices.Clone(d.states)
	for i := range states {
		states[i].all = slices.Clip(states[i].all) // what is appended is each decoder's own
		d.states[i].all = states[i].all
	}
	return newStepDecoder(d.decoding, states, d.bound)
}
