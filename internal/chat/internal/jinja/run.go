package jinja

// What statements do when they run: blocks, loops, and what they capture.

import "slices"

// block runs statements, until one leaves a loop.
func (x *run) block(body []statement) {
	if x.enter(x.line) {
		for _, s := range body {
			if s(x); x.err != nil || x.jump != 0 || !x.work(1) {
				break
			}
		}
	}
	x.depth--
}

// captured runs a block, and returns its text as filters leave it; false if it was left.
func (x *run) captured(body []statement, piped expression) (any, bool) {
	text := x.capture(func() { x.inner(x.scope, func() { x.block(body) }) })
	before := x.piped
	x.piped = text
	v := piped(x)
	x.piped = before
	return v, x.jump == 0 && x.err == nil
}

// filtered returns the items that are kept.
func (x *run) filtered(items []any, keep func(i int) bool) (kept []any) {
	for i, v := range items {
		if x.work(1) && keep(i) && x.make(16) {
			kept = append(kept, v)
		}
	}
	return kept
}

// A loop is the loop of a block.
type loop struct {
	items   []any
	at      int
	changed []any
}

// loop runs a block for each item.
func (x *run) loop(line int, items []any, assign func(*run, any), body []statement) {
	l := &loop{items: items}
	for i, v := range items {
		if !x.work(4) {
			return
		}
		clear(x.scope.names)
		l.at, x.line = i, line
		x.scope.set("loop", l)
		assign(x, v)
		x.block(body)
		left := x.jump
		if x.jump = 0; left == toBreak {
			break
		}
	}
}

// near returns the item that is so far from this one.
func (l *loop) near(by int) any {
	if i := l.at + by; i >= 0 && i < len(l.items) {
		return l.items[i]
	}
	return undefined{"there is no such item in the loop"}
}

var loopMembers = map[string]func(l *loop) any{
	"index":     func(l *loop) any { return l.at + 1 },
	"index0":    func(l *loop) any { return l.at },
	"revindex":  func(l *loop) any { return len(l.items) - l.at },
	"revindex0": func(l *loop) any { return len(l.items) - l.at - 1 },
	"first":     func(l *loop) any { return l.at == 0 },
	"last":      func(l *loop) any { return l.at == len(l.items)-1 },
	"length":    func(l *loop) any { return len(l.items) },
	"depth":     func(*loop) any { return 1 }, // only recursive loops count
	"depth0":    func(*loop) any { return 0 },
	"previtem":  func(l *loop) any { return l.near(-1) },
	"nextitem":  func(l *loop) any { return l.near(1) },
	"cycle": func(l *loop) any {
		return function("v *", func(_ *run, v []any) any { return v[l.at%len(v)] })
	},
	"changed": func(l *loop) any {
		return function("*", func(x *run, v []any) any {
			same := l.changed != nil && x.equal(l.changed, v)
			l.changed = append([]any{}, v...)
			return !same
		})
	},
}

// A signature is what a macro takes and does.
type signature struct {
	name       string
	parameters []string
	defaults   []expression // nil: none
	body       []statement
}

// A macro is a macro where it was made: it sees the names there.
type macro struct {
	*signature
	scope *scope
}

// invoke returns the text of a macro.
func (x *run) invoke(m *macro, a arguments) any {
	if len(a.positional) > len(m.parameters) {
		return x.fail("%s: want at most %d arguments, found %d", m.name, len(m.parameters),
			len(a.positional))
	}
	given := map[string]any{}
	for i, v := range a.positional {
		given[m.parameters[i]] = v
	}
	for i, n := range a.names {
		_, twice := given[n]
		if given[n] = a.named[i]; twice || !slices.Contains(m.parameters, n) {
			return x.fail("%s: want no argument %s there", m.name, n)
		}
	}
	return x.capture(func() {
		x.inner(m.scope, func() {
			if a.caller != nil {
				x.scope.set("caller", a.caller)
			}
			for i, n := range m.parameters {
				v, ok := given[n]
				if !ok && m.defaults[i] != nil {
					v = m.defaults[i](x)
				} else if !ok {
					v = undefined{"the parameter '" + n + "' was not given"}
				}
				x.scope.set(n, v)
			}
			x.block(m.body)
		})
	})
}
