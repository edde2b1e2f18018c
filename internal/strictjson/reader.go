package strictjson

// Reader: one JSON value, part by part, without copying its strings.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/internal/quote"
)

// A Reader reads one JSON value from its beginning to its end.
type Reader struct {
	text string
	at   int               // byte of the file at which text begins
	dec  *jsontext.Decoder // nil until something is read
	buf  []byte            // scratch
}

// NewReader returns a Reader of text.
func NewReader(text string) *Reader { return &Reader{text: text} }

// Text returns the whole text of the value.
func (r *Reader) Text() string { return r.text }

func (r *Reader) decoder() *jsontext.Decoder {
	if r.dec == nil {
		// Object and Value look for duplicate names themselves: searching a vocabulary for them
		// takes longer than reading it, and its reader finds them anyway.
		r.dec = jsontext.NewDecoder(bytes.NewBufferString(r.text),
			jsontext.AllowDuplicateNames(true))
	}
	return r.dec
}

// Errorf returns an error that names the byte after what was read last.
func (r *Reader) Errorf(format string, args ...any) error {
	return r.errorAt(int(r.decoder().InputOffset()), format, args...)
}

func (r *Reader) errorAt(offset int, format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", r.at+offset, fmt.Sprintf(format, args...))
}

// invalid returns an error for one of the decoder's.
func (r *Reader) invalid(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) { // the text is empty
		return r.errorAt(len(r.text), "not valid JSON: %v", io.ErrUnexpectedEOF)
	}
	offset := int(syntax.ByteOffset)
	if strings.HasPrefix(syntax.Err.Error(), "invalid surrogate pair") {
		escape := r.text[offset:min(offset+len(`\ud800`), len(r.text))]
		return r.errorAt(offset, "%s is a lone surrogate, which is no character", escape)
	}
	return r.errorAt(offset, "not valid JSON: %v", syntax.Err)
}

// next returns the offset of the next value.
func (r *Reader) next() int {
	from := int(r.decoder().InputOffset())
	return len(r.text) - len(strings.TrimLeft(r.text[from:], " \t\r\n,:"))
}

// Kind returns the first character of the next value: {, [, ", 0 for any number, t, f or n.
func (r *Reader) Kind() byte { return byte(r.decoder().PeekKind()) }

// Left returns the number of bytes that were not read yet.
func (r *Reader) Left() int { return len(r.text) - int(r.decoder().InputOffset()) }

// want returns an error unless the next value has that kind.
func (r *Reader) want(kind jsontext.Kind, what string) error {
	switch found := r.decoder().PeekKind(); found {
	case kind:
		return nil
	case 0, '}', ']':
		_, err := r.dec.ReadToken()
		return r.invalid(err)
	case '{', '[':
		return r.errorAt(r.next(), "want %s, found %s", what, show(found, ""))
	default:
		at := r.next()
		value, err := r.raw()
		if err != nil {
			return err
		}
		return r.errorAt(at, "want %s, found %s", what, show(found, value))
	}
}

// show returns text for an unwanted value: the kind of an array or an object, any other value
// itself.
func show(kind jsontext.Kind, value string) string {
	switch {
	case kind == '{':
		return "an object"
	case kind == '[':
		return "an array"
	case len(value) > 40:
		return quote.Short(value, 40)
	}
	return value
}

// raw reads a value and returns its text.
func (r *Reader) raw() (string, error) {
	v, err := r.decoder().ReadValue()
	if err != nil {
		return "", r.invalid(err)
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end], nil
}

// scalar reads a value of a kind, which is neither object nor array.
func (r *Reader) scalar(kind jsontext.Kind, what string) (string, error) {
	if r.decoder().PeekKind() != kind {
		return "", r.want(kind, what)
	}
	return r.raw()
}

// Object reads an object; member reads each value. A duplicate name is an error.
func (r *Reader) Object(member func(key string) error) error {
	seen := map[string]bool{}
	return r.Table(func(key string) error {
		if seen[key] {
			return r.Errorf("%s comes twice", quote.Short(key, 80))
		}
		seen[key] = true
		return member(key)
	})
}

// Table is Object for a large object whose names the caller stores: it does not look for
// duplicates.
func (r *Reader) Table(member func(key string) error) error {
	if err := r.want('{', "an object"); err != nil {
		return err
	}
	if err := r.pass(); err != nil {
		return err
	}
	for r.dec.PeekKind() != '}' {
		key, err := r.String()
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return r.pass()
}

// pass reads the beginning or the end of an object or an array.
func (r *Reader) pass() error {
	if _, err := r.dec.ReadToken(); err != nil { // a comma before the end; nested too deep
		return r.invalid(err)
	}
	return nil
}

// Array reads an array; element reads each value.
func (r *Reader) Array(element func(i int) error) error {
	if err := r.want('[', "an array"); err != nil {
		return err
	}
	if err := r.pass(); err != nil {
		return err
	}
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	return r.pass()
}

// String reads a string. Without escapes, the result is a part of the text, not a copy.
func (r *Reader) String() (string, error) {
	quoted, err := r.scalar('"', "a string")
	if err != nil {
		return "", err
	}
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	r.buf, err = jsontext.AppendUnquote(r.buf[:0], quoted)
	return string(r.buf), err
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	if k := r.Kind(); k != 't' && k != 'f' {
		return false, r.want('t', "true or false")
	}
	value, err := r.raw()
	return value == "true", err
}

// Number reads a number and returns its text.
func (r *Reader) Number() (string, error) { return r.scalar('0', "a number") }

// Natural reads a whole number from 0 to most, written only in digits.
func (r *Reader) Natural(most int64) (int64, error) {
	digits, err := r.scalar('0', "a whole number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || int64(n) > most {
		at := int(r.dec.InputOffset()) - len(digits)
		return 0, r.errorAt(at, "want a whole number from 0 to %d, found %s", most,
			quote.Short(digits, 24))
	}
	return int64(n), nil
}

// Value reads any value and returns a Reader of it. No object in it has duplicate names. That takes
// ten times the memory of the value: use Raw for large or unused values.
func (r *Reader) Value() (*Reader, error) {
	value, err := r.Raw()
	if err != nil {
		return nil, err
	}
	return value, value.Distinct()
}

// Raw is Value without the check for duplicate names.
func (r *Reader) Raw() (*Reader, error) {
	text, err := r.raw()
	if err != nil {
		return nil, err
	}
	return &Reader{text: text, at: r.at + int(r.dec.InputOffset()) - len(text)}, nil
}

// Distinct returns an error if an object of a value that Raw has returned has duplicate names.
func (r *Reader) Distinct() error {
	if r.text[0] != '{' && r.text[0] != '[' {
		return nil
	}
	if _, err := jsontext.NewDecoder(bytes.NewBufferString(r.text)).ReadValue(); err != nil {
		return r.twice(err)
	}
	return nil
}

// twice returns an error for a duplicate name in valid JSON.
func (r *Reader) twice(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return r.invalid(err)
	}
	return r.errorAt(int(syntax.ByteOffset), "%s comes twice",
		quote.Short(syntax.JSONPointer.LastToken(), 80))
}

// End returns an error if anything except white space follows the value.
func (r *Reader) End() error {
	rest := strings.TrimLeft(r.text[r.decoder().InputOffset():], " \t\r\n")
	if rest != "" {
		return r.errorAt(len(r.text)-len(rest), "want the end, found %s", quote.Short(rest, 12))
	}
	return nil
}
