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
	{`{"$id":"http://a/","$dynamicAnchor":"n","type":["object","integer"],"properties":{"p":{"$ref":"r"}},"$defs":{"r":{"$id":"r","$dynamicAnchor":"n","$ref":"q"},"q":{"$id":"q","$dynamicAnchor":"m","type":"object","properties":{"x":{"$dynamicRef":"r#n"},"y":{"$dynamicRef":"#m"},"k":{"$ref":"r"}}}}}`,
		`1 {"p":{"x":1}} {"p":{"x":"a"}} {"p":{"y":1}} {"p":{"y":{"k":{}}}} {"p":{"y":{"k":1}}}`},
	{`{"enum":[{"a":1},{"b":2}],"unevaluatedProperties":{"const":1}}`, `{"a":1} {"b":2}`},
	{`{"prefixItems":[{"type":"integer"}],"anyOf":[{"prefixItems":[true,{"const":2}]},{"prefixItems":[true,true,{"const":3}]},true],"unevaluatedItems":{"type":"null"}}`,
		`[1] [1,2] [1,2,3] [1,5,3] [1,2,3,4] [1,5,3,null] [1,null] [1,5] ["a"]`},
	{`{"if":{"prefixItems":[{"const":1}]},"items":{"type":"integer"},"unevaluatedItems":false}`, `[1,2] ["a"]`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":false}`, `[1] [1,2]`},
	{`{"contains":{"type":"integer"},"minContains":2,"maxContains":3,"maxItems":5}`, `[] [1] [1,"a",2] [1,2,3] [1,2,3,4] ["a",1,"b","c",2,"d"] {}`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","contains":{"type":"integer"},"minContains":2,"items":{"maximum":5}}`, `[1] [] ["a",3] [6] ["a"]`},
	{`{"contains":{"const":1},"minContains":0,"maxContains":1,"prefixItems":[{"const":1}],"minItems":3}`, `[1,2,3] [1,2,1] [2,2,2]`},
	{`{"allOf":[{"contains":{"multipleOf":2}},{"contains":{"multipleOf":3}}],"unevaluatedItems":{"const":"a"}}`, `[6] [2,3] [2] [2,3,"a"] [2,3,5] [4,9,6]`},
	{`{"not":{"items":{"type":"integer"}}}`, `[] [1] [1,"a"] ["a"] 5`},
	{`{"not":{"contains":{"type":"integer"},"maxContains":2}}`, `[] [1] [1,2,3] ["a",1,2,3] ["a"]`},
	{`{"type":"object","not":{"additionalProperties":{"type":"integer"},"properties":{"a":true}}}`, `{} {"a":"x"} {"b":1} {"b":"x"} {"a":1,"b":1,"c":[]}`},
	{`{"type":"object","maxProperties":2,"required":["k"],"not":{"patternProperties":{"^(a|b)$":{"type":"integer"}}}}`, `{"k":1} {"k":1,"a":1} {"k":1,"a":"x"} {"b":"","k":1} {"k":"","c":""}`},
	{`{"type":"object","not":{"propertyNames":{"maxLength":1}},"properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"null"}}`, `{} {"a":1} {"bb":null} {"a":1,"bb":null} {"b":null}`},
	{`{"oneOf":[{"items":{"type":"integer"}},{"items":{"minimum":3}},{"type":"string"}]}`, `[] [1] [3] [3.5] ["a"] [1,"a"] "a" 5`},
	{`{"not":{"enum":[[1,{"a":2}],{"a":1,"b":[]},3]}}`, `[1,{"a":2}] [1] [1,{"a":3}] {"a":1,"b":[]} {"a":1} {"a":1,"b":[],"c":1} 3 4 "x"`},
	{`{"not":{"type":"integer"}}`, `1 1.5 -0.25 2.0 "a" null 0.0`},
	{`{"type":"integer","not":{"multipleOf":3},"minimum":2,"maximum":9}`, `2 3 4 6 8 9`},
	{`{"type":"number","not":{"anyOf":[{"multipleOf":0.5},{"multipleOf":0.2}]}}`, `1 0.5 0.2 0.3 1.25 0.4 7`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"k":{"enum":["x","y"]},"n":{"type":"string"}},"required":["k"],"additionalProperties":false}}`,
		`[] [{"k":"x"},{"k":"y"}] [{"k":"x"},{"k":"x"}] [{"k":"x","n":"a"},{"k":"x","n":"b"},{"k":"x"}] [{"k":"x","n":"a"},{"k":"x","n":"a"}]`},
	{`{"uniqueItems":true}`, `[1,1] [1,1.0] [1,1.5,"1"] [[1],[1,2]] [[1],[1]] [{"a":1,"b":2},{"b":2,"a":1}] [{"a":1},{"a":2}] [{"a":[1,{}]},{"a":[1,{}]}] [null,false,0,"",[],{}] [0,-0]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"string","maxLength":1},"minItems":2}`, `["a","b"] ["a","a"] ["",""] ["","a"]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^[ab]{1,2}$"}}`, `["a","b","ab","ba","aa","bb"] ["a","a"] ["ab","a","ab"]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":0.5}}`, `[0,0.0] [0.1,0.10] [0.1,0.25,0.5]`},
	{`{"type":"array","uniqueItems":true,"prefixItems":[{"type":"boolean"},{"type":"boolean"}],"minItems":2,"items":{"type":"array","items":{"enum":[1,2]},"uniqueItems":true}}`,
		`[true,false] [true,true] [false,true,[1,2]] [false,true,[1,2],[1,2]] [false,true,[1],[1]] [false,true,[1,1]] [true]`},
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
	for _, l := range []SchemaOptions{{Comma: ", ", Colon: ": "}, {Comma: ",", Colon: ":  "}, {Comma: ",", Colon: ": ", Indent: "  "},
		{Comma: ",\t", Colon: ":", Indent: "\t"}} {
		c := compile(t, schema, l)
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
				t.Errorf("%+v: %q is refused", l, lay(text))
			}
			for _, other := range []string{text, lay(text) + " ", strings.Replace(lay(text), "\n", "", 1)} {
				if _, got := accepts(t, c, other); got && other != lay(text) {
					t.Errorf("%+v: %q is accepted", l, other)
				}
			}
		}
		plain := compile(t, `{"type":"array","items":{"type":"array","items":{"type":"integer"},"maxItems":3}}`, l)
		written(t, "layout", plain, 20, func(text string) error {
			if text != lay(text) {
				return fmt.Errorf("want %q", lay(text))
			}
			return nil
		})
	}
	for _, l := range []SchemaOptions{{Comma: ","}, {Comma: ", ", Colon: " :"}, {Comma: ",x", Colon: ":"}, {Comma: ",", Colon: ":", Indent: strings.Repeat(" ", 65)}} {
		if _, err := JSONSchema(gpt2(), []byte(`{}`), l); err == nil || !strings.Contains(err.Error(), "layout: want a comma") {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestOpenAPIIsAnOption: nullable and discriminator are told of, and followed where that is asked.
func TestOpenAPIIsAnOption(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"null","nullable":false}},"additionalProperties":false}`
	const pets = `{"oneOf":[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}],"discriminator":{"propertyName":"kind","mapping":{"dog":"#/components/schemas/Dog","hound":"Dog"}},
		"components":{"schemas":{"Cat":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string"},"lives":{"type":"integer"}}},"Dog":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string"},"bark":{"type":"string"}}}}}}`
	for _, c := range []struct {
		schema, note string
		yes, no      []string
	}{
		{schema, "#/properties/a: keyword nullable is not known in draft 2020-12, and restricts nothing",
			texts(`{"a":""} {"a":null} {"b":null}`), texts(`{"a":1}`)},
		{pets, "#: keyword discriminator is not known in draft 2020-12, and restricts nothing|#/components/schemas/Cat/properties/lives: numbers that must not be whole, or no multiples, have 15 digits at most",
			texts(`{"kind":"Cat","lives":9} {"kind":"dog","bark":""} {"kind":"hound"}`), texts(`{"kind":"Dog"} {"kind":"cat"} {"kind":"Cat","lives":""}`)},
	} {
		plain := compile(t, c.schema, SchemaOptions{})
		if got := strings.Join(plain.Notes(), "|"); got != c.note {
			t.Errorf("notes %q, want %q", got, c.note)
		}
		open := compile(t, c.schema, SchemaOptions{OpenAPI: true, Strict: true})
		for i, text := range append(c.yes, c.no...) {
			if _, got := accepts(t, open, text); got != (i < len(c.yes)) {
				t.Errorf("%s: accepted %v", text, got)
			}
		}
	}
	if _, got := accepts(t, compile(t, schema, SchemaOptions{}), `{"a":null}`); got {
		t.Error("null is taken though nobody asked for OpenAPI")
	}
}

// TestWhatIsLeftOutIsNoted: numbers that must not be whole have few digits, and that is told.
func TestWhatIsLeftOutIsNoted(t *testing.T) {
	c := compile(t, `{"items":{"not":{"type":"integer"}}}`, SchemaOptions{Strict: true})
	want := "#/items/not: numbers that must not be whole, or no multiples, have 15 digits at most"
	if got := strings.Join(c.Notes(), "|"); got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	for text, want := range map[string]bool{`[0.5]`: true, `[123456789.123456]`: true, `[0.1234567]`: false} {
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: accepted %v", text, got)
		}
	}
}
