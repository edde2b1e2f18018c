package jinja

// Calls: what functions of ours take, and those that every template has.

import (
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

// A builtin is a function of ours. What a filter, a test or a method is of is its first argument.
type builtin struct {
	f func(x *run, a arguments) any
}

// absent is the value of a parameter that was left out.
type absent struct{}

// function returns a builtin that takes a value for each parameter: a name; those with ? may be
// left out, and * is any number of them.
func function(parameters string, f func(x *run, v []any) any) *builtin {
	names := strings.Fields(parameters)
	return &builtin{func(x *run, a arguments) any {
		if v := x.bind(names, a); x.err == nil {
			return f(x, v)
		}
		return nil
	}}
}

// ofDict returns a builtin that takes a dict, or pairs, and members by name.
func ofDict(f func(x *run, d *Dict) any) *builtin {
	return &builtin{func(x *run, a arguments) any {
		d := NewDict()
		if len(a.positional) > 1 {
			return x.fail("want at most 1 argument without a name, found %d", len(a.positional))
		}
		for _, from := range a.positional {
			x.merge(d, from)
		}
		for i, name := range a.names {
			x.put(d, name, a.named[i])
		}
		return f(x, d)
	}}
}

// bind returns a value for each parameter.
func (x *run) bind(parameters []string, a arguments) []any {
	var v []any
	used := 0
	for i, p := range parameters {
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
	if len(a.positional) > len(parameters) {
		x.fail("want at most %d arguments, found %d", len(parameters), len(a.positional))
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
		return f.f(x, a)
	case undefined:
		return x.fail("%s", f.why)
	}
	return x.fail("%s cannot be called", typeName(f))
}

// merge adds the items of a dict, or pairs, to another.
func (x *run) merge(d *Dict, from any) {
	if other, ok := from.(*Dict); ok {
		from = x.pairs(other)
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
	a.positional = append([]any{of}, a.positional...)
	return x.call(f, a)
}

// named takes the name of a filter or a test from the arguments, and returns it.
func (x *run) named(kind string, table map[string]*builtin, a *arguments) *builtin {
	name := x.text(a.positional[0])
	a.positional = a.positional[1:]
	if table[name] == nil {
		x.fail("no %s %s", kind, name)
	}
	return table[name]
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
		"dict": ofDict(func(_ *run, d *Dict) any { return d }),
		"namespace": ofDict(func(x *run, d *Dict) any {
			ns := &namespace{*NewDict()}
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
		'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'r': "03:04:05 PM",
		'j': "002", '%': "%"}
	if layout := layouts[letter]; layout != "" {
		return t.Format(layout)
	}
	return ""
}

// A call has what is called and with what.
type call struct {
	after int  // the position after it
	block bool // it is that of a call block
}

// arguments reads those of a call, if there are any.
func (p *parser) arguments() func(x *run) arguments {
	var positional, named []expression
	var names []string
	var list, dict expression // *list and **dict
	if !p.skip("(") {
		return func(*run) arguments { return arguments{} }
	}
	p.list(")", func() {
		line := p.t.line
		switch {
		case dict == nil && list == nil && p.skip("*"):
			list = p.expression()
			return
		case dict == nil && p.skip("**"):
			dict = p.expression()
			return
		case dict == nil && p.t.kind == name && p.peek().is("="):
			names = append(names, p.next().text)
			p.next()
			named = append(named, p.expression())
			return
		case dict != nil || list != nil:
			p.fail(line, "an argument after * or **")
		case len(names) > 0:
			p.fail(line, "an argument without a name after one with it")
		}
		positional = append(positional, p.expression())
	})
	return func(x *run) arguments {
		a := arguments{positional: x.all(positional), names: names, named: x.all(named)}
		if list != nil {
			a.positional = append(a.positional, x.list(x.items(list(x)))...)
		}
		if dict != nil {
			x.spread(&a, dict(x))
		}
		return a
	}
}

// spread adds the arguments that are in a dictionary.
func (x *run) spread(a *arguments, v any) {
	d, ok := v.(*Dict)
	if !ok || !x.make(32*len(d.keys)) || !x.work(len(d.keys)) {
		x.fail("want a dict after **, found %s", typeName(v))
		return
	}
	a.names = slices.Clone(a.names)
	for _, key := range d.keys {
		name, ok := key.(string)
		if !ok || slices.Contains(a.names, name) {
			x.fail("an argument has two values, or no name")
			return
		}
		a.names, a.named = append(a.names, name), append(a.named, d.values[key])
	}
}

func (p *parser) call(of expression) expression {
	line := p.t.line
	given := p.arguments()
	n := &call{after: p.at}
	p.last = n
	return at(line, func(x *run) any {
		f := of(x)
		a := given(x)
		if n.block {
			a.caller = x.caller
		}
		return x.call(f, a)
	})
}
