package chat

// Calls of tools in the text of an answer: how families of chat templates write them, and the
// reader that finds them while the text is written.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A CallFormat is how a text has calls: Open NAME Middle ARGUMENTS, others after Between, and then
// Closing. Where the text is free before them, Trigger, with which Open begins, ends that.
type CallFormat struct {
	Name                                    string
	Trigger, Open, Middle, Between, Closing string
	sign                                    string // that a template of this family has in it
}

// CallFormats are those that have names. Templates are asked for their signs in this order. The last
// is for templates of no family.
var CallFormats = []CallFormat{
	{"hermes", "<tool_call>", "<tool_call>\n{\"name\": \"", `", "arguments": `,
		"}\n</tool_call>\n<tool_call>\n{\"name\": \"", "}\n</tool_call>", "<tool_call>"},
	{"mistral", "[TOOL_CALLS]", `[TOOL_CALLS] [{"name": "`, `", "arguments": `, `}, {"name": "`, `}]`,
		"[TOOL_CALLS]"},
	{"llama", `{"name":`, `{"name": "`, `", "parameters": `, `}; {"name": "`, `}`, `'"parameters": '`},
	{"json", `{"name":`, `{"name": "`, `", "arguments": `, "}\n{\"name\": \"", `}`, "\x00"},
}

// CallFormatOf returns the format of a name, or of a template if the name is "". known is false where
// the template shows none: then calls have the last, and only where they must be.
func CallFormatOf(name, template string) (f *CallFormat, known bool, err error) {
	names := []string{"none"}
	for i := range CallFormats {
		f := &CallFormats[i]
		if f.Name == name || name == "" && strings.Contains(template, f.sign) {
			return f, true, nil
		}
		names = append(names, f.Name)
	}
	if name != "" && name != "none" {
		return nil, false, fmt.Errorf("tool format %q: want %s", name, strings.Join(names, ", "))
	}
	return &CallFormats[len(CallFormats)-1], false, nil
}

// A CallPart is a call of a tool, or what an event adds to it: its id and name come first.
type CallPart struct {
	Index     int
	ID, Name  string
	Arguments []byte
}

// A CallReader finds the calls in a text, which has them as the format says.
type CallReader struct {
	Calls  int  // that have begun
	Either bool // a free text has calls or content, never both

	format *CallFormat
	id     string // of the text, in the ids of its calls
	state  callState
	held   string // what may become a trigger, or what stands around arguments and names
	depth  int    // of brackets in arguments
	quoted bool   // in a string of them
	escape bool   // after its backslash
}

// NewCallReader returns a reader of a text that begins with calls, or if it is free only ends with
// them. id tells it from others.
func NewCallReader(f *CallFormat, id string, free bool) *CallReader {
	r := &CallReader{format: f, id: id, state: inOpen}
	if free {
		r.state = inContent
	}
	return r
}

type callState byte

const (
	inContent callState = iota
	onlyContent
	inOpen
	inName
	inMiddle
	inArguments
	afterArguments
)

// Read returns the content that more bytes of the text add, and adds to the calls.
func (r *CallReader) Read(text string, calls []CallPart) (content string, _ []CallPart) {
	expects := func(want string, next callState) {
		if r.held += text[:1]; r.held == want {
			r.state, r.held = next, ""
		}
		text = text[1:]
	}
	for text != "" {
		switch r.state {
		case inContent:
			r.held += text
			text = ""
			before, after, ok := strings.Cut(r.held, r.format.Trigger)
			if ok && (before == "" || !r.Either) {
				content, text = before, after
				r.state, r.held = inOpen, r.format.Trigger
				continue
			}
			n := len(r.held) - held(r.held, r.format.Trigger)
			if r.Either && n > 0 {
				n, r.state = len(r.held), onlyContent
			}
			content, r.held = r.held[:n], r.held[n:]
		case onlyContent:
			return text, calls
		case inOpen:
			expects(r.format.Open, inName)
		case inName:
			name, _, ok := strings.Cut(text, r.format.Middle[:1])
			r.held, text = r.held+name, text[len(name):]
			if ok {
				calls = append(calls, CallPart{r.Calls, r.newID(), r.held, nil})
				r.state, r.held, r.Calls = inMiddle, "", r.Calls+1
			}
		case inMiddle:
			expects(r.format.Middle, inArguments)
		case inArguments:
			n := r.value(text)
			if i := len(calls) - 1; i >= 0 && calls[i].ID == "" {
				calls[i].Arguments = append(calls[i].Arguments, text[:n]...)
			} else {
				calls = append(calls, CallPart{Index: r.Calls - 1, Arguments: []byte(text[:n])})
			}
			text = text[n:]
		case afterArguments:
			expects(r.format.Between, inName)
		}
	}
	return content, calls
}

// held returns how many bytes at the end of a text may begin a trigger.
func held(text, trigger string) int {
	for n := min(len(text), len(trigger)-1); n > 0; n-- {
		if strings.HasSuffix(text, trigger[:n]) {
			return n
		}
	}
	return 0
}

// value returns how many bytes of a text belong to the arguments, which are an object.
func (r *CallReader) value(text string) int {
	for i := range len(text) {
		switch b := text[i]; {
		case r.escape:
			r.escape = false
		case r.quoted:
			r.quoted, r.escape = b != '"', b == '\\'
		case b == '"':
			r.quoted = true
		case b == '{' || b == '[':
			r.depth++
		case b == '}' || b == ']':
			if r.depth--; r.depth == 0 {
				r.state = afterArguments
				return i + 1
			}
		}
	}
	return len(text)
}

// End returns what was held of a text that has ended.
func (r *CallReader) End() (content string) {
	if r.state == inContent {
		content, r.held = r.held, ""
	}
	return content
}

// Text returns calls as a text has them.
func (f *CallFormat) Text(calls []Call) string {
	var b strings.Builder
	open := f.Open
	for _, c := range calls {
		b.WriteString(open + c.Name + f.Middle + cmp.Or(c.Arguments, "{}"))
		open = f.Between
	}
	return b.String() + f.Closing
}

// newID returns the id of the next call: nine letters and digits, as Mistral's templates want them.
func (r *CallReader) newID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", r.id, r.Calls))
	return hex.EncodeToString(sum[:5])[:9]
}
