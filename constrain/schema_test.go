package constrain

// JSON Schema: which texts are accepted, and which schemas are refused.

import (
	"strings"
	"testing"
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
		`{"format":"idn-email"}`:               `format idn-email is not supported: want email`,
		`{"type":"number","multipleOf":1e-18}`: "17 digits at most",
		`{"multipleOf":100000000000000003,"allOf":[{"multipleOf":100000000000000019}],"type":"integer"}`: "least common multiple",
		`{"pattern":"(?<=a)b"}`: "a lookbehind is not supported",
		`{"pattern":"(a)\\1"}`:  "a back-reference is not supported",
		`{"pattern":"("}`:       "missing closing )",
		`{"pattern":"a)(b"}`:    "unexpected )",
		`{"$ref":"#/$defs/x"}`:  "nothing there",
		`{"$ref":"other.json"}`: "only references within the schema",
		`{"$ref":"#"}`:          "leads back here",
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`:   "leads back here",
		`{"$defs":{"a":{"$id":"a","$dynamicAnchor":"n"},"b":{"$dynamicAnchor":"n"}},"$dynamicRef":"#n"}`: "several schemas have its anchor",
		`{"anyOf":[{"type":"string"},{"$ref":"#"}]}`:                                                     "leads back here",
		`{"oneOf":[{"items":{"type":"null"}},{"items":{"type":"string"}}]}`:                              "branches 0 and 1 can both hold: #/oneOf/1: keyword items is not supported",
		`{"not":{"type":"object","propertyNames":{"maxLength":1}}}`:                                      "keyword propertyNames is not supported",
		`{"not":{"additionalProperties":{"type":"null"}}}`:                                               "#/not: keyword additionalProperties is not supported under not",
		`{"uniqueItems":true}`: "#: keyword uniqueItems is supported for items of up to 1000 values, whole numbers, and strings of any length; found arrays or objects",
		`{"uniqueItems":true,"items":{"type":"string","maxLength":9}}`:                 "found others",
		`{"uniqueItems":true,"items":{"type":"number"}}`:                               "need not be whole",
		`{"uniqueItems":true,"prefixItems":[{"type":"null"}],"items":{"type":"null"}}`: "found prefixItems",
		`{"type":"array","uniqueItems":true,"items":{"enum":["a","b"]},"minItems":3}`:  "no value is valid",
		`{"not":{"$ref":"#"}}`:                                                "leads back here",
		`{"type":"string","allOf":[{"type":"integer"}]}`:                      "no value is valid",
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`:  "no value is valid",
		`{"type":"string","pattern":"a$b"}`:                                   "no value is valid",
		`{"type":"integer","minimum":3,"maximum":2}`:                          "no value is valid",
		`{"type":"string","pattern":"(.{1000}){1000}"}`:                       "invalid repeat count",
		`{"type":"string","pattern":"(a|b)*a(a|b){30}"}`:                      "more than",
		strings.Repeat(`{"items":`, 30000) + "1" + strings.Repeat("}", 30000): "",
	}
	for _, keyword := range []string{"contains", "unevaluatedItems", "unevaluatedProperties"} {
		refusals[`{"properties":{"p":{"`+keyword+`":false}}}`] =
			"#/properties/p: keyword " + keyword + " is not supported"
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
