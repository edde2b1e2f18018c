package eval

// Records, which are gpt score's output for a text; sums over many; and a digest of many that does
// not depend on their order.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"picogpt/internal/strictjson"
	"picogpt/kernels"
)

// A Record is one line of gpt score's output. Missing numbers are nil, and null in JSON.
type Record struct {
	Line      int             `json:"line"`                      // Scored.Index + 1
	ID        json.RawMessage `json:"id,omitempty"`              // a Tag: string, integer, JSON
	Tokens    []int           `json:"tokens"`                    // ids
	Text      string          `json:"text"`                      // the scored text
	Offsets   [][2]int        `json:"offsets"`                   // where each token is in Text
	LogProbs  []*float64      `json:"logprobs"`                  // natural logarithms
	Ranks     []*int          `json:"ranks"`                     // ids with a greater logit
	Entropies []*float64      `json:"entropies"`                 // in nats
	Sum       float64         `json:"sum_logprob"`               // of LogProbs
	Mean      *float64        `json:"mean_logprob"`              // of LogProbs
	Greedy    bool            `json:"greedy"`                    // every token is the greedy choice
	Dropped   int             `json:"context_dropped,omitempty"` // tokens that were left out
	Top       [][]Alternative `json:"top,omitempty"`             // for each token
}

// Record returns s in the form of gpt score's output, with offsets in characters.
func (s *Scored) Record() Record {
	n := len(s.Tokens)
	r := Record{
		Line: s.Index + 1, ID: tagID(s.Tag), Text: s.Text, Offsets: s.Offsets(Chars),
		Sum: s.Sum, Mean: finite(s.Mean), Greedy: s.Greedy, Dropped: s.Dropped,
		Tokens: make([]int, n), LogProbs: make([]*float64, n), Ranks: make([]*int, n),
		Entropies: make([]*float64, n),
	}
	top := make([][]Alternative, n)
	for i := range s.Tokens {
		t := &s.Tokens[i]
		r.Tokens[i] = t.ID
		if t.Rank >= 0 {
			r.LogProbs[i], r.Ranks[i], r.Entropies[i] = finite(t.LogProb), &t.Rank,
				finite(t.Entropy)
		}
		if top[i] = t.Top; t.Top != nil {
			r.Top = top
		}
	}
	return r
}

// MarshalJSON writes the Record of s.
func (s Scored) MarshalJSON() ([]byte, error) { return strictjson.Line(s.Record()) }

// tagID returns the id for a Tag, or nil if the Tag is no id.
func tagID(tag any) json.RawMessage {
	switch tag := tag.(type) {
	case json.RawMessage:
		return tag
	case string, int, int32, int64, uint32, uint64, json.Number:
		b, _ := json.Marshal(tag) // an invalid json.Number gives no id
		return b
	}
	return nil
}

// A Unit is what offsets count.
type Unit string

const (
	Chars Unit = "chars" // code points, as in Python
	UTF16 Unit = "utf16" // as in JavaScript
	Bytes Unit = "bytes" // of UTF-8
)

// Offsets returns where each token is in Text. A character that two tokens share belongs to both.
func (s *Scored) Offsets(u Unit) [][2]int {
	at := make([][2]int, len(s.Tokens))
	if u == Bytes {
		for i, t := range s.Tokens {
			at[i] = [2]int{t.Start, t.End}
		}
		return at
	}
	before := make([]int, len(s.Text)+1) // units before the character that byte i belongs to
	// units up to the end of the character that byte i−1 belongs to
	after := make([]int, len(s.Text)+1)
	n := 0
	for i, r := range s.Text {
		size := 1
		if r > math.MaxUint16 && u == UTF16 {
			size = 2
		}
		_, length := utf8.DecodeRuneInString(s.Text[i:])
		for b := i; b < i+length; b++ {
			before[b], after[b+1] = n, n+size
		}
		n += size
	}
	before[len(s.Text)] = n
	for i, t := range s.Tokens {
		at[i] = [2]int{before[t.Start], max(before[t.Start], after[t.End])}
	}
	return at
}

// A Summary adds up the records of many texts.
type Summary struct {
	Lines  int     // texts, with those that could not be scored
	Errors int     // those that could not be scored
	Tokens int     // with a log-probability
	Sum    float64 // of the log-probabilities, in nats
	Digest Digest
}

// summaryJSON is a Summary as JSON.
type summaryJSON struct {
	Lines      int      `json:"lines"`
	Errors     int      `json:"errors"`
	Tokens     int      `json:"tokens"`
	Sum        float64  `json:"sum_logprob"`
	Perplexity *float64 `json:"perplexity"`
	Digest     Digest   `json:"digest"`
}

// MarshalJSON writes one object, with the perplexity.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(summaryJSON{s.Lines, s.Errors, s.Tokens, s.Sum, finite(s.Perplexity()),
		s.Digest})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Summary) UnmarshalJSON(b []byte) error {
	var j summaryJSON
	err := json.Unmarshal(b, &j)
	*s = Summary{j.Lines, j.Errors, j.Tokens, j.Sum, j.Digest}
	return err
}

// Add adds a text that was scored; Err counts one that was not. Sums are in the order of the calls.
func (s *Summary) Add(r *Record) error {
	s.Lines++
	for _, x := range r.LogProbs {
		if x != nil {
			s.Tokens++
		}
	}
	s.Sum += r.Sum
	return s.Digest.Add(r)
}

// Err counts a text that could not be scored.
func (s *Summary) Err() {
	s.Lines++
	s.Errors++
}

// Perplexity returns exp(−Sum/Tokens), or NaN if nothing is scored.
func (s *Summary) Perplexity() float64 {
	if s.Tokens == 0 {
		return math.NaN()
	}
	return kernels.Exp64(-s.Sum / float64(s.Tokens))
}

// A Digest tells whether two runs gave the same scores for the same texts, to the last bit. It does
// not depend on the order of the records, on their division into files, or on the program. It is
// the sum, mod 2²⁵⁶, of the SHA-256 of each record, where each is a number whose first byte is the
// most significant; the zero Digest is that of no records. In JSON it is 64 hexadecimal digits.
//
// The SHA-256 of a record is that of the following bytes. Integers have 64 bits, the least
// significant byte first.
//
//	id        the byte 0 if there is none, or it is null
//	          the byte 1, the length of the UTF-8, the UTF-8: for a string, its escapes resolved
//	          the byte 2, the length of the JSON, the JSON: for any other value, unchanged except
//	          that white space between its parts is removed
//	tokens    their number, and each id
//	logprobs  their number, and the bits of each as a float64; 0x7ff8000000000000 for null, which
//	          the first token of a text has
//
// Line and offsets are not included, nor are texts that could not be scored.
type Digest [sha256.Size]byte

// Add adds a record, from Score or read from gpt score's output. It returns an error if the id is
// not valid JSON.
func (d *Digest) Add(r *Record) error {
	b, err := appendID(nil, r.ID)
	if err != nil {
		return err
	}
	number := binary.LittleEndian.AppendUint64
	b = number(b, uint64(len(r.Tokens)))
	for _, id := range r.Tokens {
		b = number(b, uint64(id))
	}
	b = number(b, uint64(len(r.LogProbs)))
	for _, x := range r.LogProbs {
		if x == nil {
			b = number(b, 0x7ff8000000000000)
		} else {
			b = number(b, math.Float64bits(*x))
		}
	}
	d.Merge(sha256.Sum256(b))
	return nil
}

// Merge adds the records of another digest.
func (d *Digest) Merge(other Digest) {
	var carry uint64
	for i := len(d) - 8; i >= 0; i -= 8 {
		var sum uint64
		sum, carry = bits.Add64(binary.BigEndian.Uint64(d[i:]), binary.BigEndian.Uint64(other[i:]),
			carry)
		binary.BigEndian.PutUint64(d[i:], sum)
	}
}

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText returns 64 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(d) {
		return fmt.Errorf("digest: %.80q, want %d hexadecimal digits", text, 2*len(d))
	}
	copy(d[:], b)
	return nil
}

// CanonicalID returns an id as a Digest includes it: equal ids give equal bytes. It returns nil if
// there is no id, or it is null.
func CanonicalID(id json.RawMessage) ([]byte, error) {
	b, err := appendID(nil, id)
	if err != nil || b[0] == 0 {
		return nil, err
	}
	return b, nil
}

// appendID appends an id in its canonical form.
func appendID(b []byte, id json.RawMessage) ([]byte, error) {
	id = bytes.TrimSpace(id)
	if len(id) == 0 || string(id) == "null" {
		return append(b, 0), nil
	}
	if id[0] == '"' {
		var s string
		if err := json.Unmarshal(id, &s); err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
		b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(len(s)))
		return append(b, s...), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, id); err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	b = binary.LittleEndian.AppendUint64(append(b, 2), uint64(compact.Len()))
	return append(b, compact.Bytes()...), nil
}
