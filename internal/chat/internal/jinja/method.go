package jinja

// The methods of texts, dicts and lists. Those that would change a value are not here, as in the
// sandbox of transformers.

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// method returns a method of a value, bound to it, or nil.
func method(v any, name string) any {
	var f *builtin
	switch v.(type) {
	case string:
		f = textMethods()[name]
	case *Dict:
		f = dictMethods()[name]
	}
	if f == nil {
		return nil
	}
	return &builtin{func(x *run, a arguments) any { return x.apply(f, v, a) }}
}

var dictMethods = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"items": function("d", func(x *run, v []any) any {
			return x.pairs(v[0].(*Dict))
		}),
		"keys": function("d", func(_ *run, v []any) any { return v[0].(*Dict).keys }),
		"values": function("d", func(x *run, v []any) any {
			values := x.list(v[0].(*Dict).keys)
			for i, key := range values {
				values[i] = v[0].(*Dict).values[key]
			}
			return values
		}),
		"copy": function("d", func(_ *run, v []any) any { return v[0] }),
		"get": function("d key default?", func(x *run, v []any) any {
			if found, has := x.find(v[0].(*Dict), v[1]); has {
				return found
			} else if given(v[2]) {
				return v[2]
			}
			return nil
		}),
	}
})

// texter is a method of a text that makes another.
func texter(parameters string, f func(x *run, s string, v []any) any) *builtin {
	return function("s "+parameters, func(x *run, v []any) any {
		s := x.str(v[0])
		if !x.work(len(s) / 32) {
			return nil
		}
		return f(x, s, v[1:])
	})
}

// made is a filter or a method that makes a text of another, with five times its bytes at most.
func made(f func(string) any) *builtin {
	return texter("", func(x *run, s string, _ []any) any {
		if !x.make(5 * len(s)) {
			return nil
		}
		return f(s)
	})
}

// every is a method that says whether all characters are of a kind.
func every(is func(rune) bool) *builtin {
	return texter("", func(_ *run, s string, _ []any) any {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) })
	})
}

var textMethods = sync.OnceValue(func() map[string]*builtin {
	strip := func(left, right bool) *builtin {
		return texter("chars?", func(x *run, s string, v []any) any { return x.strip(s, v[0], left, right) })
	}
	find := func(at func(s, part string) int, must bool) *builtin {
		return texter("sub", func(x *run, s string, v []any) any {
			i := at(s, x.text(v[0]))
			if i < 0 {
				if must {
					return x.fail("index: the text has no such part")
				}
				return -1
			}
			return utf8.RuneCountInString(s[:i])
		})
	}
	affix := func(is func(s, part string) bool) *builtin {
		return texter("prefix", func(x *run, s string, v []any) any {
			if parts, ok := v[0].(tuple); ok {
				return slices.ContainsFunc(parts, func(part any) bool { return is(s, x.text(part)) })
			}
			return is(s, x.text(v[0]))
		})
	}
	all := map[string]*builtin{
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"find": find(strings.Index, false), "rfind": find(strings.LastIndex, false),
		"index": find(strings.Index, true), "rindex": find(strings.LastIndex, true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"isdigit": every(unicode.IsDigit), "isnumeric": every(unicode.IsNumber),
		"isdecimal": every(unicode.IsDigit), "isalpha": every(unicode.IsLetter),
		"isspace": every(space), "isalnum": every(func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsNumber(r)
		}),
		"count":  texter("sub", func(x *run, s string, v []any) any { return strings.Count(s, x.text(v[0])) }),
		"split":  texter("sep? maxsplit?", func(x *run, s string, v []any) any { return x.split(s, v, false) }),
		"rsplit": texter("sep? maxsplit?", func(x *run, s string, v []any) any { return x.split(s, v, true) }),
		"splitlines": texter("keepends?", func(x *run, s string, v []any) any {
			return x.texts(splitLines(s, is(v[0])))
		}),
		"replace": texter("old new count?", func(x *run, s string, v []any) any {
			return x.replace(s, x.text(v[0]), x.text(v[1]), x.intOr(v[2], -1))
		}),
		"removeprefix": texter("p", func(x *run, s string, v []any) any { return strings.TrimPrefix(s, x.text(v[0])) }),
		"removesuffix": texter("p", func(x *run, s string, v []any) any { return strings.TrimSuffix(s, x.text(v[0])) }),
		"join": texter("iterable", func(x *run, s string, v []any) any {
			items := x.items(v[0])
			for _, item := range items {
				x.text(item)
			}
			return x.join(items, s)
		}),
	}
	for name, f := range map[string]func(string) string{"upper": strings.ToUpper,
		"lower": strings.ToLower, "casefold": strings.ToLower, "capitalize": capitalize, "title": title} {
		all[name] = made(func(s string) any { return f(s) })
	}
	return all
})

// title is the method title, whose words are letters.
func title(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		before := inside
		inside = unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		if before {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func (x *run) strip(s string, chars any, left, right bool) string {
	drop := space
	if given(chars) && chars != nil {
		set := map[rune]bool{}
		for _, r := range x.text(chars) {
			set[r] = true
		}
		drop = func(r rune) bool { return set[r] }
	}
	if left {
		s = strings.TrimLeftFunc(s, drop)
	}
	if right {
		s = strings.TrimRightFunc(s, drop)
	}
	return s
}

func (x *run) replace(s, old, by string, n int) any {
	found := strings.Count(s, old)
	if n >= 0 {
		found = min(found, n)
	}
	if !x.work(len(s)/8) || !x.times(len(by), found) || !x.make(len(s)) {
		return nil
	}
	return strings.Replace(s, old, by, n)
}

func (x *run) texts(parts []string) []any {
	if !x.make(32*len(parts)) || !x.work(len(parts)) {
		return nil
	}
	items := make([]any, len(parts))
	for i, part := range parts {
		items[i] = part
	}
	return items
}

func (x *run) split(s string, v []any, fromRight bool) any {
	most := x.intOr(v[1], -1)
	if x.err != nil || !x.make(16*(len(s)+1)) {
		return nil
	}
	bySpace := !given(v[0]) || v[0] == nil
	sep := textOr(v[0], "")
	if !bySpace && sep == "" {
		return x.fail("split: want a separator")
	}
	trim := func(s string) string { return s }
	find := func(s string) int { return strings.Index(s, sep) }
	switch {
	case bySpace && fromRight:
		trim, find = trimRight, func(s string) int { return strings.LastIndexFunc(s, space) }
	case bySpace:
		trim, find = trimLeft, func(s string) int { return strings.IndexFunc(s, space) }
	case fromRight:
		find = func(s string) int { return strings.LastIndex(s, sep) }
	}
	parts := []string{}
	for {
		s = trim(s)
		i, width := find(s), len(sep)
		if i < 0 || most >= 0 && len(parts) >= most {
			break
		}
		if bySpace {
			_, width = utf8.DecodeRuneInString(s[i:])
		}
		if fromRight {
			parts, s = append(parts, s[i+width:]), s[:i]
		} else {
			parts, s = append(parts, s[:i]), s[i+width:]
		}
	}
	if !bySpace || s != "" {
		parts = append(parts, s)
	}
	if fromRight {
		slices.Reverse(parts)
	}
	return x.texts(parts)
}

// splitLines cuts a text where Python's splitlines does.
func splitLines(s string, keep bool) (lines []string) {
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			size = 2
		}
		lines = append(lines, s[:i+size*toInt(keep)])
		s = s[i+size:]
	}
	return lines
}
