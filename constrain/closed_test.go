package constrain

// Closed objects: which names they have, and that every text of them is valid as the schema is.

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/judge"
)

// closed are schemas, the instances that their closed form takes, and valid ones that it does not.
var closed = []struct{ schema, yes, no string }{
	{`{"type":"object","properties":{"a":{},"o":{"type":"object"},"e":{"properties":{}},"x":{},
		"p":{"properties":{"x":{}},"additionalProperties":{"type":"integer"},"type":"object"}}}`,
		`{} {"a":1} {"o":{"any":1}} {"e":{}} {"p":{"x":"","y":2}} {"a":{"any":{"b":1}}}`, `{"b":1} {"e":{"x":1}} {"x":1,"b":2}`},
	{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["b","a"]}`, `{"a":1,"b":[{"x":1}]}`, `{"a":1,"b":2,"c":3}`},
	{`{"type":["object","null"],"required":["b"]}`, `null {"b":1}`, `{"b":1,"a":2}`},
	{`{"type":"object","dependentRequired":{"a":["b"]}}`, `{} {"b":1} {"a":1,"b":1}`, `{"c":1}`},
	{`{"type":"object","properties":{"a":{}},"patternProperties":{"^b":{}}}`, `{"a":1,"c":2} {"bb":1}`, ``},
	{`{"type":"object","properties":{"a":{}},"patternProperties":{}}`, `{"c":2}`, ``},
	{`{"type":"object","properties":{"a":{}},"unevaluatedProperties":true}`, `{"a":1,"c":2}`, ``},
	{`{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"c":2}`, ``},
	{`{"type":"object"}`, `{"c":2}`, ``},
	{`{"type":"object","minProperties":1,"propertyNames":{"maxLength":1}}`, `{"c":2}`, ``},
	{`{"type":"object","properties":{"a":{},"ab":{}},"propertyNames":{"maxLength":1}}`, `{} {"a":1}`, `{"c":1}`},
	{`{"type":"object","additionalProperties":{"type":"object","properties":{"a":{}}}}`, `{"x":{"a":1}}`, `{"x":{"b":1}}`},

	// together
	{`{"allOf":[{"properties":{"a":{}}},{"$ref":"#/$defs/b"}],"type":"object","properties":{"c":{}},"$defs":{"b":{"required":["b"]}}}`,
		`{"a":1,"b":1,"c":1} {"b":1}`, `{"b":1,"d":1}`},
	{`{"allOf":[{"properties":{"a":{}}},{"additionalProperties":{"type":"integer"}}],"type":"object"}`, `{"a":1,"d":2} {"d":2}`, ``},
	{`{"type":"object","properties":{"k":{}},"anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]}`,
		`{"k":1} {"a":1,"k":1} {"b":1}`, `{"a":1,"b":1} {"a":1,"c":1}`},
	{`{"type":"object","anyOf":[{"properties":{"a":{}},"required":["a"]},{"required":["b"],"additionalProperties":{"type":"null"},"maxProperties":3},{"required":["c"]}]}`,
		`{"a":1} {"b":null,"x":null} {"b":null,"a":null} {"c":1}`, `{"a":1,"x":2} {"c":1,"x":1}`},
	{`{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`,
		`{"a":1} {"b":1}`, `{"a":1,"c":1}`},
	{`{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}},"required":["b"]}],"properties":{"n":{}}}`,
		`{} {"a":"x","n":1} {"n":1}`, `{"c":1} {"a":1,"b":"","n":1}`},
	{`{"type":"object","properties":{"k":{"enum":["x","y"]}},"required":["k"],"if":{"properties":{"k":{"const":"x"}}},"then":{"properties":{"a":{}}},"else":{"properties":{"b":{}},"required":["b"]}}`,
		`{"k":"x","a":1} {"k":"y","b":1}`, `{"k":"x","b":1} {"k":"y","a":1,"b":1} {"k":"x","c":1}`},
	{`{"type":"object","if":{"required":["t"],"properties":{"t":{"type":"string"}}},"then":{"properties":{"a":{}}},"else":{"properties":{"u":{}}}}`,
		`{"t":"","a":1} {"u":1} {}`, `{"t":"","u":1} {"a":1}`},
	{`{"type":"object","if":{"properties":{"t":{"const":1}},"required":["t"]},"then":{"maxProperties":2}}`, `{"t":1,"z":1} {"z":1,"t":2,"y":3}`, ``},
	{`{"type":"object","properties":{"o":{"type":"object","properties":{"x":{}}}},"required":["o"],"if":{"properties":{"o":{"properties":{"y":{"const":1}},"required":["y"]}}},"then":false}`,
		`{"o":{}} {"o":{"x":1}}`, `{"o":{"y":2}} {"o":{"z":1}}`},

	// what another meaning would forbid or allow
	{`{"type":"object","properties":{"a":{}},"not":{"properties":{"a":{"const":1},"b":{"const":1}},"required":["a"]}}`,
		`{} {"a":2}`, `{"a":1,"b":2} {"c":1}`},
	{`{"type":"object","not":{"properties":{"a":{"type":"object","properties":{"x":{}}}},"required":["a"]}}`, `{"a":1} {"z":1}`, ``},
	{`{"type":"object","properties":{"a":{}},"dependentSchemas":{"a":{"properties":{"b":{}}},"x":{"properties":{"y":{}}}}}`,
		`{} {"a":1,"b":1}`, `{"b":1} {"x":1,"y":1} {"y":1}`},
	{`{"type":"object","enum":[{"x":1},{"a":1}],"properties":{"a":{}}}`, `{"x":1} {"a":1}`, ``},

	// where nothing would be left
	{`{"type":"object","properties":{"a":{}},"minProperties":2}`, `{"a":1,"b":1} {"x":1,"y":1}`, ``},
	{`{"type":"array","minItems":1,"items":{"properties":{"a":{"properties":{},"minProperties":1,"type":"object"}},"required":["a"],"type":"object"}}`,
		`[{"a":{"z":1}}]`, `[{"a":{"z":1},"b":1}]`},
	{`{"type":"object","properties":{"next":{"$ref":"#"}},"minProperties":1}`, `{"x":1} {"next":{"x":1}}`, ``},
	{`{"type":["object","null"],"properties":{"a":{}},"minProperties":2}`, `null {"x":1,"y":1}`, ``},
	{`{"anyOf":[{"type":"object","properties":{"a":{}},"minProperties":2},{"type":"object","properties":{"b":{}}}]}`, `{} {"b":1}`, `{"a":1,"c":1}`},

	{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","properties":{"z":{}},"additionalProperties":true,"definitions":{"a":{"type":"object","properties":{"a":{}},"unevaluatedProperties":true}}}`,
		`{} {"a":1}`, `{"z":1}`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{}},"dependencies":{"a":["b"]}}`, `{"a":1,"b":1} {"b":1}`, `{"c":1}`},
}

func TestClosedObjectsHaveTheNamesOfTheirSchemas(t *testing.T) {
	for _, x := range closed {
		check := judge.Schema(t, x.schema)
		shut, open := compile(t, x.schema, SchemaOptions{Closed: true}), compile(t, x.schema, SchemaOptions{})
		for _, text := range texts(x.yes) {
			if _, got := accepts(t, shut, text); !got || check(text) != nil {
				t.Errorf("%s: %s: accepted %v, and the judge says %v", x.schema, text, got, check(text))
			}
		}
		for _, text := range texts(x.no) {
			_, got := accepts(t, shut, text)
			if _, opened := accepts(t, open, text); got || !opened || check(text) != nil {
				t.Errorf("%s: %s: accepted %v, open %v, and the judge says %v", x.schema, text, got, opened, check(text))
			}
		}
		written(t, x.schema, shut, 6, check)
	}
}

// TestNotesSayWhatIsClosed: a schema that allows other names has one note, with the first object;
// Strict does not refuse it, but refuses an object that has to stay open.
func TestNotesSayWhatIsClosed(t *testing.T) {
	const allows = "objects have only the names that the schema has; additionalProperties true allows others"
	const open = "no object has only the names that the schema has"
	for schema, want := range map[string]string{
		`{"type":"array","items":{"properties":{"a":{"properties":{}}}}}`: "#/items: " + allows,
		`{"properties":{"a":{}},"additionalProperties":false}`:            "",
		`{"type":"object"}`: "",
		`{"type":"object","properties":{"a":{}},"minProperties":2}`: "#: " + open + ", so others are open",
	} {
		if got := strings.Join(compile(t, schema, SchemaOptions{Closed: true}).Notes(), "|"); got != want {
			t.Errorf("%s: notes %q, want %q", schema, got, want)
		}
		if got := compile(t, schema, SchemaOptions{}).Notes(); len(got) > 0 {
			t.Errorf("%s: open: notes %q", schema, got)
		}
		_, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{Closed: true, Strict: true})
		if (err != nil) != strings.Contains(want, open) {
			t.Errorf("%s: strict: %v", schema, err)
		}
	}
}

// TestWhatIsWrittenClosedIsValid: of random schemas of all keywords, the closed form takes nothing
// that the judge refuses, and has a text where the open one has.
func TestWhatIsWrittenClosedIsValid(t *testing.T) {
	cases.NotShort(t)
	n := cases.Of(250, 20000)
	m := maker{rand.New(rand.NewPCG(4, 12))}
	narrower, taken := 0, 0
	for range n {
		schema := m.schema(3)
		check := judge.Schema(t, schema)
		open, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{})
		if err != nil {
			continue
		}
		shut, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{Closed: true})
		if err != nil {
			t.Errorf("%s: closed: %v", schema, err)
			continue
		}
		m.walk(t, shut, schema, check)
		for range 6 {
			for _, text := range spell(m.instance(2), 24) {
				_, got := accepts(t, shut, text)
				if _, opened := accepts(t, open, text); !got && opened {
					narrower++
				}
				if got && check(text) != nil {
					t.Errorf("%s: %s: accepted, and the judge says %v", schema, text, check(text))
				}
				if got {
					taken++
				}
			}
		}
	}
	if narrower < n/10 || taken < n {
		t.Errorf("of %d schemas, %d texts are open only, and %d closed ones are taken: want more", n, narrower, taken)
	}
}

// opened has a schema that lets other names in.
type opened struct{}

func (opened) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":{"type":"null"}}`)
}

// lax has a schema that says nothing of other names.
type lax struct{}

func (lax) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"a":{"type":"null"}}}`)
}

func (opened) UnmarshalJSON([]byte) error { return nil }
func (lax) UnmarshalJSON([]byte) error    { return nil }

// TestTypedFormsAreClosed: a method's schema lets other names in where it says so.
func TestTypedFormsAreClosed(t *testing.T) {
	for _, x := range []struct {
		form func(v *Vocabulary, o SchemaOptions) (*Constraint, error)
		want bool
	}{{For[opened], true}, {For[lax], false}} {
		c, err := x.form(gpt2(), SchemaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, got := accepts(t, c, `{"b":null}`); got != x.want {
			t.Errorf("another name: accepted %v, want %v", got, x.want)
		}
	}
}
