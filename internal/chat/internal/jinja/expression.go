package jinja

// The parser of expressions, in Jinja's order: a condition binds least, a filter most.

import "strings"

// at makes a step of an expression: it counts, and errors have its line.
func at(line int, f expression) expression {
	return func(x *run) (v any) {
		before := x.line
		if x.enter(line) {
			v = f(x)
		}
		x.depth--
		x.line = before
		return v
	}
}

// tuple reads an expression, or several with commas between them. Without conditional, an if after
// it is not part of it.
func (p *parser) tuple(conditional bool) expression {
	one := p.or
	if conditional {
		one = p.expression
	}
	line := p.t.line
	all := []expression{one()}
	several := false
	for p.err == nil && p.skip(",") {
		if several = true; p.t.kind == shut || p.is(")") || p.is("=") {
			break
		}
		all = append(all, one())
	}
	if !several {
		return all[0]
	}
	return at(line, func(x *run) any { return tuple(x.all(all)) })
}

// all evaluates expressions.
func (x *run) all(of []expression) []any {
	if !x.make(16 * len(of)) {
		return nil
	}
	values := make([]any, len(of))
	for i, e := range of {
		values[i] = e(x)
	}
	return values
}

func (p *parser) expression() expression {
	defer p.nest()()
	e := p.or()
	for line := p.t.line; p.err == nil && p.skip("if"); {
		then, condition := e, p.or()
		otherwise := func(*run) any { return undefined{"the inline if has no else"} }
		if p.skip("else") {
			otherwise = p.expression()
		}
		e = at(line, func(x *run) any {
			if truth(condition(x)) {
				return then(x)
			}
			return otherwise(x)
		})
	}
	return e
}

// chain reads operands with words between them, which have one value if they are several.
func (p *parser) chain(
	word string, operand func() expression, value func(x *run, all []expression) any,
) expression {
	e := operand()
	if !p.is(word) {
		return e
	}
	line, all := p.t.line, []expression{e}
	for p.err == nil && p.skip(word) {
		all = append(all, operand())
	}
	return at(line, func(x *run) any { return value(x, all) })
}

// decided returns the value of the first expression that has this truth, else of the last.
func decided(by bool) func(x *run, all []expression) any {
	return func(x *run, all []expression) (v any) {
		for _, e := range all {
			if v = e(x); truth(v) == by || x.err != nil {
				break
			}
		}
		return v
	}
}

func (p *parser) or() expression  { return p.chain("or", p.and, decided(true)) }
func (p *parser) and() expression { return p.chain("and", p.not, decided(false)) }

func (p *parser) not() expression {
	if line := p.t.line; p.is("not") {
		defer p.nest()()
		p.next()
		e := p.not()
		return at(line, func(x *run) any { return !truth(e(x)) })
	}
	return p.comparison()
}

func (p *parser) comparison() expression {
	line, first := p.t.line, p.sum()
	var signs []string
	var others []expression
	for p.err == nil {
		op := p.oneOf("==", "!=", "<", "<=", ">", ">=", "in")
		if p.is("not") && p.peek().is("in") {
			p.next()
			op = "not in"
		}
		if op == "" {
			break
		}
		p.next()
		signs, others = append(signs, op), append(others, p.sum())
	}
	if len(signs) == 0 {
		return first
	}
	return at(line, func(x *run) any {
		left := first(x)
		for i, sign := range signs {
			right := others[i](x)
			if !x.compare(sign, left, right) {
				return false
			}
			left = right
		}
		return true
	})
}

// binary reads operands with signs between them, from the left.
func (p *parser) binary(operand func() expression, signs ...string) expression {
	e := operand()
	for p.err == nil {
		op, line := p.oneOf(signs...), p.t.line
		if op == "" {
			break
		}
		p.next()
		left, right := e, operand()
		e = at(line, func(x *run) any { return x.binary(op, left(x), right(x)) })
	}
	return e
}

func (p *parser) sum() expression     { return p.binary(p.joined, "+", "-") }
func (p *parser) product() expression { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expression {
	return p.binary(func() expression { return p.unary(true) }, "**")
}

func (p *parser) joined() expression {
	return p.chain("~", p.product, func(x *run, all []expression) any {
		return x.capture(func() {
			for _, e := range all {
				x.write(x.str(e(x)))
			}
		})
	})
}

func (p *parser) unary(filtered bool) (e expression) {
	line := p.t.line
	if p.is("-") || p.is("+") {
		defer p.nest()()
		by := map[string]int{"-": -1, "+": 1}[p.next().text]
		of := p.unary(false)
		e = at(line, func(x *run) any { return x.binary("*", by, x.number(of(x))) })
	} else {
		e = p.postfix(p.primary())
	}
	if filtered {
		e = p.filters(e, false)
	}
	return e
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false,
	"none": nil, "None": nil}

func (p *parser) primary() expression {
	t := p.t
	constant := func(v any) expression {
		return func(x *run) any {
			x.work(1)
			return v
		}
	}
	switch {
	case t.kind == name:
		p.next()
		if v, ok := constants[t.text]; ok {
			return constant(v)
		}
		return at(t.line, func(x *run) any { return x.lookup(t.text) })
	case t.kind == words:
		var b strings.Builder
		for p.t.kind == words && p.err == nil {
			b.WriteString(p.next().text)
		}
		return constant(b.String())
	case t.kind == value:
		return constant(p.next().value)
	case p.skip("("):
		if p.skip(")") {
			return constant(tuple{})
		}
		e := p.tuple(true)
		p.expect(")")
		return e
	case p.skip("["):
		var all []expression
		p.list("]", func() { all = append(all, p.expression()) })
		return at(t.line, func(x *run) any { return x.all(all) })
	case p.skip("{"):
		var keys, values []expression
		p.list("}", func() {
			keys = append(keys, p.expression())
			p.expect(":")
			values = append(values, p.expression())
		})
		return at(t.line, func(x *run) any {
			d := NewDict()
			for i := range keys {
				x.put(d, keys[i](x), values[i](x))
			}
			return d
		})
	}
	p.wrong("an expression")
	return nil
}

// list reads what stands between brackets, with commas between them.
func (p *parser) list(end string, item func()) {
	for first := true; p.err == nil && !p.is(end); first = false {
		if !first {
			p.expect(",")
		}
		if !p.is(end) {
			item()
		}
	}
	p.expect(end)
}

// postfix reads members, items and calls after an expression.
func (p *parser) postfix(e expression) expression {
	for p.err == nil {
		of, line := e, p.t.line
		switch {
		case p.skip("."):
			if p.t.kind == value {
				i := p.next().value
				e = at(line, func(x *run) any { return x.item(of(x), i) })
				continue
			}
			member := p.word()
			e = at(line, func(x *run) any { return x.member(of(x), member) })
		case p.skip("["):
			e = p.subscript(of, line)
		case p.is("("):
			e = p.call(of)
		default:
			return e
		}
	}
	return e
}

// subscript reads an index or a slice.
func (p *parser) subscript(of expression, line int) expression {
	none := func(*run) any { return nil }
	bounds := []expression{none, none, none}
	n := 0
	for n < len(bounds) && !p.is("]") && p.err == nil {
		if !p.is(":") {
			bounds[n] = p.tuple(true)
		}
		if n++; !p.skip(":") {
			if n == 1 {
				p.expect("]")
				return at(line, func(x *run) any { return x.item(of(x), bounds[0](x)) })
			}
			break
		}
	}
	if n == 0 {
		p.wrong("an index")
	}
	p.expect("]")
	return at(line, func(x *run) any {
		v, b := of(x), x.all(bounds)
		if x.err != nil {
			return nil
		}
		return x.slice(v, b[0], b[1], b[2])
	})
}

// filters reads filters and tests after an expression; named says that the name of one is next.
func (p *parser) filters(e expression, named bool) expression {
	for p.err == nil {
		of, line := e, p.t.line
		switch {
		case named || p.skip("|"):
			named = false
			f, given := p.builtin("filter", filters(), line), p.arguments()
			e = at(line, func(x *run) any { return x.apply(f, of(x), given(x)) })
		case p.skip("is"):
			e = p.test(of, line)
		case p.is("("):
			e = p.call(of)
		default:
			return e
		}
	}
	return e
}

// builtin reads the name of a filter or a test, and returns it.
func (p *parser) builtin(kind string, table map[string]*builtin, line int) *builtin {
	what := p.word()
	if table[what] == nil && p.err == nil {
		p.fail(line, "no %s %s", kind, what)
	}
	return table[what]
}

func (p *parser) test(of expression, line int) expression {
	not := p.skip("not")
	f := p.builtin("test", tests(), line)
	called, given := p.is("("), p.arguments()
	switch t := p.t; {
	case called || p.is("else") || p.is("or") || p.is("and"):
	case p.is("is"):
		p.fail(line, "a test after a test: want and between them")
	case t.kind == name || t.kind == words || t.kind == value || p.is("[") || p.is("{"):
		with := p.postfix(p.primary())
		given = func(x *run) arguments { return arguments{positional: []any{with(x)}} }
	}
	return at(line, func(x *run) any { return x.apply(f, of(x), given(x)) != not })
}
