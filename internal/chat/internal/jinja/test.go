package jinja

// Tests: what may stand after is.

import "strings"

func makeTests() map[string]*builtin {
	all := map[string]*builtin{
		"divisibleby": function("v num", func(x *run, v []any) any {
			return x.equal(x.binary("%", v[0], v[1]), 0)
		}),
		"in": function("v seq", func(x *run, v []any) any { return x.in(v[0], v[1]) }),
		"sameas": function("v other", func(x *run, v []any) any {
			return typeName(v[0]) == typeName(v[1]) && x.equal(v[0], v[1])
		}),
	}
	odd := func(n int) func(x *run, v any) bool {
		return func(x *run, v any) bool { return x.equal(x.binary("%", v, 2), n) }
	}
	for name, f := range map[string]func(x *run, v any) bool{
		"odd": odd(1), "even": odd(0),
		"defined":   func(_ *run, v any) bool { return !isA[undefined](v) },
		"undefined": func(_ *run, v any) bool { return isA[undefined](v) },
		"none":      func(_ *run, v any) bool { return v == nil },
		"boolean":   func(_ *run, v any) bool { return isA[bool](v) },
		"true":      func(_ *run, v any) bool { return isA[bool](v) && truth(v) },
		"false":     func(_ *run, v any) bool { return isA[bool](v) && !truth(v) },
		"integer":   func(_ *run, v any) bool { return isA[int](v) },
		"float":     func(_ *run, v any) bool { return isA[float64](v) },
		"string":    func(_ *run, v any) bool { return isA[string](v) },
		"mapping":   func(_ *run, v any) bool { return isA[*Dict](v) },
		"number": func(_ *run, v any) bool {
			_, ok := float(v)
			return ok
		},
		"sequence": func(_ *run, v any) bool { return length(v) >= 0 },
		"iterable": func(_ *run, v any) bool { return length(v) >= 0 || isA[generator](v) || isA[*loop](v) },
		"callable": func(_ *run, v any) bool { return isA[*macro](v) || isA[*builtin](v) },
		"escaped":  func(*run, any) bool { return false },
		"lower": func(x *run, v any) bool {
			s := x.str(v)
			return x.work(len(s)/8) && cased(s) && strings.ToLower(s) == s
		},
		"upper": func(x *run, v any) bool {
			s := x.str(v)
			return x.work(len(s)/8) && cased(s) && strings.ToUpper(s) == s
		},
		"filter": func(x *run, v any) bool { return filters()[x.text(v)] != nil },
		"test":   func(x *run, v any) bool { return tests()[x.text(v)] != nil },
	} {
		all[name] = function("v", func(x *run, v []any) any { return f(x, v[0]) })
	}
	for op, names := range map[string]string{"==": "eq equalto ==", "!=": "ne !=",
		"<": "lt lessthan <", "<=": "le <=", ">": "gt greaterthan >", ">=": "ge >="} {
		f := function("v other", func(x *run, v []any) any { return x.compare(op, v[0], v[1]) })
		for name := range strings.FieldsSeq(names) {
			all[name] = f
		}
	}
	return all
}

func isA[T any](v any) bool {
	_, ok := v.(T)
	return ok
}
