package jinja

// What signs do with values, and how members and items are found.

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// number returns a number: an int or a float64.
func (x *run) number(v any) any {
	switch v := v.(type) {
	case int, float64:
		return v
	case bool:
		return toInt(v)
	}
	x.fail("want a number, found %s", typeName(v))
	return 0
}

// float returns a number as a float64.
func float(v any) (float64, bool) {
	if n, ok := whole(v); ok {
		return float64(n), true
	}
	f, ok := v.(float64)
	return f, ok
}

// whole returns an int.
func whole(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case bool:
		return toInt(v), true
	}
	return 0, false
}

func (x *run) binary(op string, a, b any) any {
	i, whole1 := whole(a)
	j, whole2 := whole(b)
	if op == "*" && whole1 && !whole2 {
		a, b, j, whole1, whole2 = b, a, i, whole2, whole1
	}
	switch s := a.(type) {
	case string:
		if t, ok := b.(string); ok && op == "+" && x.make(len(s)+len(t)) {
			return s + t
		}
		if op == "*" && whole2 && x.times(len(s), j) {
			return strings.Repeat(s, max(0, j))
		}
	case []any:
		if t, ok := b.([]any); ok && op == "+" && x.times(16, len(s)+len(t)) {
			return slices.Concat(s, t)
		}
		if op == "*" && whole2 && x.times(16*len(s), j) {
			return slices.Repeat(s, max(0, j))
		}
	case tuple:
		if t, ok := b.(tuple); ok && op == "+" && x.times(16, len(s)+len(t)) {
			return slices.Concat(s, t)
		}
	}
	f, number1 := float(a)
	g, number2 := float(b)
	switch {
	case !number1 || !number2:
		return x.fail("%s: want two numbers or two texts, found %s and %s", op, typeName(a),
			typeName(b))
	case g == 0 && (op == "/" || op == "//" || op == "%"):
		return x.fail("%s: division by zero", op)
	case f < 0 && op == "**" && g != math.Trunc(g):
		return x.fail("**: the number is not real")
	}
	n := operators[op].floats(f, g)
	if !whole1 || !whole2 || op == "/" || op == "**" && j < 0 {
		return n
	}
	if max(math.Abs(f), math.Abs(g), math.Abs(n)) >= 1<<61 {
		return x.fail("%s: the number is too large", op)
	}
	return operators[op].ints(i, j)
}

// times makes n times some bytes.
func (x *run) times(bytes, n int) bool {
	if n <= 0 || bytes == 0 {
		return x.err == nil
	}
	return x.make(bytes * min(n, math.MaxInt/bytes))
}

// An operator computes with integers, whose result is none too large, or with floats.
type operator struct {
	ints   func(a, b int) int
	floats func(a, b float64) float64
}

var operators = map[string]operator{
	"+": {func(a, b int) int { return a + b }, func(a, b float64) float64 { return a + b }},
	"-": {func(a, b int) int { return a - b }, func(a, b float64) float64 { return a - b }},
	"*": {func(a, b int) int { return a * b }, func(a, b float64) float64 { return a * b }},
	"/": {nil, func(a, b float64) float64 { return a / b }},
	"//": {func(a, b int) int { return (a - rest(a, b)) / b },
		func(a, b float64) float64 { return math.Floor(a / b) }},
	"%": {rest, func(a, b float64) float64 {
		n := math.Mod(a, b)
		if n != 0 && (n < 0) != (b < 0) {
			n += b
		}
		return math.Copysign(n, b)
	}},
	"**": {power, math.Pow},
}

// rest returns a % b, which has the sign of b.
func rest(a, b int) int { return (a%b + b) % b }

func power(a, b int) int {
	n := 1
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			n *= a
		}
		a *= a
	}
	return n
}

func (x *run) compare(op string, a, b any) bool {
	switch op {
	case "==":
		return x.equal(a, b)
	case "!=":
		return !x.equal(a, b)
	case "in":
		return x.in(a, b)
	case "not in":
		return !x.in(a, b)
	}
	order, ok := x.order(a, b)
	if !ok {
		x.fail("%s: want two numbers or two texts, found %s and %s", op, typeName(a), typeName(b))
		return false
	}
	return order != 2 && (op[0] == '<' && order < 0 || op[0] == '>' && order > 0 ||
		len(op) == 2 && order == 0)
}

// equal reports whether values are equal in Python.
func (x *run) equal(a, b any) bool {
	defer func() { x.depth-- }()
	if !x.enter(x.line) {
		return false
	}
	if f, ok := float(a); ok {
		i, whole1 := whole(a)
		j, whole2 := whole(b)
		g, ok := float(b)
		return ok && (whole1 && whole2 && i == j || !(whole1 && whole2) && f == g)
	}
	switch s := a.(type) {
	case nil:
		return b == nil
	case string:
		t, ok := b.(string)
		return ok && len(s) == len(t) && x.work(len(s)/64) && s == t
	case undefined:
		_, ok := b.(undefined)
		return ok
	case []any, tuple:
		left, of := seq(a)
		right, also := seq(b)
		return of == also && slices.EqualFunc(left, right, x.equal)
	case *Dict:
		t, ok := b.(*Dict)
		return ok && len(s.keys) == len(t.keys) &&
			!slices.ContainsFunc(s.keys, func(key any) bool {
				v, ok := t.values[key]
				return !ok || !x.equal(s.values[key], v)
			})
	case *namespace, *macro, *builtin, *loop:
		return a == b
	}
	return false
}

// order returns how values are ordered: less than, equal to or more than 0; 2 if a NaN is not.
func (x *run) order(a, b any) (int, bool) {
	defer func() { x.depth-- }()
	if !x.enter(x.line) {
		return 0, true
	}
	left, of := seq(a)
	right, also := seq(b)
	s, isText := a.(string)
	i, whole1 := whole(a)
	j, whole2 := whole(b)
	switch f, ok := float(a); {
	case of != also:
		return 0, false
	case isText:
		t, ok := b.(string)
		return strings.Compare(s, t), ok && x.work(min(len(s), len(t))/64)
	case whole1 && whole2:
		return cmp.Compare(i, j), true
	case of == "":
		g, also := float(b)
		if math.IsNaN(f) || math.IsNaN(g) {
			return 2, ok && also
		}
		return cmp.Compare(f, g), ok && also
	}
	for i := range min(len(left), len(right)) {
		if !x.equal(left[i], right[i]) {
			return x.order(left[i], right[i])
		}
	}
	return cmp.Compare(len(left), len(right)), true
}

// in reports whether b has a.
func (x *run) in(a, b any) bool {
	switch c := b.(type) {
	case string:
		part, ok := a.(string)
		if !ok {
			x.fail("in: want a text in a text, found %s", typeName(a))
		}
		return x.work(len(c)/16) && strings.Contains(c, part)
	case *Dict:
		_, has := x.find(c, a)
		return has
	}
	return slices.ContainsFunc(x.items(b), func(v any) bool { return x.err != nil || x.equal(a, v) })
}

// item returns v[i].
func (x *run) item(v, i any) any {
	n, isInt := whole(i)
	items, _ := seq(v)
	switch c := v.(type) {
	case undefined:
		return x.fail("%s", c.why)
	case *Dict:
		switch i.(type) {
		case nil, bool, int, float64, string:
			if found, has := x.find(c, i); has {
				return found
			}
		}
	case string:
		if isInt {
			items = x.items(v)
		}
	}
	if key, ok := i.(string); ok {
		return x.member(v, key)
	}
	if n < 0 {
		n += len(items)
	}
	if isInt && n >= 0 && n < len(items) {
		return items[n]
	}
	return undefined{typeName(v) + " has no such item"}
}

// member returns v.name: a method, or an item of a dict.
func (x *run) member(v any, name string) any {
	if m := method(v, name); m != nil {
		return m
	}
	switch c := v.(type) {
	case undefined:
		return x.fail("%s", c.why)
	case *Dict:
		if found, ok := c.values[name]; ok {
			return found
		}
	case *namespace:
		if found, ok := c.values[name]; ok {
			return found
		}
	case *loop:
		if found := loopMembers[name]; found != nil {
			return found(c)
		}
	}
	if len(name) > 100 {
		name = name[:100]
	}
	return undefined{typeName(v) + " has no " + name}
}

// setMember sets a member of a namespace.
func (x *run) setMember(v any, name string, to any) {
	ns, ok := v.(*namespace)
	switch {
	case !ok:
		x.fail("want a namespace before .%s, found %s", name, typeName(v))
	case strings.HasPrefix(name, "_"):
		x.fail("%s: a member of a namespace cannot begin with _", name)
	case x.make(48):
		ns.put(name, to)
	}
}

// slice returns v[from:to:step].
func (x *run) slice(v, from, to, step any) any {
	text, isText := v.(string)
	n, by := length(v), x.intOr(step, 1)
	switch v.(type) {
	case string, []any, tuple:
		x.work(len(text) / 16)
	default:
		return x.fail("a slice of %s", typeName(v))
	}
	first, last := 0, n // where it begins and ends
	if by < 0 {
		first, last = n-1, -1
	}
	low, high := min(first, last), max(first, last)
	for k, bound := range []*int{&first, &last} {
		if given := []any{from, to}[k]; given != nil {
			i := x.intOr(given, 0)
			if i < 0 {
				i += n
			}
			*bound = min(max(i, low), high)
		}
	}
	switch {
	case by == 0:
		return x.fail("a slice: want a step, found 0")
	case isText && by == 1 && first <= last && x.err == nil:
		return text[runeAt(text, first):runeAt(text, last)]
	}
	items, picked := x.items(v), []any{}
	for i := first; x.work(1) && x.make(16) && (by > 0 && i < last || by < 0 && i > last); i += by {
		picked = append(picked, items[i])
	}
	switch v.(type) {
	case string:
		return x.join(picked, "")
	case tuple:
		return tuple(picked)
	}
	return picked
}

// runeAt returns the byte at which character n of a text begins.
func runeAt(text string, n int) (at int) {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
