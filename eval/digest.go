package eval

// A digest of many records that does not depend on their order.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
)

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
