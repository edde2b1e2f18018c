// Package quote is what errors and terminals show: text from files and users on one line, printable,
// and shortened; its control characters spelt out; and numbers as people read them (amount.go).
package quote

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Short returns s in quotes, shortened to n bytes.
func Short(s string, n int) string {
	if len(s) <= n {
		return strconv.Quote(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strconv.Quote(s[:n]) + "…"
}

// Plain returns s unchanged if it has at most n bytes and can be printed, otherwise Short(s, n).
func Plain(s string, n int) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if len(s) > n || strings.ContainsFunc(s, odd) {
		return Short(s, n)
	}
	return s
}

// Some returns the first three of some names, and how many more there are.
func Some(names []string) string {
	const most = 3
	var shown []string
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, Plain(name, 80))
	}
	if n := len(names) - most; n > 0 {
		shown = append(shown, strconv.Itoa(n)+" more")
	}
	return strings.Join(shown, ", ")
}

// OneLine returns an error's message without the name of the system call at its beginning. The
// result is one line, whatever text from files or arguments the error contains.
func OneLine(err error) string {
	s := err.Error()
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		s = strings.TrimPrefix(s, path.Op+" ")
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }),
		"; ")
}

// Text of others, such as a model or the name of a file, for a terminal, which is to show it and
// obey nothing in it.

// A Shown passes text on with its control characters spelt out: those below a space but newline and
// tab, DEL, and U+0080 to U+009F, also as a single byte that belongs to no character, each as \x1b
// is. The first bytes of a character wait for the rest of it, or for Flush. It may be used from
// several goroutines.
type Shown struct {
	mu   sync.Mutex
	out  io.Writer
	mark string // before the two digits of a control character
	held []byte // the beginning of a character
}

// NewShown returns a Shown that writes to out.
func NewShown(out io.Writer) *Shown { return &Shown{out: out, mark: `\x`} }

// NewShownJSON returns one for JSON, which stays the same value.
func NewShownJSON(out io.Writer) *Shown { return &Shown{out: out, mark: `\u00`} }

// Write passes on all of b in one Write, but for the beginning of a character at its end.
func (s *Shown) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.held, b...)
	shown := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		shown = s.appendFirst(shown, text)
		_, size := utf8.DecodeRune(text)
		text = text[size:]
	}
	s.held = bytes.Clone(text)
	if len(shown) == 0 {
		return len(b), nil
	}
	if _, err := s.out.Write(shown); err != nil {
		return 0, err
	}
	return len(b), nil
}

// appendFirst appends the first character of a text, or its first byte where that begins none.
func (s *Shown) appendFirst(b, text []byte) []byte {
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 {
		r = rune(text[0])
	}
	if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
		return hex.AppendEncode(append(b, s.mark...), []byte{byte(r)})
	}
	return append(b, text[:size]...)
}

// Out is where it writes to.
func (s *Shown) Out() io.Writer { return s.out }

// Flush passes on the beginning of a character whose rest did not come.
func (s *Shown) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []byte
	for i := range s.held {
		shown = s.appendFirst(shown, s.held[i:i+1])
	}
	s.held = nil
	if len(shown) == 0 {
		return nil
	}
	_, err := s.out.Write(shown)
	return err
}
