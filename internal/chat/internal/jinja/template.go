// Package jinja renders chat templates: the part of Jinja that they are written in, with the values
// of Python and what the library transformers adds (raise_exception, strftime_now, tojson with its
// arguments, generation blocks). A template is a file from elsewhere, so it can do nothing but make
// a text, and counts bound what it does: bytes of its source, depth, steps and bytes made.
//
// A [Template] is what Parse returns: parser.go and expression.go turn tokens (lexer.go) into
// functions, which a run (run.go) calls. Values are in value.go, operator.go and write.go; what
// templates call is in filter.go, test.go, method.go and call.go.
package jinja

import (
	"fmt"
	"strings"
	"time"
)

// Limits of a template and of one rendering.
const (
	Longest   = 128 << 10 // bytes of a source
	mostDepth = 3000      // expressions, blocks and calls that contain each other, when they run
	nested    = 100       // the same in the source
	mostSteps = 2_000_000
	mostMade  = 4 << 20 // bytes of texts and lists, and 16 for each byte of the variables
)

// An Error is a mistake in a template, or one that it found in its texts.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// A Template is a parsed template. It is safe for concurrent use.
type Template struct{ body []statement }

// Parse reads a template. An error is an *Error.
func Parse(source string) (*Template, error) {
	if len(source) > Longest {
		return nil, &Error{1, fmt.Sprintf("%d bytes, want at most %d", len(source), Longest)}
	}
	p := &parser{lexer: newLexer(source)}
	p.next()
	body := p.statements()
	if p.err != nil {
		return nil, p.err
	}
	return &Template{body}, nil
}

// Render returns the text that the template makes of variables. They have the types that ReadJSON
// returns, and []any for lists. now is the time that strftime_now tells. An error is an *Error.
func (t *Template) Render(variables *Dict, now time.Time) (string, error) {
	n := sizeOf(variables)
	x := &run{steps: mostSteps + n, made: mostMade + 16*n, now: now}
	x.scope = &scope{parent: &scope{names: map[string]any{}}}
	for _, key := range variables.keys {
		if name, ok := key.(string); ok {
			x.scope.parent.names[name] = variables.values[key]
		}
	}
	text := x.capture(func() { x.block(t.body) })
	if x.err != nil {
		return "", x.err
	}
	return text, nil
}

// sizeOf returns the bytes of the strings in a value.
func sizeOf(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		for _, item := range v {
			n += 8 + sizeOf(item)
		}
	case *Dict:
		for _, key := range v.keys {
			n += 8 + sizeOf(key) + sizeOf(v.values[key])
		}
	}
	return n
}

// A run is one rendering. The first error stays, and ends it: what is called after it returns at
// once, and values that are made after it do not matter.
type run struct {
	steps, made, depth int // that are left; depth: that are in use
	line               int // that is being run
	err                error
	now                time.Time
	scope              *scope
	out                *strings.Builder
	jump               jump   // a loop is to be left
	piped              any    // what the filters of a block are given
	caller             *macro // the body of a call block
}

type jump int

const (
	toBreak jump = 1 + iota
	toContinue
)

// fail ends the rendering with an error.
func (x *run) fail(format string, args ...any) any {
	if x.err == nil {
		x.err = &Error{x.line, fmt.Sprintf(format, args...)}
	}
	return nil
}

// work uses up n steps.
func (x *run) work(n int) bool {
	if x.steps -= n; x.steps < 0 {
		x.fail("the template takes too many steps for its messages")
	}
	return x.err == nil
}

// make uses up n bytes, for a value that is about to be made.
func (x *run) make(n int) bool {
	if n > x.made || n < 0 {
		x.fail("the template makes too much text of its messages")
		return false
	}
	x.made -= n
	return x.work(n / 64)
}

// enter begins an expression or a block. Its end takes depth back.
func (x *run) enter(line int) bool {
	x.line = line
	if x.depth++; x.depth > mostDepth {
		x.fail("the template nests more than %d deep", mostDepth)
	}
	return x.work(1)
}

// A scope has the names of a block. Blocks within it see them.
type scope struct {
	parent *scope
	names  map[string]any
}

func (s *scope) set(name string, v any) {
	if s.names == nil {
		s.names = map[string]any{}
	}
	s.names[name] = v
}

// inner runs f in a scope of its own.
func (x *run) inner(parent *scope, f func()) {
	outer := x.scope
	x.scope = &scope{parent: parent}
	f()
	x.scope = outer
}

// lookup returns the value of a name.
func (x *run) lookup(name string) any {
	for s := x.scope; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v
		}
		x.work(1)
	}
	if f, ok := globals()[name]; ok {
		return f
	}
	return undefined{"'" + name + "' is undefined"}
}

// capture returns what f writes.
func (x *run) capture(f func()) string {
	outer := x.out
	x.out = &strings.Builder{}
	f()
	text := x.out.String()
	x.out = outer
	return text
}

// write writes a text.
func (x *run) write(text string) {
	if x.make(len(text)) {
		x.out.WriteString(text)
	}
}
