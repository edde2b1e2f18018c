// Text to ids and back, as picoGPT's encoder.py: byte-level BPE, by tiktoken-go.
package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
)

// pattern cuts a text into pieces, which are then merged each by itself: contractions, words,
// numbers and the rest with at most one space before, and white space.
const pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

const endOfText = "<|endoftext|>"

// mostPiece is how many bytes a piece may have: tiktoken-go's time is quadratic in them.
const mostPiece = 1 << 14

// An Encoder is a byte-level BPE vocabulary. Letters and numbers are those of Go's Unicode tables.
// A word, a number or white space of more than 16 KiB is an error.
type Encoder struct {
	core    *tiktoken.Tiktoken
	ids     []int          // [ranks]: first the 256 bytes, then what the merges make; -1 is none
	texts   map[int]string // the bytes of each id
	merges  [][2]string    // in the order of their ranks
	added   []AddedToken   // found before a text is cut, the longest first
	special bool           // special tokens are found too
	prefix  bool           // a space is put before a text that has none
}

// An AddedToken has an id of its own wherever its text stands.
type AddedToken struct {
	Text    string
	ID      int
	Special bool // ordinary text unless special tokens are asked for
}

// newEncoder returns the Encoder of a vocabulary: the id of each token, given by its bytes, and the
// merges in their order. The added tokens may be in the vocabulary too.
func newEncoder(vocab map[string]int, merges [][2]string, added []AddedToken) (*Encoder, error) {
	e := &Encoder{texts: map[int]string{}, merges: merges, added: slices.Clone(added)}
	for text, id := range vocab {
		e.texts[id] = text
	}
	ranks := map[string]int{} // tiktoken's ranks are those of what merges make
	for b := range 256 {
		token := string([]byte{byte(b)})
		id, ok := vocab[token]
		if !ok {
			id = -1
		}
		ranks[token], e.ids = b, append(e.ids, id)
	}
	for i, m := range merges {
		token := m[0] + m[1]
		id, ok := vocab[token]
		if !ok {
			return nil, fmt.Errorf("merge %d makes %q, which the vocabulary does not have", i,
				token)
		}
		if _, twice := ranks[token]; !twice {
			ranks[token] = len(e.ids)
			e.ids = append(e.ids, id)
		}
	}
	for _, a := range added {
		e.texts[a.ID] = a.Text
	}
	slices.SortStableFunc(e.added, func(a, b AddedToken) int { return len(b.Text) - len(a.Text) })
	core, err := tiktoken.NewCoreBPE(ranks, nil, pattern)
	if err != nil {
		return nil, err
	}
	e.core = tiktoken.NewTiktoken(core, nil, nil)
	return e, nil
}

// WithSpecial returns an Encoder for which special tokens in a text, such as <|endoftext|>, are
// single ids. Without it they are ordinary text.
func (e *Encoder) WithSpecial() *Encoder {
	with := *e
	with.special = true
	return &with
}

// Encode returns the ids of a text. A text that is not valid UTF-8, which tiktoken-go would change,
// is an error, and so is a byte that the vocabulary has no token for.
func (e *Encoder) Encode(text string) ([]int, error) {
	ids, done := []int{}, 0
	for done < len(text) {
		at, token := e.find(text[done:])
		var err error
		if ids, err = e.ordinary(ids, text[done:done+at], done); err != nil {
			return nil, err
		}
		if done += at; token.Text != "" {
			ids, done = append(ids, token.ID), done+len(token.Text)
		}
	}
	return ids, nil
}

// find returns where the first added token begins, or the length of the text.
func (e *Encoder) find(text string) (at int, token AddedToken) {
	at = len(text)
	for _, a := range e.added {
		if a.Special && !e.special {
			continue
		}
		if i := strings.Index(text[:min(len(text), at+len(a.Text))], a.Text); i >= 0 && i < at {
			at, token = i, a
		}
	}
	return at, token
}

// ordinary appends the ids of a text without added tokens, which begins at that byte of the whole.
func (e *Encoder) ordinary(ids []int, text string, at int) ([]int, error) {
	if e.prefix && text != "" && text[0] != ' ' {
		text, at = " "+text, at-1
	}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return nil, fmt.Errorf("byte %d of the text, %#02x, is not valid UTF-8: tiktoken-go "+
				"would change it", at+i, text[i])
		}
	}
	for i := range len(text) {
		if e.ids[text[i]] < 0 {
			return nil, fmt.Errorf("byte %d of the text, %#02x: the vocabulary has no token for it",
				at+i, text[i])
		}
	}
	if from, n := longestPiece(text); n > mostPiece {
		return nil, fmt.Errorf("byte %d of the text: %d bytes without a place to cut them, want "+
			"at most %d: tiktoken-go would take too long", at+from, n, mostPiece)
	}
	for _, rank := range e.core.EncodeOrdinary(text) {
		ids = append(ids, e.ids[rank])
	}
	return ids, nil
}

// longestPiece returns where the longest run of letters, numbers, white space or other characters
// begins, and its length in bytes: no piece is longer, but for the space before it.
func longestPiece(text string) (at, n int) {
	begin, last := 0, 0
	for i, r := range text {
		kind := 1
		switch {
		case unicode.IsLetter(r):
			kind = 2
		case unicode.IsNumber(r):
			kind = 3
		case unicode.IsSpace(r):
			kind = 4
		}
		if kind != last {
			begin, last = i, kind
		}
		if length := i + utf8.RuneLen(r) - begin; length > n {
			at, n = begin, length
		}
	}
	return at, n
}

// Decode returns the bytes of ids. An id without a token is an error.
func (e *Encoder) Decode(ids []int) (string, error) {
	var text strings.Builder
	for i, id := range ids {
		token, ok := e.texts[id]
		if !ok {
			return "", fmt.Errorf("token %d: id %d has no text in a vocabulary of %d", i, id,
				len(e.texts))
		}
		text.WriteString(token)
	}
	return text.String(), nil
}

// Merges returns the pairs that are merged, by their bytes, in the order of their ranks. The caller
// must not change the slice.
func (e *Encoder) Merges() [][2]string { return e.merges }

// IDs returns the ids that have a token, the lowest first.
func (e *Encoder) IDs() []int { return slices.Sorted(maps.Keys(e.texts)) }

// Exact returns an error if tiktoken, which merges two neighbours by the rank of what they make,
// may give other ids than BPE, which merges them by the rank of the pair. The two are the same if
// no two merges make the same token, and each such token is its own encoding. For suppose that two
// neighbours make a token but are not its pair, and no merge of a lower rank is left: then encoding
// that token alone would get stuck at the same two.
func (e *Encoder) Exact() error {
	ranks := make(map[[2]string]int, len(e.merges))
	made := make(map[string]bool, len(e.merges))
	for rank, m := range e.merges {
		token := m[0] + m[1]
		if made[token] {
			return fmt.Errorf("merges: two make %q, so that tiktoken's ids may be others than "+
				"BPE's", token)
		}
		ranks[m], made[token] = rank, true
	}
	for _, m := range e.merges {
		if parts := bpe(m[0]+m[1], ranks, nil); len(parts) > 1 {
			return fmt.Errorf("merges: %q encodes as %q, so that tiktoken's ids may be others "+
				"than BPE's", m[0]+m[1], parts)
		}
	}
	return nil
}

// bpe is the function of that name in encoder.py: it merges a piece, the pair of the lowest rank
// first, all places of it at once. see, if it is not nil, is called with the parts before each
// merge.
func bpe(piece string, ranks map[[2]string]int, see func(parts []string)) []string {
	parts := make([]string, len(piece))
	for i := range parts {
		parts[i] = piece[i : i+1]
	}
	for len(parts) > 1 {
		best := len(ranks)
		var pair [2]string
		for i := range len(parts) - 1 {
			p := [2]string{parts[i], parts[i+1]}
			if rank, ok := ranks[p]; ok && rank < best {
				best, pair = rank, p
			}
		}
		if best == len(ranks) {
			break
		}
		if see != nil {
			see(parts)
		}
		merged := parts[:0]
		for i := 0; i < len(parts); i++ {
			if i+1 < len(parts) && parts[i] == pair[0] && parts[i+1] == pair[1] {
				merged = append(merged, pair[0]+pair[1])
				i++
			} else {
				merged = append(merged, parts[i])
			}
		}
		parts = merged
	}
	return parts
}
