package jinja

// Tokens: texts, tags, and what is in tags. The white space around tags is removed as transformers
// sets Jinja up: trim_blocks and lstrip_blocks.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// A kind is the kind of a token.
type kind int

const (
	end   kind = iota // of the source, and of all after an error
	data              // text between tags
	open              // {{ or {%
	shut              // }} or %}
	name              // a word
	sign              // an operator
	value             // a number
	words             // a string
)

// A token is a part of a source.
type token struct {
	kind  kind
	line  int
	text  string
	value any // of a number
}

// A lexer cuts a source into tokens.
type lexer struct {
	source    string
	at, line  int
	tag       string // the beginning of the tag that at is in, or ""
	brackets  []byte // those that are open in it
	lineBegin bool   // no text stands before at in its line
	err       error
}

func newLexer(source string) *lexer {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	return &lexer{source: strings.TrimSuffix(source, "\n"), line: 1, lineBegin: true}
}

// fail keeps the first error.
func (l *lexer) fail(line int, format string, args ...any) token {
	if l.err == nil {
		l.err = &Error{line, fmt.Sprintf(format, args...)}
	}
	return token{line: line}
}

// take moves beyond n bytes.
func (l *lexer) take(n int) string {
	text := l.source[l.at : l.at+n]
	l.at += n
	l.line += strings.Count(text, "\n")
	if n > 0 {
		l.lineBegin = text[n-1] == '\n'
	}
	return text
}

// token returns the next token.
func (l *lexer) token() token {
	for l.err == nil {
		if l.tag != "" {
			return l.inTag()
		}
		t, ok := l.outside()
		if ok {
			return t
		}
	}
	return token{line: l.line}
}

// outside returns a text, or the beginning of a tag; false after a comment, or an empty text.
func (l *lexer) outside() (token, bool) {
	rest, line := l.source[l.at:], l.line
	n := len(rest)
	if tag := tags().FindStringIndex(rest); tag != nil {
		n = tag[0]
	}
	begins := l.lineBegin
	switch text := l.take(n); {
	case n == len(rest) && n == 0:
		return token{line: line}, true
	case n == len(rest):
		return token{kind: data, line: line, text: text}, true
	case n > 0: // the tag after it removes space from it
		l.lineBegin = begins
		t := token{kind: data, line: line, text: l.stripped(text, rest[n:])}
		l.lineBegin = strings.HasSuffix(text, "\n")
		if t.text != "" {
			return t, true
		}
	}
	return l.tagBegin(rest[n:])
}

// stripped returns a text without the space that the tag after it removes.
func (l *lexer) stripped(text, tag string) string {
	switch sign := (tag + " ")[2]; {
	case sign == '-':
		return trimRight(text)
	case sign == '+' || tag[1] == '{':
		return text
	}
	from := strings.LastIndexByte(text, '\n') + 1
	if (from > 0 || l.lineBegin) && trimRight(text[from:]) == "" {
		return text[:from]
	}
	return text
}

func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	tags     = compiled(`\{[{%#]`)
	rawBegin = compiled(`^\{%[-+]?\s*raw\s*(-%\}\s*|%\})`)
	rawEnd   = compiled(`\{%[-+]?\s*endraw\s*(\+%\}|-%\}\s*|%\}\n?)`)
	comment  = compiled(`(?s)^\{#[-+]?.*?(?:\+#\}|-#\}\s*|#\}\n?)`)
	tagEnds  = map[string]func() *regexp.Regexp{
		"{%": compiled(`^(?:\+%\}|-%\}\s*|%\}\n?)`), "{{": compiled(`^(?:-\}\}\s*|\}\})`)}
)

// tagBegin moves into a tag, or beyond a comment or what is raw.
func (l *lexer) tagBegin(rest string) (token, bool) {
	line := l.line
	if rest[1] == '#' {
		n := len(comment().FindString(rest))
		if n == 0 {
			return l.fail(line, "a comment without its end, #}"), true
		}
		l.take(n)
		return token{}, false
	}
	if begin := rawBegin().FindString(rest[:min(len(rest), 99)]); begin != "" {
		l.take(len(begin))
		after := l.source[l.at:]
		found := rawEnd().FindStringIndex(after)
		if found == nil {
			return l.fail(line, "raw without its endraw"), true
		}
		text := l.stripped(after[:found[0]], after[found[0]:])
		l.take(found[1])
		return token{kind: data, line: line, text: text}, true
	}
	n := 2
	if len(rest) > 2 && (rest[2] == '-' || rest[2] == '+') {
		n++
	}
	l.tag = l.take(n)[:2]
	return token{kind: open, line: line, text: l.tag}, true
}

// parts matches a token of a tag: a number with a point or an exponent, another, a word, a string, or
// an operator.
var parts = compiled(`^(?:((?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+\-]?(?:\d+_)*\d+|` +
	`\.(?:\d+_)*\d+))|(0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|` +
	`[1-9](?:_?\d)*|0(?:_?0)*)|([a-zA-Z_[:^ascii:]][\w[:^ascii:]]*)|` +
	`((?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(//|\*\*|[=!<>]=|[-+/*%~\[\](){}<>=.:|,;]))`)

// inTag returns the next token of a tag.
func (l *lexer) inTag() token {
	l.take(len(l.source) - l.at - len(trimLeft(l.source[l.at:])))
	rest, t := l.source[l.at:], token{line: l.line}
	if len(l.brackets) == 0 {
		if n := len(tagEnds[l.tag]().FindString(rest)); n > 0 {
			t.kind, t.text, l.tag = shut, "the end of the tag", ""
			l.take(n)
			return t
		}
	}
	m := parts().FindStringSubmatch(rest[:min(len(rest), 64)]) // a short text is matched faster
	if m == nil || len(m[0]) > 32 {
		m = parts().FindStringSubmatch(rest)
	}
	if m == nil {
		return l.fail(l.line, "want an expression, or the end of %s, found %s", l.tag,
			quote.Short(rest, 20))
	}
	t.text = l.take(len(m[0]))
	var err error
	switch plain := strings.ReplaceAll(t.text, "_", ""); {
	case m[1] != "":
		t.kind = value
		t.value, err = strconv.ParseFloat(plain, 64)
	case m[2] != "":
		t.kind = value
		var n int64
		n, err = strconv.ParseInt(plain, 0, 64)
		t.value = int(n)
	case m[3] != "":
		t.kind = name
	case m[4] != "":
		t.kind, t.text = words, l.unescaped(t.text[1:len(t.text)-1])
	default:
		t.kind = sign
		l.bracket(t)
	}
	if err != nil {
		return l.fail(t.line, "%s is too large a number", quote.Short(t.text, 40))
	}
	return t
}

// bracket keeps which brackets are open.
func (l *lexer) bracket(t token) {
	n := len(l.brackets) - 1
	if i := strings.Index("([{", t.text); i >= 0 {
		l.brackets = append(l.brackets, ")]}"[i])
	} else if !strings.Contains(")]}", t.text) {
		return
	} else if n < 0 || l.brackets[n] != t.text[0] {
		l.fail(t.line, "%s without its beginning", t.text)
	} else {
		l.brackets = l.brackets[:n]
	}
}

var escapes = compiled(`(?s)\\(?:[0-7]{1,3}|x.{0,2}|u.{0,4}|U.{0,8}|.)`)

// unescaped returns a string without Python's escapes.
func (l *lexer) unescaped(text string) string {
	return escapes().ReplaceAllStringFunc(text, func(escape string) string {
		digits, base := escape[2:], 16
		switch c := escape[1]; {
		case c == '\n':
			return ""
		case c >= '0' && c <= '7':
			digits, base = escape[1:], 8
		case strings.IndexByte("xuU", c) >= 0 && len(digits) == map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]:
		case strings.IndexByte("xuUN", c) >= 0:
			digits = "none"
		default:
			if i := strings.IndexByte(`\'"abfnrtv`, c); i >= 0 {
				return "\\'\"\a\b\f\n\r\t\v"[i : i+1]
			}
			return escape
		}
		code, err := strconv.ParseUint(digits, base, 32)
		if err != nil || !utf8.ValidRune(rune(code)) {
			l.fail(l.line, "%s is no character", quote.Short(escape, 12))
		}
		return string(rune(code))
	})
}

// space is what Python's strings take for white space.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func trimLeft(s string) string  { return strings.TrimLeftFunc(s, space) }
func trimRight(s string) string { return strings.TrimRightFunc(s, space) }
