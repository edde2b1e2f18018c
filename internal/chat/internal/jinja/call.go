package jinja

// Calls: what functions of ours take, and those that every template has.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// arguments are those of a call.
type arguments struct {
	positional []any
	names      []string
	named      []any
	caller     *macro // the body of the call block; nil: none
}

// A builtin is a function of ours. Its parameters are names; those with ? may be left out, and * is
// any number of them, or of named ones where it is **.
type builtin struct {
	parameters []string
	f          func(x *run, v []any) any
	self       any // of a method
	bound      bool
	raw        func(x *run, of any, a arguments) any // in place of f, for a filter with any arguments
}

// absent is the value of a parameter that was left out.
type absent struct{}

func function(parameters string, f func(x *run, v []any) any) *builtin {
	return &builtin{parameters: strings.Fields(parameters), f: f}
}

func contains(names []string, name string) bool { return slices.Contains(names, name) }

// bind returns a value for each parameter.
func (x *run) bind(f *builtin, a arguments) []any {
	var v []any
	used := 0
	for i, p := range f.parameters {
		plain, optional := strings.CutSuffix(p, "?")
		k := slices.Index(a.names, plain)
		switch {
		case p == "*":
			return append(v, a.positional[min(i, len(a.positional)):]...)
		case i < len(a.positional):
			v = append(v, a.positional[i])
		case k >= 0:
			v = append(v, a.named[k])
			used++
		case optional:
			v = append(v, absent{})
		default:
			x.fail("want an argument %s", plain)
			return nil
		}
	}
	if len(a.positional) > len(f.parameters) {
		x.fail("want at most %d arguments, found %d", len(f.parameters), len(a.positional))
	} else if used < len(a.names) {
		x.fail("want other arguments than %s", strings.Join(a.names, ", "))
	}
	return v
}

// call calls a value.
func (x *run) call(f any, a arguments) any {
	if x.err != nil {
		return nil
	}
	switch f := f.(type) {
	case *macro:
		return x.invoke(f, a)
	case *builtin:
		if f.bound {
			return x.apply(f, f.self, a)
		}
		if slices.Equal(f.parameters, []string{"**"}) {
			d := NewDict()
			if len(a.positional) == 1 {
				x.merge(d, a.positional[0])
			} else if len(a.positional) > 1 {
				return x.fail("want at most 1 argument without a name, found %d", len(a.positional))
			}
			for i, name := range a.names {
				x.put(d, name, a.named[i])
			}
			return f.f(x, []any{d})
		}
		v := x.bind(f, a)
		if x.err != nil {
			return nil
		}
		return f.f(x, v)
	case undefined:
		return x.fail("%s", f.why)
	}
	return x.fail("%s cannot be called", typeName(f))
}

// merge adds the items of a dict, or pairs, to another.
func (x *run) merge(d *Dict, from any) {
	if other, ok := from.(*Dict); ok {
		for _, key := range other.keys {
			x.put(d, key, other.values[key])
		}
		return
	}
	for _, pair := range x.items(from) {
		if kv := x.items(pair); len(kv) == 2 {
			x.put(d, kv[0], kv[1])
		} else {
			x.fail("want pairs, found %s", typeName(pair))
		}
	}
}

// apply calls a filter, a test or a method with what it is of.
func (x *run) apply(f *builtin, of any, a arguments) any {
	if x.err != nil {
		return nil
	}
	if f.raw != nil {
		return f.raw(x, of, a)
	}
	a.positional = append([]any{of}, a.positional...)
	v := x.bind(f, a)
	if x.err != nil {
		return nil
	}
	return f.f(x, v)
}

// Arguments: each returns the value, or otherwise if it was left out.

func (x *run) intOr(v any, otherwise int) int {
	switch v.(type) {
	case absent, nil:
		return otherwise
	}
	n, ok := whole(v)
	if !ok {
		x.fail("want a whole number, found %s", typeName(v))
	}
	return n
}

func textOr(v any, otherwise string) string {
	if text, ok := v.(string); ok {
		return text
	}
	return otherwise
}

// text returns an argument that is a text.
func (x *run) text(v any) string {
	text, ok := v.(string)
	if !ok {
		x.fail("want a text, found %s", typeName(v))
	}
	return text
}

func given(v any) bool { return v != absent{} }

// is reports whether an argument is there and true.
func is(v any) bool { return given(v) && truth(v) }

// filters and tests are the tables of their functions, which look into the tables themselves.
var filters, tests func() map[string]*builtin

func init() { filters, tests = sync.OnceValue(makeFilters), sync.OnceValue(makeTests) }

// globals are the functions that every template has.
var globals = sync.OnceValue(func() map[string]*builtin {
	return map[string]*builtin{
		"range": function("a b? c?", func(x *run, v []any) any {
			from, to, by := 0, x.intOr(v[0], 0), x.intOr(v[2], 1)
			if given(v[1]) {
				from, to = to, x.intOr(v[1], 0)
			}
			numbers := []any{}
			for i := from; by >= 0 && i < to || by < 0 && i > to; i += by {
				if len(numbers) == 100_000 || by == 0 || !x.make(24) || !x.work(1) {
					return x.fail("range: want at most 100000 numbers")
				}
				numbers = append(numbers, i)
			}
			return numbers
		}),
		"dict": function("**", func(_ *run, v []any) any { return v[0] }),
		"namespace": function("**", func(x *run, v []any) any {
			ns := &namespace{*NewDict()}
			d := v[0].(*Dict)
			for _, key := range d.keys {
				x.setMember(ns, x.text(key), d.values[key])
			}
			return ns
		}),
		"raise_exception": function("message", func(x *run, v []any) any {
			return x.fail("%s", x.str(v[0]))
		}),
		"strftime_now": function("format", func(x *run, v []any) any {
			return x.strftime(x.text(v[0]))
		}),
	}
})

// strftime writes the time as C's strftime does.
func (x *run) strftime(format string) any {
	var b strings.Builder
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		x.add(&b, before)
		if !found {
			break
		}
		short := strings.HasPrefix(rest, "-")
		rest = strings.TrimPrefix(rest, "-")
		if rest == "" {
			return x.fail("strftime_now: want a letter after %%")
		}
		text := timeText(x.now, rest[0])
		if text == "" {
			return x.fail("strftime_now: no %%%c", rest[0])
		}
		if short && len(text) > 1 {
			text = strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:]
		}
		x.add(&b, text)
		format = rest[1:]
	}
	return b.String()
}

func timeText(t time.Time, letter byte) string {
	layouts := map[byte]string{'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January",
		'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'S': "05",
		'y': "06", 'Y': "2006", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06",
		'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'r': "03:04:05 PM"}
	if layout := layouts[letter]; layout != "" {
		return t.Format(layout)
	}
	switch letter {
	case '%':
		return "%"
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	}
	return ""
}
