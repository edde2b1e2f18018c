// Package quote is what errors and terminals show: text from files and users on one line, printable,
// and shortened; its control characters spelt out; and numbers as people read them (amount.go).
package quote

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
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
	var path *fs.PathError
	if errors.As(err, &path) {
		s = strings.TrimPrefix(s, path.Op+" ")
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }),
		"; ")
}
