// Package quote shows what files and users say in error messages: on one line, printable, and not
// all of a long text.
package quote

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Short returns s in quotes, cut to n bytes.
func Short(s string, n int) string {
	if len(s) <= n {
		return strconv.Quote(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strconv.Quote(s[:n]) + "…"
}

// Plain returns s as it is if it is at most n bytes and all of it can be printed, else Short.
func Plain(s string, n int) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if len(s) > n || strings.ContainsFunc(s, odd) {
		return Short(s, n)
	}
	return s
}

// OneLine is an error's message without the system call's name in front, in one line whatever names
// a file or an argument brought into it.
func OneLine(err error) string {
	s := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		s = strings.TrimPrefix(s, path.Op+" ")
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }),
		"; ")
}
