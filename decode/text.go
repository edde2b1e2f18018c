package decode

// The text of a stream's tokens: how ids become it, what of it is held back, and how it ends.

import (
	"bytes"
	"fmt"
	"slices"

	"picogpt/sample"
	"picogpt/tokenizer"
)

// A Token is one new token of a sample, or one token of the prompt.
type Token struct {
	Sample  int     // the index of its sample, for Samples; 0 from Generate
	ID      int     // in the model's vocabulary
	LogProb float64 // see sample.LogProb
	Text    string  // the text that became certain: see Options.Vocabulary and Options.Stop
	Dropped int     // how many of the context's oldest tokens were dropped before it was chosen
	Finish  string  // why the sample ends with this token; "" if it continues
	Score   float64 // see search.Contrastive; 0 elsewhere
	Guessed bool    // speculation had guessed it: see Options.Lookup
	Prompt  bool    // it is a token of the prompt: see Options.Echo
	Seed    uint64  // set by package picogpt, in a sample's last token; 0 elsewhere

	// Incomplete: the sample ends here before its text is of the form that Options.Constraint
	// demands. Constraints report that by a method Complete() bool, which *constrain.Text has. They
	// know the tokens, so that what a stop string cuts off counts as a part of the text.
	Incomplete bool

	// Outranked names the options, as steps of package sample, that left no id which a form leaves
	// open and after which it could end in time. It is in the last token of a text that is cut.
	Outranked string

	// Narrowed: of the ids that the Constraint leaves open here, some are shut because the text must
	// end in time. Kept is the probability of the others, given that it is one of all these, at the
	// temperature and before everything else that changes it. A search without a temperature has 1.
	Narrowed bool
	Kept     float64

	// Open is the probability that the model gives, at this token, to all ids together that the
	// Constraint leaves open: 1 where it shuts nothing likely. It is 0 unless Options.OpenMass asks
	// for it, and where a search chose the token.
	Open float64

	// Top is the likeliest tokens at its position, the likeliest first, if Options.Top asks for
	// them.
	Top []sample.Alternative
}

// Why a sample ended.
const (
	FinishStop      = "stop"        // a stop string or a constraint is complete; the former is cut
	FinishEndOfText = "end_of_text" // the token is one of EndOfText; it has no text of its own
	FinishLength    = "length"      // MaxTokens, the context's end, or the prompt's with EchoOnly
)

// Vocabulary turns ids into text. *tokenizer.Tokenizer is one, with Gaps.
type Vocabulary interface {
	NewDecoder(before []int) tokenizer.Decoder // of the ids that follow those before
	Size() int                                 // one more than the largest id
}

// OnlyIDs returns a vocabulary of the ids below size without the gaps. Its tokens have no text.
func OnlyIDs(size int, gaps []int) Vocabulary { return onlyIDs{size, gaps} }

type onlyIDs struct {
	size int
	gaps []int
}

func (v onlyIDs) Size() int                                 { return v.size }
func (v onlyIDs) Gaps() []int                               { return v.gaps }
func (v onlyIDs) NewDecoder(before []int) tokenizer.Decoder { return v }
func (v onlyIDs) Push(int) (string, error)                  { return "", nil }
func (v onlyIDs) Flush() string                             { return "" }
func (v onlyIDs) Fork() tokenizer.Decoder                   { return v }

// finish gives t its text, and its Finish if it is the last.
func (s *Stream) finish(t *Token) error {
	s.n++
	if slices.Contains(s.limits.endOfText, t.ID) {
		t.Finish = FinishEndOfText
	} else if err := s.spell(t); err != nil {
		return err
	}
	full := (len(s.context) == s.limits.context || s.guide.full(&s.limits)) &&
		s.options.Overflow != OverflowSlide
	if t.Finish == "" && (s.n == s.options.MaxTokens || full) {
		t.Finish = FinishLength
	}
	if t.Finish == FinishEndOfText || t.Finish == FinishLength {
		s.endText(t)
	}
	return s.finishConstraint(t)
}

// spell gives t its text, and its Finish if a stop string is complete.
func (s *Stream) spell(t *Token) error {
	if s.decoder == nil {
		return nil
	}
	certain, err := s.decoder.Push(t.ID)
	if err != nil {
		return fmt.Errorf("the text of token %d, id %d: %w", s.n, t.ID, err)
	}
	s.bans.add(certain)
	text, stopped := s.text.push(certain)
	t.Text = text
	if stopped {
		t.Finish = FinishStop
	}
	return nil
}

// named gives alternatives their texts, where the vocabulary has them.
func named(top []sample.Alternative, vocabulary Vocabulary) []sample.Alternative {
	v, ok := vocabulary.(interface{ Text(id int) (string, error) })
	for i := range top {
		if ok {
			top[i].Text, _ = v.Text(top[i].ID) // rows beyond the vocabulary have none
		}
	}
	return top
}

// endText gives t, the last token, the text that is still held back.
func (s *Stream) endText(t *Token) {
	if s.decoder == nil {
		return
	}
	rest := s.decoder.Flush()
	s.bans.add(rest)
	text, stopped := s.text.push(rest)
	t.Text += text
	switch {
	case !stopped:
		t.Text += s.text.flush()
	case t.Finish == FinishLength:
		t.Finish = FinishStop
	}
}

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
