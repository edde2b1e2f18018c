// Package strictjson reads JSON from files that may be hostile, by RFC 8259 and I-JSON (RFC 7493):
// no duplicate names in an object, nothing after the value, text is valid Unicode, and errors are
// one line that names the byte. Use Members for small objects, Reader for any.
//
// The grammar is jsontext's. It reads GPT-2's tokenizer.json in 5 ms, encoding/json in 30.
package strictjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"unsafe"

	"picogpt/internal/quote"
)

// Members calls visit for each member of a JSON object, in order, and stops at the first error. A
// value is never empty and has no white space around it.
func Members(text []byte, visit func(key string, value json.RawMessage) error) error {
	return ReadObject(text, func(r *Reader, key string) error {
		value, err := r.Value()
		if err != nil {
			return err
		}
		return visit(key, json.RawMessage(value.Text()))
	})
}

// ReadObject reads a text that is one object; member reads each value.
func ReadObject(text []byte, member func(r *Reader, key string) error) error {
	r := NewReader(string(text))
	if err := r.Object(func(key string) error { return member(r, key) }); err != nil {
		return err
	}
	return r.End()
}

// Map returns the members of a JSON object.
func Map(text []byte) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	err := Members(text, func(key string, value json.RawMessage) error {
		all[key] = value
		return nil
	})
	return all, err
}

// String returns the value of a JSON string. It refuses every other type.
func String(value json.RawMessage) (string, error) {
	r := NewReader(string(value))
	if k := r.decoder().PeekKind(); k != '"' && k != 0 {
		return "", fmt.Errorf("want a string, found %s", show(k, string(value)))
	}
	return r.String()
}

// Line returns a value as one line of JSON, with its line feed. It does not escape characters such
// as <.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Print prints a value as one line of JSON, to what out has for JSON if that differs.
func Print(out io.Writer, v any) error {
	b, err := Line(v)
	if err != nil {
		return err
	}
	if o, ok := out.(interface{ JSON() io.Writer }); ok {
		out = o.JSON()
	}
	_, err = out.Write(b)
	return err
}

// Number is a pointer to x, nil where JSON has no such number.
func Number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// AppendFloats appends a JSON array of numbers, each the shortest decimal that gives the same
// float32 back.
func AppendFloats[T float32 | float64](b []byte, x []T) []byte {
	var zero T
	bits := 8 * int(unsafe.Sizeof(zero))
	b = append(b, '[')
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(v), 'g', -1, bits)
	}
	return append(b, ']')
}

// AppendIDs appends a JSON array of ids.
func AppendIDs(b []byte, ids []int) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// The digest of a file that holds one JSON object and is read again: a receipt, a saved chat.

// Digest returns the SHA-256 of content as the one line of JSON of a file without a digest.
func Digest(content any) (*string, error) {
	line, err := Line(content)
	sum := sha256.Sum256(line)
	digest := hex.EncodeToString(sum[:])
	return &digest, err
}

// CheckDigest compares the digest that a file has with that of its content. Files of earlier
// versions have none: damage may go unseen, and NoDigest tells the user.
func CheckDigest(content any, want *string) error {
	if want == nil {
		return nil
	}
	found, err := Digest(content)
	if err == nil && *found != *want {
		err = fmt.Errorf("digest: found %s of the content, want %s: the file was changed", *found,
			quote.Short(*want, 80))
	}
	return err
}

// NoDigest is the format of a note about a file of this name.
const NoDigest = "%s: no digest, as earlier versions wrote it: damage may pass unseen"
