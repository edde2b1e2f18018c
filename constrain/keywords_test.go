package constrain

// Keywords that look at a whole object or array: what others left unevaluated, how many items are
// of a kind, which differ.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/judge"
)

// whole are schemas and canonical instances; some are valid and some are not.
var whole = []struct{ schema, instances string }{
	{`{"allOf":[{"properties":{"a":{"type":"integer"}}},{"patternProperties":{"^x":true}}],"properties":{"b":{}},"unevaluatedProperties":false}`,
		`{"a":1} {"b":1,"a":1,"x":2} {"a":1,"c":2} {"a":"x"} 5`},
	{`{"anyOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k"]},{"properties":{"l":{"const":1},"b":{}},"required":["l"]}],"unevaluatedProperties":{"type":"null"}}`,
		`{"k":1,"a":2} {"k":1,"b":2} {"l":1,"b":2,"k":null} {"k":1,"a":1,"l":1,"b":1} {"k":1,"l":2} {"k":1,"z":null} {"a":1}`},
	{`{"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"properties":{"a":{}}},"else":{"properties":{"b":{}}},"unevaluatedProperties":false}`,
		`{"k":1,"a":2} {"k":2,"b":1} {"b":2} {"a":1} {"k":1,"b":2} {}`},
	{`{"not":{"not":{"properties":{"a":{}},"required":["a"]}},"properties":{"b":{}},"unevaluatedProperties":{"type":"string"}}`, `{"a":1} {"a":"x"} {"a":"x","b":1} {"b":1}`},
	{`{"oneOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false,"dependentSchemas":{"b":{"properties":{"c":{}}}}}`,
		`{"a":1} {"b":1} {"b":1,"c":2} {"a":1,"b":1} {"a":1,"c":1}`},
	{`{"properties":{"o":{"$ref":"#/$defs/t","unevaluatedProperties":false}},"$defs":{"t":{"properties":{"a":{}},"anyOf":[true,{"properties":{"b":{}}}]}}}`,
		`{"o":{"a":1,"b":2}} {"o":{"c":1}} {"o":1,"z":1}`},
	{`{"enum":[{"a":1},{"b":2}],"unevaluatedProperties":{"const":1}}`, `{"a":1} {"b":2}`},
	{`{"prefixItems":[{"type":"integer"}],"anyOf":[{"prefixItems":[true,{"const":2}]},{"prefixItems":[true,true,{"const":3}]},true],"unevaluatedItems":{"type":"null"}}`,
		`[1] [1,2] [1,2,3] [1,5,3] [1,2,3,4] [1,5,3,null] [1,null] [1,5] ["a"]`},
	{`{"if":{"prefixItems":[{"const":1}]},"items":{"type":"integer"},"unevaluatedItems":false}`, `[1,2] ["a"]`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":false}`, `[1] [1,2]`},
	{`{"$id":"https://e.org/tree","$dynamicAnchor":"n","type":"object",
		"$defs":{"strict":{"$id":"https://e.org/strict","$dynamicAnchor":"n","$ref":"tree","unevaluatedProperties":false}},"properties":{"s":{"$ref":"strict"},"kids":{"items":{"$dynamicRef":"#n"}},"v":{}}}`,
		`{"s":{"kids":[{"v":1}]}} {"s":{"kids":[{"w":1}]}} {"kids":[{"w":1}]} {"s":{"w":1}}`},
}

func TestKeywordsOfTheWhole(t *testing.T) {
	cases.NotShort(t)
	for _, x := range whole {
		held(t, x.schema, x.instances, judge.Schema(t, x.schema))
	}
}

func TestTheOrderOfPropertiesIsAnOption(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{}},"required":["a"],"additionalProperties":false}`
	c := compile(t, schema, SchemaOptions{AnyOrder: true})
	for text, want := range map[string]bool{`{"a":1,"b":2}`: true, `{"b":2,"a":1}`: true, `{"c":0,"b":2,"a":1}`: true,
		`{"b":1}`: false, `{"b":1,"a":2,"b":3}`: false, `{"b":1,"d":2}`: false} {
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
	written(t, schema, c, 20, judge.Schema(t, schema))
}

// TestALayoutIsExact: each text is what encoding/json writes of its value, and no other is taken.
func TestALayoutIsExact(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"additionalProperties":{"type":"null"},"type":"object"}}}`
	for _, l := range []Layout{{Comma: ", ", Colon: ": "}, {Comma: ",", Colon: ":  "}, {Comma: ",", Colon: ": ", Indent: "  "},
		{Comma: ",\t", Colon: ":", Indent: "\t"}} {
		c := compile(t, schema, SchemaOptions{Layout: &l})
		lay := func(text string) string {
			var b bytes.Buffer
			if l.Indent != "" {
				json.Indent(&b, []byte(text), "", l.Indent)
				spaced := strings.ReplaceAll(b.String(), ": ", l.Colon)
				return strings.ReplaceAll(spaced, ",\n", l.Comma+"\n")
			}
			json.Compact(&b, []byte(text))
			return strings.NewReplacer(",", l.Comma, ":", l.Colon).Replace(b.String())
		}
		for _, text := range texts(`{} {"a":[]} {"a":[1]} {"a":[1,2],"b":{"x":null,"y":null}} {"b":{}}`) {
			if _, got := accepts(t, c, lay(text)); !got {
				t.Errorf("%q: %q is refused", l, lay(text))
			}
			for _, other := range []string{text, lay(text) + " ", strings.Replace(lay(text), "\n", "", 1)} {
				if _, got := accepts(t, c, other); got && other != lay(text) {
					t.Errorf("%q: %q is accepted", l, other)
				}
			}
		}
		plain := compile(t, `{"type":"array","items":{"type":"array","items":{"type":"integer"},"maxItems":3}}`, SchemaOptions{Layout: &l})
		written(t, "layout", plain, 20, func(text string) error {
			if text != lay(text) {
				return fmt.Errorf("want %q", lay(text))
			}
			return nil
		})
	}
	for _, l := range []Layout{{}, {Comma: ", ", Colon: " :"}, {Comma: ",x", Colon: ":"}, {Comma: ",", Colon: ":", Indent: strings.Repeat(" ", 65)}} {
		if _, err := JSONSchema(gpt2(), []byte(`{}`), SchemaOptions{Layout: &l}); err == nil || !strings.Contains(err.Error(), "layout: want a comma") {
			t.Errorf("%q: %v", l, err)
		}
	}
}
