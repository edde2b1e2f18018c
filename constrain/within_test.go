package constrain

// Within: texts that end in time.

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// small is a vocabulary of all bytes, of some ids that are several, and of one that ends texts.
func small(t testing.TB, more ...string) (v *Vocabulary, tokens [][]byte) {
	t.Helper()
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	for _, text := range more {
		tokens = append(tokens, []byte(text))
	}
	tokens = append(tokens, nil)
	v, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{len(tokens) - 1}})
	if err != nil {
		t.Fatal(err)
	}
	return v, tokens
}

// bounded are forms whose ends are known.
var bounded = []struct{ kind, text string }{
	{"choice", "yes\x00no, thank you\x00maybe, and then again maybe not"},
	{"regex", `a{3,7}b?|[0-9]{4}-[0-9]{2}`},
	{"regex", `(ab|cd|é){2,}x(yz)?`},
	{"regex", `[^x]{0,9}xx`},
	{"grammar", "root ::= \"(\" root? \")\" | [a-c]{2} \", \" root"},
	{"grammar", "root ::= item (\" and \" item)* \".\"\nitem ::= \"a house\" | \"[\" root \"]\""},
	{"grammar", "root ::= root \" and \" root | \"a\" root root? \"c\" | list \";\"\nlist ::= list \",b\" | \"b\""},
	{"schema", `{"enum":["a","bcd",12,null,{"x":[1]}]}`},
	{"schema", `{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer"},
		"note":{"type":"string","minLength":4}},"required":["name","n"],"additionalProperties":false}`},
	{"schema", `{"type":"array","items":{"type":"number","minimum":100.5},"minItems":2}`},
	{"schema", `{"type":"string","pattern":"^[a-f]{2}-\\d+$"}`},
	{"schema", `{"type":"string","pattern":"^(ab|c)*$","minLength":5,"maxLength":9}`},
	{"schema", `{"type":"string","format":"date"}`},
	{"schema", `{"type":"object","minProperties":2}`},
	{"schema", `{"type":"object","patternProperties":{"^(aa|b|cc)$":{"type":"boolean"}},
		"additionalProperties":false,"minProperties":2}`},
	{"schema", `{"$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},"l":{"$ref":"#/$defs/t"},
		"r":{"$ref":"#/$defs/t"}},"required":["v"],"additionalProperties":false}},"$ref":"#/$defs/t"}`},
	{"schema", `{"type":"integer","multipleOf":7,"minimum":50}`},
	{"schema", `{"type":"number","multipleOf":0.25,"exclusiveMinimum":0,"maximum":3}`},
	{"schema", `{"type":"number","exclusiveMinimum":0.55,"exclusiveMaximum":0.56}`},
	{"schema", `{"allOf":[{"type":"object","properties":{"a":{"type":"null"}}},
		{"properties":{"b":{"const":"x"}},"required":["b","a"]}],"minProperties":3}`},
	{"schema", `{}`},
	{"schema", manyWays(4)},
	{"grammar", "root ::= \"f(\" %json {\"type\":\"array\",\"items\":{\"type\":\"integer\"}} \")\" rest*\n" +
		"rest ::= \"; \" %regex /[a-z]{4}\\/?/ root"},
	{"tags", `{"type":"triggered_tags","triggers":["<f"],"tags":[{"begin":"<f=x>","content":{"type":"json_schema",
		"json_schema":{"properties":{"ab":{"type":"string"},"n":{"type":"number"}},"required":["ab"]}},
		"end":["</f>","</f=x>"]},{"begin":"<fg","content":{"type":"any_text"},"end":"->"}],"at_least_one":true}`},
	{"tags", `{"type":"sequence","elements":[{"type":"tag","begin":"<t>","content":{"type":"any_text"},"end":"</t>"},
		{"type":"repeat","min":2,"max":4,"content":{"type":"json_schema","json_schema":{"type":"integer"}}},
		{"type":"star","content":{"type":"or","elements":[{"type":"regex","pattern":"a[bc]+d"},
		{"type":"grammar","grammar":"root ::= \"(\" %json {\"enum\":[true,[1],\"ab\"]} \")\""}]}}]}`},
	{"schema", `{"type":"array","contains":{"const":"there"},"minContains":2,"maxContains":3,"minItems":4}`},
	{"schema", `{"type":"array","prefixItems":[{"type":"string","minLength":6},{"type":"null"}],
		"items":{"type":["integer","boolean"]},"contains":{"type":"boolean"},"minContains":2,"maxItems":5}`},
	{"schema", `{"type":"array","items":{"enum":[1,"two",[3]]},"allOf":[{"contains":{"const":1}},
		{"contains":{"type":"array"},"maxContains":2}],"maxItems":9}`},
	{"schema", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"],
		"additionalProperties":{"type":["null","string"]},"not":{"additionalProperties":{"type":"null"}}}`},
	{"schema", `{"type":"object","properties":{"kind":{"type":"string"}},"not":{"patternProperties":
		{"^k":{"type":"integer"}},"propertyNames":{"maxLength":4}},"minProperties":2,"maxProperties":3}`},
	{"schema", `{"type":"object","properties":{"a":{"const":1},"b":{"const":2},"long":{"type":"string",
		"minLength":9}},"minProperties":2,"propertyNames":{"pattern":"^(a|b|long|much longer)$"}}`},
	{"schema", `{"type":"array","items":{"type":"string"},"uniqueItems":true,"minItems":3}`},
	{"schema", `{"type":"array","items":{"type":["integer","boolean"]},"uniqueItems":true,"minItems":4}`},
	{"schema", `{"type":"array","items":{"enum":["a","bc",1,12,null,"bcd"]},"uniqueItems":true,"minItems":5}`},
	{"schema", `{"type":"array","items":{"type":"object","properties":{"k":{"enum":["x","yy"]},"n":{"type":"integer"},
		"t":{"type":"string"}},"required":["k"],"additionalProperties":false},"uniqueItems":true,"minItems":2}`},
	{"schema", `{"type":"object","properties":{"p":{"type":"array","items":{"type":"array","items":{"type":"number"},
		"minItems":2,"maxItems":2},"uniqueItems":true,"minItems":1}},"required":["p"]}`},
	{"schema", `{"type":"array","items":{"type":"string","pattern":"^[ab]{1,2}$"},"uniqueItems":true,"minItems":4}`},
	{"schema", `{"type":"array","items":{"minimum":10,"maximum":13,"type":"integer"},"uniqueItems":true,"minItems":3}`},
	{"schema", `{"type":"array","items":{"type":"object","additionalProperties":{"type":"boolean"},
		"minProperties":1},"uniqueItems":true}`},
	{"schema", `{"type":"array","prefixItems":[{"const":1},{"type":["integer","null"]}],"uniqueItems":true,
		"items":{"type":"string","maxLength":2}}`},
}

// layouts are how the texts of schemas are laid out.
var layouts = []SchemaOptions{{}, {Space: 3}, {Comma: ", ", Colon: ": "}, {Comma: ",", Colon: ": ", Indent: "  "},
	{Comma: ",", Colon: ":", Indent: "\t"}}

// TestEveryStateHasItsEnd: the ids that complete a text, no more than it needs, are open one after
// the other; and where a form is roomy, no id leads to a text that needs more than is left.
func TestEveryStateHasItsEnd(t *testing.T) {
	v, tokens := small(t, `{"`, `":"`, `","`, "ab", "abab", " and ", "00", `"}`, "]]", `["`, "\n  ", "    ", ": ")
	states, roomy := 0, 0
	for n, of := range bounded {
		for seed := range cases.Of(5, 50) {
			o := layouts[(n+seed)%len(layouts)]
			c := compiledAs(t, v, of.kind, of.text, o)
			r, text, before := rand.New(rand.NewPCG(uint64(seed), 5)), started(t, c), ""
			for range 30 {
				need, end := c.form.Need(text.now()), c.form.End(text.now())
				if need >= never || len(end) > need || end == nil != (need == 0) {
					t.Fatalf("%s %+v: %q needs %d, and ends by %d ids", of.text, o, before, need, len(end))
				}
				ahead := text.Fork().(*Text)
				for i, id := range end {
					if err := ahead.Accept(id); err != nil {
						t.Fatalf("%s %+v: after %q, of its end %q: %v", of.text, o, before, spelled(v, end[:i+1]), err)
					}
				}
				if !ahead.Complete() {
					t.Fatalf("%s %+v: %q ends by %q", of.text, o, before, spelled(v, end))
				}
				states++
				left := need + r.IntN(90)
				id, _ := drawnOf(t, text, v, r, len(tokens), before)
				if id < 0 || v.Bytes(id) == nil {
					break
				}
				is := c.form.Roomy(text.now(), left)
				if text.Accept(id) != nil {
					t.Fatalf("%s: %q: id %d is not open", of.text, before, id)
				}
				before += string(v.Bytes(id))
				if is {
					if roomy++; c.form.Need(text.now()) > left {
						t.Fatalf("%s %+v: %q needs %d, and before its last id it was roomy for %d", of.text, o,
							before, c.form.Need(text.now()), left)
					}
				}
			}
		}
	}
	if states < 1000 || roomy < 100 {
		t.Errorf("%d states, %d of them roomy: want more", states, roomy)
	}
}

// TestMasksInTimeAreThoseOfTheText: whatever was tried and taken back, and in any fork.
func TestMasksInTimeAreThoseOfTheText(t *testing.T) {
	v, tokens := small(t, `{"`, `":"`, `","`, "ab", " and ", "00", `"}`, "]]", `["`)
	for n, of := range bounded {
		c := compiledAs(t, v, of.kind, of.text, layouts[n%len(layouts)])
		for seed := range cases.Of(2, 20) {
			r, straight, tried := rand.New(rand.NewPCG(uint64(seed), 8)), started(t, c), started(t, c)
			least, _ := straight.Least()
			most := least + 4*seed
			straight.Within(most)
			for i := range most {
				tried.Within(most - i)
				if r.IntN(2) == 0 {
					tried = tried.Fork().(*Text)
				}
				ahead := 0
				for ; ahead < 3 && !ended(tried); ahead++ {
					id, _ := drawnOf(t, tried, v, r, len(tokens), "")
					if id < 0 || tried.Accept(id) != nil {
						break
					}
				}
				if err := tried.Rewind(ahead); err != nil {
					t.Fatal(err)
				}
				a, b := make([]uint64, v.Words()), make([]uint64, v.Words())
				if err := errors.Join(straight.Mask(a), tried.Mask(b)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a, b) {
					t.Fatalf("%s, %d ids, after %d: %v are open, and %v after ids that were taken back", of.text,
						most, i, walks.Opened(a), walks.Opened(b))
				}
				ids := walks.Opened(a)
				if len(ids) == 0 || ended(straight) {
					break
				}
				id := ids[r.IntN(len(ids))]
				if err := errors.Join(straight.Accept(id), tried.Accept(id)); err != nil {
					t.Fatal(err)
				}
				if straight.ended {
					break
				}
			}
		}
	}
}

func spelled(v *Vocabulary, ids []int) (text string) {
	for _, id := range ids {
		text += string(v.Bytes(id))
	}
	return text
}

// manyWays is a schema whose texts can be read in 2 to the power of n ways.
func manyWays(n int) string {
	all := ""
	for i := range n {
		all += fmt.Sprintf(`,{"anyOf":[{"properties":{"a%d":{"type":"string"}},"required":["a%d"]},
			{"properties":{"b":{"type":"number"}},"required":["b%d"]}]}`, i, i, i)
	}
	return `{"type":"object","allOf":[` + all[1:] + `]}`
}

// TestMasksInTimeDependOnTheTextOnly: and not on the masks that are stored, where one is bounded too.
func TestMasksInTimeDependOnTheTextOnly(t *testing.T) {
	v, bound := gpt2(), 0
	for _, of := range []string{manyWays(7), `{"type":"object","minProperties":2}`} {
		used := compiled(t, v, "schema", of)
		for seed := range cases.Of(2, 8) {
			r, fresh := rand.New(rand.NewPCG(uint64(seed), 9)), compiled(t, v, "schema", of)
			first, again := started(t, fresh), started(t, used)
			least, _ := first.Least()
			first.Within(least + 3*seed)
			again.Within(least + 3*seed)
			for range least + 3*seed {
				a, b := make([]uint64, v.Words()), make([]uint64, v.Words())
				if err := errors.Join(first.Mask(a), again.Mask(b)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a, b) {
					t.Fatalf("%s: of a form with stored masks %d ids are open, without %d", of,
						len(walks.Opened(b)), len(walks.Opened(a)))
				}
				if bound++; first.ended {
					break
				}
				ids := walks.Opened(a)
				id := ids[r.IntN(len(ids))]
				if err := errors.Join(first.Accept(id), again.Accept(id)); err != nil {
					t.Fatal(err)
				}
				if ended(first) {
					break
				}
			}
			if !first.Complete() {
				t.Errorf("%s: a text has not ended", of)
			}
		}
	}
	if bound < 40 {
		t.Errorf("%d masks were compared", bound)
	}
}

func compiled(t testing.TB, v *Vocabulary, kind, text string) *Constraint {
	t.Helper()
	return compiledAs(t, v, kind, text, SchemaOptions{})
}

func compiledAs(t testing.TB, v *Vocabulary, kind, text string, o SchemaOptions) *Constraint {
	t.Helper()
	var c *Constraint
	var err error
	switch kind {
	case "choice":
		var choices []string
		choices = append(choices, splitZero(text)...)
		c, err = Choice(v, choices...)
	case "regex":
		c, err = Regex(v, text)
	case "grammar":
		c, err = Grammar(v, text)
	case "tags":
		c, err = StructuralTag(v, []byte(`{"format":`+text+`}`))
	default:
		c, err = JSONSchema(v, []byte(text), o)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", kind, text, err)
	}
	return c
}

func splitZero(text string) (parts []string) {
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == 0 {
			parts = append(parts, text[:i])
			if i < len(text) {
				text, i = text[i+1:], -1
			}
		}
	}
	return parts
}

func started(t testing.TB, c *Constraint) *Text {
	t.Helper()
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTextsEndInTime: whatever open ids are drawn, a text that has a bound which suffices is
// complete with its last id.
func TestTextsEndInTime(t *testing.T) {
	vocabularies := []func() (*Vocabulary, [][]byte){
		func() (*Vocabulary, [][]byte) {
			return small(t, `{"`, `":"`, `","`, "ab", "abab", "and", " and ", "00", "-0", `"}`, "]]", `["`)
		},
		func() (*Vocabulary, [][]byte) { return gpt2(), walks.Tokens() },
	}
	texts, cut := 0, 0
	for _, make := range vocabularies {
		v, tokens := make()
		for _, form := range bounded {
			c := compiled(t, v, form.kind, form.text)
			least, ok := started(t, c).Least()
			if !ok {
				t.Errorf("%s %s: no end is known", form.kind, form.text)
				continue
			}
			for seed := range cases.Of(6, 60) {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(least)))
				most := least + []int{0, 1, 2, 5, 13, 40}[seed%6]
				text, written, shut := started(t, c), "", false
				text.Within(most)
				for n := 0; n < most && !ended(text); n++ {
					id, narrowed := drawnOf(t, text, v, r, len(tokens), written)
					if shut = shut || narrowed; id < 0 {
						t.Fatalf("%s %s, %d ids: %q: no id is open", form.kind, form.text, most, written)
					}
					if err := text.Accept(id); err != nil {
						t.Fatalf("%s: %q: %v", form.text, written, err)
					}
					written += string(v.Bytes(id))
				}
				if texts++; shut {
					cut++
				}
				if !text.Complete() {
					t.Errorf("%s %s, %d ids, %d are enough: %q", form.kind, form.text, most, least, written)
				}
			}
		}
	}
	if cut < texts/4 {
		t.Errorf("of %d texts only %d met a mask that was narrowed", texts, cut)
	}
}

func ended(text *Text) bool {
	none := make([]uint64, text.of.vocab.Words())
	return text.Complete() && text.Mask(none) == nil &&
		!slices.ContainsFunc(none, func(w uint64) bool { return w != 0 })
}

// drawnOf draws an open id, long ones as often as short ones, the end seldom; -1 if there is none.
func drawnOf(
	t testing.TB, text *Text, v *Vocabulary, r *rand.Rand, size int, before string,
) (id int, narrowed bool) {
	t.Helper()
	open := make([]uint64, v.Words())
	if err := text.Mask(open); err != nil {
		t.Fatalf("%q: %v", before, err)
	}
	ids := walks.Opened(open)
	if len(ids) == 0 {
		return -1, false
	}
	if r.IntN(2) == 0 {
		slices.SortFunc(ids, func(a, b int) int { return len(v.Bytes(b)) - len(v.Bytes(a)) })
		ids = ids[:min(len(ids), 20)]
	}
	return ids[r.IntN(len(ids))], text.Shut() != nil
}

// TestRoomyMasksAreWhole: where a form says that all that may come leaves room, nothing is shut.
func TestRoomyMasksAreWhole(t *testing.T) {
	v, found := gpt2(), 0
	for _, of := range bounded {
		c := compiled(t, v, of.kind, of.text)
		for seed := range cases.Of(2, 12) {
			r, text := rand.New(rand.NewPCG(uint64(seed), 3)), started(t, c)
			text.Least() // from now on there are ends
			whole, within := make([]uint64, v.Words()), make([]uint64, v.Words())
			for range 12 {
				clear(whole)
				if err := c.form.Mask(text.now(), whole, math.MaxInt, math.MaxInt); err != nil {
					t.Fatal(err)
				}
				for left := range 100 {
					if !c.form.Roomy(text.now(), left) {
						continue
					}
					clear(within)
					if err := c.form.Mask(text.now(), within, left, math.MaxInt); err != nil {
						t.Fatal(err)
					}
					if found++; !slices.Equal(whole, within) {
						t.Fatalf("%s %s: with %d left, for which it is roomy, of %d ids %d are open", of.kind,
							of.text, left, len(walks.Opened(whole)), len(walks.Opened(within)))
					}
					break
				}
				if ids := walks.Opened(whole); len(ids) == 0 ||
					text.Accept(ids[r.IntN(len(ids))]) != nil {
					break
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("%d states were roomy, want more", found)
	}
}

// TestOpenIDsFit: by trying all continuations, each id that is open leads to an end in time.
func TestOpenIDsFit(t *testing.T) {
	v, tokens := small(t, "ab", "abc", "aab", "00", "1-", "-0", `"a`, `ab"`, "],", "[[", "tru", "null")
	for _, of := range []struct {
		kind, text string
		exact      bool // none that would lead there is shut
	}{
		{"choice", "abcab\x00aabb\x00ab", true},
		{"regex", `a{3,5}b?|0{2}1-0`, true},
		{"regex", `(ab|c){2,}`, true},
		{"grammar", "root ::= \"[\" root? \"]\" | \"ab\"", true},
		{"grammar", "root ::= root \"c\" \"0\" \"0\" | \"a\" root \"b\" | \"a\" root root | \"0\"", false},
		{"schema", `{"enum":["abc","aab",12,null,[true]]}`, true},
		{"grammar", `root ::= ("a" | %json {"enum":["ab",[null],1]}) %regex /[ab]{2}/ "b"?`, false},
		{"tags", `{"type":"triggered_tags","triggers":["a"],"stop_after_first":true,"at_least_one":true,"tags":[
			{"begin":"ab","content":{"type":"json_schema","json_schema":{"enum":[null,[["ab"]]]}},"end":"]"},
			{"begin":"aa","content":{"type":"const_string","value":"bc"},"end":"abc"}]}`, false},
		{"tags", `{"type":"sequence","elements":[{"type":"json_schema","json_schema":{"enum":[1,10,12]}},
			{"type":"json_schema","json_schema":{"enum":[[],"a","ab",7]}},{"type":"const_string","value":"],ab"}]}`, false},
		{"schema", `{"type":"array","items":{"type":["null","boolean"]},"minItems":2,"maxItems":4}`, false},
		{"schema", `{"type":"string","pattern":"^[ab]{2,4}c?$"}`, false},
		{"schema", `{"type":"object","properties":{"a":{"type":"null"},"b":{"const":1}},"required":["b"],
			"additionalProperties":false}`, false},
	} {
		c, shut, open := compiled(t, v, of.kind, of.text), 0, 0
		fits := map[string]int{} // by the text: the fewest ids that complete it, or more than asked
		var needs func(text *Text, before string, left int) int
		needs = func(text *Text, before string, left int) int {
			if text.Complete() {
				return 0
			}
			key := fmt.Sprint(left, before)
			if n, ok := fits[key]; ok || left == 0 {
				return max(n, 1)
			}
			least := left + 1
			mask := make([]uint64, v.Words())
			if err := text.Mask(mask); err != nil {
				t.Fatal(err)
			}
			for _, id := range walks.Opened(mask) {
				after := text.Fork().(*Text)
				if after.Accept(id) == nil {
					least = min(least, 1+needs(after, before+string(tokens[id]), left-1))
				}
			}
			fits[key] = least
			return least
		}
		least, _ := started(t, c).Least()
		for most := least; most < least+4; most++ {
			for seed := range 12 {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(most)))
				text, free, before := started(t, c), started(t, c), ""
				text.Within(most)
				for n := 0; n < most && !text.ended; n++ {
					id, _ := drawnOf(t, text, v, r, len(tokens), before)
					mask := make([]uint64, v.Words())
					if err := text.Mask(mask); err != nil {
						t.Fatal(err)
					}
					all := make([]uint64, v.Words())
					if err := free.Mask(all); err != nil {
						t.Fatal(err)
					}
					for _, k := range walks.Opened(all) {
						after, is := free.Fork().(*Text), mask[k>>6]>>(k&63)&1 != 0
						if err := after.Accept(k); err != nil {
							t.Fatal(err)
						}
						in := needs(after, before+string(tokens[k]), most-n-1) <= most-n-1
						switch {
						case is && !in:
							t.Errorf("%s, %d ids: after %q id %d (%q) is open, and leads to no end in time",
								of.text, most, before, k, tokens[k])
						case !is && in && of.exact:
							t.Errorf("%s, %d ids: after %q id %d (%q) is shut, and leads to an end in time",
								of.text, most, before, k, tokens[k])
						case !is:
							shut++
						}
						open++
					}
					if id < 0 {
						break
					}
					if text.Accept(id) != nil || free.Accept(id) != nil {
						t.Fatalf("%s: %q: id %d is not open", of.text, before, id)
					}
					before += string(tokens[id])
				}
			}
		}
		if shut == 0 {
			t.Errorf("%s: of %d ids none was shut", of.text, open)
		}
	}
}
