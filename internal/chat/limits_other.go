//go:build !js

package chat

// Limits of a template's work for one line: templates come with files from elsewhere, and
// text/template limits neither loops nor output.

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

const (
	// mostSteps limits loops and calls. A step is about one action: each list of actions counts its
	// length whenever it begins.
	mostSteps = 100_000

	// callSteps is how many steps a call of another template counts, because each takes much of the
	// stack.
	callSteps = 100
)

// Limits that grow with the line: the bytes that are written, and those that functions make.
func mostWritten(line string) int { return 1<<20 + 16*len(line) }
func mostMade(line string) int    { return 64<<10 + 16*len(line) }

// An execution holds the rest of the limits for one line.
type execution struct {
	steps, written, made int
	text                 strings.Builder
}

// Write implements io.Writer.
func (x *execution) Write(b []byte) (int, error) {
	if x.written -= len(b); x.written < 0 {
		return 0, &Error{"it writes too much for a line: want a shorter text"}
	}
	return x.text.Write(b)
}

// count uses up n steps.
func (x *execution) count(n int) (string, error) {
	if x.steps -= n; x.steps < 0 {
		return "", &Error{fmt.Sprintf("it takes more than %d steps for a line: want fewer", mostSteps)}
	}
	return "", nil
}

// make calls a function, and uses up the bytes that it makes, at most most.
func (x *execution) make(most int, function func() string) (string, error) {
	text := ""
	if most <= 1<<24+4*x.made {
		text = function()
		most = len(text)
	}
	if x.made -= most; x.made < 0 {
		return "", &Error{"its functions make too much of a line: want shorter texts"}
	}
	return text, nil
}

// counter is the name under which templates call count. A template that uses it is refused.
const counter = "countSteps"

// functions returns text/template's functions that make texts, limited; the others make none.
func (x *execution) functions() template.FuncMap {
	bounded := func(times int, f func(...any) string) func(...any) (string, error) {
		return func(args ...any) (string, error) {
			return x.make(times*sizeOf(args), func() string { return f(args...) })
		}
	}
	return template.FuncMap{
		"print": bounded(1, fmt.Sprint), "println": bounded(1, fmt.Sprintln),
		"html": bounded(6, template.HTMLEscaper), "js": bounded(6, template.JSEscaper),
		"urlquery": bounded(3, template.URLQueryEscaper),
		"printf": func(format string, args ...any) (string, error) {
			each := 2<<10 + 12*sizeOf(args) // two numbers of three digits, and quoted
			if wide().MatchString(format) {
				return "", &Error{"printf: want widths and precisions below 1000"}
			}
			return x.make(len(format)+strings.Count(format, "%")*each, func() string {
				return fmt.Sprintf(format, args...)
			})
		},
	}
}

// wide matches a verb with a width or a precision of four digits, or of an argument.
var wide = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+# 0-9.\[\]]*(\*|[0-9]{4})`)
})

// sizeOf returns a lower bound of the length of values when they are printed.
func sizeOf(args []any) int {
	n := 0
	for _, arg := range args {
		n += 64
		switch arg := arg.(type) {
		case string:
			n += len(arg)
		case Line:
			n += len(arg.Text)
		}
	}
	return n
}

// parseBounded returns a template that counts its steps.
func parseBounded(source string) (*template.Template, error) {
	if len(source) > Longest {
		return nil, &Error{fmt.Sprintf("%d bytes, want at most %d", len(source), Longest)}
	}
	t, err := template.New("line").Funcs((&execution{}).functions()).Parse(source)
	if err != nil {
		return nil, explain(err)
	}
	for _, part := range t.Templates() {
		addCount(part.Root, callSteps)
	}
	return t, nil
}

// addCount puts a count at the beginning of a list, and of the lists in it that are repeated.
func addCount(list *parse.ListNode, steps int) {
	steps += stepsOf(list)
	call := template.Must(template.New("").Funcs(template.FuncMap{counter: (&execution{}).count}).
		Parse(fmt.Sprintf("{{%s %d}}", counter, steps)))
	list.Nodes = append([]parse.Node{call.Root.Nodes[0]}, list.Nodes...)
}

// stepsOf returns the steps of a list without the repeated lists in it, which count for themselves.
func stepsOf(list *parse.ListNode) int {
	if list == nil {
		return 0
	}
	pipeline := func(p *parse.PipeNode) int { return 1 + len(p.String())/8 }
	branches := func(b *parse.BranchNode) int {
		return pipeline(b.Pipe) + stepsOf(b.List) + stepsOf(b.ElseList)
	}
	n := 1
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			n += pipeline(node.Pipe)
		case *parse.IfNode:
			n += branches(&node.BranchNode)
		case *parse.WithNode:
			n += branches(&node.BranchNode)
		case *parse.RangeNode:
			addCount(node.List, 0)
			n += pipeline(node.Pipe) + stepsOf(node.ElseList)
		case *parse.TemplateNode:
			if n++; node.Pipe != nil {
				n += pipeline(node.Pipe)
			}
		default:
			n++
		}
	}
	return n
}

type lineTemplate = template.Template

func explain(err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	plain := strings.NewReplacer("template: line:", "line ", " in type chat.Line", "",
		"chat.Line", "a line")
	return &Error{plain.Replace(err.Error())}
}

func (c *Template) execute(t Line) (string, error) {
	x := &execution{steps: mostSteps, written: mostWritten(t.Text), made: mostMade(t.Text)}
	own, err := c.template.Clone()
	if err == nil {
		own.Funcs(x.functions()).Funcs(template.FuncMap{counter: x.count})
		err = own.Execute(x, t)
	}
	if err != nil {
		return "", explain(err)
	}
	return x.text.String(), nil
}
