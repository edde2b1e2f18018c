package constrain

// Masks against single ids: an id is open exactly if it can be accepted; and matchers' histories.

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/walks"
)

// constraints are some of every kind.
func constraints(t *testing.T) map[string]*Constraint {
	t.Helper()
	made := map[string]*Constraint{}
	for _, i := range []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20} {
		made[fmt.Sprintf("schema %d", i)] = compile(t, judged[i], SchemaOptions{Space: i % 3})
	}
	for _, re := range []string{`[^"]*"?`, `(\w+ ){2,}é*`, `.\b.{3}`} {
		c, err := Regex(gpt2(), re)
		if err != nil {
			t.Fatal(err)
		}
		made[re] = c
	}
	for i, of := range bounded {
		if of.kind == "tags" || strings.Contains(of.text, "%json") {
			made[fmt.Sprintf("form %d", i)] = compiled(t, gpt2(), of.kind, of.text)
		}
	}
	g, err := Grammar(gpt2(), jsonGrammar)
	if err != nil {
		t.Fatal(err)
	}
	made["grammar"] = g
	c, err := Choice(gpt2(), "one", "once", "two\n", "zwölf")
	if err != nil {
		t.Fatal(err)
	}
	made["choice"] = c
	return made
}

func TestAnIdIsOpenExactlyIfItIsAccepted(t *testing.T) {
	cases.NotShort(t)
	v := gpt2()
	for name, c := range constraints(t) {
		w := walks.New(rand.New(rand.NewPCG(3, 9)))
		m, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		steps := cases.Of(3, 40)
		for step := range steps {
			if err := m.Mask(w.Mask); err != nil {
				t.Fatal(err)
			}
			var ids []int
			for id := range v.Size() {
				if m.Accept(id) == nil {
					ids = append(ids, id)
					if err := m.Rewind(1); err != nil {
						t.Fatal(err)
					}
				}
			}
			if open := walks.Opened(w.Mask); !slices.Equal(open, ids) {
				t.Fatalf("%s: after %d ids %d are open and %d are accepted", name, step, len(open),
					len(ids))
			}
			w.Mask[endOfText>>6] &^= 1 << (endOfText & 63)
			id := w.Choose(false)
			if id < 0 {
				break
			}
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// smallVocabulary has all bytes, and some ids of several characters, or parts of them.
func smallVocabulary(t *testing.T, r *rand.Rand) *Vocabulary {
	t.Helper()
	parts := []string{"a", "b", "y", "x", "1", "ab", "\"", "\"", ",", ":", "{", "}", "[", "]", "\\", "u0",
		"é", "😀", "\xc3", "\xa9", "\xf0\x9f", "\n", " ", "-", ".", "e"}
	var more []string
	for range 60 {
		id := ""
		for range 2 + r.IntN(4) {
			id += parts[r.IntN(len(parts))]
		}
		more = append(more, id)
	}
	tokens := byteVocabulary(more...)
	v, err := NewVocabulary(append(tokens, nil), VocabularyOptions{Ends: []int{len(tokens)}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMasksOfRandomVocabulariesAndForms(t *testing.T) {
	n := cases.Of(250, 5000)
	m := maker{rand.New(rand.NewPCG(4, 12))}
	for range n {
		v := smallVocabulary(t, m.Rand)
		form := m.form()
		c, err := JSONSchema(v, []byte(form), SchemaOptions{Space: m.IntN(3)})
		if err != nil {
			continue
		}
		text, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		written, mask := "", make([]uint64, v.Words())
		for range 12 {
			if err := text.Mask(mask); err != nil {
				t.Fatal(err)
			}
			var ids []int
			for id := range v.Size() {
				if text.Accept(id) == nil {
					ids = append(ids, id)
					text.Rewind(1)
				}
			}
			open := walks.Opened(mask)
			if !slices.Equal(open, ids) {
				t.Fatalf("%s: after %q %v are open and %v are accepted", form, written, open, ids)
			}
			if len(open) == 0 {
				t.Fatalf("%s: after %q nothing is open", form, written)
			}
			id := open[m.IntN(len(open))]
			if id == v.Size()-1 {
				break
			}
			text.Accept(id)
			written += string(v.Bytes(id))
		}
	}
}

// form writes a schema, or one of strings with a pattern and lengths.
func (m maker) form() string {
	if m.IntN(3) == 0 {
		return m.schema(2)
	}
	lo, more := m.IntN(30), m.IntN(25)
	if m.IntN(3) == 0 {
		more = 0
	}
	return fmt.Sprintf(`{"type":"string","pattern":%q,"minLength":%d,"maxLength":%d}`,
		m.one("a", "ab", "[^a]b", "^[^y]*y?$", "^([^y]{3})*$", "^a.*b$", "a.b", "^([ab]|é[^é])*$",
			`^[^\n]*(\n[^x]{2})?$`, "y$", "^[^1]", "^([^x]*|[^x]*x(([^y]|y){2})*)$"), lo, lo+more)
}

func TestAMatcherGoesBackAndForks(t *testing.T) {
	for name, c := range constraints(t) {
		text, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		var m Matcher = text
		w := walks.New(rand.New(rand.NewPCG(5, 5)))
		var masks [][]uint64 // before each id
		var ids []int
		for range 20 {
			if err := m.Mask(w.Mask); err != nil {
				t.Fatal(err)
			}
			masks = append(masks, slices.Clone(w.Mask))
			id := w.Choose(false)
			if id < 0 {
				break
			}
			ids = append(ids, id)
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
			if id == endOfText {
				break
			}
		}
		fork := m.Fork()
		for back := range len(ids) {
			if err := fork.Rewind(1); err != nil {
				t.Fatal(err)
			}
			if err := fork.Mask(w.Mask); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(w.Mask, masks[len(ids)-1-back]) {
				t.Errorf("%s: another mask after going %d ids back", name, back+1)
			}
		}
		for _, id := range ids { // the fork takes the same way again
			if err := fork.Accept(id); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := m.Rewind(len(ids)); err != nil {
			t.Error(err)
		}
		if m.Rewind(1) == nil || m.Rewind(-1) == nil {
			t.Errorf("%s: went back beyond the beginning", name)
		}
	}
}

func TestNothingIsOpenAfterTheEnd(t *testing.T) {
	c, err := Choice(gpt2(), "a", "ab")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := c.Start()
	mask := make([]uint64, gpt2().Words())
	if m.Accept(endOfText) == nil {
		t.Errorf("an end was accepted before a choice")
	}
	if err := m.Accept(64); err != nil {
		t.Fatal(err)
	}
	if m.Mask(mask); !slices.Equal(walks.Opened(mask), []int{65, endOfText}) || !m.Complete() {
		t.Errorf("open: %v, complete: %v; want b and the end", walks.Opened(mask), m.Complete())
	}
	if err := m.Accept(endOfText); err != nil {
		t.Fatal(err)
	}
	if m.Mask(mask); len(walks.Opened(mask)) > 0 || m.Accept(65) == nil {
		t.Errorf("something is open after the end")
	}
	if m.Rewind(1); m.Accept(65) != nil {
		t.Errorf("b is not accepted after the end was taken back")
	}
	for _, id := range []int{-1, 50257} {
		if m.Accept(id) == nil {
			t.Errorf("id %d was accepted", id)
		}
	}
	if err := m.Rewind(1); err != nil {
		t.Fatal(err)
	}
	for _, words := range []int{2, 1000} {
		mask := make([]uint64, words)
		if m.Mask(mask); !slices.Equal(walks.Opened(mask)[:1], []int{65}) || len(walks.Opened(mask)) > 2 {
			t.Errorf("%d words: %v are open, want b, and the end if there is room", words,
				walks.Opened(mask))
		}
	}
}

func TestATextEndsWithTheIdsThatItIsTold(t *testing.T) {
	v := gpt2()
	c, err := Regex(v, `a\.?b*`)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := c.Start()
	mask := make([]uint64, v.Words()+1)
	const a, dot, b, beyond = 64, 13, 65, 50300
	after := func(ids ...int) []int {
		m.Rewind(len(m.states) - 1)
		for _, id := range ids {
			if err := m.Accept(id); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		return walks.Opened(mask)
	}
	for _, s := range []struct {
		ends, ids []int
		open      bool // the ends; b is open in either case
	}{
		{[]int{endOfText}, []int{a}, true},
		{[]int{dot}, []int{a}, true},
		{[]int{beyond}, []int{a}, true},
		{[]int{dot, endOfText}, []int{a, b}, true},
		{nil, []int{a}, false},
	} {
		m.EndWith(s.ends)
		open := after(s.ids...)
		for _, id := range []int{dot, endOfText, beyond} {
			text := id == dot && len(s.ids) == 1 && s.ends == nil || id == dot && s.ends[0] != dot &&
				len(s.ids) == 1
			if want := slices.Contains(s.ends, id) || text; slices.Contains(open, id) != want {
				t.Errorf("ends %v, after %v: id %d is open: %v", s.ends, s.ids, id, !want)
			}
		}
		for _, end := range s.ends {
			f := m.Fork()
			if err := f.Accept(end); err != nil || !f.(*Text).Complete() || f.Accept(b) == nil {
				t.Errorf("ends %v, after %v: id %d does not end the text: %v", s.ends, s.ids, end, err)
			}
		}
	}
	m.EndWith([]int{dot, a})
	if open := after(); slices.Contains(open, a) || m.Accept(dot) == nil || m.Accept(a) == nil {
		t.Errorf("%v are open before the text may end: the bytes of ends count", open)
	}
}

func TestTextsUseAConstraintSideBySide(t *testing.T) {
	for name, c := range constraints(t) {
		results := make(chan string)
		for range 4 {
			go func() {
				w := walks.New(rand.New(rand.NewPCG(8, 8)))
				m, err := c.Start()
				if err != nil {
					results <- err.Error()
					return
				}
				text := ""
				for range 12 {
					if err := m.Mask(w.Mask); err != nil {
						text = err.Error()
						break
					}
					id := w.Choose(false)
					if id < 0 || m.Accept(id) != nil {
						break
					}
					text += string(gpt2().Bytes(id))
				}
				results <- text
			}()
		}
		first := <-results
		for range 3 {
			if next := <-results; next != first {
				t.Errorf("%s: %q and %q from the same seed", name, first, next)
			}
		}
	}
}

// TestMasksOfConditionsNamesAndUniqueItems: on small vocabularies, an id is open exactly if it is
// accepted, and something is open until a text ends.
func TestMasksOfConditionsNamesAndUniqueItems(t *testing.T) {
	cases.NotShort(t)
	random := rand.New(rand.NewPCG(6, 12))
	forms := []string{
		`{"type":"object","patternProperties":{"^(x|a.*|é|è)$":{"type":"null"}},"additionalProperties":false,"minProperties":4}`,
		`{"type":"array","items":{"type":"number","multipleOf":0.05,"minimum":-1},"minItems":2}`,
		`{"type":"string","pattern":"^(?!.*aa)(?=.*b)[abx]{2,6}$"}`,
		`{"type":"array","items":{"format":"email","type":"string"},"uniqueItems":true,"maxItems":1}`,
	}
	for _, x := range drafted {
		forms = append(forms, x.schema)
	}
	for _, form := range forms {
		for range cases.Of(2, 20) {
			v := smallVocabulary(t, random)
			c, err := JSONSchema(v, []byte(form), SchemaOptions{Space: random.IntN(3) - 1})
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			text, err := c.Start()
			if err != nil {
				t.Fatal(err)
			}
			mask := make([]uint64, v.Words())
			for range 40 {
				if err := text.Mask(mask); err != nil {
					t.Fatal(err)
				}
				var ids []int
				for id := range v.Size() {
					if text.Accept(id) == nil {
						ids = append(ids, id)
						if err := text.Rewind(1); err != nil {
							t.Fatal(err)
						}
					}
				}
				if open := walks.Opened(mask); !slices.Equal(open, ids) {
					t.Fatalf("%s: %v are open and %v are accepted", form, open, ids)
				}
				if len(ids) == 0 {
					if !text.Complete() {
						t.Errorf("%s: nothing is open, and the text may not end", form)
					}
					break
				}
				if err := text.Accept(ids[random.IntN(len(ids))]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestALongMaskIsGivenUp: with few steps there is no mask and no error, and a later attempt
// succeeds.
func TestALongMaskIsGivenUp(t *testing.T) {
	v := gpt2()
	for _, x := range []hostile{
		{`{"type":"string","pattern":"^([a-z]{0,99},)*$","maxLength":5000,"minLength":4000}`, 's', nil},
		{`{"type":"string","pattern":"[^a]b","minLength":5,"maxLength":80}`, 's', nil},
		{`{"type":"string","pattern":"^(é|.{3}ü)*.{0,12}$","maxLength":90}`, 's', nil},
		{`.{0,99}`, 'r', nil}, {`(.{0,9}\n){0,20}`, 'r', nil},
		{`root ::= [^\n]{2,60} "\n"`, 'g', nil},
	} {
		_, c, err := work(x, x.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		if x.kind == 's' {
			walks.Feed(text, `"`)
		}
		open, want := make([]uint64, v.Words()), make([]uint64, v.Words())
		if done, err := text.MaskWithin(open, 10); done || err != nil {
			t.Errorf("%s: in 10 steps: %v, %v", x.name, done, err)
		}
		if err := text.Mask(want); err != nil {
			t.Fatal(err)
		}
		if done, err := text.MaskWithin(open, 1<<20); !done || err != nil || !slices.Equal(open, want) {
			t.Errorf("%s: %v, %v, or another mask", x.name, done, err)
		}
	}
}

// Masks that others found by brute force over GPT-2's vocabulary.

const endOfText = walks.EndOfText

// gpt2 returns GPT-2's vocabulary, arranged once for all tests.
var gpt2 = sync.OnceValue(func() *Vocabulary {
	v, err := NewVocabulary(walks.Tokens(), VocabularyOptions{Ends: []int{endOfText}})
	if err != nil {
		panic(err)
	}
	return v
})

func TestMasksAreThoseOfBruteForce(t *testing.T) {
	var cases []struct {
		Regex  string
		Schema json.RawMessage
		Prefix []int
		Count  int
		Sha256 string
		First  []int
		Ids    []int
		EOS    bool
	}
	if err := fixture.Decoding("masks", &cases); err != nil || len(cases) != 53 {
		t.Fatalf("%d cases, want 53: %v", len(cases), err)
	}
	for i, c := range cases {
		var constraint *Constraint
		var err error
		if c.Schema != nil {
			constraint, err = JSONSchema(gpt2(), c.Schema, SchemaOptions{Space: NoSpace})
		} else {
			constraint, err = Regex(gpt2(), c.Regex)
		}
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		text, err := constraint.Start()
		if err != nil {
			t.Fatal(err)
		}
		prefix := make([]byte, len(c.Prefix))
		for i, b := range c.Prefix {
			prefix[i] = byte(b)
		}
		if !walks.Feed(text, string(prefix)) {
			t.Fatalf("case %d: %q is refused", i, prefix)
		}
		mask := make([]uint64, gpt2().Words())
		if err := text.Mask(mask); err != nil {
			t.Fatal(err)
		}
		ids := walks.Opened(mask)
		eos := len(ids) > 0 && ids[len(ids)-1] == endOfText
		if eos {
			ids = ids[:len(ids)-1]
		}
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = strconv.Itoa(id)
		}
		sum := sha256.Sum256([]byte(strings.Join(list, ",")))
		if got := fmt.Sprintf("%x", sum[:8]); got != c.Sha256 || eos != c.EOS {
			t.Errorf("case %d: %s %s after %q: %d ids (%s), end %v; want %d (%s), end %v", i,
				c.Regex, c.Schema, prefix, len(ids), got, eos, c.Count, c.Sha256, c.EOS)
		}
	}
}
