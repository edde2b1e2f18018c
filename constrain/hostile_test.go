package constrain

// Hostile forms of many families, made at random: each is compiled within its bound of work, or
// refused with one line that names a bound. Meanwhile the caller's context is checked often.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"picogpt/constrain/internal/automaton"
	"picogpt/dev/cases"
)

// A forger makes hostile forms.
type forger struct{ *rand.Rand }

// size is a number up to most, small ones as often as large ones.
func (f forger) size(most int) int {
	n := 1
	for n < most && f.IntN(4) > 0 {
		n *= 2
	}
	return 1 + f.IntN(min(n, most))
}

func (f forger) one(of ...string) string { return of[f.IntN(len(of))] }

// regex makes a pattern with repeats, classes and alternatives in one another.
func (f forger) regex(depth int) string {
	if depth == 0 {
		return f.one("a", "b", ".", `\w`, `\pL`, `[^x]`, `[a-z]`, `\d`, "é", `\b`, "^", "$",
			`[\x{100}-\x{2000}]`)
	}
	inner := f.regex(depth - 1)
	switch f.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s){0,%d}", inner, f.size(99))
	case 1:
		return fmt.Sprintf("(%s){%d}", inner, f.size(30))
	case 2:
		return "(" + inner + f.one(")*", ")+", ")?")
	case 3:
		return list(f.size(40), "|", func(i int) string { return inner + fmt.Sprint(i) })
	case 4:
		return list(f.size(20), "", func(int) string { return inner })
	}
	return inner + f.regex(depth-1)
}

// schema makes a schema of which one thing is large.
func (f forger) schema(depth int) string {
	part := func(i int) string {
		if depth > 0 && f.IntN(3) == 0 {
			return f.schema(depth - 1)
		}
		return fmt.Sprintf(f.one(`{"minimum":%d}`, `{"maxLength":%d}`, `{"type":"string","minLength":%d}`,
			`{"const":%d}`, `{"required":["p%d"]}`, `{"multipleOf":%d.5,"type":"integer"}`,
			`{"properties":{"p%d":{"type":"null"}}}`, `{"exclusiveMaximum":1e%d}`), i)
	}
	n := f.size(2000)
	switch f.IntN(9) {
	case 0:
		return `{"` + f.one("allOf", "anyOf", "oneOf", "prefixItems") + `":[` +
			list(f.size(200), ",", part) + `]}`
	case 1:
		return `{"allOf":[` + list(f.size(14), ",", func(i int) string {
			return `{"anyOf":[` + list(1+f.size(3), ",", part) + `]}`
		}) + `,` + list(n, ",", numbered(`{"minimum":%d}`)) + `]}`
	case 2:
		return `{"` + f.one("properties", "patternProperties", "$defs") + `":{` + list(f.size(60), ",",
			func(i int) string { return fmt.Sprintf(`"p%d.*":`, i) + part(i) }) + `}}`
	case 3:
		return fmt.Sprintf(`{"type":"string","pattern":%q,"maxLength":%d,"minLength":%d}`,
			"^"+f.plain()+"$", f.size(9000), f.IntN(9))
	case 4:
		kind := f.one(`"v%d"`, `%d`, `%de4000`, `[%d]`, `{"a":%d}`)
		return `{"enum":[` + list(n, ",", numbered(kind)) + `]}`
	case 5:
		return `{"$ref":"#/$defs/p0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"p%d":{"%s":[{"$ref":"#/$defs/p%d"},%s]}`, i,
				f.one("allOf", "anyOf"), i+1, part(i))
		}) + fmt.Sprintf(`,"p%d":true}}`, n)
	case 6:
		return strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n)
	case 7:
		return `{"type":"object","required":[` + list(n, ",", numbered(`"p%d"`)) +
			`],"maxProperties":` + fmt.Sprint(n) + `}`
	}
	return `{"allOf":[` + list(f.size(300), ",", func(i int) string {
		return fmt.Sprintf(`{"patternProperties":{"^%c%d":%s}}`, 'a'+i%26, i, part(i))
	}) + `]}`
}

// plain is a pattern without what JSON would have to escape.
func (f forger) plain() string {
	return strings.NewReplacer(`\`, "", "{100}-\\x{2000}", "é").Replace(
		regexp.MustCompile(`\\x\{[0-9a-f]+\}`).ReplaceAllString(f.regex(3), "é"))
}

// grammar makes rules that lead to one another, and repeats in repeats.
func (f forger) grammar() string {
	n := f.size(2000)
	return "root ::= r0\n" + list(n, "\n", func(i int) string {
		next := fmt.Sprintf("r%d", min(i+1+f.IntN(3), n))
		return fmt.Sprintf("r%d ::= ", i) + f.one(next, next+" "+next, next+"?", `"a" `+next+` | "b"`,
			"("+next+" | [^x])*",
			fmt.Sprintf(`("a"{0,%d}){0,%d} `, f.size(2000), f.size(50))+next,
			`"a"? r0 | "c"`, `"" `+next)
	}) + fmt.Sprintf("\nr%d ::= [a-z]?", n)
}

// form makes a form of any family.
func (f forger) form() (hostile, string) {
	switch f.IntN(8) {
	case 0, 1:
		return hostile{kind: 'r'}, f.regex(1 + f.IntN(4))
	case 2, 3:
		return hostile{kind: 'g'}, f.grammar()
	case 4:
		return hostile{kind: 'c'}, list(f.size(4000), "\n", func(i int) string {
			return strings.Repeat(f.one("x", "é", "ab"), f.size(50)) + fmt.Sprint(i)
		})
	}
	return hostile{kind: 's'}, f.schema(2)
}

// mostBetween is the greatest number of steps of work between two checks of the caller's context:
// parsing a pattern and counting a table have no checks inside.
const mostBetween = 8 << 20

func TestHostileFormsAreCompiledWithinTheirBounds(t *testing.T) {
	seeds := cases.Of(150, 10000)
	compiled, refused := 0, 0
	for seed := range seeds {
		f := forger{rand.New(rand.NewPCG(uint64(seed), 12))}
		h, text := f.form()
		name := fmt.Sprintf("seed %d: %c %.80q (%d bytes)", seed, h.kind, text, len(text))
		var m *automaton.Meter
		before, widest := 0, 0
		m = automaton.NewMeter(context.Background(), func(context.Context) error {
			widest, before = max(widest, m.Used-before), m.Used
			return nil
		}, nil, len(text))
		_, err := compileWith(h, text, m)
		if widest = max(widest, min(m.Used, m.Most)-before); widest > mostBetween {
			t.Errorf("%s: %d steps without a pause", name, widest)
		}
		if err == nil {
			if compiled++; m.Used > m.Most {
				t.Errorf("%s: compiled in %d steps, want %d at most", name, m.Used, m.Most)
			}
			continue
		}
		refused++
		if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: %d bytes of error: %v", name, len(err.Error()), err)
		}
	}
	if compiled < seeds/5 || refused < seeds/20 {
		t.Errorf("%d forms were compiled and %d refused: want some of both", compiled, refused)
	}
}

// Fuzzing: compilers of forms, from texts of any kind.

// letters is a vocabulary of all bytes and some words, whose id 256 ends a text.
var letters = sync.OnceValue(func() *Vocabulary {
	tokens := make([][]byte, 257)
	for b := range 256 {
		tokens[b] = []byte{byte(b)}
	}
	for _, word := range []string{`{"`, `":`, `",`, "true", "é", "null}", "aa", "ab", " \n", `"a"`, "\xc3", "00"} {
		tokens = append(tokens, []byte(word))
	}
	v, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{256}})
	if err != nil {
		panic(err)
	}
	return v
})

// followed writes a text of a form, and checks that a mask is what Accept takes. It returns the
// text, and whether it ended. An error of compiling is one line.
func followed(t *testing.T, c *Constraint, err error, seed uint64) (string, bool) {
	t.Helper()
	if err != nil {
		if text := err.Error(); strings.Contains(text, "\n") || len(text) > 1000 {
			t.Errorf("an error of %d bytes: %.1200s", len(text), text)
		}
		return "", false
	}
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	r, v := rand.New(rand.NewPCG(seed, 2)), letters()
	open := make([]uint64, v.Words())
	var written []byte
	for range 24 {
		if err := text.Mask(open); err != nil {
			return string(written), false // beyond a bound
		}
		next := -1
		for i, id := range r.Perm(v.Size()) {
			if i >= 40 && next >= 0 {
				break
			}
			is := open[id>>6]>>(id&63)&1 != 0
			if i < 40 || is {
				fork := text.Fork()
				if err := fork.Accept(id); (err == nil) != is {
					t.Fatalf("after %q, id %d (%q) is open: %v, and then: %v", written, id, v.Bytes(id), is, err)
				}
			}
			if is {
				next = id
			}
		}
		if next < 0 {
			t.Fatalf("after %q nothing is open", written)
		}
		if err := text.Accept(next); err != nil {
			t.Fatal(err)
		}
		if next == 256 {
			return string(written), true
		}
		written = append(written, v.Bytes(next)...)
	}
	return string(written), text.Complete()
}

func FuzzSchema(f *testing.F) {
	for _, schema := range append([]string{`{`, `{"$ref":"#/$defs/a","$defs":{"a":{"$id":"x","$ref":"#"}}}`,
		`{"format":"regex"}`, `{"uniqueItems":true,"items":{"type":"integer"}}`}, judged...) {
		f.Add(schema, uint64(1), int8(0))
	}
	for i, x := range drafted {
		f.Add(x.schema, uint64(i), int8(-1))
	}
	for i, x := range closed {
		f.Add(x.schema, uint64(i), int8(2))
	}
	f.Fuzz(func(t *testing.T, schema string, seed uint64, space int8) {
		if len(schema) > 4096 {
			t.Skip()
		}
		o := SchemaOptions{Space: max(int(space)%4, NoSpace)}
		open, err := JSONSchema(letters(), []byte(schema), o)
		followed(t, open, err, seed)
		o.Closed = true
		shut, err := JSONSchema(letters(), []byte(schema), o)
		text, complete := followed(t, shut, err, seed)
		if complete && open != nil {
			m, err := open.Start()
			for i := 0; err == nil && i < len(text); i++ {
				err = m.Accept(int(text[i]))
			}
			if err != nil || !m.Complete() {
				t.Errorf("closed, it wrote %q, which the open form does not take: %v", text, err)
			}
		}
	})
}

func FuzzRegex(f *testing.F) {
	for _, re := range []string{``, `(yes|no)+`, `(?i)straße{1,3}`, `\bfoo\b.{0,5}`, `(?m)^a$\n^b$`, `[^a-z\n]{3,9}`,
		`(?=.*[0-9])[a-z0-9]{3,}`, `(?!ab)a.`, `a{,3}\Z`, `é(?#x)\x{e9}`, `(a*)*b`, `\pL\PL`, `(`, `(a{9}){9}`} {
		f.Add(re, uint64(1))
	}
	f.Fuzz(func(t *testing.T, re string, seed uint64) {
		if len(re) > 1024 {
			t.Skip()
		}
		c, err := Regex(letters(), re)
		followed(t, c, err, seed)
	})
}

func FuzzGrammar(f *testing.F) {
	for _, grammar := range []string{jsonGrammar, `root ::= "a" root | "b"`, `root ::= root "a"`,
		"root ::= s\ns ::= \"a\" s s | \"a\" s | \"a\"", "root ::= ([^a] | \"é\"){2,3} # x", `root ::= (("a"?)*)*`,
		"root ::= x{0,2}\nx ::= . | \"\\u00e9\\n\"", "root ::=", `root ::= <[256]> | !<[3]>`} {
		f.Add(grammar, uint64(1))
	}
	f.Fuzz(func(t *testing.T, grammar string, seed uint64) {
		if len(grammar) > 2048 {
			t.Skip()
		}
		c, err := Grammar(letters(), grammar)
		followed(t, c, err, seed)
	})
}
