package jinja

// The parser of statements, which become functions. A template that needs other files is refused.

import (
	"fmt"
	"slices"

	"picogpt/internal/quote"
)

// An expression returns a value, and a statement writes.
type (
	expression func(x *run) any
	statement  func(x *run)
)

// A parser reads tokens. After an error there are none.
type parser struct {
	*lexer
	t     token   // that is read next
	ahead []token // those after it that are known
	depth int
	loops int   // around the statement, in its function
	last  *call // that was read last
}

// next moves to the next token.
func (p *parser) next() token {
	t := p.t
	if len(p.ahead) > 0 {
		p.t, p.ahead = p.ahead[0], p.ahead[1:]
	} else {
		p.t = p.token()
	}
	if p.err != nil {
		p.t, p.ahead = token{line: p.t.line}, nil
	}
	return t
}

// peek returns the token after the next.
func (p *parser) peek() token {
	if len(p.ahead) == 0 && p.err == nil {
		p.ahead = append(p.ahead, p.token())
	}
	if p.err != nil {
		return token{}
	}
	return p.ahead[0]
}

// is reports whether the next token is a sign or a word.
func (p *parser) is(text string) bool { return p.t.is(text) }

func (t token) is(text string) bool {
	return t.text == text && (t.kind == sign || t.kind == name)
}

// oneOf returns which of some signs and words is next, "" for none.
func (p *parser) oneOf(signs ...string) string {
	if i := slices.IndexFunc(signs, p.is); i >= 0 {
		return signs[i]
	}
	return ""
}

// skip moves beyond a sign or a word, if it is next.
func (p *parser) skip(text string) bool {
	is := p.is(text)
	if is {
		p.next()
	}
	return is
}

// wrong is the error of the next token.
func (p *parser) wrong(format string, args ...any) {
	found := quote.Short(p.t.text, 40)
	if p.t.kind == end {
		found = "the end"
	}
	p.fail(p.t.line, "want %s, found %s", fmt.Sprintf(format, args...), found)
	p.next()
}

func (p *parser) expect(text string) {
	if !p.skip(text) {
		p.wrong("%s", text)
	}
}

// word reads a name.
func (p *parser) word() string {
	if p.t.kind != name {
		p.wrong("a name")
		return ""
	}
	return p.next().text
}

// close reads the end of a tag.
func (p *parser) close() {
	if p.t.kind != shut {
		p.wrong("the end of the tag")
		return
	}
	p.next()
}

// nest counts what is nested, until the function is called that it returns. Where it is too deep,
// no tokens follow, so that nothing is nested in it.
func (p *parser) nest() (leave func()) {
	if p.depth++; p.depth > nested {
		p.fail(p.t.line, "nested more than %d deep", nested)
		p.next()
	}
	return func() { p.depth-- }
}

// statements reads what comes before a tag that begins with one of the words, and that word; without
// words all to the end of the source. Which word it was is in p.ended.
func (p *parser) statements(ends ...string) (body []statement) {
	defer p.nest()()
	begin := p.t.line
	for p.err == nil {
		t, s := p.t, statement(nil)
		switch {
		case t.kind == data:
			p.next()
			s = func(x *run) { x.write(t.text) }
		case t.kind == open && t.text == "{{":
			p.next()
			e := p.tuple(true)
			p.close()
			s = func(x *run) { x.write(x.str(e(x))) }
		case t.kind == open:
			p.next()
			if p.t.kind == name && slices.Contains(ends, p.t.text) {
				return body
			}
			s = p.statement()
		default:
			if len(ends) > 0 {
				p.fail(begin, "a block without its %s", ends[len(ends)-1])
			}
			return body
		}
		body = append(body, func(x *run) {
			x.line = t.line
			s(x)
		})
	}
	return nil
}

// rest reads the body of a statement to its end, and that.
func (p *parser) rest(end string) []statement {
	p.close()
	body := p.statements(end)
	p.next()
	p.close()
	return body
}

// function is rest for a body that is a function of its own, out of which no loop can be left.
func (p *parser) function(end string) []statement {
	loops := p.loops
	p.loops = 0
	body := p.rest(end)
	p.loops = loops
	return body
}

// statement reads a tag.
func (p *parser) statement() statement {
	line := p.t.line
	switch word := p.word(); word {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement(line)
	case "set":
		return p.setStatement()
	case "macro":
		called := p.word()
		m := p.parameters(called)
		m.body = p.function("endmacro")
		return func(x *run) { x.scope.set(called, &macro{m, x.scope}) }
	case "call":
		m := &signature{name: "caller"}
		if p.is("(") {
			m = p.parameters("caller")
		}
		e := p.expression()
		called := p.last
		if called == nil || called.after != p.at {
			p.wrong("a call")
			return nil
		}
		called.block = true
		m.body = p.function("endcall")
		return func(x *run) {
			before := x.caller
			x.caller = &macro{m, x.scope}
			text := x.str(e(x))
			x.caller = before
			x.write(text)
		}
	case "filter":
		piped := p.filters(func(x *run) any { return x.piped }, true)
		body := p.rest("endfilter")
		return func(x *run) {
			if v, ok := x.captured(body, piped); ok {
				x.write(x.str(v))
			}
		}
	case "with":
		return p.withStatement()
	case "generation":
		body := p.function("endgeneration")
		return func(x *run) { x.inner(x.scope, func() { x.block(body) }) }
	case "break", "continue":
		if p.loops == 0 {
			p.fail(line, "%s outside a loop", word)
		}
		p.close()
		to := map[string]jump{"break": toBreak, "continue": toContinue}[word]
		return func(x *run) { x.jump = to }
	case "include", "import", "from", "extends", "block":
		p.fail(line, "%s: a chat template is one file", word)
	default:
		p.fail(line, "no tag %s", quote.Short(word, 40))
	}
	p.next()
	return nil
}

func (p *parser) ifStatement() statement {
	type branch struct {
		condition expression
		body      []statement
	}
	var branches []branch
	for word := "if"; p.err == nil && word != "endif"; word = p.next().text {
		b, ends := branch{func(*run) any { return true }, nil}, []string{"endif"}
		if word != "else" {
			b.condition, ends = p.tuple(false), []string{"elif", "else", "endif"}
		}
		p.close()
		b.body = p.statements(ends...)
		branches = append(branches, b)
	}
	p.close()
	return func(x *run) {
		for i := range branches {
			if truth(branches[i].condition(x)) {
				x.block(branches[i].body)
				return
			}
		}
	}
}

func (p *parser) forStatement(line int) statement {
	assign := p.target()
	p.expect("in")
	over := p.tuple(false)
	var only expression
	if p.skip("if") {
		only = p.expression()
	}
	if p.is("recursive") {
		p.fail(line, "recursive: a macro can call itself")
	}
	p.close()
	p.loops++
	body := p.statements("else", "endfor")
	p.loops--
	var otherwise []statement
	if p.next().text == "else" {
		otherwise = p.rest("endfor")
	} else {
		p.close()
	}
	return func(x *run) {
		items := x.items(over(x))
		x.inner(x.scope, func() {
			if only != nil {
				all := items
				items = x.filtered(all, func(i int) bool {
					assign(x, all[i])
					return truth(only(x))
				})
			}
			x.loop(line, items, assign, body)
		})
		if len(items) == 0 {
			x.inner(x.scope, func() { x.block(otherwise) })
		}
	}
}

func (p *parser) setStatement() statement {
	assign := p.target()
	if p.skip("=") {
		e := p.tuple(true)
		p.close()
		return func(x *run) { assign(x, e(x)) }
	}
	piped := p.filters(func(x *run) any { return x.piped }, false)
	body := p.rest("endset")
	return func(x *run) {
		if v, ok := x.captured(body, piped); ok {
			assign(x, v)
		}
	}
}

func (p *parser) withStatement() statement {
	var names []func(*run, any)
	var values []expression
	for p.t.kind != shut && p.err == nil {
		if len(names) > 0 {
			p.expect(",")
		}
		names = append(names, p.target())
		p.expect("=")
		values = append(values, p.expression())
	}
	body := p.rest("endwith")
	return func(x *run) {
		given := make([]any, len(values))
		for i, e := range values {
			given[i] = e(x)
		}
		x.inner(x.scope, func() {
			for i, assign := range names {
				assign(x, given[i])
			}
			x.block(body)
		})
	}
}

// target reads what values are assigned to: a name, several, or a member of a namespace.
func (p *parser) target() func(x *run, v any) {
	one := func() func(*run, any) {
		if p.skip("(") {
			defer p.expect(")")
			defer p.nest()()
			return p.target()
		}
		to := p.word()
		if !p.skip(".") {
			return func(x *run, v any) { x.scope.set(to, v) }
		}
		member := p.word()
		return func(x *run, v any) { x.setMember(x.lookup(to), member, v) }
	}
	all := []func(*run, any){one()}
	for p.err == nil && p.skip(",") && (p.t.kind == name && !p.is("in") || p.is("(")) {
		all = append(all, one())
	}
	if len(all) == 1 {
		return all[0]
	}
	return func(x *run, v any) {
		items := x.items(v)
		if len(items) != len(all) {
			x.fail("want %d values, found %d", len(all), len(items))
			return
		}
		for i, assign := range all {
			assign(x, items[i])
		}
	}
}

// parameters reads the parameters of a macro.
func (p *parser) parameters(called string) *signature {
	s := &signature{name: called}
	p.expect("(")
	for !p.is(")") && p.err == nil {
		if len(s.parameters) > 0 {
			p.expect(",")
		}
		s.parameters = append(s.parameters, p.word())
		var otherwise expression
		if p.skip("=") {
			otherwise = p.expression()
		} else if n := len(s.defaults); n > 0 && s.defaults[n-1] != nil {
			p.fail(p.t.line, "a parameter without a default after one with it")
		}
		s.defaults = append(s.defaults, otherwise)
	}
	p.expect(")")
	return s
}
