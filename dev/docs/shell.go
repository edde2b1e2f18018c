package docs

// The words of a shell's command lines, as far as the documents need them.

import (
	"regexp"
	"strings"
)

// Simple returns the simple commands of a shell's line as their words, without assignments before
// them, redirections and comments. Commands in $(…), <(…) and backquotes are among them; a word has "…" in
// their place.
func Simple(line string) [][]string {
	l := &lexer{rest: line}
	l.commands(0)
	return l.all
}

// unfinished reports whether a command goes on in the next line: after a backslash, inside quotes and
// parentheses, or in a here-document.
func unfinished(text string) bool {
	l := &lexer{rest: text}
	l.commands(0)
	if l.open {
		return true
	}
	if here := hereDocument.FindStringSubmatch(text); here != nil {
		lines := strings.Split(text, "\n")
		return len(lines) == 1 || lines[len(lines)-1] != here[1]
	}
	return false
}

// hereDocument finds the word that ends a here-document.
var hereDocument = regexp.MustCompile(`<<-? *['"]?([A-Za-z_]+)['"]?`)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// A lexer cuts a command line.
type lexer struct {
	rest  string
	all   [][]string
	words []string // of the command so far
	word  strings.Builder
	has   bool // a word has begun, which may be empty, as ''
	skip  bool // the next word is the file of a redirection
	open  bool // the line ends where something goes on
}

// commands reads up to the byte end, or to the end of the line.
func (l *lexer) commands(end byte) {
	for l.rest != "" {
		c := l.rest[0]
		l.rest = l.rest[1:]
		switch {
		case end != 0 && c == end:
			l.endCommand()
			return
		case c == '\\':
			l.escape()
		case c == '\'':
			l.quoted(false)
		case c == '"':
			l.quoted(true)
		case c == '$' && strings.HasPrefix(l.rest, "'"):
			l.rest = l.rest[1:]
			l.quoted(false)
		case (c == '$' || c == '<' || c == '>') && strings.HasPrefix(l.rest, "("):
			l.rest = l.rest[1:]
			l.inner(')')
		case c == '`':
			l.inner('`')
		case c == ' ' || c == '\t':
			l.endWord()
		case c == '#' && !l.has:
			_, after, more := strings.Cut(l.rest, "\n")
			if l.rest = after; more {
				l.endCommand()
			}
		case strings.IndexByte("|&;\n()", c) >= 0:
			l.endCommand()
		case c == '<' || c == '>':
			l.redirection()
		default:
			l.word.WriteByte(c)
			l.has = true
		}
	}
	l.open = l.open || end != 0
	l.endCommand()
}

func (l *lexer) escape() {
	if l.rest == "" {
		l.open = true
		return
	}
	if l.rest[0] != '\n' {
		l.word.WriteByte(l.rest[0])
		l.has = true
	}
	l.rest = l.rest[1:]
}

// quoted reads to the end of quotes; in double ones a backslash and commands keep their meaning.
func (l *lexer) quoted(double bool) {
	l.has = true
	for l.rest != "" {
		c := l.rest[0]
		l.rest = l.rest[1:]
		switch {
		case !double && c == '\'', double && c == '"':
			return
		case double && c == '\\' && l.rest != "" && strings.IndexByte("\"\\$`\n", l.rest[0]) >= 0:
			l.escape()
		case double && c == '$' && strings.HasPrefix(l.rest, "("):
			l.rest = l.rest[1:]
			l.inner(')')
		default:
			l.word.WriteByte(c)
		}
	}
	l.open = true
}

// inner reads the commands inside a word.
func (l *lexer) inner(end byte) {
	in := &lexer{rest: l.rest}
	in.commands(end)
	l.rest, l.open = in.rest, l.open || in.open
	l.all = append(l.all, in.all...)
	l.word.WriteString(Any)
	l.has = true
}

// redirection drops its number and the word after it.
func (l *lexer) redirection() {
	if s := l.word.String(); strings.Trim(s, "0123456789") == "" {
		l.word.Reset()
		l.has = false
	}
	l.endWord()
	l.rest = strings.TrimLeft(l.rest, "<>&|-")
	l.skip = true
}

func (l *lexer) endWord() {
	if !l.has {
		return
	}
	word := l.word.String()
	l.word.Reset()
	l.has = false
	if l.skip {
		l.skip = false
		return
	}
	if len(l.words) > 0 || !assignment.MatchString(word) {
		l.words = append(l.words, word)
	}
}

func (l *lexer) endCommand() {
	l.endWord()
	l.skip = false
	if len(l.words) > 0 {
		l.all = append(l.all, l.words)
	}
	l.words = nil
}
