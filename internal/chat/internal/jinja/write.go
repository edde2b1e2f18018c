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
	x.repr(&b, v)
	return b.String()
}

// add adds to a text that is being made.
func (x *run) add(b *strings.Builder, text string) {
	if x.make(len(text)) {
		b.WriteString(text)
	}
}

func (x *run) repr(b *strings.Builder, v any) {
	defer func() { x.depth-- }()
	if !x.enter(x.line) {
		return
	}
	items := func(begin string, items []any, end string) {
		x.add(b, begin)
		for i, item := range items {
			if i > 0 {
				x.add(b, ", ")
			}
			if x.repr(b, item); x.err != nil {
				return
			}
		}
		x.add(b, end)
	}
	switch v := v.(type) {
	case nil:
		x.add(b, "None")
	case bool:
		x.add(b, []string{"False", "True"}[toInt(v)])
	case int:
		x.add(b, strconv.Itoa(v))
	case float64:
		x.add(b, floatText(v, "inf", "nan"))
	case string:
		x.add(b, x.quoted(v))
	case undefined:
		x.add(b, "Undefined")
	case []any:
		items("[", v, "]")
	case tuple:
		items("(", v, map[bool]string{true: ",)", false: ")"}[len(v) == 1])
	case *Dict:
		x.add(b, "{")
		for i, key := range v.keys {
			if i > 0 {
				x.add(b, ", ")
			}
			x.repr(b, key)
			x.add(b, ": ")
			if x.repr(b, v.values[key]); x.err != nil {
				return
			}
		}
		x.add(b, "}")
	default:
		x.fail("%s is printed", typeName(v))
	}
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

// A jsonStyle is the arguments of tojson.
type jsonStyle struct {
	ascii, sorted bool
	lines         bool   // each value has a line
	indent        string // of a level
	comma, colon  string
}

// json writes a value as Python's json.dumps does.
func (x *run) json(b *strings.Builder, v any, s *jsonStyle, level int) {
	defer func() { x.depth-- }()
	if !x.enter(x.line) {
		return
	}
	begin := func(i, level int) {
		if i > 0 {
			x.add(b, s.comma)
		}
		if s.lines {
			x.add(b, "\n")
			for range level {
				x.add(b, s.indent)
			}
		}
	}
	switch v := v.(type) {
	case nil:
		x.add(b, "null")
	case bool:
		x.add(b, strconv.FormatBool(v))
	case int:
		x.add(b, strconv.Itoa(v))
	case float64:
		x.add(b, floatText(v, "Infinity", "NaN"))
	case string:
		x.jsonString(b, v, s.ascii)
	case []any, tuple:
		list := x.items(v)
		x.add(b, "[")
		for i, item := range list {
			begin(i, level+1)
			if x.json(b, item, s, level+1); x.err != nil {
				return
			}
		}
		if len(list) > 0 {
			begin(0, level)
		}
		x.add(b, "]")
	case *Dict:
		keys := v.keys
		if s.sorted {
			keys = x.sorted(keys, false, func(i int) any { return v.keys[i] })
		}
		x.add(b, "{")
		for i, key := range keys {
			begin(i, level+1)
			if text, ok := key.(string); ok {
				x.jsonString(b, text, s.ascii)
			} else {
				x.add(b, `"`)
				x.json(b, key, s, 0)
				x.add(b, `"`)
			}
			x.add(b, s.colon)
			if x.json(b, v.values[key], s, level+1); x.err != nil {
				return
			}
		}
		if len(keys) > 0 {
			begin(0, level)
		}
		x.add(b, "}")
	default:
		x.fail("tojson: %s is no JSON", typeName(v))
	}
}

func (x *run) jsonString(b *strings.Builder, s string, ascii bool) {
	if !x.make(len(s)+2) || !x.work(len(s)/8) {
		return
	}
	b.WriteByte('"')
	for _, r := range s {
		i := strings.IndexRune("\"\\\n\r\t\b\f", r)
		switch {
		case i >= 0:
			b.WriteString(`\` + `"\nrtbf`[i:i+1])
		case r >= 0x10000 && ascii:
			high, low := utf16.EncodeRune(r)
			x.add(b, fmt.Sprintf(`\u%04x\u%04x`, high, low))
		case r < ' ' || ascii && r > '~':
			x.add(b, fmt.Sprintf(`\u%04x`, r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
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
