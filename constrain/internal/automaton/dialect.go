package automaton

// Dialect: what Python and ECMA-262 write otherwise than RE2, and the parts that RE2 does not have.

import (
	"fmt"
	"strconv"
	"strings"

	"picogpt/internal/quote"
)

// A look is a lookahead: the text that follows matches, or does not match, a regex.
type look struct {
	not  bool
	text string
}

// In the text of a regex, the character firstLook+i stands for its lookahead i.
const (
	firstLook = 0x10f000
	maxLooks  = 64
)

// dialect returns a regex in RE2's syntax, without its lookaheads. With python it takes Python's
// {,n}, \u, \U, \Z and comments; otherwise ECMA-262's \u and \s. Parts that cannot be followed are
// errors that say what to write.
func dialect(what, re string, python bool) (string, []look, error) {
	d := &dialectReader{what: what, re: re, python: python}
	text := d.read(0)
	if len(d.looks) > 0 && strings.Contains(strings.ToLower(re), "10f") {
		d.fail(fmt.Errorf("%s: want no characters from U+10F000 on beside a lookahead", what))
	}
	return text, d.looks, d.err
}

// A dialectReader reads nothing more after the first error.
type dialectReader struct {
	what, re string
	python   bool
	at       int
	looks    []look
	err      error
}

// fail keeps an error, if it is the first.
func (d *dialectReader) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// refuse fails because of the part of the regex that begins here.
func (d *dialectReader) refuse(format string, args ...any) {
	d.fail(fmt.Errorf("%s: %s: %s", d.what, quote.Short(d.re[d.at:min(len(d.re), d.at+24)], 24),
		fmt.Sprintf(format, args...)))
}

// read returns the text up to the end of a group, or of all; depth counts lookaheads around it.
func (d *dialectReader) read(depth int) string {
	var b strings.Builder
	groups, class := 0, false
	for ; d.at < len(d.re) && d.err == nil; d.at++ {
		rest := d.re[d.at:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			text, n := d.escape(rest, class)
			b.WriteString(text)
			d.at += n - 1
			continue
		case class:
			class = rest[0] != ']'
		case rest[0] == '[':
			class = true
			n := 1
			if strings.HasPrefix(rest, "[^") {
				n++
			}
			if d.python && n < len(rest) && rest[n] == ']' {
				b.WriteString(rest[:n]) // the first ] of a class is a character
				d.at += n
			}
		case rest[0] == '(':
			if d.group(&b, rest, depth) {
				continue
			}
			groups++
		case rest[0] == ')':
			if groups--; groups < 0 && depth > 0 {
				return b.String()
			}
		case strings.HasPrefix(rest, "{,"):
			end := strings.IndexByte(rest, '}')
			if end < 0 || !isNumber(rest[2:end]) && (end > 2 || !d.python) {
				break
			}
			if !d.python {
				d.refuse("want {0,%s}", rest[2:end])
			}
			b.WriteString("{0")
			continue
		}
		b.WriteByte(d.re[d.at])
	}
	if depth > 0 {
		d.fail(fmt.Errorf("%s: missing closing ): a lookahead", d.what))
	}
	return b.String()
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// escape returns what an escape is in RE2's syntax, and its length.
func (d *dialectReader) escape(rest string, class bool) (string, int) {
	switch c := rest[1]; {
	case c >= '1' && c <= '9' && !class:
		d.refuse(backReference)
	case !d.python:
		return ecmaEscape(rest, class)
	case c == 'Z' && !class:
		return `\z`, 2
	case c == 'u' && len(rest) >= 6 && isHex(rest[2:6]):
		return `\x{` + rest[2:6] + `}`, 6
	case c == 'U' && len(rest) >= 10 && isHex(rest[2:10]):
		return `\x{` + rest[2:10] + `}`, 10
	}
	return rest[:2], 2
}

// group reads the beginning of a group. It reports whether it read all of it.
func (d *dialectReader) group(b *strings.Builder, rest string, depth int) bool {
	switch {
	case strings.HasPrefix(rest, "(?="), strings.HasPrefix(rest, "(?!"):
		if depth > 0 {
			d.refuse("a lookahead within a lookahead is not supported")
		}
		if len(d.looks) == maxLooks {
			d.refuse("want %d lookaheads at most", maxLooks)
		}
		d.at += 3
		text := d.read(depth + 1)
		b.WriteRune(rune(firstLook + len(d.looks)))
		d.looks = append(d.looks, look{rest[2] == '!', text})
		return true
	case strings.HasPrefix(rest, "(?#") && d.python:
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			d.refuse("missing closing )")
		}
		d.at += end
		return true
	}
	for _, g := range unsupported {
		if strings.HasPrefix(rest, g.begin) {
			d.refuse("%s", g.why)
		}
	}
	return false
}

const backReference = "a back-reference is not supported: want what it repeats, written out"

// unsupported are the groups that cannot be followed.
var unsupported = []struct{ begin, why string }{
	{"(?<=", lookbehind}, {"(?<!", lookbehind}, {"(?P=", backReference},
	{"(?>", "an atomic group is not supported: want (?:"},
}

const lookbehind = "a lookbehind is not supported: want what comes before as a part of the regex"

// ecmaSpace are the characters of ECMA-262's \s.
const ecmaSpace = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// ecmaOther are all others.
const ecmaOther = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
	`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`

// ECMAPlain returns a pattern of ECMA-262's syntax in RE2's; "" if it has lookaheads, or cannot be
// followed.
func ECMAPlain(p string) string {
	text, looks, err := dialect("", p, false)
	if err != nil || len(looks) > 0 {
		return ""
	}
	return text
}

// ecmaEscape returns what an escape is in RE2's syntax, of \uXXXX, \u{X}, \cX, \s and \S, and its
// length.
func ecmaEscape(rest string, class bool) (string, int) {
	end := strings.IndexByte(rest[:min(len(rest), 40)], '}')
	set := map[byte]string{'s': ecmaSpace, 'S': ecmaOther}[rest[1]]
	switch {
	case set != "" && class:
		return set, 2
	case set != "":
		return "[" + set + "]", 2
	case rest[1] == 'c' && len(rest) > 2 && isLetter(rest[2]):
		return fmt.Sprintf(`\x%02x`, rest[2]%32), 3
	case rest[1] != 'u':
	case isPair(rest):
		high, _ := strconv.ParseUint(rest[2:6], 16, 32)
		low, _ := strconv.ParseUint(rest[8:12], 16, 32)
		return fmt.Sprintf(`\x{%x}`, (high-0xd800)<<10+low-0xdc00+0x10000), 12
	case len(rest) >= 6 && isHex(rest[2:6]):
		return `\x{` + rest[2:6] + `}`, 6
	case strings.HasPrefix(rest, `\u{`) && end > 3 && isHex(rest[3:end]):
		return `\x` + rest[2:end+1], end + 1
	}
	return rest[:2], 2
}

// isPair reports whether a regex begins with the escapes of a surrogate pair.
func isPair(p string) bool {
	return len(p) >= 12 && p[6:8] == `\u` && isHex(p[2:6]) && isHex(p[8:12]) &&
		strings.Contains("89abAB", p[3:4]) && strings.Contains("dD", p[2:3]) &&
		strings.Contains("dD", p[8:9]) && strings.Contains("cdefCDEF", p[9:10])
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isHex(s string) bool {
	for i := range len(s) {
		if _, ok := HexDigit(s[i]); !ok {
			return false
		}
	}
	return true
}
