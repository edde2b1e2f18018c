package decode

// The text of a stream's tokens, and how it ends.

import (
	"fmt"
	"slices"

	"picogpt/sample"
)

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
