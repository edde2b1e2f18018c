package constrain

// The texts of random walks, checked by other programs: santhosh-tekuri/jsonschema with formats
// asserted, and package regexp.

import (
	"regexp"
	"testing"

	"picogpt/dev/judge"
	"picogpt/dev/walks"
)

// written has n texts of a constraint judged.
func written(t *testing.T, name string, c *Constraint, n int, judge func(text string) error) {
	t.Helper()
	walks.Run(t, name, n, func() walks.Matcher { return start(t, c) }, judge)
}

// start returns an empty text.
func start(t *testing.T, c *Constraint) *Text {
	t.Helper()
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// judged are schemas of all keywords, some of them together.
var judged = []string{
	`{}`,
	`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":8},"age":{"type":"integer","minimum":0,"maximum":130},"tags":{"type":"array","items":{"enum":["x","y","äöü","😀"]},"minItems":1,"maxItems":3}},"required":["name","age"]}`,
	`{"type":"object","properties":{"a":{"type":"number","minimum":-1.5,"exclusiveMaximum":2.25},"b":{"type":"number","exclusiveMinimum":0,"maximum":1e-5}},"required":["a","b"],"additionalProperties":false}`,
	`{"type":"array","items":{"type":"integer","multipleOf":12,"minimum":-100,"maximum":1000},"minItems":2,"maxItems":4}`,
	`{"type":"array","prefixItems":[{"format":"date","type":"string"},{"format":"time","type":"string"},{"format":"date-time","type":"string"},{"format":"uuid","type":"string"},{"format":"ipv4","type":"string"},{"format":"ipv6","type":"string"}],"minItems":6,"items":false}`,
	`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"boolean"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":2}},"required":["v"],"additionalProperties":false}}}`,
	`{"type":"object","patternProperties":{"^s_":{"type":"string"},"_n$":{"type":"null"},"^[0-9]$":{"type":"integer"}},"additionalProperties":{"type":"boolean"},"minProperties":2,"maxProperties":4}`,
	`{"type":"object","patternProperties":{"^[a-c]$":{"type":"integer"}},"additionalProperties":false,"minProperties":3}`,
	`{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number","exclusiveMinimum":0}},"required":["kind","r"]},{"type":"object","properties":{"kind":{"const":"box"},"w":{"type":"integer"},"h":{"type":"integer"}},"required":["kind","w","h"]}]}`,
	`{"anyOf":[{"type":"string","pattern":"^(foo|bar)+[^a-z]{2,3}$"},{"type":"string","pattern":"\\d{3}","maxLength":9},{"type":"null"}]}`,
	`{"allOf":[{"properties":{"a":{"minimum":1}},"required":["a"]},{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}},{"maxProperties":3}],"type":"object"}`,
	`{"enum":[{"a":1,"b":[true,null]},"q\"\\\u0001",-0.5,12,[{}]]}`,
	`{"type":"object","required":["x","y","z"],"maxProperties":4,"additionalProperties":{"type":["null","boolean"]}}`,
	`{"type":"string","pattern":"^.{0,3}\\bword\\b.{0,3}\\.$"}`,
	`{"type":"string","pattern":"^[^\\x00-\\x7f]{1,4}\\n?$"}`,
	`{"type":["number","null"],"minimum":0.001}`,
	`{"type":"number","exclusiveMinimum":0.1,"exclusiveMaximum":0.2}`,
	`{"type":"integer","exclusiveMinimum":-1000000000000000000000,"exclusiveMaximum":-999999999999999999990}`,
	`{"type":"object","properties":{"é\"\\":{"type":"integer"}},"required":["é\"\\","plain\n"],"maxProperties":2}`,
	`{"type":"string","pattern":"[^a]b","minLength":5,"maxLength":80}`,
	`{"type":"string","pattern":"^([^y]{3})*z?$","minLength":4,"maxLength":12}`,
	`{"type":"string","pattern":"^[^\n]*(\n[^x]{2})?$","minLength":3,"maxLength":70}`,
}

func TestWhatIsWrittenUnderASchemaIsValid(t *testing.T) {
	for _, schema := range judged {
		check := judge.Schema(t, schema)
		for _, space := range []int{0, NoSpace, 3} {
			written(t, schema, compile(t, schema, SchemaOptions{Space: space}), 4, check)
		}
	}
}

func TestWhatIsWrittenUnderARegexMatches(t *testing.T) {
	for _, re := range []string{`(yes|no|maybe)`, `(a+)+b`, `[A-Z][a-z]+( [a-z]+)*[.!?]`,
		`(?i)straße{1,3}`, `\bfoo\b.{0,5}\bbar\b`, `(?m)^a$\n^b$`, `[^a-z\n]{3,9}`,
		`[\p{L}--[\p{Lu}]]*x`, `(\x{1F600}|é|\n)*`, `\pN{2}(?s:.)\z`, `(?:(?:a|b)*\B)?c`, ``} {
		judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
		c, err := Regex(gpt2(), re)
		if err != nil {
			t.Errorf("%s: %v", re, err)
			continue
		}
		written(t, re, c, 10, func(text string) error {
			if !judge.MatchString(text) {
				return errNoMatch
			}
			return nil
		})
	}
}

type errString string

func (e errString) Error() string { return string(e) }

const errNoMatch = errString("package regexp does not match it")

func TestWhatIsWrittenUnderAChoiceIsOneOfThem(t *testing.T) {
	choices := []string{"yes", "no", "yesterday", "é", "ê", "", "a\nb", "😀", "😁"}
	c, err := Choice(gpt2(), choices...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	written(t, "choice", c, 200, func(text string) error { seen[text] = true; return nil })
	for _, choice := range choices {
		if !seen[choice] {
			t.Errorf("%q was never written", choice)
		}
		delete(seen, choice)
	}
	if len(seen) > 0 {
		t.Errorf("written without being a choice: %v", seen)
	}
}
