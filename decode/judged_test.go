package decode

// Texts under every kind of form, each judged by another program: santhosh-tekuri/jsonschema with
// formats asserted, package regexp, encoding/json, go/parser, or a few lines of their own.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode/guess"
	"picogpt/dev/cases"
	"picogpt/dev/judge"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// A form is a constraint and its judge.
type form struct {
	name  string
	start constrain.Matcher
	judge func(text string) error
}

// judgedSchemas have bounds, so that texts end; recursion, escapes and characters of all lengths.
var judgedSchemas = []string{
	`{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":12},"age":{"type":"integer","minimum":0,"maximum":130}},"required":["name","age"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"number","minimum":-1.5,"exclusiveMaximum":2.25},"b":{"enum":[1,"x",null,[true],{"y":"é\n\"\\"}]}},"required":["b","a"],"maxProperties":2}`,
	`{"type":"array","items":{"type":"integer","multipleOf":12,"minimum":-100,"maximum":1000},"minItems":2,"maxItems":4}`,
	`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"boolean"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":1}},"required":["v"],"additionalProperties":false}}}`,
	`{"type":"array","prefixItems":[{"type":"string","format":"date"},{"type":"string","format":"ipv4"},{"type":"string","format":"uuid"}],"items":false,"minItems":1}`,
	`{"type":"string","format":"date-time"}`, `{"type":"string","format":"ipv6"}`,
	`{"type":"object","patternProperties":{"^[ab]$":{"type":"integer","maximum":9,"minimum":0},"é":{"type":"null"}},"additionalProperties":false,"minProperties":1,"maxProperties":2}`,
	`{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"integer","exclusiveMinimum":0,"maximum":99}},"required":["kind","r"],"additionalProperties":false},{"type":"array","items":{"type":"string","maxLength":3},"maxItems":3}]}`,
	`{"anyOf":[{"type":"string","pattern":"^(foo|bär|😀)+[^a-z]{2,3}$","maxLength":12},{"type":"string","pattern":"\\d{3}","maxLength":9},{"type":"null"}]}`,
	`{"type":"string","pattern":"^[ぁ-ヿ\\n\"\\\\]{1,6}$"}`,
	`{"type":"string","pattern":"[^a]b","minLength":3,"maxLength":20}`,
	`{"allOf":[{"properties":{"a":{"minimum":1}},"required":["a"]},{"properties":{"a":{"type":"integer","maximum":5},"b":{"type":"string","maxLength":4}}}],"type":"object","maxProperties":2}`,
	`{"type":"object","properties":{"é\"\\":{"type":"integer","maximum":10,"minimum":0},"\u0001":{"const":"\u001f"}},"required":["é\"\\","\u0001","plain\n"],"additionalProperties":{"type":"null"},"maxProperties":3}`,
	`{"type":["number","null","boolean"],"minimum":0.001,"maximum":12.5}`,
	`{"maxLength":20,"maxItems":2,"maxProperties":2,"items":{"type":"integer"},"additionalProperties":{"maxLength":2,"type":["string","null"]}}`,
}

var judgedRegexes = []string{
	`(yes|no|maybe)`, `[A-Z][a-z]{1,9}( [a-z]{1,9}){2,5}[.!?]`, `(?i)straße{1,3}`, `(a+)+b{1,3}`,
	`\bLily\b.{0,9}\bTom\b`, `[^a-z\n]{3,9}`, `(\x{1F600}|é|\n){1,5}`, `[\p{L}]{2,6}\d{2}(?s:.)\z`,
	`(?:(?:a|b){1,9}\B)?c`, `(\d{1,3},){3}\d`, `[ぁ-ん]{2,5}。`,
}

// choices of which some begin as others do.
var judgedChoices = [][]string{
	{"yes", "no"}, {"Lily", "Lily and Tom", "Tom"}, {"é", "ê", "", "a\nb", "😀", "😁"},
}

func judgedForms(t *testing.T) (forms []form) {
	t.Helper()
	for _, schema := range judgedSchemas {
		for _, space := range []int{0, constrain.NoSpace, 2} {
			c, err := constrain.JSONSchema(gpt2(), []byte(schema), constrain.SchemaOptions{Space: space})
			forms = append(forms, form{schema, started(t, c, err), judge.Schema(t, schema)})
		}
	}
	for _, re := range judgedRegexes {
		forms = append(forms, form{re, regex(t, re), judgeOfRegex(re)}, form{re, regex(t, re),
			judgeOfRegex(re)})
	}
	for _, choices := range judgedChoices {
		c, err := constrain.Choice(gpt2(), choices...)
		forms = append(forms, form{strings.Join(choices, "|"), started(t, c, err),
			func(text string) error { return verdict(slices.Contains(choices, text)) }})
	}
	for grammar, judge := range map[string]func(string) bool{
		judgedJSON: func(s string) bool { return json.Valid([]byte(s)) },
		"root ::= sum \"=\" [0-9]\nsum ::= term ([-+] term){0,3}\nterm ::= fac (\"*\" fac)?\n" +
			"fac ::= [1-9] [0-9]? | \"(\" sum \")\"": isSum,
		"root ::= \"(\" root \")\" | \"⟨\" root \"⟩\" | [a-zé]{0,3}":                  balanced,
		"root ::= \"a\" root \"a\" | \"é\" root \"é\" | \"\\n\" root \"\\n\" | \"x\"": palindrome,
		"root ::= item{1,3}\nitem ::= \"- \" [^\\n\\x00-\\x1f]{1,12} \"\\n\"": func(s string) bool {
			return regexp.MustCompile(`\A(- [^\n\x00-\x1f]{1,12}\n){1,3}\z`).MatchString(s)
		},
	} {
		c, err := constrain.Grammar(gpt2(), grammar)
		f := form{grammar, started(t, c, err), func(text string) error { return verdict(judge(text)) }}
		forms = append(forms, f, f)
	}
	return forms
}

const judgedJSON = `root ::= value
value ::= "{" (pair ("," pair){0,2})? "}" | "[" (value ("," " "? value){0,2})? "]" | string |
  "-"? ("0" | [1-9] [0-9]{0,5}) ("." [0-9]{1,3})? ([eE] [-+]? [0-9]{1,2})? | "true" | "null"
pair ::= string ":" " "? value
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})){0,9} "\""`

var errJudge = errors.New("the judge does not accept it")

func verdict(ok bool) error {
	if ok {
		return nil
	}
	return errJudge
}

func judgeOfRegex(re string) func(string) error {
	judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
	return func(text string) error { return verdict(judge.MatchString(text)) }
}

// isSum matches the sums: none of their numbers begins with 0, which Go would read as octal.
func isSum(s string) bool {
	sum, result, ok := strings.Cut(s, "=")
	_, err := parser.ParseExpr(sum)
	return ok && err == nil && len(result) == 1 && !strings.ContainsAny(sum, " /%&|<>!abcdefghijklm")
}

func balanced(s string) bool {
	for {
		switch {
		case strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")"):
			s = s[1 : len(s)-1]
		case strings.HasPrefix(s, "⟨") && strings.HasSuffix(s, "⟩"):
			s = strings.TrimSuffix(strings.TrimPrefix(s, "⟨"), "⟩")
		default:
			return regexp.MustCompile(`\A[a-zé]{0,3}\z`).MatchString(s)
		}
	}
}

func palindrome(s string) bool {
	runes := []rune(s)
	back := slices.Clone(runes)
	slices.Reverse(back)
	return slices.Equal(runes, back) && strings.Count(s, "x") == 1 && strings.Trim(s, "aé\nx") == ""
}

// judgedOptions returns ways to choose: the even texts are greedy and the odd ones at temperature
// 2, and some of both have other steps as well.
func judgedOptions(r *rand.Rand, i int) Options {
	o := Options{MaxTokens: 120, Vocabulary: tokenizer.GPT2(),
		Params: sample.Params{Seed: r.Uint64()}}
	if i%2 == 1 {
		o.Temperature = 2
	}
	switch r.IntN(6) {
	case 0:
		o.RepeatPenalty, o.DRY = 1.3, sample.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2}
	case 1:
		o.TopK, o.TopP, o.MinP, o.Typical = 20, 0.9, 0.01, 0.9
	case 2:
		o.Ban, o.FrequencyPenalty = []string{"the", "00", "aa", "\",\""}, 0.5
	case 3:
		o.Lookup, o.alwaysDraft = 6, true
	}
	switch r.IntN(4) {
	case 0:
		o.EndOfText = []int{198}
	case 1:
		o.EndOfText = []int{}
	}
	return o
}

func TestTextsOfEveryFormAreAcceptedByItsJudge(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	forms := judgedForms(t)
	r := rand.New(rand.NewPCG(20, 26))
	prompts := [][]int{{7454, 2402, 257, 640}, {464, 2068}, {50256}, {1, 4895, 1}}
	accepted, open, stuck := 0, 0, 0
	for i := range sized(9, 3000) {
		f := forms[i*7/2%len(forms)]
		o := judgedOptions(r, i)
		o.Constraint = f.start
		text, last, err := "", Token{}, error(nil)
		for tok, e := range Generate(context.Background(), m.NewSession(), prompts[i%4], o) {
			if err = e; e == nil {
				text, last = text+tok.Text, tok
			}
		}
		switch {
		case err != nil:
			stuck++ // by bans, or by a newline that the form needs and that ends the text
			if len(o.Ban) == 0 && !slices.Equal(o.EndOfText, []int{198}) {
				t.Errorf("%s: after %q %v", f.name, text, err)
			}
		case last.Incomplete && last.Finish == FinishLength:
			open++
		default:
			accepted++
			if err := f.judge(text); err != nil || last.Incomplete {
				t.Errorf("%s: wrote %q, %s, incomplete %v: %v", f.name, text, last.Finish,
					last.Incomplete, err)
			}
		}
	}
	t.Logf("%d texts accepted, %d longer than %d tokens, %d led nowhere", accepted, open,
		judgedOptions(r, 0).MaxTokens, stuck)
	if accepted < sized(4, 2000) {
		t.Errorf("%d texts were complete, want more", accepted)
	}
}

// TestGuessesUnderFormsChangeNoByte also changes the kernels and the number of threads.
func TestGuessesUnderFormsChangeNoByte(t *testing.T) {
	cases.NotShort(t)
	forms := append(judgedForms(t), form{})
	r := rand.New(rand.NewPCG(12, 26))
	near := testmodel.Demo(t, model.Options{Format: "q8"})
	ways := map[string]Options{"lookup": {Lookup: 9}, "draft": {Draft: &guess.Model{Model: near}}}
	var models []*model.Model
	for i, kernel := range kernels.Variants() {
		models = append(models, testmodel.Demo(t, model.Options{Kernel: kernel, Threads: 1 + i%3}))
	}
	write := func(m *model.Model, prompt []int, o Options) string {
		var b strings.Builder
		for tok, err := range Generate(t.Context(), m.NewSession(), prompt, o) {
			fmt.Fprintf(&b, "%d %q %v %s %v\n", tok.ID, tok.Text, tok.LogProb, tok.Finish, err)
		}
		return b.String()
	}
	for i := range sized(3, 1000) {
		o := judgedOptions(r, i)
		o.Constraint, o.Lookup = forms[r.IntN(len(forms))].start, 0
		o.MaxTokens = 10 + r.IntN(60)
		prompt := []int{7454, 2402, 257, 640, 11, 262, 3797, 290, 262, 3290, 11, 262, 3797}
		want := write(models[0], prompt, o)
		for name, way := range ways {
			with, m := o, models[r.IntN(len(models))]
			if m.Leaves().Variant() == "go" && i%8 > 0 { // it takes 30 times as long
				m = models[0]
			}
			with.Lookup, with.Draft, with.alwaysDraft = way.Lookup, way.Draft, r.IntN(6) > 0
			if got := write(m, prompt, with); got != want {
				t.Fatalf("%s, %+v:\n%s\nwithout:\n%s", name, o, got, want)
			}
		}
	}
}
