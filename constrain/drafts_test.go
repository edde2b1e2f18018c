package constrain

// The spellings of drafts 4 to 2019-09, and conditions, against the judge, which knows all drafts.

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/judge"
)

// drafted are schemas and canonical instances; some are valid and some are not.
var drafted = []struct{ schema, instances string }{
	{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"number","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`,
		`0.5 1 1.5 3 3.5`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","maximum":3,"exclusiveMaximum":true}`, `2 3 4`},
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
	written(t, schema, c, 12, check)
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
