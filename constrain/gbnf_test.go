package constrain

// Grammars: what they accept, and which are refused.

import (
	"strings"
	"testing"

	"picogpt/dev/walks"
)

// accepts feeds a text byte by byte. It reports whether the text can begin so, and whether it may
// end.
func accepts(t *testing.T, c *Constraint, text string) (begun, complete bool) {
	t.Helper()
	m := start(t, c)
	begun = walks.Feed(m, text)
	return begun, begun && m.Complete()
}

const jsonGrammar = `# JSON
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
`

func TestGrammarsAcceptWhatTheyDescribe(t *testing.T) {
	for _, c := range []struct {
		grammar string
		yes, no []string // complete texts; texts that are not
	}{
		{`root ::= "a"`, []string{"a"}, []string{"", "b", "aa"}},
		{"root ::= \"a\" |\n \"b\"\n", []string{"a", "b"}, []string{"", "ab"}},
		{`root ::= "ab"*`, []string{"", "ab", "abab"}, []string{"a", "aba", "abb"}},
		{`root ::= "a" "b"+ "c"?`, []string{"ab", "abbc"}, []string{"a", "ac", "abcc"}},
		{`root ::= [a-c]{2} [^a-c]{1,} .{0,2}`, []string{"abd", "ccd\n!", "aa😀bb"},
			[]string{"ab", "abc", "ad"}},
		{`root ::= ("a" | "b" "c"){1,2}`, []string{"a", "bca", "bcbc"}, []string{"", "aaa", "b"}},
		{`root ::= x{0} "b"
		x ::= "a"`, []string{"b"}, []string{"ab"}},
		{`root ::= "(" root ")" | ""`, []string{"", "((()))"}, []string{"(", "())"}},
		{`root ::= item ("," item)* # a list
		  item ::= [0-9]+ | "[" root "]"`, []string{"1,23,[4,[5],6]"}, []string{"1,", "[1"}},
		{`root ::= "\x41\u00e9\U0001F600\n\t\r\\\"\[\]"`, []string{"Aé😀\n\t\r\\\"[]"}, nil},
		{`root ::= [\]\\a-] [-x]`, []string{"]-", "\\x", "a-", "-x"}, []string{"[x", "bx"}},
		{`root ::= a_b-2 ` + "\r\n" + `a_b-2 ::= "x"`, []string{"x"}, nil},
		{`root ::= ("a"?)* "b"`, []string{"b", "aab"}, []string{"ba"}},
		{`root ::= a* "c"
a ::= "x" | "y"?`, []string{"c", "xyxc"}, []string{"cx"}},
		{"root ::= \"1\"\nroot ::= \"2\"", []string{"2"}, []string{"1"}},
		{jsonGrammar, []string{`{}`, `{ "a":[1.5e3,{"b" : null}]}`, "{\"k\":\"é\\u00ff\"\n  }"},
			[]string{`[`, `{"a"}`, `{"a":01}`, `{"a":"` + "\n" + `"}`}},
	} {
		g, err := Grammar(gpt2(), c.grammar)
		if err != nil {
			t.Errorf("%s: %v", c.grammar, err)
			continue
		}
		for _, text := range c.yes {
			if _, complete := accepts(t, g, text); !complete {
				t.Errorf("%s: %q is refused", c.grammar, text)
			}
		}
		for _, text := range c.no {
			if _, complete := accepts(t, g, text); complete {
				t.Errorf("%s: %q is accepted", c.grammar, text)
			}
		}
	}
}

func TestGrammarsThatCannotBeFollowedAreRefused(t *testing.T) {
	for grammar, want := range map[string]string{
		``:                                    "want a rule named root",
		`start ::= "a"`:                       "want a rule named root",
		`root = "a"`:                          "want ::=",
		`root ::= "a`:                         "want a character, found the end",
		`root ::= [a`:                         "want a character, found the end",
		`root ::= ("a"`:                       "want ), found the end",
		`root ::= "a")`:                       "want the end of the line",
		`root ::= *`:                          "want something before *",
		`root ::= "a"{3,2}`:                   "the smaller number first",
		`root ::= "a"{3001}`:                  "from 0 to 2000",
		`root ::= "\q"`:                       "want an escape",
		`root ::= b`:                          "rule b is not defined",
		"root ::= \"a\"\nx ::= (\n\n y":       "line 4",
		`root ::= <nothing at all>`:           "is not one token",
		`root ::= <[50257]>`:                  "want ids below 50257",
		`root ::= root "a" | "b"`:             "rule root is left recursive",
		"root ::= a\na ::= b\nb ::= \"x\"? a": "left recursive",
		"root ::= e a\ne ::= \"\"\na ::= e a \"x\" | \"y\"": "rule a is left recursive",
		`root ::= "a" root`: "no text can match it",
		"root ::= " + strings.Repeat("(", 30000) + `"a"` + strings.Repeat(")", 30000): "500 groups in groups",
		`root ::= (("a"{2000}){2000}){2000}`:                                          "more than 131072 states",
		"root ::= \"\xff\"":                                                           "not valid UTF-8",
	} {
		_, err := Grammar(gpt2(), grammar)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%.60q: %v, want %q", grammar, err, want)
		}
	}
}

func TestGrammarsReadWholeTokens(t *testing.T) {
	v := gpt2()
	hello, world := 31373, 995 // "hello", " world"
	mask := make([]uint64, v.Words())
	open := func(m Matcher) []int {
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		return walks.Opened(mask)
	}
	g, err := Grammar(v, `root ::= <[31373]> !<[995]> "."`)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := g.Start()
	if ids := open(m); len(ids) != 1 || ids[0] != hello {
		t.Errorf("%v, want the id %d alone", ids, hello)
	}
	if err := m.Accept(hello); err != nil {
		t.Fatal(err)
	}
	if err := m.Accept(world); err == nil {
		t.Errorf("!<[995]> took 995")
	}
	if n := len(open(m)); n != 50255 { // all with bytes but one
		t.Errorf("%d ids are open, want 50255", n)
	}
	if err := m.Accept(262); err != nil {
		t.Fatal(err)
	}
	if ids := open(m); len(ids) != 1 || ids[0] != 13 {
		t.Errorf("%v, want the id of . alone", ids)
	}
}

func TestGrammarsThatGrowTooAmbiguousSaySo(t *testing.T) {
	g, err := Grammar(gpt2(), `root ::= "a" root "b" | "a" root "c" | "d"`)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := g.Start()
	mask := make([]uint64, gpt2().Words())
	for range 40 { // after n letters there are 2^n ways to continue
		if err = m.Accept(64); err != nil {
			break
		}
		if err = m.Mask(mask); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "more than 8192 places") {
		t.Errorf("error %v, want one about places", err)
	}
}
