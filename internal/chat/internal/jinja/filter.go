package jinja

// Filters: what may stand after a |.

import (
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func makeFilters() map[string]*builtin {
	all := map[string]*builtin{
		"string":  function("s", func(x *run, v []any) any { return x.str(v[0]) }),
		"title":   made(func(s string) any { return titleWords(s) }),
		"e":       made(func(s string) any { return markup(html.EscapeString(s)) }),
		"safe":    made(func(s string) any { return markup(s) }),
		"tojson":  function("v ensure_ascii? indent? separators? sort_keys?", toJSON),
		"default": function("v default_value? boolean?", defaultFilter),
		"length":  function("v", lengthFilter),
		"first":   function("v", func(x *run, v []any) any { return x.item(x.items(v[0]), 0) }),
		"last": function("v", func(x *run, v []any) any {
			if isA[generator](v[0]) {
				return x.fail("last of a generator: want |list before it")
			}
			return x.item(x.items(v[0]), -1)
		}),
		"list": function("v", func(x *run, v []any) any { return x.list(x.items(v[0])) }),
		"items": function("v", func(x *run, v []any) any {
			if d, ok := v[0].(*Dict); ok {
				return generator(x.pairs(d))
			} else if isA[undefined](v[0]) {
				return generator(nil)
			}
			return x.fail("items: want a dict, found %s", typeName(v[0]))
		}),
		"join": function("v d? attribute?", func(x *run, v []any) any {
			return x.join(x.mapped(x.items(v[0]), v[2]), textOr(v[1], ""))
		}),
		"replace": function("s old new count?", func(x *run, v []any) any {
			return x.replace(x.str(v[0]), x.str(v[1]), x.str(v[2]), x.intOr(v[3], -1))
		}),
		"indent":   function("s width? first? blank?", indent),
		"dictsort": function("v case_sensitive? by? reverse?", dictSort),
		"sort": function("v reverse? case_sensitive? attribute?", func(x *run, v []any) any {
			keys := x.mapped(x.items(v[0]), v[3])
			return x.sorted(x.items(v[0]), is(v[1]), func(i int) any {
				return x.folded(keys[i], is(v[2]))
			})
		}),
		"unique": function("v case_sensitive? attribute?", func(x *run, v []any) any {
			seen, keys := NewDict(), x.mapped(x.items(v[0]), v[2])
			return generator(x.filtered(x.items(v[0]), func(i int) bool {
				n := len(seen.keys)
				x.put(seen, x.folded(keys[i], is(v[1])), nil)
				return len(seen.keys) > n
			}))
		}),
		"reverse": function("v", func(x *run, v []any) any {
			if s, ok := v[0].(string); ok {
				return x.slice(s, nil, nil, -1)
			}
			items := x.list(x.items(v[0]))
			slices.Reverse(items)
			return generator(items)
		}),
		"abs": function("v", func(x *run, v []any) any {
			n := x.number(v[0])
			if f, _ := float(n); f < 0 || math.Signbit(f) {
				return x.binary("*", -1, n)
			}
			return n
		}),
		"int":   function("v default?", intFilter),
		"float": function("v default?", floatFilter),
		"round": function("v precision? method?", round),
		"map":   {mapFilter},

		"select":     {func(x *run, a arguments) any { return x.choose(a, false, false) }},
		"reject":     {func(x *run, a arguments) any { return x.choose(a, false, true) }},
		"selectattr": {func(x *run, a arguments) any { return x.choose(a, true, false) }},
		"rejectattr": {func(x *run, a arguments) any { return x.choose(a, true, true) }},
	}
	all["d"], all["escape"], all["count"] = all["default"], all["e"], all["length"]
	for name, method := range map[string]string{"upper": "upper", "lower": "lower",
		"capitalize": "capitalize", "trim": "strip"} {
		all[name] = textMethods()[method]
	}
	return all
}

// A markup is a text that is marked as safe, which only matters where another text is joined to it.
type markup string

// choose is select, reject, selectattr and rejectattr: the items whose test is true, or not.
func (x *run) choose(a arguments, ofMember, negated bool) any {
	items := x.some(&a)
	keys := items
	if ofMember {
		if len(a.positional) == 0 {
			return x.fail("want the name of a member")
		}
		keys = x.mapped(items, a.positional[0])
		a.positional = a.positional[1:]
	}
	test := function("v", func(_ *run, v []any) any { return truth(v[0]) })
	if len(a.positional) > 0 {
		test = x.named("test", tests(), &a)
	}
	return generator(x.filtered(items, func(i int) bool {
		return truth(x.apply(test, keys[i], a)) != negated
	}))
}

// some takes the first argument, and returns its items: what is empty or zero has none.
func (x *run) some(a *arguments) []any {
	v := a.positional[0]
	if a.positional = a.positional[1:]; truth(v) {
		return x.items(v)
	}
	return nil
}

// mapFilter is map: a member of each item, or a filter of it.
func mapFilter(x *run, a arguments) any {
	items := x.some(&a)
	if len(a.positional) > 0 {
		f := x.named("filter", filters(), &a)
		mapped := x.list(items)
		for i, item := range mapped {
			mapped[i] = x.apply(f, item, a)
		}
		return generator(mapped)
	}
	v := x.bind([]string{"attribute", "default?"}, a)
	if x.err != nil {
		return nil
	}
	mapped := x.mapped(items, v[0])
	for i, item := range mapped {
		if isA[undefined](item) && given(v[1]) {
			mapped[i] = v[1]
		}
	}
	return generator(mapped)
}

// mapped returns a member of each item, such as name, function.name or 0; or the items.
func (x *run) mapped(items []any, attribute any) []any {
	mapped := x.list(items)
	if attribute == nil || !given(attribute) {
		return mapped
	}
	path := []any{attribute}
	if text, ok := attribute.(string); ok {
		path = nil
		for part := range strings.SplitSeq(text, ".") {
			if n, err := strconv.Atoi(part); err == nil {
				path = append(path, n)
			} else {
				path = append(path, part)
			}
		}
	}
	for i := range mapped {
		for _, part := range path {
			if x.work(1) {
				mapped[i] = x.item(mapped[i], part)
			}
		}
	}
	return mapped
}

// folded returns what texts are compared by.
func (x *run) folded(v any, caseSensitive bool) any {
	if s, ok := v.(string); ok && !caseSensitive && x.make(len(s)) {
		return strings.ToLower(s)
	}
	return v
}

func defaultFilter(_ *run, v []any) any {
	if !isA[undefined](v[0]) && (!is(v[2]) || truth(v[0])) {
		return v[0]
	} else if !given(v[1]) {
		return ""
	}
	return v[1]
}

func lengthFilter(x *run, v []any) any {
	n := length(v[0])
	if n < 0 {
		return x.fail("%s has no length", typeName(v[0]))
	}
	return n
}

func indent(x *run, v []any) any {
	by, lines := x.spaces(v[1], 4), splitLines(x.text(v[0])+"\n", false)
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			x.add(&b, "\n")
		}
		if i == 0 && is(v[2]) || i > 0 && (line != "" || is(v[3])) {
			x.add(&b, by)
		}
		if x.add(&b, line); x.err != nil {
			break
		}
	}
	return b.String()
}

// spaces returns the text that indents lines: that, or so many spaces.
func (x *run) spaces(v any, otherwise int) string {
	if text, ok := v.(string); ok {
		return text
	}
	n := max(0, x.intOr(v, otherwise))
	if !x.times(1, n) {
		return ""
	}
	return strings.Repeat(" ", n)
}

func dictSort(x *run, v []any) any {
	d, ok := v[0].(*Dict)
	by := textOr(v[2], "key")
	if !ok || by != "key" && by != "value" {
		return x.fail("dictsort: want a dict, and by key or value, found %s", typeName(v[0]))
	}
	pairs := x.pairs(d)
	return x.sorted(pairs, is(v[3]), func(i int) any {
		return x.folded(pairs[i].(tuple)[toInt(by == "value")], is(v[1]))
	})
}

// pairs returns the keys of a dict with their values.
func (x *run) pairs(d *Dict) []any {
	if !x.make(64*len(d.keys)) || !x.work(len(d.keys)) {
		return nil
	}
	pairs := make([]any, len(d.keys))
	for i, key := range d.keys {
		pairs[i] = tuple{key, d.values[key]}
	}
	return pairs
}

// parsed returns a number, also one that a text is.
func parsed(v any) (float64, bool) {
	if s, ok := v.(string); ok {
		f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimFunc(s, space), "_", "x"), 64)
		return f, err == nil
	}
	return float(v)
}

func intFilter(x *run, v []any) any {
	f, ok := parsed(v[0])
	n, isWhole := whole(v[0])
	if s, isText := v[0].(string); isText {
		var err error
		n, err = strconv.Atoi(strings.TrimFunc(s, space))
		isWhole = err == nil
	}
	switch {
	case isA[undefined](v[0]):
		return x.fail("%s", typeName(v[0]))
	case isWhole:
		return n
	case ok && math.Abs(f) < 1<<62:
		return int(f)
	case ok && !math.IsNaN(f) && !math.IsInf(f, 0):
		return x.fail("int: the number is too large")
	case given(v[1]):
		return v[1]
	}
	return 0
}

func floatFilter(x *run, v []any) any {
	f, ok := parsed(v[0])
	switch {
	case isA[undefined](v[0]):
		return x.fail("%s", typeName(v[0]))
	case !ok && given(v[1]):
		return v[1]
	}
	return f
}

func round(x *run, v []any) any {
	f, ok := float(v[0])
	places, how := x.intOr(v[1], 0), textOr(v[2], "common")
	by := math.Pow(10, float64(places))
	n, isWhole := whole(v[0])
	switch {
	case !ok || places < -300 || places > 300:
		return x.fail("round: want a number and places, found %s", typeName(v[0]))
	case how == "common" && isWhole && places >= 0:
		return n
	case how == "common" && places >= 0:
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', places, 64), 64)
	case how == "common":
		if f = math.RoundToEven(f*by) / by; isWhole {
			return int(f)
		}
	case how == "ceil":
		f = math.Ceil(f*by) / by
	case how == "floor":
		f = math.Floor(f*by) / by
	default:
		return x.fail("round: want common, ceil or floor, found %s", how)
	}
	return f
}

func toJSON(x *run, v []any) any {
	s := &style{words: [5]string{"null", "false", "true", "Infinity", "NaN"}, sorted: is(v[4]),
		quote: func(x *run, s string) string { return x.jsonQuoted(s, is(v[1])) },
		comma: ", ", colon: ": "}
	if given(v[2]) && v[2] != nil {
		s.lines, s.comma = true, ","
		s.indent = x.spaces(v[2], 0)
	}
	if given(v[3]) && v[3] != nil {
		both := x.items(v[3])
		if len(both) != 2 {
			return x.fail("tojson: want two separators")
		}
		s.comma, s.colon = x.text(both[0]), x.text(both[1])
	}
	var b strings.Builder
	x.dump(&b, v[0], s, 0)
	return b.String()
}

func capitalize(s string) string {
	for i := range s {
		if i > 0 {
			return strings.ToTitle(s[:i]) + strings.ToLower(s[i:])
		}
	}
	return strings.ToTitle(s)
}

// titleWords is the filter title, whose words begin after spaces, hyphens and brackets.
func titleWords(s string) string {
	begins := true
	return strings.Map(func(r rune) rune {
		first := begins
		begins = space(r) || strings.ContainsRune("-({[<", r)
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func cased(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) })
}
