package constrain

// Compilers of forms, from texts of any kind.

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

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

// followed writes a text of a form, and checks that a mask is what Accept takes. It returns the text,
// and whether it ended. An error of compiling is one line.
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
