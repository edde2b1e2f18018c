package constrain

// Structural tags: which are refused, and texts with many tools.

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// TestStructuralTagsAreThoseOfXgrammar: random structural tags and texts, and which texts xgrammar
// 0.2.9 takes. Tags of which a trigger is never complete are refused here.
func TestStructuralTagsAreThoseOfXgrammar(t *testing.T) {
	var all []struct {
		Format  json.RawMessage
		Yes, No []string
	}
	if err := json.Unmarshal(ofXgrammar, &all); err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, g := range all {
		c, err := StructuralTag(gpt2(), []byte(`{"type":"structural_tag","format":`+string(g.Format)+`}`))
		if err != nil {
			if !strings.Contains(err.Error(), "is never complete") {
				t.Errorf("%s: %v", g.Format, err)
			}
			continue
		}
		for i, s := range append(g.Yes, g.No...) {
			text := started(t, c)
			takes := walks.Feed(text, s) && text.Complete()
			if texts++; takes != (i < len(g.Yes)) {
				t.Errorf("%s: %q is taken: %v, want %v", g.Format, s, takes, !takes)
			}
		}
	}
	if texts < 400 {
		t.Errorf("%d texts, want more", texts)
	}
}

//go:embed testdata/structural.json
var ofXgrammar []byte

// aTag is a tag of a structural tag whose form is any JSON.
const aTag = `{"begin":"<a>","content":{"type":"json_schema","json_schema":{}},"end":"</a>"}`

func TestStructuralTagsThatCannotBeFollowedAreRefusedByName(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"star","content":`, n) + `{"type":"any_text"}` + strings.Repeat("}", n)
	}
	triggered := func(triggers, tags, more string) string {
		return `{"type":"triggered_tags","triggers":` + triggers + `,"tags":[` + tags + `]` + more + `}`
	}
	for format, want := range map[string]string{
		``:                                   "not valid JSON",
		`[]`:                                 "want an object, found an array",
		`{}`:                                 "want type",
		`{"type":"qwen_xml_parameter"}`:      "type qwen_xml_parameter is not followed",
		`{"type":"token","token":5}`:         "type token is not followed",
		`{"type":"any_text","max_tokens":4}`: "max_tokens of any_text is not followed",
		`{"type":"const_string","value":1}`:  "want a string, found 1",
		`{"type":"const_string","value":"\ud800"}`:                                                "lone surrogate",
		"{\"type\":\"const_string\",\"value\":\"\xff\"}":                                          "invalid UTF-8",
		`{"type":"const_string","value":"a","value":"b"}`:                                         `"value" comes twice`,
		`{"type":"regex","pattern":"(a"}`:                                                         "missing closing )",
		`{"type":"regex","pattern":"[^\\x00-\\x{10FFFF}]"}`:                                       "no text can match it",
		`{"type":"grammar","grammar":"root ::= x"}`:                                               "rule x is not defined",
		`{"type":"grammar","grammar":"root ::= %json {\"type\":\"x\"}"}`:                          `line 1: schema: `,
		`{"type":"json_schema","json_schema":{"type":"x"}}`:                                       "type",
		`{"type":"json_schema","json_schema":{"allOf":[{"type":"null"},false]}}`:                  "no value is valid under it",
		`{"type":"json_schema","json_schema":{},"style":"glm_xml"}`:                               "style glm_xml",
		`{"type":"or","elements":[]}`:                                                             "want at least one",
		`{"type":"repeat","min":3,"max":2,"content":{"type":"any_text"}}`:                         "from 3 to 2 times",
		`{"type":"repeat","min":0,"max":99999,"content":{"type":"any_text"}}`:                     "from 0 to 2000",
		`{"type":"repeat","min":0.5,"max":1,"content":{"type":"any_text"}}`:                       "want a whole number",
		`{"type":"any_text","excludes":[""]}`:                                                     "want text of valid UTF-8",
		nested(50000):                                                                             "JSON",
		nested(101):                                                                               "more than 100 formats in formats",
		triggered(`[]`, aTag, ``):                                                                 "at least one trigger",
		triggered(`["<"]`, ``, ``):                                                                "at least one trigger",
		triggered(`[""]`, aTag, ``):                                                               "want text of valid UTF-8",
		triggered(`["<b"]`, aTag, ``):                                                             `tag "<a>" begins with no trigger`,
		triggered(`["<a","<b"]`, aTag, ``):                                                        `trigger "<b": no tag begins with it`,
		triggered(`["<","<a"]`, aTag, ``):                                                         `tag "<a>" begins with two triggers`,
		triggered(`["<a","<a"]`, aTag, ``):                                                        "comes twice",
		triggered(`["<a>"]`, aTag, `,"excludes":["a"]`):                                           `"<a>" is never complete, for "a" is complete before or there`,
		triggered(`["<a"]`, aTag, `,"exclude":[]`):                                                "exclude of triggered_tags is not followed",
		triggered(`["<a"]`, `{"type":"any_text"}`, ``):                                            "want a tag, found a any_text",
		triggered(`["<a"]`, `{"begin":"<a","content":{"type":"any_text"}}`, ``):                   "want end in this tag, found none",
		`{"type":"sequence","elements":[{"type":"any_text"},` + strings.Repeat(" ", 5<<20) + `]}`: "want 4194304 at most",
	} {
		_, err := StructuralTag(gpt2(), []byte(`{"type":"structural_tag","format":`+format+`}`))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80s: %v, want %q", format, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"type":"json_schema","format":{"type":"any_text"}}`:      "want the type structural_tag, found json_schema",
		`{"type":"structural_tag"}`:                                "want format",
		`{"structures":[{"begin":"a","schema":{},"end":""}]}`:      "want triggers",
		`{"triggers":["a"],"structures":[{"begin":"a","end":""}]}`: "want schema in this tag",
		`{"format":{"type":"any_text"}} x`:                         "want the end",
		`{"format":{"type":"any_text"},"name":"x"}`:                "name of structural_tag is not followed",
	} {
		if _, err := StructuralTag(gpt2(), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"root ::= %json":                     "line 1: want a JSON Schema after %json",
		"root ::= \"a\"\nb ::= %json {\"a\"": "line 2: want a JSON Schema after %json",
		"root ::= %json 5":                   "line 1: schema: ",
		"root ::= %regex /a":                 "want a / at the end of the regex",
		"root ::= %regex /(a/":               "line 1: regex: missing closing )",
		"root ::= %regex a":                  "want json and a schema, or regex and /",
		"root ::= %lark {}":                  `found "lark {}"`,
		"root ::= %":                         "found the end",
	} {
		if _, err := Grammar(gpt2(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var deep Part = Literal("")
	for range 101 {
		deep = Sequence{deep}
	}
	for _, p := range []Part{nil, Sequence{nil}, deep, Literal("\xff"), Free{[]string{"\xff"}}} {
		if _, err := Compose(gpt2(), p); err == nil {
			t.Errorf("%#v: want an error", p)
		}
	}
}

// tools is a structural tag of n tools, each with arguments.
func tools(n int, more string) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf(`{"begin":"<function=tool_%d>","end":"</function>","content":{"type":
			"json_schema","json_schema":{"type":"object","properties":{"name%d":{"type":"string"},"n":{"type":"integer"},
			"kind":{"enum":["a","b","c%d"]}},"required":["name%d","kind"],"additionalProperties":false}}}`, i, i, i, i))
	}
	return `{"format":{"type":"triggered_tags","triggers":["<function="],"tags":[` + strings.Join(tags, ",") +
		`]` + more + `}}`
}

// TestCallsOfManyTools: random texts that are pushed towards a trigger have valid calls of tools and
// nothing that looks like one, and end in time.
func TestCallsOfManyTools(t *testing.T) {
	v, calls := gpt2(), 0
	for _, more := range []string{``, `,"at_least_one":true`, `,"at_least_one":true,"stop_after_first":true`} {
		c, err := StructuralTag(v, []byte(tools(300, more)))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range cases.Of(5, 350) {
			r, text, written := rand.New(rand.NewPCG(uint64(seed), 3)), started(t, c), ""
			most := 25 + r.IntN(60)
			text.Within(most)
			for n := 0; n < most && !ended(text); n++ {
				id, _ := drawnOf(t, text, v, r, v.Size(), written)
				if n >= 3 && n < 3+len("<function=") {
					alone := v.ids.Alone("<function="[n-3])
					if text.Fork().Accept(alone) == nil {
						id = alone
					}
				}
				if id < 0 || text.Accept(id) != nil {
					t.Fatalf("%q: no id is open", written)
				}
				written += string(v.Bytes(id))
			}
			if !text.Complete() {
				t.Fatalf("%q is not complete", written)
			}
			rest := written
			for first := true; ; first = false {
				before, call, is := strings.Cut(rest, "<function=tool_")
				if strings.Contains(before, "<function=") || first && more != "" && before != "" ||
					!is && first && more != "" {
					t.Fatalf("%q: %q is no call", written, rest)
				}
				if !is {
					break
				}
				var number int
				var arguments map[string]any
				fmt.Sscanf(call, "%d>", &number)
				_, call, _ = strings.Cut(call, ">")
				d := json.NewDecoder(strings.NewReader(call))
				if err := d.Decode(&arguments); err != nil || arguments[fmt.Sprint("name", number)] == nil ||
					!strings.HasPrefix(call[d.InputOffset():], "</function>") {
					t.Fatalf("%q: %v: %v", written, err, arguments)
				}
				rest = call[int(d.InputOffset())+len("</function>"):]
				calls++
			}
		}
	}
	if calls < 5 {
		t.Errorf("%d calls, want more", calls)
	}
}

// TestTextsThatManyFormsReadAreBounded: of a text that can be read in too many ways, some are followed,
// and schemas that may begin at one place are so many at most.
func TestTextsThatManyFormsReadAreBounded(t *testing.T) {
	many := list(65, " | ", func(i int) string { return fmt.Sprintf(`%%json {"const":%d}`, i) })
	pairs := list(30, " ", func(i int) string {
		return fmt.Sprintf(`.* %%json {"description":"%d"} .* %%json {"minimum":%d}`, i, i)
	})
	for _, c := range []struct{ grammar, text, want string }{
		{`root ::= (%json {"type":"integer"})*`, strings.Repeat("12345", 20), ""},
		{`root ::= .* %json {}`, strings.Repeat("[", 100) + `{"a":[[1]]}`, ""},
		{`root ::= .* %json {}`, strings.Repeat("[", 100) + strings.Repeat("]", 50), ""},
		{`root ::= ` + pairs, strings.Repeat(`[12 "a" {"b":`, 30) + strings.Repeat(" 12345678", 40), ""},
		{"root ::= .* (" + many + ")", "a", "more than 63 schemas may begin at one place"},
		{`root ::= (%json {"enum":[1,11,111]} | "a")*`, strings.Repeat("1", 100), ""},
		{`root ::= "(" root ")" | %json {"items":{"type":"string"}} "." root | ""`, "([\"(\"].({}.))", ""},
	} {
		g, err := Grammar(gpt2(), c.grammar)
		if err != nil {
			if c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.60s: %v, want %q", c.grammar, err, c.want)
			}
			continue
		}
		text, open := started(t, g), make([]uint64, gpt2().Words())
		for i := 0; i < len(c.text) && err == nil; i++ {
			if err = text.Mask(open); err == nil {
				err = text.Accept(gpt2().ids.Alone(c.text[i]))
			}
		}
		if c.want == "" && (err != nil || !text.Complete()) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60s: %v, complete %v, want %q", c.grammar, err, text.Complete(), c.want)
		}
	}
}

// TestWaysThatAreNotFollowed: where a text has more ways to be read than are followed, the ids of
// each mask, and no others, may follow, and the text can be completed in the number of ids that it says.
func TestWaysThatAreNotFollowed(t *testing.T) {
	var parts Sequence
	for i := range 3 {
		parts = append(parts, Free{[]string{"stop"}}, Schema{Text: fmt.Appendf(nil, `{"description":"%d"}`, i)})
	}
	c, err := Compose(gpt2(), parts)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(c.Notes(), " "); !strings.Contains(notes, "64 of them are followed") {
		t.Errorf("notes %q", notes)
	}
	for _, bound := range []bool{false, true} {
		text, open := started(t, c), make([]uint64, gpt2().Words())
		if bound {
			text.Within(400)
		}
		for i := range 140 {
			if err := text.Mask(open); err != nil {
				t.Fatal(err)
			}
			for id := i % 101; id < gpt2().ids.Size; id += 4001 {
				is := open[id>>6]>>(id&63)&1 != 0
				err := text.Fork().Accept(id)
				if len(gpt2().ids.Bytes[id]) > 0 && !bound && is != (err == nil) {
					t.Fatalf("%d: id %d is open: %v, and accepted: %v", i, id, is, err)
				}
			}
			if err := text.Accept(gpt2().ids.Alone(`[{"a":[`[i%7])); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
		if least, ok := text.Least(); bound && (!ok || least > 400-140) {
			t.Errorf("%d ids complete the text, %v, want %d at most", least, ok, 400-140)
		}
	}
}
