// A small JSON reader. encoding/json needs 40 ms for GPT-2's tokenizer.json, most of the time that text may cost at
// start; this one reads the large members, vocab and merges, in place, and leaves the small ones to encoding/json.

package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds on what is read into memory as it is: tokenizer.json has 9 members, its largest small one is under 4 KB.
const (
	maxMembers = 64
	maxSmall   = 64 << 10
)

// A scanner reads one JSON value. Its errors give the file and the byte.
type scanner struct {
	name string // of the file
	data string // valid UTF-8
	at   int
	buf  []byte // scratch of escaped
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %s", s.name, s.at, fmt.Sprintf(format, args...))
}

// found says what is at hand, for errors.
func (s *scanner) found() string {
	if s.at >= len(s.data) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.data[s.at:])
	return strconv.QuoteRune(r)
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take reads the byte c.
func (s *scanner) take(c byte) error {
	if s.peek() != c || s.at == len(s.data) {
		return s.errorf("want %q, found %s", c, s.found())
	}
	s.at++
	return nil
}

// end errs unless nothing is left.
func (s *scanner) end() error {
	if s.peek(); s.at < len(s.data) {
		return s.errorf("want the end, found %s", s.found())
	}
	return nil
}

// object reads an object; member reads each value.
func (s *scanner) object(member func(key string) error) error {
	return s.list('{', '}', func(int) error {
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.take(':'); err != nil {
			return err
		}
		return member(key)
	})
}

// array reads an array; element reads each value.
func (s *scanner) array(element func(i int) error) error {
	return s.list('[', ']', element)
}

func (s *scanner) list(open, shut byte, element func(i int) error) error {
	if err := s.take(open); err != nil {
		return err
	}
	if s.peek() == shut {
		return s.take(shut)
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err
		}
		if s.peek() != ',' {
			return s.take(shut)
		}
		s.at++
	}
}

// natural reads a whole number from 0 to below limit.
func (s *scanner) natural(limit int) (int, error) {
	s.peek()
	from := s.at
	for s.at < len(s.data) && strings.IndexByte("+-.0123456789eE", s.data[s.at]) >= 0 {
		s.at++
	}
	digits := s.data[from:s.at]
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n >= uint64(limit) || len(digits) > 1 && digits[0] == '0' {
		s.at = from
		if digits == "" {
			return 0, s.errorf("want a whole number, found %s", s.found())
		}
		return 0, s.errorf("want a whole number below %d, found %s", limit, short(digits))
	}
	return int(n), nil
}

// str reads a string. Without escapes in it, it is a part of the file, not a copy.
func (s *scanner) str() (string, error) {
	if err := s.take('"'); err != nil {
		return "", err
	}
	from := s.at
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[from : s.at-1], nil
		case c == '\\':
			s.buf = append(s.buf[:0], s.data[from:s.at]...)
			return s.escaped(s.buf)
		case c < ' ':
			return "", s.errorf("control character %s in a string", s.found())
		}
	}
	return "", s.errorf("a string has no end")
}

// escaped reads the rest of a string, from its first backslash on, to after dst.
func (s *scanner) escaped(dst []byte) (string, error) {
	for s.at < len(s.data) {
		c := s.data[s.at]
		switch {
		case c == '"':
			s.at++
			s.buf = dst
			return string(dst), nil
		case c < ' ':
			return "", s.errorf("control character %s in a string", s.found())
		case c != '\\':
			dst = append(dst, c)
			s.at++
			continue
		}
		if s.at+1 == len(s.data) {
			break
		}
		if s.data[s.at+1] == 'u' {
			r, err := s.escapedRune()
			if err != nil {
				return "", err
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		i := strings.IndexByte(`"\/bfnrt`, s.data[s.at+1])
		if i < 0 {
			return "", s.errorf("unknown escape %s", short(s.data[s.at:s.at+2]))
		}
		dst = append(dst, "\"\\/\b\f\n\r\t"[i])
		s.at += 2
	}
	return "", s.errorf("a string has no end")
}

// escapedRune reads \uXXXX, or two of them that are a surrogate pair.
func (s *scanner) escapedRune() (rune, error) {
	unit := func(at int) (rune, bool) {
		if at+6 > len(s.data) || s.data[at:at+2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(s.data[at+2:at+6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s.at)
	size := 6
	if ok && utf16.IsSurrogate(r) {
		low, _ := unit(s.at + 6)
		r = utf16.DecodeRune(r, low)
		size, ok = 12, r != utf8.RuneError
	}
	if !ok {
		return 0, s.errorf(`want \u and four hexadecimal digits, a surrogate only before its second half`)
	}
	s.at += size
	return r, nil
}

// value skips a value and returns a scanner on it. It only looks for the value's end: what reads it checks it.
func (s *scanner) value() (*scanner, error) {
	s.peek()
	from, depth := s.at, 0
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case '"':
			for s.at++; s.at < len(s.data) && s.data[s.at] != '"'; s.at++ {
				if s.data[s.at] == '\\' {
					s.at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 || s.at >= len(s.data) {
			break
		}
		s.at++
		if depth == 0 && (s.at == len(s.data) || strings.IndexByte(",}] \t\n\r", s.data[s.at]) >= 0) {
			return &scanner{name: s.name, data: s.data[:s.at], at: from}, nil
		}
	}
	s.at = min(s.at, len(s.data)) // a backslash at the end was taken with what follows it
	return nil, s.errorf("want a value, found %s", s.found())
}

// members reads an object into its values. A name that comes twice is an error.
func (s *scanner) members() (map[string]*scanner, error) {
	values := map[string]*scanner{}
	err := s.object(func(key string) error {
		if values[key] != nil {
			return s.errorf("%s is there twice", short(key))
		}
		if len(values) == maxMembers {
			return s.errorf("more than %d members", maxMembers)
		}
		value, err := s.value()
		values[key] = value
		return err
	})
	return values, err
}

// text returns the value as it is written.
func (s *scanner) text() string {
	return s.data[s.at:]
}

// idle reports whether the value is one that switches a feature off, as is no value.
func (s *scanner) idle() bool {
	if s == nil {
		return true
	}
	switch s.text() {
	case "null", "false", `""`, "0", "0.0", "[]", "{}":
		return true
	}
	return false
}

// valid errs unless the value is JSON.
func (s *scanner) valid() error {
	if !json.Valid([]byte(s.text())) {
		return s.errorf("not JSON: %s", short(s.text()))
	}
	return nil
}

// unmarshal hands a small value to encoding/json.
func (s *scanner) unmarshal(into any) error {
	if size := len(s.text()); size > maxSmall {
		return s.errorf("a value of %d bytes, want at most %d", size, maxSmall)
	}
	if err := json.Unmarshal([]byte(s.text()), into); err != nil {
		return s.errorf("%v", err)
	}
	return nil
}

// short quotes what a file says, cut to a length that fits an error.
func short(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…"
	}
	return strconv.Quote(text)
}

// plain is short without the quotes if nothing in the text needs them.
func plain(text string) string {
	q := short(text)
	if q == `"`+text+`"` {
		return text
	}
	return q
}
