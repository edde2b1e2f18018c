package ledger

// Keys: bytes that sort like the values that they represent.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"picogpt/internal/strictjson"
)

// The first byte of a value in a key: numbers come before strings, and those before the rest.
const (
	kindNumber = 1 + iota
	kindString
	kindOther
	kindNone
)

// SortKey returns the order of an entry as bytes: the value of --order-field, then its position.
func (e *Entry) SortKey() []byte {
	return e.appendPosition(appendEscaped(nil, e.Order))
}

// RankKey returns the order of an entry by its perplexity, then its id, then its position: no two
// entries have the same key. Ids that are numbers come before strings and are sorted by their
// value; strings are sorted by their bytes; entries without an id come last. ok is false if the
// entry has no perplexity.
func (e *Entry) RankKey() ([]byte, bool) {
	p := e.Perplexity()
	if math.IsNaN(p) {
		return nil, false
	}
	key := appendID(PerplexityKey(p), e.ID)
	return e.appendPosition(key), true
}

// PerplexityKey returns the beginning of the RankKeys of all entries with a perplexity. It sorts
// before all of them, and after those of smaller perplexities.
func PerplexityKey(p float64) []byte {
	// the order of the bits is that of positive numbers
	return binary.BigEndian.AppendUint64(nil, math.Float64bits(p))
}

// appendPosition appends the position of the entry's document.
func (e *Entry) appendPosition(key []byte) []byte {
	key = binary.BigEndian.AppendUint64(key, uint64(e.Source))
	return binary.BigEndian.AppendUint64(key, uint64(e.Line))
}

// appendEscaped appends bytes so that no key is the beginning of another.
func appendEscaped(key, b []byte) []byte {
	for _, c := range b {
		if key = append(key, c); c == 0 {
			key = append(key, 1)
		}
	}
	return append(key, 0, 0)
}

// appendID appends an id in the form of eval.CanonicalID: a byte 1 for a string or 2 for other
// JSON, a length of 8 bytes, and the string or the JSON.
func appendID(key, id []byte) []byte {
	if len(id) == 0 {
		return append(key, kindNone)
	}
	text := id[9:]
	switch {
	case id[0] == 1:
		key = append(key, kindString)
	case isNumber(text): // 1 and 1.0 are different ids: the text follows
		key = appendNumber(append(key, kindNumber), string(text))
	default:
		key = append(key, kindOther)
	}
	return appendEscaped(key, text)
}

// Sortable returns a JSON number or string as bytes that sort in the same order: numbers first, by
// their value, then strings, by their bytes.
func Sortable(value json.RawMessage) ([]byte, error) {
	switch {
	case len(value) > 0 && value[0] == '"':
		s, err := strictjson.String(value)
		return append([]byte{kindString}, s...), err
	case isNumber(value):
		return appendNumber([]byte{kindNumber}, string(value)), nil
	}
	return nil, errors.New("want a number or a string to order by")
}

// isNumber reports whether JSON is a number.
func isNumber(value []byte) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}

// appendNumber appends a JSON number exactly, with any number of digits: its sign, the exponent of
// its first digit, its digits. Those of negative numbers are inverted.
func appendNumber(key []byte, s string) []byte {
	const negative, zero, positive = 0, 1, 2
	s, minus := strings.CutPrefix(s, "-")
	s, power, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(s, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return append(key, zero)
	}
	const most = 1 << 60
	// 0 if there is none, the nearest int64 if it is too large
	exponent, _ := strconv.ParseInt(power, 10, 64)
	exponent = min(max(exponent, -most), most) + int64(len(digits)-len(fraction))
	sign := byte(positive)
	if minus {
		sign = negative
	}
	key = append(key, sign)
	begin := len(key)
	key = binary.BigEndian.AppendUint64(key, uint64(exponent)^1<<63)
	key = append(append(key, strings.TrimRight(digits, "0")...), 0)
	if minus {
		for i := begin; i < len(key); i++ {
			key[i] = ^key[i]
		}
	}
	return key
}

// Cuts say which documents stay, by their RankKeys: those from From up to To, without To.
type Cuts struct {
	From []byte
	To   []byte // empty for all
}

// Keep reports whether a document stays.
func (c *Cuts) Keep(key []byte) bool {
	return bytes.Compare(key, c.From) >= 0 && (len(c.To) == 0 || bytes.Compare(key, c.To) < 0)
}

// After returns the smallest key that is greater than key.
func After(key []byte) []byte { return append(bytes.Clone(key), 0) }
