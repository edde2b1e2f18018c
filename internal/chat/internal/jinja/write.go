package jinja

// Values as texts: as Python's str and repr write them, and as JSON.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// str returns a value as {{ }} writes it.
func (x *run) str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	case int:
		return strconv.Itoa(v)
	case markup:
		return string(v)
	}
	var b strings.Builder
	x.dump(&b, v, pythonStyle, 0)
	return b.String()
}

// add adds to a text that is being made.
func (x *run) add(b *strings.Builder, text string) {
	if x.make(len(text)) {
		b.WriteString(text)
	}
}

// A style is how values are written.
type style struct {
	words         [5]string // for None, False, True, infinity and what is no number
	quote         func(x *run, s string) string
	tuples        bool   // have brackets of their own
	sorted, lines bool   // keys are in order; each value has a line
	indent        string // of a level of lines
	comma, colon  string
}

var pythonStyle = &style{words: [5]string{"None", "False", "True", "inf", "nan"},
	quote: (*run).quoted, tuples: true, comma: ", ", colon: ": "}

// dump writes a value in a style, with levels around it.
func (x *run) dump(b *strings.Builder, v any, s *style, level int) {
	defer func() { x.depth-- }()
	if !x.enter(x.line) {
		return
	}
	switch v := v.(type) {
	case nil:
		x.add(b, s.words[0])
	case bool:
		x.add(b, s.words[1+toInt(v)])
	case int:
		x.add(b, strconv.Itoa(v))
	case float64:
		x.add(b, floatText(v, s.words[3], s.words[4]))
	case string:
		x.add(b, s.quote(x, v))
	case []any, tuple:
		items, of := seq(v)
		brackets := "[]"
		if of == "tuple" && s.tuples {
			brackets = "(,)"[:1] + ",)"[toInt(len(items) != 1):]
		}
		x.listed(b, brackets, len(items), s, level, func(i int) { x.dump(b, items[i], s, level+1) })
	case *Dict:
		keys := v.keys
		if s.sorted {
			keys = x.sorted(keys, false, func(i int) any { return v.keys[i] })
		}
		x.listed(b, "{}", len(keys), s, level, func(i int) {
			if isA[string](keys[i]) || s.tuples {
				x.dump(b, keys[i], s, level)
			} else { // in JSON, a name
				x.add(b, `"`)
				x.dump(b, keys[i], s, level)
				x.add(b, `"`)
			}
			x.add(b, s.colon)
			x.dump(b, v.values[keys[i]], s, level+1)
		})
	default:
		if !s.tuples || !isA[undefined](v) {
			x.fail("%s cannot be written", typeName(v))
		}
		x.add(b, "Undefined")
	}
}

// listed writes n values between brackets.
func (x *run) listed(
	b *strings.Builder, brackets string, n int, s *style, level int, value func(i int),
) {
	line := func(level int) {
		if s.lines && n > 0 {
			x.add(b, "\n")
			for range level {
				x.add(b, s.indent)
			}
		}
	}
	x.add(b, brackets[:1])
	for i := range n {
		if i > 0 {
			x.add(b, s.comma)
		}
		line(level + 1)
		if value(i); x.err != nil {
			return
		}
	}
	line(level)
	x.add(b, brackets[1:])
}

// floatText returns a float as Python writes it.
func floatText(f float64, inf, nan string) string {
	switch {
	case math.IsNaN(f):
		return nan
	case math.IsInf(f, 0):
		return "-"[:toInt(f < 0)] + inf
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if n, _ := strconv.Atoi(exponent); n >= -4 && n < 16 {
		if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return text
}

// quoted returns a string as Python's repr writes it.
func (x *run) quoted(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	x.work(len(s) / 8)
	for _, r := range s {
		i := strings.IndexRune("\n\r\t", r)
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case i >= 0:
			b.WriteString(`\` + "nrt"[i:i+1])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// jsonQuoted returns a string as json.dumps writes it.
func (x *run) jsonQuoted(s string, ascii bool) string {
	x.work(len(s) / 8)
	quoted, _ := jsontext.AppendQuote(nil, s) // an error is of bytes that it has replaced
	if !ascii {
		return string(quoted)
	}
	var b strings.Builder
	for _, r := range string(quoted) {
		if r <= '~' {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// join returns texts with another between them.
func (x *run) join(items []any, between string) string {
	texts, n := make([]string, len(items)), 0
	for i, v := range items {
		if x.err != nil {
			return ""
		}
		texts[i] = x.str(v)
		n += len(texts[i]) + len(between)
	}
	if !x.make(n) || !x.work(len(items)) {
		return ""
	}
	return strings.Join(texts, between)
}

// sorted returns items in the order of their keys.
func (x *run) sorted(items []any, reverse bool, key func(i int) any) []any {
	type pair struct{ key, value any }
	if !x.make(64 * len(items)) {
		return nil
	}
	pairs, sorted := make([]pair, len(items)), make([]any, len(items))
	for i, v := range items {
		pairs[i] = pair{key(i), v}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		order, ok := x.order(a.key, b.key)
		if !ok {
			x.fail("sort: %s and %s have no order", typeName(a.key), typeName(b.key))
		}
		return order * (1 - 2*toInt(reverse))
	})
	for i, p := range pairs {
		sorted[i] = p.value
	}
	return sorted
}
