package terminal

// The effects of the keys.

import (
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Keys of one byte. Keys of several bytes have numbers below 0.
const (
	ctrlA     = 1
	ctrlB     = 2
	ctrlC     = 3
	ctrlD     = 4
	ctrlE     = 5
	ctrlF     = 6
	ctrlH     = 8
	tab       = '\t'
	lineFeed  = '\n'
	ctrlK     = 11
	ctrlL     = 12
	enter     = '\r'
	ctrlN     = 14
	ctrlP     = 16
	ctrlU     = 21
	ctrlW     = 23
	ctrlY     = 25
	escape    = 27
	backspace = 127

	incomplete = -iota // the rest of the key has not arrived
	unknown
	up
	down
	left
	right
	home
	end
	deleteKey
	wordLeft
	wordRight
	deleteWord
)

// useKeys handles the keys. done is true at the end of the line; an incomplete key stays in the
// queue.
func (e *Editor) useKeys() (done bool, err error) {
	used := 0
	defer func() { e.keys = slices.Delete(e.keys, 0, used) }()
	for used < len(e.keys) {
		if n := e.insert(e.keys[used:]); n > 0 {
			used += n
			continue
		}
		key, n := parseKey(e.keys[used:])
		if key == incomplete {
			return false, nil
		}
		used += n
		if key != tab {
			e.line.tabbed = nil
		}
		switch {
		case key == enter || key == lineFeed:
			return true, nil
		case key == ctrlC:
			e.line.at = len(e.line.text)
			return true, ErrAborted
		case key == ctrlD && len(e.line.text) == 0:
			return true, io.EOF
		}
		e.press(key)
	}
	return false, nil
}

// insert inserts the next characters at the cursor, all at once. It returns the number of their
// bytes.
func (e *Editor) insert(keys []byte) (n int) {
	l := &e.line
	var run []rune
	for n < len(keys) && utf8.FullRune(keys[n:]) {
		r, size := utf8.DecodeRune(keys[n:])
		if unicode.IsControl(r) && (r != tab || isCommand(l.text, run)) {
			break
		}
		run = append(run, r)
		n += size
	}
	if room := longestLine - len(l.text); len(run) > room {
		run = run[:room]
	}
	if n > 0 {
		l.tabbed = nil
		l.text = slices.Insert(l.text, l.at, run...)
		l.at += len(run)
	}
	return n
}

// isCommand reports whether a line that consists of these parts may be completed.
func isCommand(parts ...[]rune) bool {
	for _, part := range parts {
		if len(part) > 0 {
			return part[0] == '/'
		}
	}
	return true
}

// press handles a key that neither ends the line nor is a character.
func (e *Editor) press(key int) {
	l := &e.line
	switch key {
	case ctrlA, home:
		l.at = 0
	case ctrlE, end:
		l.at = len(l.text)
	case ctrlB, left:
		l.at = l.before()
	case ctrlF, right:
		l.at = l.after()
	case wordLeft:
		l.at = l.wordBefore()
	case wordRight:
		l.at = l.wordAfter()
	case ctrlH, backspace:
		l.cut(l.before(), l.at)
	case ctrlD, deleteKey:
		l.cut(l.at, l.after())
	case ctrlK:
		e.killed = l.cut(l.at, len(l.text))
	case ctrlU:
		e.killed = l.cut(0, l.at)
	case ctrlW:
		e.killed = l.cut(l.wordBefore(), l.at)
	case deleteWord:
		e.killed = l.cut(l.at, l.wordAfter())
	case ctrlY:
		l.text = slices.Insert(l.text, l.at, e.killed...)
		l.at += len(e.killed)
	case ctrlP, up:
		e.showPast(-1)
	case ctrlN, down:
		e.showPast(+1)
	case tab:
		e.complete()
	case ctrlL:
		e.screen.clear(e)
	}
}

// cut removes a part of the line, and leaves the cursor there.
func (l *line) cut(from, to int) []rune {
	part := slices.Clone(l.text[from:to])
	l.text = slices.Delete(l.text, from, to)
	l.at = from
	return part
}

// before returns the index of the character before the cursor; combining marks belong to their
// character.
func (l *line) before() int {
	at := max(0, l.at-1)
	for at > 0 && width(l.text[at]) == 0 {
		at--
	}
	return at
}

func (l *line) after() int {
	at := min(len(l.text), l.at+1)
	for at < len(l.text) && width(l.text[at]) == 0 {
		at++
	}
	return at
}

func (l *line) wordBefore() int {
	at := l.at
	for at > 0 && unicode.IsSpace(l.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(l.text[at-1]) {
		at--
	}
	return at
}

func (l *line) wordAfter() int {
	at := l.at
	for at < len(l.text) && unicode.IsSpace(l.text[at]) {
		at++
	}
	for at < len(l.text) && !unicode.IsSpace(l.text[at]) {
		at++
	}
	return at
}

// parseKey returns the next key, and the number of its bytes.
func parseKey(keys []byte) (key, n int) {
	switch {
	case keys[0] != escape && keys[0] >= utf8.RuneSelf && !utf8.FullRune(keys):
		return incomplete, 0
	case keys[0] != escape && keys[0] >= utf8.RuneSelf: // a control character of two bytes
		_, n = utf8.DecodeRune(keys)
		return unknown, n
	case keys[0] != escape:
		return int(keys[0]), 1
	case len(keys) == 1:
		return incomplete, 0
	}
	switch keys[1] {
	case '[', 'O':
		return parseSequence(keys)
	case 'b':
		return wordLeft, 2
	case 'f':
		return wordRight, 2
	case 'd':
		return deleteWord, 2
	case backspace:
		return ctrlW, 2
	case escape:
		return unknown, 1
	}
	return unknown, 2
}

// longestSequence is the greatest number of bytes of a key.
const longestSequence = 32

// parseSequence is parseKey for keys that begin with ESC [ or ESC O.
func parseSequence(keys []byte) (key, n int) {
	for n = 2; ; n++ {
		switch {
		case n == len(keys) && n < longestSequence:
			return incomplete, 0
		case n == len(keys) || n == longestSequence || keys[n] < ' ' || keys[n] > '~':
			return unknown, n
		case keys[n] >= '@':
			return sequences[string(keys[2:n+1])], n + 1
		}
	}
}

// sequences are the keys of xterm, the Linux console and other terminals. All other sequences are
// unknown.
var sequences = map[string]int{
	"A": up, "B": down, "C": right, "D": left, "H": home, "F": end,
	"1~": home, "7~": home, "4~": end, "8~": end, "3~": deleteKey,
	"1;5C": wordRight, "1;3C": wordRight, "1;5D": wordLeft, "1;3D": wordLeft,
}
