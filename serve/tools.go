package serve

// The tools of a conversation: which there are, which the answer must call, and the calls that
// messages tell of.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picogpt/constrain"
	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
	"picogpt/serve/internal/openapi"
)

// A tool is a function that an answer may call.
type tool struct {
	name       string
	parameters string // its schema
	source     string // as the request has it
}

// Limits of tools.
const (
	mostTools     = 512
	mostToolBytes = 1 << 20 // of all
	mostCalls     = 16      // of an answer
)

// tools are what a request says of tools.
type tools struct {
	all       []tool
	bytes     int
	field     string // that has them
	functions bool   // it is the older one
	flat      bool   // a function's fields stand beside its type
	choice    string // auto, none, required or named
	named     string
	parallel  *bool
	format    *chat.CallFormat // of the calls that are read in the answer; nil: none are
}

// nothing is the schema of a function without parameters.
const nothing = `{"type":"object","properties":{}}`

const (
	mostToolName = 64 // bytes
	inToolNames  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
)

// addFields adds the fields of tools, and OpenAI's older ones, to a table.
func (t *tools) addFields(table map[string]field, ignored *[]string) {
	function := func(place string, one *tool) field { return t.function(place, one, ignored) }
	table["tools"] = t.list("tools", func(place string, one *tool) field {
		return object(place, ignored, map[string]field{"type": word(new(string), []string{"function"}),
			"function": must(function(place+".function", one))})
	})
	table["functions"] = noting(t.list("functions", function), func() { t.functions = true })
	named := func(place string) field {
		return object(place, ignored, map[string]field{"name": text(&t.named)})
	}
	table["tool_choice"] = t.chosen([]string{"none", "auto", "required"},
		object("tool_choice", ignored, map[string]field{"type": word(new(string), []string{"function"}),
			"function": named("tool_choice.function")}))
	table["function_call"] = t.chosen([]string{"none", "auto"}, named("function_call"))
	table["parallel_tool_calls"] = optional(&t.parallel, yes)
}

// addItemFields adds the fields of tools of /v1/responses, where a function's stand beside its type.
func (t *tools) addItemFields(table map[string]field, ignored *[]string) {
	t.addFields(table, ignored)
	delete(table, "functions")
	delete(table, "function_call")
	t.flat = true
	table["tools"] = t.list("tools", func(place string, one *tool) field {
		return t.function(place, one, ignored)
	})
	table["tool_choice"] = t.chosen([]string{"none", "auto", "required"}, object("tool_choice", ignored,
		map[string]field{"type": word(new(string), []string{"function"}), "name": text(&t.named)}))
}

// list reads a list of tools.
func (t *tools) list(name string, read func(place string, one *tool) field) field {
	schema := listed(mostTools, func() field { return read(name, new(tool)) })
	return as(schema, func(r *strictjson.Reader) error {
		return r.Array(func(i int) error {
			source, err := r.Raw()
			if err != nil {
				return err
			}
			one := tool{source: strings.Clone(source.Text()), parameters: nothing}
			t.field, t.bytes = name, t.bytes+len(one.source)
			if i == mostTools || t.bytes > mostToolBytes {
				return r.Errorf("want at most %d tools of %d bytes, found more", mostTools, mostToolBytes)
			}
			inside := strictjson.NewReader(one.source)
			if err = inside.Distinct(); err == nil {
				err = read(fmt.Sprintf("%s[%d]", name, i), &one).read(strictjson.NewReader(one.source))
			}
			switch {
			case err != nil:
				return r.Errorf("tool %d: %v", i, err)
			case one.name == "" || len(one.name) > mostToolName ||
				strings.TrimLeft(one.name, inToolNames) != "":
				return r.Errorf("tool %d: want a name of 1 to %d letters, digits, _, - and points, found %s",
					i, mostToolName, cmp.Or(short(one.name), "none"))
			case slices.ContainsFunc(t.all, func(u tool) bool { return u.name == one.name }):
				return r.Errorf("tool %d: %s comes twice", i, one.name)
			}
			t.all = append(t.all, one)
			return nil
		})
	})
}

// function reads the description of a function.
func (t *tools) function(place string, to *tool, ignored *[]string) field {
	named := func() openapi.Schema {
		return openapi.Schema{"type": "string", "pattern": "^[" + inToolNames + "]+$",
			"maxLength": mostToolName}
	}
	anything := func() openapi.Schema { return schemaOf(nil) }
	fields := map[string]field{"name": must(as(named, text(&to.name).read)), "description": anyText,
		"strict": yes(new(bool)),
		"parameters": as(anything, func(r *strictjson.Reader) error {
			v, err := r.Raw()
			if err == nil && v.Kind() != '{' {
				return wrong(v, "an object")
			}
			if err != nil || strings.TrimSpace(v.Text()[1:len(v.Text())-1]) == "" { // {} is as none
				return err
			}
			to.parameters = `{"type":"object",` + v.Text()[1:] // arguments are one in any case
			members := strictjson.NewReader(v.Text())
			return members.Object(func(name string) error {
				kind, err := members.Raw()
				if err == nil && name == "type" {
					to.parameters = v.Text()
					return word(new(string), []string{"object"}).read(kind)
				}
				return err
			})
		}),
	}
	if t.flat {
		fields["type"] = word(new(string), []string{"function"})
	}
	return object(place, ignored, fields)
}

// chosen reads which tools an answer calls: a word, or an object that has the name of one.
func (t *tools) chosen(words []string, named field) field {
	which := word(&t.choice, words)
	schema := func() openapi.Schema { return openapi.Either(which.schema(), named.schema()) }
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return which.read(r)
		}
		t.choice = "named"
		return named.read(r)
	})
}

// settle decides what tools do in a conversation of a template: which it tells of, and the form of
// the answer.
func (t *tools) settle(s *Server, f *form, ignored *[]string) error {
	choice := cmp.Or(t.choice, "auto")
	most := mostCalls
	if t.functions || t.parallel != nil && !*t.parallel {
		most = 1
	}
	tools := t.all
	switch {
	case choice == "none":
		t.all = nil
		return nil
	case len(t.all) == 0 && choice == "auto":
		return nil
	case choice == "named":
		i := slices.IndexFunc(t.all, func(one tool) bool { return one.name == t.named })
		if i < 0 {
			return fieldf(t.chooser(), "want the name of one of the tools, found %s",
				cmp.Or(short(t.named), "none"))
		}
		tools, most = tools[i:i+1], 1
	case len(t.all) == 0:
		return fieldf(t.chooser(), "want tools with it, found none")
	case choice == "auto" && !s.callsShown:
		if !s.template.Reads("tools") {
			*ignored, t.all = noted(*ignored, t.field), nil
		}
		return nil
	}
	t.format = s.calls
	f.calls = &callForm{format: t.format, tools: tools, most: most, free: choice == "auto"}
	if f.formatted() && (!f.calls.free || t.format.Trigger[0] != '{') { // which begins other texts too
		f.calls.text, f.schema, f.fields = f.schema, nil, nil
	}
	f.fields = append(f.fields, t.field)
	return nil
}

// chooser returns the field that chooses among the tools.
func (t *tools) chooser() string {
	if t.functions {
		return "function_call"
	}
	return "tool_choice"
}

// known returns the tools as a template in Jinja knows them.
func (t *tools) known() (list []any, err error) {
	for _, one := range t.all {
		v, err := chat.ReadTool(strictjson.NewReader(one.source), t.functions || t.flat)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// A callForm is the form of a text with calls of some tools: of one to most calls, or where it is
// free, of any text that may end with them, or of a schema's in their place.
type callForm struct {
	format *chat.CallFormat
	tools  []tool
	most   int
	free   bool
	text   *string // a schema
}

func (c *callForm) part(o constrain.SchemaOptions) constrain.Part {
	f := c.format
	var one constrain.OneOf
	for _, t := range c.tools {
		arguments := constrain.Schema{Text: []byte(t.parameters), Options: o}
		one = append(one, constrain.Sequence{constrain.Literal(t.name + f.Middle), arguments})
	}
	calls := func(open string) constrain.Part {
		all := constrain.Repeat{Part: one, Min: 1, Max: c.most, Between: constrain.Literal(f.Between)}
		return constrain.Sequence{constrain.Literal(open), all, constrain.Literal(f.Closing)}
	}
	switch {
	case !c.free:
		return calls(f.Open)
	case c.text != nil:
		return constrain.OneOf{calls(f.Open), constrain.Schema{Text: []byte(*c.text), Options: o}}
	}
	return constrain.Tags{Triggers: []string{f.Trigger}, StopAfterFirst: true,
		Tags: []constrain.Tag{{Begin: f.Trigger, Part: calls(f.Open[len(f.Trigger):])}}}
}

// key tells forms apart.
func (c *callForm) key() []any {
	key := []any{c.format.Name, c.most, c.free, c.text}
	for _, t := range c.tools {
		key = append(key, t.name, t.parameters)
	}
	return key
}
