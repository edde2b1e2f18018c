package constrain

// JSON Schema: which texts are accepted, and which schemas are refused; in all drafts.

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/judge"
)

func compile(t *testing.T, schema string, o SchemaOptions) *Constraint {
	t.Helper()
	c, err := JSONSchema(gpt2(), []byte(schema), o)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return c
}

// texts are instances in canonical text, each by itself or several between spaces.
func texts(list string) []string { return strings.Fields(list) }

func TestCanonicalTextsOfSchemas(t *testing.T) {
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{`{}`, texts(`null true false 0 -0 12 1.5 1e-7 5e-324 "" "é\n\u0001\ud800" [] {} [[],{"":[]}] {"a":{"a":1}}`),
			texts(`nul 01 1. .5 +1 'a' [1,] {"a"} {"a":1,"a":2} {"a":1,"\u0061":2} "\x" [1}`)},
		{`true`, texts(`1 "x"`), texts(`x`)},
		{`{"type":["integer","null"]}`, texts(`1 -20 null 100000000000000000000`), texts(`1.0 1e2 1.5 "1"`)},
		{`{"enum":["a","ab",1,1.5,null,[1,{"b":2,"a":"x"}],1e2,1e-7]}`,
			texts(`"a" "ab" 1 1.5 null [1,{"b":2,"a":"x"}] [1,{"a":"x","b":2}] 100 1e-7`),
			texts(`"b" "abc" 2 15 1.55 true [1] [1,{"a":"x"}] [1,{"a":"x","b":2,"c":1}]`)},
		{`{"const":"a\"\n\u0001é"}`, texts(`"a\"\n\u0001é"`), texts(`"a"`)},
		{`{"enum":[1,2,3],"const":2}`, texts(`2`), texts(`1 3`)},
		{`{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"]}`,
			texts(`{"a":1,"b":""} {"b":""} {"b":"","x":1} {"a":1,"b":"x","c":[],"d":{}} 1 []`),
			texts(`{} {"a":1} {"a":1.5,"b":""} {"b":"","a":1} {"a":1,"x":1,"b":""} {"b":"","x":1,"x":2}`)},
		{`{"type":"object","required":["x","y"],"additionalProperties":{"type":"integer"}}`,
			texts(`{"x":1,"y":2} {"y":1,"x":2} {"z":0,"y":1,"q":2,"x":2}`),
			texts(`{"x":1} {"x":1,"y":""} {"x":1,"y":2,"x":3}`)},
		{`{"type":"object","properties":{"a":true,"b":true,"c":true},"required":["c"],"maxProperties":2,"minProperties":2,"additionalProperties":false}`,
			texts(`{"a":1,"c":1} {"b":1,"c":1}`), texts(`{"c":1} {"a":1,"b":1} {"a":1,"b":1,"c":1}`)},
		{`{"type":"object","required":["k"],"maxProperties":1}`, texts(`{"k":1}`), texts(`{} {"x":1}`)},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"},"z$":{"minimum":5}},"additionalProperties":false}`,
			texts(`{} {"a":1} {"az":5} {"z":"x"} {"bz":7,"ab":0}`),
			texts(`{"b":1} {"a":"x"} {"az":4} {"az":5.5} {"z":4}`)},
		{`{"type":"object","patternProperties":{"^[ab]$":{}},"additionalProperties":false,"minProperties":2}`,
			texts(`{"a":1,"b":2} {"b":1,"a":2}`), texts(`{"a":1} {"a":1,"a":2}`)},
		{`{"type":"object","properties":{"foo":{}},"patternProperties":{"^f":{"type":"string"}}}`,
			texts(`{"foo":"x"} {"bar":1} {"foo":"","fa":"","q":1}`), texts(`{"foo":1} {"fa":1}`)},
		{`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3}`,
			texts(`[1] [1,2,3]`), texts(`[] [1,2,3,4] ["a"]`)},
		{`{"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}`,
			texts(`[] [1] [1,"a"] "x"`), texts(`["a"] [1,2] [1,"a",3]`)},
		{`{"anyOf":[{"type":"integer","minimum":3},{"type":"string","maxLength":2},{"properties":{"a":{"const":1}},"required":["a"],"type":"object"}]}`,
			texts(`3 "" "éé" {"a":1} {"a":1,"b":2}`), texts(`2 "abc" {} {"a":2} null`)},
		{`{"oneOf":[{"type":"integer","multipleOf":2},{"type":"string"},{"type":"integer","minimum":3,"maximum":3}]}`,
			texts(`2 3 4 "x"`), texts(`1 5 null`)},
		{`{"oneOf":[{"properties":{"k":{"const":"a"},"v":{"type":"integer"}},"required":["k","v"],"type":"object"},{"properties":{"k":{"const":"b"}},"required":["k"],"type":"object"}]}`,
			texts(`{"k":"a","v":1} {"k":"b"} {"k":"b","v":"x"}`), texts(`{"k":"a","v":"x"} {"k":"c"} {}`)},
		{`{"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}],"type":"object"}`,
			texts(`{"a":1,"b":""} {"b":"","a":1} {"x":1,"b":"","a":2}`), texts(`{"a":1} {"a":"","b":""}`)},
		{`{"allOf":[{"minimum":3},{"maximum":5},{"type":"integer"}]}`, texts(`3 4 5`), texts(`2 6 3.5`)},
		{`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"l":{"$ref":"#/$defs/t"},"r":{"$ref":"#/$defs/t"}},"required":["v"],"additionalProperties":false}}}`,
			texts(`{"v":1} {"v":1,"l":{"v":2,"r":{"v":3}},"r":{"v":4}}`), texts(`{} {"v":1,"l":{}} {"v":1,"l":{"v":1}`)},
		{`{"$defs":{"n":{"$anchor":"num","type":"number"}},"items":{"$ref":"#num"},"type":"array"}`,
			texts(`[1,2.5]`), texts(`["x"]`)},
		{`{"type":"string","minLength":2,"maxLength":3}`,
			texts(`"ab" "😀é" "\u00e9\ud83d\ude00a" "\n\"\\"`), texts(`"a" "abcd" "\ud800a" "😀"`)},
		{`{"type":"string","maxLength":100000}`, []string{`""`, `"` + strings.Repeat("x", 100000) + `"`},
			[]string{`"` + strings.Repeat("x", 100001) + `"`}},
		{`{"type":"string","pattern":"a+b"}`, texts(`"ab" "xxaaabyy\n" "é😀aab"`), texts(`"" "a" "ba"`)},
		{`{"type":"string","pattern":"^(ab)*$","minLength":3,"maxLength":5}`, texts(`"abab"`), texts(`"ab" "aba" "ababab"`)},
		{`{"type":"string","pattern":"^[a-z]{2,3000}$","maxLength":4}`, texts(`"ab" "abcd"`), texts(`"a" "aB" "abcde"`)},
		{`{"type":"string","pattern":"^.{1001,}$"}`, []string{`"` + strings.Repeat("é", 1001) + `"`}, []string{`"` + strings.Repeat("é", 1000) + `"`}},
		{`{"allOf":[{"pattern":"^[ab]{3}$"},{"pattern":"ab"}],"type":"string","minLength":1}`, texts(`"aab" "abb"`), texts(`"ab" "aaa" "abab"`)},
		{`{"type":"string","pattern":"^a|b{2}$"}`, texts(`"ax" "xbb"`), texts(`"xb" "x"`)},
		{`{"type":"string","pattern":"^[\\u00e9\"\\\\\\n]+$"}`, texts(`"é\"\\\n"`), texts(`"e" "\u00e9"`)},
		{`{"allOf":[{"pattern":"^a"},{"pattern":"z$"}],"type":"string","maxLength":3}`, texts(`"az" "aaz"`), texts(`"a" "z" "aaaz"`)},
		{`{"enum":["a","bb","ccc",3],"type":"string","pattern":"^.{2,}$"}`, texts(`"bb" "ccc"`), texts(`"a" 3`)},
		{`{"type":"string","format":"date"}`, texts(`"2024-02-29" "2000-02-29" "1999-12-31"`),
			texts(`"2023-02-29" "1900-02-29" "2024-04-31" "2024-13-01" "24-01-01"`)},
		{`{"type":"string","format":"time"}`, texts(`"12:00:00Z" "23:59:60Z" "00:00:00.25+23:59" "23:59:60+00:00" "01:29:60+01:30" "23:29:60+23:30" "15:59:60.123-08:00" "00:29:60-23:30" "00:59:60+01:00"`), texts(`"24:00:00Z" "12:00:00" "12:00:60Z" "22:59:60Z" "23:59:60+01:00" "23:59:60-01:00" "23:29:60-23:30"`)},
		{`{"type":"string","format":"date-time"}`, texts(`"2024-02-29T12:30:00Z" "1985-04-12t23:20:50.52z"`), texts(`"2024-02-29" "2024-02-30T12:30:00Z"`)},
		{`{"type":"string","format":"uuid"}`, texts(`"2eb8aa08-aa98-11ea-b4aa-73b441d16380"`), texts(`"2eb8aa08-aa98-11ea-b4aa73b441d16380"`)},
		{`{"type":"string","format":"ipv4"}`, texts(`"192.168.0.1" "0.0.0.0" "255.255.255.255"`), texts(`"256.0.0.1" "1.2.3" "01.2.3.4"`)},
		{`{"type":"string","format":"ipv6"}`, texts(`"::" "::1" "1::" "1:2:3:4:5:6:7:8" "::ffff:1.2.3.4" "1::8" "1:2::7:8" "1:2:3:4:5:6:7::" "::2:3:4:5:6:7:8" "1:2:3:4:5:6:1.2.3.4"`),
			texts(`"1" "1:2:3:4:5:6:7" ":::" "1::2::3" "12345::" "1:2:3:4:5:6:7:8:9" "1:2:3:4:5:6:7:8::" ":1"`)},
		{`{"type":"integer","minimum":-5,"exclusiveMaximum":12}`, texts(`-5 -1 -0 0 9 10 11`), texts(`-6 12 -10 100 1.0`)},
		{`{"type":"number","minimum":0.5,"maximum":12.25}`, texts(`0.5 0.50 1 9.999 10 12 12.25 12.250 12.2`), texts(`0 0.4 12.26 13 -1 1e-7`)},
		{`{"type":"number","exclusiveMinimum":0,"maximum":1e-6}`, texts(`1e-7 2.5e-10 0.000001 0.0000001`), texts(`0 1e-6 0.0 1 1.1e-6 -1e-7`)},
		{`{"type":"number","minimum":1.5e-9,"maximum":2.5e-7}`, texts(`1.5e-9 1.6e-9 2e-8 9.9e-8 2.5e-7`), texts(`1.4e-9 9e-10 2.6e-7 3e-7 2e-6`)},
		{`{"type":"integer","multipleOf":7,"minimum":10,"maximum":30}`, texts(`14 21 28`), texts(`7 15 35 0`)},
		{`{"type":"integer","multipleOf":0.4}`, texts(`0 2 4 10 -2`), texts(`1 3 5`)},
		{`{"multipleOf":3}`, texts(`0 3 33 "x" -6 123456789012345678`), texts(`1 2 3.5 10`)},
		{`{"type":"integer","minimum":999999999999,"multipleOf":1000000}`, texts(`1000000000000`), texts(`999999999999 1000000000001`)},
		{`{"uniqueItems":false,"title":"x","x-other":1,"default":3}`, texts(`[1,1]`), texts(`x`)},
		{`{"type":"array","items":{"$ref":"#"}}`, texts(`[] [[],[[]]]`), texts(`[1]`)},
		{`{"type":"object","properties":{"a":false,"b":{"not":{}}}}`, nil, nil},
	} {
		s, err := JSONSchema(gpt2(), []byte(c.schema), SchemaOptions{})
		if err != nil {
			if c.yes != nil {
				t.Errorf("%s: %v", c.schema, err)
			}
			continue
		}
		for _, text := range c.yes {
			if _, complete := accepts(t, s, text); !complete {
				t.Errorf("%s: %.80s is refused", c.schema, text)
			}
		}
		for _, text := range c.no {
			if _, complete := accepts(t, s, text); complete {
				t.Errorf("%s: %.80s is accepted", c.schema, text)
			}
		}
	}
}

func TestWhiteSpaceIsBounded(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`
	for _, c := range []struct {
		space   int
		yes, no []string
	}{
		{0, []string{`{"a": [1, 2]}`, `{"a":[1,2], "b": 1}`},
			[]string{`{ "a":[]}`, `{"a" :[]}`, `{"a":  []}`, `{"a":[1 ]}`, `{"a":[ 1]}`, "{\"a\":\n[]}", ` {}`, `{} `}},
		{NoSpace, []string{`{"a":[1,2]}`}, []string{`{"a": [1]}`, `{"a":[1, 2]}`}},
		{2, []string{"{\n\t\"a\" : [ 1 ,\n 2\n]}", "{  }", `{"a":[  ] }`},
			[]string{"{   }", `{"a":[1   ]}`, ` {}`, "{}\n"}},
	} {
		s := compile(t, schema, SchemaOptions{Space: c.space})
		for _, text := range c.yes {
			if _, complete := accepts(t, s, text); !complete {
				t.Errorf("space %d: %q is refused", c.space, text)
			}
		}
		for _, text := range c.no {
			if _, complete := accepts(t, s, text); complete {
				t.Errorf("space %d: %q is accepted", c.space, text)
			}
		}
	}
}

func TestSchemasThatCannotBeFollowedAreRefusedByName(t *testing.T) {
	refusals := map[string]string{
		`{`:                                    "byte 1: not valid JSON",
		`{"type":"int"}`:                       "#/type: want null, boolean",
		`{"a":1,"a":2}`:                        `"a" comes twice`,
		`[]`:                                   "want a schema",
		`{"minLength":-1}`:                     "#/minLength: want a whole number",
		`{"minLength":1.5}`:                    "#/minLength: want a whole number",
		`{"multipleOf":0}`:                     "want a number above 0",
		`{"exclusiveMaximum":true}`:            "want a number, found true",
		`{"required":"a"}`:                     "want an array of strings",
		`{"items":[{}],"prefixItems":[{}]}`:    "want a schema beside prefixItems",
		`{"dependentRequired":{"a":"b"}}`:      "#/dependentRequired/a: want an array of strings",
		`{"type":"number","multipleOf":1e-18}`: "17 digits at most",
		`{"multipleOf":100000000000000003,"allOf":[{"multipleOf":100000000000000019}],"type":"integer"}`: "least common multiple",
		`{"pattern":"(?<=a)b"}`: "a lookbehind is not supported",
		`{"pattern":"(a)\\1"}`:  "a back-reference is not supported",
		`{"pattern":"("}`:       "missing closing )",
		`{"pattern":"a)(b"}`:    "unexpected )",
		`{"$ref":"#/$defs/x"}`:  "nothing there",
		`{"$ref":"other.json"}`: "only references within the schema",
		`{"$ref":"#"}`:          "leads back here",
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`:                         "leads back here",
		`{"anyOf":[{"type":"string"},{"$ref":"#"}]}`:                                                                           "leads back here",
		`{"type":"array","uniqueItems":true,"items":{"enum":["a","b"]},"minItems":3}`:                                          "3 items or more is supported",
		`{"not":{"unevaluatedItems":{"type":"null"}}}`:                                                                         "keyword unevaluatedProperties or unevaluatedItems is not supported under not",
		`{"uniqueItems":true,"minItems":3,"items":{"type":"object","additionalProperties":{"type":"null"},"maxProperties":2}}`: "uniqueItems of 3 items or more is supported",
		`{"not":{"uniqueItems":true}}`:                                                                                         "keyword uniqueItems is not supported under not",
		`{"contains":true,"minContains":70000}`:                                                                                "product is 65536 at most",
		`{"not":{"$ref":"#"}}`:                                                                                                 "leads back here",
		`{"type":"string","allOf":[{"type":"integer"}]}`:                                                                       "no value is valid",
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`:                                                   "no value is valid",
		`{"type":"string","pattern":"a$b"}`:                                                                                    "no value is valid",
		`{"type":"integer","minimum":3,"maximum":2}`:                                                                           "no value is valid",
		`{"type":"string","pattern":"(.{1000}){1000}"}`:                                                                        "invalid repeat count",
		`{"type":"string","pattern":"(a|b)*a(a|b){30}"}`:                                                                       "more than",
		strings.Repeat(`{"items":`, 30000) + "1" + strings.Repeat("}", 30000):                                                  "",
	}
	for schema, want := range refusals {
		m, _, err := work(hostile{kind: 's'}, schema, nil)
		if m.Used > 16<<20 {
			t.Errorf("%.80s: refused after %d steps", schema, m.Used)
		}
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("%.80s: %v, want %q", schema, err, want)
		}
	}
}

// Alternatives multiply: twenty anyOf of two, all of which hold, are a million combinations.
func TestCombinationsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"allOf":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`{"anyOf":[{"maxLength":` + string(rune('1'+i%9)) + `},{"minLength":3}]}`)
	}
	b.WriteString(`]}`)
	_, err := JSONSchema(gpt2(), []byte(b.String()), SchemaOptions{})
	if err == nil || !strings.Contains(err.Error(), "more than 2048 combinations") {
		t.Errorf("error %v, want one about combinations", err)
	}
}

// A text that is begun can be completed: alternatives without any value are left out.
func TestNoTextLeadsWhereNoValueIs(t *testing.T) {
	for schema, prefixes := range map[string][]string{
		`{"type":"object","anyOf":[{"properties":{"a":false},"required":["a"]},{"properties":{"b":{"const":1}},"required":["b"],"additionalProperties":false}]}`:                 {`{"x`, `{"a`},
		`{"anyOf":[{"type":"array","items":false,"minItems":1},{"type":"null"}]}`:                                                                                                {`[`},
		`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"},"minItems":1}}}`: {`{"x`},
		`{"type":"object","required":["a","b"],"maxProperties":2}`:                                                                                                               {`{"x`, `{"a":1,"c`},
		`{"type":"object","minProperties":1,"properties":{"a":{}},"additionalProperties":false}`:                                                                                 {`{}`},
		`{"type":"string","pattern":"^(ab)*$","maxLength":3}`:                                                                                                                    {`"aba`},
		`{"type":"integer","multipleOf":50,"minimum":101,"maximum":199}`:                                                                                                         {`2`, `10`, `16`, `-`, `0`},
	} {
		c := compile(t, schema, SchemaOptions{})
		for _, prefix := range prefixes {
			if begun, _ := accepts(t, c, prefix); begun {
				t.Errorf("%s: %s is begun", schema, prefix)
			}
		}
	}
}

// The spellings of drafts 4 to 2019-09, and conditions, against the judge, which knows all drafts.

// drafted are schemas and canonical instances; some are valid and some are not.
var drafted = []struct{ schema, instances string }{
	{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"number","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`,
		`0.5 1 1.5 3 3.5`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","maximum":3,"exclusiveMaximum":true}`, `2 3 4`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","enum":[1,2],"const":2}`, `1 2 3`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"null"}}`,
		`[] [1] ["a"] [1,"a"] [1,2] [1,"a",null] [1,"a",1] 5`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"additionalItems":false,"minItems":1}`,
		`[] [1] [1,1] ["a"]`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"type":"integer"},"additionalItems":false}`, `[] [1,2] ["a"]`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{},"b":{},"c":{"type":"integer"}},
		"dependencies":{"a":["b"],"c":{"required":["b"],"properties":{"b":{"type":"null"}}}}}`,
		`{} {"a":1} {"a":1,"b":1} {"b":1} {"b":1,"c":1} {"b":null,"c":1} {"c":1} {"a":1,"b":null,"c":2} {"a":1,"b":2,"c":2} {"d":1}`},
	{`{"dependentRequired":{"a":["b","c"]},"dependentSchemas":{"c":{"minProperties":3}}}`,
		`{} {"a":1} {"a":1,"b":1} {"a":1,"b":1,"c":1} {"c":1} {"c":1,"d":1,"e":1} 3 "x" []`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x.y/root.json","definitions":{"a":{"id":"#foo","type":"integer"},
		"b":{"id":"sub/","definitions":{"c":{"id":"c.json","type":"null"}}}},"properties":{"a":{"$ref":"#foo"},"b":{"$ref":"sub/c.json"}}}`,
		`{"a":1} {"a":null} {"b":null} {"b":1}`},
	{`{"$id":"http://x.y/a","$defs":{"p":{"$id":"b/","$defs":{"q":{"$id":"c","$anchor":"here","type":"integer"}},"type":"object","properties":{"v":{"$ref":"c"}}}},
		"properties":{"p":{"$ref":"b/"},"q":{"$ref":"http://x.y/b/c#here"},"r":{"$ref":"#/$defs/p"}}}`,
		`{"p":{"v":1}} {"p":{"v":""}} {"q":1} {"q":""} {"r":{"v":1}} {"r":{"v":null}} {"r":1}`},
	{`{"type":"object","propertyNames":{"pattern":"^[a-c]","maxLength":2},"additionalProperties":{"type":"integer"}}`,
		`{} {"a":1} {"ab":1,"c":2} {"abc":1} {"d":1} {"a":"x"}`},
	{`{"type":"object","propertyNames":{"anyOf":[{"enum":["x","yy"]},{"minLength":3,"type":"string"},{"type":"null"}]},"required":["x"],"maxProperties":2,"additionalProperties":{"enum":[1,2]}}`,
		`{} {"x":1} {"x":1,"yy":2} {"x":1,"abc":1} {"x":1,"ab":1}`},
	{`{"type":"object","propertyNames":{"const":"é"},"minProperties":1}`, `{} {"é":1} {"e":1}`},
	{`{"type":"object","propertyNames":{"format":"date"},"patternProperties":{"-29$":{"type":"null"}}}`,
		`{} {"2024-02-29":null} {"2023-02-29":null} {"2024-02-28":1} {"2024-02-29":1}`},
	{`{"propertyNames":false}`, `{} {"a":1} 1`},
	{`{"type":"object","propertyNames":{"type":"integer"},"properties":{"a":{}}}`, `{} {"a":1} {"b":1}`},
	{`{"type":"object","propertyNames":{"type":"string"},"maxProperties":1}`, `{"a":1} {"a":1,"b":2}`},
	{`{"type":"object","propertyNames":{"not":{"enum":["a","b"]}},"additionalProperties":{"type":"null"}}`, `{} {"a":null} {"c":null} {"ab":null}`},
	{`{"allOf":[{"multipleOf":0.75},{"multipleOf":0.5}],"type":"number","exclusiveMinimum":0,"exclusiveMaximum":10}`, `0 0.75 1.5 3 4.5 3.75 9 10.5`},
	{`{"type":"number","multipleOf":0.01,"enum":[1.25,1.255,3]}`, `1.25 1.255 3`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"string"}}`, `[] ["a"] ["a","b"] ["a","a"] ["","a",""] ["\u0061","a"] ["é","é"] ["a","aa","aaa"]`},
	{`{"type":"array","uniqueItems":true,"items":{"enum":["a","b\"",3]},"minItems":2}`, `["a"] ["a",3] [3,"a","b\""] [3,3] ["a","b\"","a"] ["b\"","b\""]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"integer","minimum":-1,"maximum":2}}`, `[] [1,2] [0,-1,1,2] [0,0] [-0,0] [1,2,1] [3]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"integer"}}`, `[1,10,100] [1,1] [0,-0] [-1,1] [0,10,0]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"integer","minimum":-2,"maximum":5000,"multipleOf":2}}`, `[-2,0,2] [-2,-2] [2,20,200,2000] [4,4]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":["null","boolean"]},"minItems":3}`, `[null,true,false] [true,false] [null,null,true]`},
	{`{"type":"array","uniqueItems":true,"items":{"pattern":"^a.*$|^b.*$","type":"string"}}`, `["a","b"] ["a","a"] ["c"] ["ab","a"]`},
	{`{"type":"array","uniqueItems":true,"items":{"anyOf":[{"enum":["x",1,2.5]},{"type":"integer"},{"type":"string","minLength":2}]}}`, `["x",1,2] ["x","x"] [1,1] [2.5,2.5] [2.5,2] ["xx","x"] ["xx","xx"]`},
	{`{"type":"array","uniqueItems":true,"items":{"type":"object"},"maxItems":1}`, `[] [{}] [{},{}]`},
	{`{"not":{"type":"string"}}`, `1 "a" null {} []`},
	{`{"type":"object","properties":{"a":{},"b":{"not":{}}}}`, `{} {"a":1} {"b":1} {"a":1,"b":1}`},
	{`{"not":{"required":["a","b"]},"type":"object"}`, `{} {"a":1} {"b":1} {"a":1,"b":1} {"c":1}`},
	{`{"not":{"enum":["a","b",1,2.5,null,true]}}`, `"a" "ab" "" 1 2 2.5 -1 null true false [] {}`},
	{`{"not":{"anyOf":[{"type":"string","minLength":3},{"type":"string","pattern":"^b"},{"type":"number","maximum":3},{"type":"array","minItems":2}]}}`, `"ab" "abc" "ba" 3 4 [1] [1,2] {}`},
	{`{"not":{"allOf":[{"minLength":2},{"maxLength":4},{"format":"ipv4"}]}}`, `"a" "abc" "1.2.3.4" 1`},
	{`{"not":{"prefixItems":[{"const":1},{"type":"string"}],"items":false}}`, `[] [1] [2] [1,"a"] [1,2] [1,"a",3] 1`},
	{`{"not":{"properties":{"a":{"const":"x"}},"required":["a"]},"type":"object"}`, `{} {"a":"x"} {"a":"y"} {"b":1}`},
	{`{"not":{"type":"integer"},"enum":[1,2.5,"a",3]}`, `1 2.5 3 "a" "b"`},
	{`{"not":{"not":{"type":"integer"}}}`, `1 "a"`},
	{`{"not":{"oneOf":[{"minimum":2},{"maximum":4}]}}`, `1 2 3 4 5 "a"`},
	{`{"type":"object","properties":{"kind":{"enum":["a","b"]},"v":{}},"required":["kind"],"additionalProperties":false,"if":{"properties":{"kind":{"const":"a"}}},
		"then":{"required":["v"]},"else":{"properties":{"v":{"type":"null"}}}}`,
		`{"kind":"a"} {"kind":"a","v":1} {"kind":"b"} {"kind":"b","v":1} {"kind":"b","v":null}`},
	{`{"if":{"type":"string"},"then":{"maxLength":2}}`, `"ab" "abc" 1`},
	{`{"if":{"minimum":2},"else":{"multipleOf":3},"type":"integer"}`, `0 1 2 3 4 -3`},
	{`{"if":{"if":{"minimum":2},"then":{"maximum":5},"else":{"maximum":0}},"then":{"enum":[-1,3]},"type":"integer"}`, `-1 -2 1 2 3 4 6`},
	{`{"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object","maxProperties":2,"additionalProperties":{"type":"null"}}`,
		`{} {"a":null} {"b":null} {"a":null,"b":null} {"c":null,"b":null} {"a":1}`},
	{`{"oneOf":[{"minimum":2,"type":"integer"},{"maximum":4,"type":"integer"},{"const":9}]}`, `1 2 3 4 5 9 "a"`},
	{`{"oneOf":[{"type":"string"},{"minLength":3},{"enum":["a","abc"]}]}`, `"a" "b" "abc" "abcd" 1 null`},
	{`{"type":"array","items":{"oneOf":[{"pattern":"a"},{"pattern":"b"}],"type":"string"}}`, `[] ["a"] ["b"] ["ab"] ["a","c"]`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://e.org/base/","definitions":{"foo":{"$id":"http://e.org/foo.json","type":"string"},"b":{"$id":"foo.json","type":"number"}},"allOf":[{"$id":"http://e.org/","$ref":"foo.json"}]}`, `1 "a" 2.5 null`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"flags":{"type":"object","properties":{"cache":{"type":"boolean"}}}},"$ref":"#/definitions/flags","additionalProperties":false}`, `{} {"cache":true} {"x":1} {"cache":1} 1`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"string"}},"type":"integer"}`, `"a" 1 null`},
	{`{"$schema":"http://json-schema.org/draft-06/schema","items":{"$ref":"#/definitions/a","enum":[7],"not":{}},"type":"array","definitions":{"a":{"type":"integer"}},"if":{"minItems":1},"then":false}`, `[] [1] [7] ["a"]`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://e.org/a/","definitions":{"s":{"id":"http://e.org/x","type":"string"},"n":{"id":"x","type":"null"}},"properties":{"v":{"id":"http://e.org/","$ref":"x"}},"const":1,"contains":false,"propertyNames":false}`, `{"v":null} {"v":"a"} {} 3 []`},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{"x-note":{"$id":"https://e.org/t","type":"null"}},"b":{"$id":"https://e.org/t","type":"string"}},"$ref":"https://e.org/t"}`, `"a" null 1`},
	{`{"$defs":{"a":{"enum":[{"$id":"https://e.org/t","type":"null"}],"const":{"$anchor":"x","$id":"https://e.org/t"},"default":{"$id":"https://e.org/t"},"examples":[{"$anchor":"x"}]},
		"b":{"properties":{"$id":{"type":"boolean"},"$ref":{"type":"null"},"$anchor":{"type":"string"}}},"c":{"$id":"https://e.org/t","$anchor":"x","type":"string"}},"properties":{"t":{"$ref":"https://e.org/t#x"},"b":{"$ref":"#/$defs/b"}}}`,
		`{"t":""} {"t":null} {"b":{"$id":true}} {"b":{"$id":"https://e.org/t"}} {"b":{"$ref":null,"$anchor":""}} {"b":{"$anchor":1}}`},
	{`{"$id":"https://e.org/a/","$defs":{"s":{"$id":"x","type":"string"},"n":{"$id":"/x","type":"null"}},"properties":{"v":{"$id":"/b","$ref":"x","maxLength":1}}}`, `{"v":null} {"v":"a"} {}`},
	{`{"properties":{"a":{"$ref":"#/x-note/a"}},"x-note":{"$id":"https://e.org/","a":{"type":"integer","not":{"const":3}}}}`, `{"a":1} {"a":3} {"a":""}`},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-07/schema#","properties":{"v":{"$ref":"#/definitions/i","maximum":3}},"definitions":{"i":{"type":"integer"}}},
		"b":{"$ref":"#/$defs/i","maximum":3}},"$defs":{"i":{"type":"integer"}}}`,
		`{"a":{"v":4}} {"a":{"v":""}} {"b":3} {"b":4}`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#","maxProperties":1},"v":{"type":"integer"}},"prefixItems":[false]}`, `{"a":{"v":1}} {"a":{"a":{},"v":1}} {"v":1} {"v":""} [1] {"a":{"v":null}}`},
	{`{"$dynamicAnchor":"n","type":"object","properties":{"a":{"$dynamicRef":"#n"},"v":{"type":"integer"}},"additionalProperties":false}`, `{"a":{"v":1}} {"a":{"x":1}} {"a":1} {"v":1}`},
}

// draft3 is a schema of draft 3, which the judge does not know, and the same in draft 2020-12.
var draft3 = []struct{ schema, same, instances string }{
	{`"type":"object","properties":{"a":{"required":true,"type":"integer"},"b":{"$ref":"#/properties/a","required":true,"type":"null"},"c":{"required":false}}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{}},"required":["a","b"]}`,
		`{} {"a":1} {"a":1,"b":2} {"a":1,"b":null} {"a":1,"b":2,"c":3} {"a":"","b":2}`},
	{`"extends":[{"type":"integer"},{"minimum":3}],"divisibleBy":2,"exclusiveMaximum":true,"maximum":8`,
		`{"type":"integer","minimum":3,"multipleOf":2,"exclusiveMaximum":8}`, `2 3 4 6 8 "a"`},
	{`"extends":{"type":["string",{"enum":[1,2]}]},"disallow":["null",{"enum":["x"]}]`,
		`{"anyOf":[{"type":"string","not":{"const":"x"}},{"enum":[1,2]}]}`, `"a" "x" 1 2 3 null`},
	{`"type":"any","disallow":"string"`, `{"not":{"type":"string"}}`, `1 "a" null {}`},
	{`"dependencies":{"a":"b"},"type":"object","allOf":[{"required":["z"]}],"const":1,"minProperties":4,"propertyNames":false`,
		`{"type":"object","dependentRequired":{"a":["b"]}}`, `{} {"a":1} {"a":1,"b":1} {"b":1} 1`},
	{`"id":"http://x.y/","properties":{"a":{"id":"b","type":"integer"},"c":{"$ref":"b"},"d":{"$id":"b","type":"null"}}`,
		`{"properties":{"a":{"type":"integer"},"c":{"type":"integer"},"d":{"type":"null"}}}`, `{"c":1} {"c":""} {"d":null} {"d":1}`},
}

func TestSpellingsOfDraft3(t *testing.T) {
	for _, x := range draft3 {
		schema := `{"$schema":"http://json-schema.org/draft-03/schema#",` + x.schema + `}`
		held(t, schema, x.instances, judge.Schema(t, x.same))
	}
}

func TestSpellingsOfOlderDraftsAndConditions(t *testing.T) {
	cases.NotShort(t)
	for _, x := range drafted {
		held(t, x.schema, x.instances, judge.Schema(t, x.schema))
	}
}

// TestWhatADraftIgnoresIsNoted: what another draft would follow, and what stands beside $ref.
func TestWhatADraftIgnoresIsNoted(t *testing.T) {
	const d4, d7 = `"$schema":"http://json-schema.org/draft-04/schema"`, `"$schema":"http://json-schema.org/draft-07/schema#"`
	for schema, want := range map[string]string{
		`{` + d4 + `,"const":1}`: "#: keyword const is not known in draft 4, and restricts nothing",
		`{` + d7 + `,"properties":{"a":{"$ref":"#/definitions/a","title":"A","maxLength":3}},"definitions":{"a":{}}}`: "#/properties/a: keyword maxLength stands beside $ref in draft 7, and restricts nothing",
		`{"properties":{"a":{"$ref":"#/$defs/a","maxLength":3}},"$defs":{"a":{}}}`:                                    "",
		`{"$schema":"https://json-schema.org/draft/2019-09/schema#","dependencies":{"a":["b"]}}`:                      "#: keyword dependencies is not known in draft 2019-09, and restricts nothing",
		`{"divisibleBy":3}`: "#: keyword divisibleBy is not known in draft 2020-12, and restricts nothing",
		`{` + d4 + `,"title":"","x-mine":1,"$defs":{"a":{}},"definitions":{"b":{}}}`: "",
	} {
		if got := strings.Join(compile(t, schema, SchemaOptions{}).Notes(), "|"); got != want {
			t.Errorf("%s: notes %q, want %q", schema, got, want)
		}
		if _, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{Strict: true}); (err != nil) != (want != "") {
			t.Errorf("%s: strict: %v", schema, err)
		}
	}
}

// held compares what a form accepts with a judge, and writes texts for it.
func held(t *testing.T, schema, instances string, check func(string) error) {
	t.Helper()
	c := compile(t, schema, SchemaOptions{})
	valid := 0
	for _, text := range texts(instances) {
		want := check(text) == nil
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: %s: accepted %v, want %v", schema, text, got, want)
		}
		if want {
			valid++
		}
	}
	if n := len(texts(instances)); valid == 0 || valid == n {
		t.Errorf("%s: %d of %d instances are valid: want some of both", schema, valid, n)
	}
	written(t, schema, c, 6, check)
}

// TestAConditionKeepsTheOrder: what a condition says of a property does not make the order free.
func TestAConditionKeepsTheOrder(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"a":{},"b":{}},"not":{"required":["a","b"]},
		"dependentRequired":{"b":["c"]}}`, SchemaOptions{Closed: true})
	for text, want := range map[string]bool{`{"a":1}`: true, `{"b":1}`: false, `{"x":1}`: false} {
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
	c = compile(t, `{"type":"object","properties":{"a":{},"b":{}},"dependencies":{"b":["a"]}}`, SchemaOptions{})
	for _, text := range []string{`{"a":1,"b":2}`, `{"a":1}`, `{"b":1,"a":2}`, `{"b":1}`} {
		want := slices.Contains([]string{`{"a":1,"b":2}`, `{"a":1}`}, text)
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
}

// TestTaggedBranchesCostWhatTheyAre: three hundred tagged branches of oneOf take little more work
// than those of anyOf, and as much again where they are twice as many.
func TestTaggedBranchesCostWhatTheyAre(t *testing.T) {
	cases.NotShort(t)
	schema := func(keyword string, n int) string {
		return `{"` + keyword + `":[` + list(n, ",", numbered(`{"type":"object","required":["tool","n"],"properties":{`+
			`"tool":{"const":"t%d"},"n":{"type":"integer","minimum":%d}},"additionalProperties":false}`)) + `]}`
	}
	steps := func(keyword string, n int) int {
		m, _, err := work(hostile{kind: 's'}, schema(keyword, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.Used
	}
	any, one, twice := steps("anyOf", 300), steps("oneOf", 300), steps("oneOf", 600)
	if one > 2*any || twice > 3*one {
		t.Errorf("anyOf of 300: %d steps, oneOf %d, of 600 %d", any, one, twice)
	}
	c := compile(t, schema("oneOf", 300), SchemaOptions{})
	for text, want := range map[string]bool{`{"tool":"t299","n":299}`: true, `{"tool":"t299","n":298}`: false} {
		if _, got := accepts(t, c, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
	m, _, err := work(hostile{kind: 's'}, `{"oneOf":[`+list(200, ",", numbered(`{"minLength":%d}`))+`]}`, nil)
	if err == nil || !strings.Contains(err.Error(), "want a required property with another const in each") {
		t.Errorf("200 branches without a tag: %v after %d steps", err, m.Used)
	}
}

// TestAnOpenIdOfANameIsTaken: where few names begin like another one, a mask opens no id that leads
// only to names that the object has, nor a first byte of such a character.
func TestAnOpenIdOfANameIsTaken(t *testing.T) {
	schema := `{"type":"object","patternProperties":{"^(x|a.*|é|è)$":{"type":"null"}},"additionalProperties":false,"minProperties":4}`
	c, check := compile(t, schema, SchemaOptions{}), judge.Schema(t, schema)
	written(t, schema, c, cases.Sized(4, 12), check)
	for prefix, want := range map[string]bool{`{"x":null,"x`: false, `{"x":null,"a`: true, `{"é":null,"è":null,"` + "\xc3": false, `{"é":null,"` + "\xc3": true} {
		if begun, _ := accepts(t, c, prefix); begun != want {
			t.Errorf("%q: begun %v, want %v", prefix, begun, want)
		}
	}
}

// TestEarlierVersionsKnewNoDrafts: what they made is made again, where drafts 3 to 7 ignore what
// stands beside $ref, and 4 does not know const.
func TestEarlierVersionsKnewNoDrafts(t *testing.T) {
	const draft4 = `"$schema":"http://json-schema.org/draft-04/schema#"`
	for _, schema := range []string{
		`{` + draft4 + `,"$ref":"#/definitions/a","maxLength":2,"definitions":{"a":{"type":"string"}}}`,
		`{` + draft4 + `,"type":"string","const":"ab"}`,
	} {
		for _, earlier := range []bool{false, true} {
			c := compile(t, schema, SchemaOptions{Earlier: earlier})
			_, short := accepts(t, c, `"ab"`)
			if _, long := accepts(t, c, `"abc"`); !short || long == earlier || len(c.Notes()) > 0 == earlier {
				t.Errorf("%s: earlier %v: %v, %v, notes %q", schema, earlier, short, long, c.Notes())
			}
		}
	}
}

// TestAFormatThatNobodyDefinesIsAnAnnotation: it is said, and refused where the caller asks for it.
func TestAFormatThatNobodyDefinesIsAnAnnotation(t *testing.T) {
	for schema, want := range map[string]string{
		`{"format":"topic","type":"string"}`:                    `#: format "topic" is not known, and restricts nothing`,
		`{"properties":{"a":{"format":"color","minLength":1}}}`: `#/properties/a: format "color" is not known, and restricts nothing`,
		`{"format":"regex"}`:                                    "",
		`{"format":"starts_with","pattern":"^a"}`:               "",
		`{"format":"starts_with"}`:                              `#: format "starts_with" is not known, and restricts nothing`,
		`{"format":"password"}`:                                 "",
		`{"format":"email"}`:                                    "",
	} {
		c := compile(t, schema, SchemaOptions{})
		if got := strings.Join(c.Notes(), "|"); got != want {
			t.Errorf("%s: notes %q, want %q", schema, got, want)
		}
		_, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{Strict: true})
		before, _, _ := strings.Cut(want, ", and")
		if (err != nil) != (want != "") || err != nil && err.Error() != "schema: "+before {
			t.Errorf("%s: strict: %v, want %q", schema, err, before)
		}
	}
	if _, complete := accepts(t, compile(t, `{"format":"topic","maxLength":2}`, SchemaOptions{}), `"ab"`); !complete {
		t.Error("the rest of a schema with an unknown format is not followed")
	}
}
