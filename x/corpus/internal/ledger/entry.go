package ledger

// Entries as bytes.

import (
	"encoding/binary"
	"errors"
	"math"

	"picogpt/eval"
)

// An Entry holds what is stored of a document.
type Entry struct {
	Source, Line int     // the index of its source, and its first line
	ID           []byte  // its id in canonical form; nil if it has none
	Order        []byte  // the value of --order-field, as bytes that sort in the same order
	Count        int     // tokens with a log-probability
	Sum          float64 // of the log-probabilities

	// For a measured document, as in eval.Measured.
	Tokens, Words, Bytes, Scored int
	Windows                      []float64
	Squares                      float64
}

// Perplexity returns exp(−Sum/Count), or NaN if nothing is scored.
func (e *Entry) Perplexity() float64 {
	s := eval.Summary{Tokens: e.Count, Sum: e.Sum}
	return s.Perplexity()
}

// numbers returns pointers to the whole numbers of an entry, in order.
func (e *Entry) numbers() []*int {
	return []*int{&e.Source, &e.Line, &e.Count, &e.Tokens, &e.Words, &e.Bytes, &e.Scored}
}

// Append appends an entry to b.
func (e *Entry) Append(b []byte) []byte {
	for _, n := range e.numbers() {
		b = binary.AppendVarint(b, int64(*n))
	}
	for _, s := range [][]byte{e.ID, e.Order} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Windows)))
	for _, x := range append([]float64{e.Sum, e.Squares}, e.Windows...) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

var errShort = errors.New("cut off within an entry")

// Parse reads an entry that is all of b.
func Parse(b []byte) (*Entry, error) {
	e := &Entry{}
	for _, to := range e.numbers() {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, errShort
		}
		*to, b = int(n), b[size:]
	}
	for _, to := range []*[]byte{&e.ID, &e.Order} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errShort
		}
		if b = b[size:]; n > 0 {
			*to = append(*to, b[:n]...)
		}
		b = b[n:]
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || uint64(len(b)-size) != 8*(n+2) {
		return nil, errShort
	}
	b = b[size:]
	floats := make([]float64, n+2)
	for i := range floats {
		floats[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	e.Sum, e.Squares = floats[0], floats[1]
	if n > 0 {
		e.Windows = floats[2:]
	}
	return e, nil
}
