// Byte-level BPE, GPT-2's scheme: a text is split into pieces (split.go), and the bytes of each
// piece are merged into tokens (bpe.go). A text is the sum of its tokens' bytes.

package tokenizer

import (
	"fmt"
	"slices"
	"sync"
)

// byteLevel is the scheme of a byte-level BPE vocabulary.
type byteLevel struct {
	*tokens              // the bytes of each token
	byteID   [256]uint32 // the token of each single byte, or none
	complete bool        // each byte has a token
	pairs    pairTable   // which two ids merge, and when
	merged   []uint32    // [merges] what the merge of each rank gives
	splitting

	once     sync.Once
	matcher  *matcher // by suffixes
	maxToken int      // bytes of the longest token in it
}

// splitting is how a text is prepared. The zero value is GPT-2's way.
type splitting struct {
	whole       bool // no splitting: a text is one piece
	prefixSpace bool // a text that does not begin with a space gets one
}

// encode is the scheme's. The space that prefixSpace puts in belongs to no byte of the text.
func (s *byteLevel) encode(e *encoded, text string, at int) error {
	prefixed := s.prefixSpace && text[0] != ' '
	if err := s.encodable(text, at, prefixed); err != nil {
		return err
	}
	first := len(e.ids)
	rest := text
	if prefixed {
		rest = " " + text
	}
	for rest != "" {
		n := len(rest)
		if !s.whole {
			n = pieceLen(rest)
		}
		e.ids = s.appendPiece(e.ids, rest[:n])
		rest = rest[n:]
	}
	if !e.wantSpans {
		return nil
	}
	end := at
	if prefixed {
		end--
	}
	for _, id := range e.ids[first:] {
		start := max(end, at)
		end += s.length(id)
		e.spans = append(e.spans, Span{start, end})
	}
	return nil
}

// encodable errs if the vocabulary lacks a byte of text, which begins at byte `at` of the whole
// text.
func (s *byteLevel) encodable(text string, at int, prefixed bool) error {
	if s.complete {
		return nil
	}
	if prefixed && s.byteID[' '] == none {
		return fmt.Errorf("byte %d of the text: add_prefix_space wants a space before it, and the "+
			"vocabulary has no token for one", at)
	}
	for i := range len(text) {
		if s.byteID[text[i]] == none {
			return fmt.Errorf("byte %d of the text, %#02x: the vocabulary has no token for it",
				at+i, text[i])
		}
	}
	return nil
}

// decoder is the scheme's: a token's bytes are the same anywhere, so there is no state.
func (s *byteLevel) decoder(bool) Decoder { return s }

// Push returns the bytes of a token.
func (s *byteLevel) Push(id int) (string, error) { return s.token(id) }

// Flush returns nothing: all bytes are certain at once.
func (s *byteLevel) Flush() string { return "" }

// Fork returns the same decoder.
func (s *byteLevel) Fork() Decoder { return s }

// suffixes returns the matcher of the tokens that text can become, and the bytes of the longest
// one. It is built on the first call: only pieces too long to hold need it.
func (s *byteLevel) suffixes() (m *matcher, longest int) {
	s.once.Do(func() {
		ids := append(slices.Clone(s.byteID[:]), s.merged...)
		slices.Sort(ids)
		ids = slices.DeleteFunc(slices.Compact(ids), func(id uint32) bool { return id == none })
		for _, id := range ids {
			s.maxToken = max(s.maxToken, s.length(int(id)))
		}
		s.matcher = newMatcher(s.tokens, ids, func(id uint32) bool {
			token, _ := s.token(int(id))
			got := s.appendPiece(nil, token)
			return len(got) == 1 && got[0] == int(id)
		})
	})
	return s.matcher, s.maxToken
}
