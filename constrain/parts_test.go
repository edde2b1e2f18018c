package constrain

// Parts, against a matcher that tries all ways to read a text.

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
)

// regular are forms of parts, with the regex of their texts.
var regular = []struct {
	part Part
	re   string
}{
	{Pattern(`a[b1]*`), `a[b1]*`},
	{Pattern(`(?s:.)<?`), `(?s:.)<?`},
	{Rules("root ::= \"a\" root \"b\" | \"<\""), `<|a<b|aa<bb|aaa<bbb|aaaa<bbbb|aaaaa<bbbbb|aaaaaa<bbbbbb`},
	{Rules("root ::= [ab] %json {\"enum\":[1,\"a\"]} | %regex /1?</"), `[ab](1|"a")|1?<`},
	{Rules("root ::= root \"b\" | root %regex /1/ | %json {\"enum\":[1,\"a\"]}"), `(1|"a")(b|1)*`},
	{Schema{Text: []byte(`{"enum":[1,11,"a","ab"]}`)}, `1|11|"a"|"ab"`},
	{Schema{Text: []byte(`{"type":"integer","minimum":0}`)}, `0|[1-9][0-9]*`},
	{Schema{Text: []byte(`{"type":"string","minLength":1,"pattern":"^[ab<]*$"}`)}, `"[ab<]+"`},
}

// compiledRegexes are the regexes of regular, for whole texts.
var compiledRegexes = func() (all []func() *regexp.Regexp) {
	for _, r := range regular {
		all = append(all, sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(`\A(?:` + r.re + `)\z`)
		}))
	}
	return all
}()

// readTo returns where a part of a text that begins at from may end.
func readTo(p Part, s string, from int, without []string) (to map[int]bool) {
	to = map[int]bool{}
	all := func(of map[int]bool, p Part, without []string) map[int]bool {
		next := map[int]bool{}
		for at := range of {
			for e := range readTo(p, s, at, without) {
				next[e] = true
			}
		}
		return next
	}
	after := func(of map[int]bool, words []string) map[int]bool {
		next := map[int]bool{}
		for at := range of {
			for _, w := range words {
				if strings.HasPrefix(s[at:], w) {
					next[at+len(w)] = true
				}
			}
		}
		return next
	}
	switch p := p.(type) {
	case Literal:
		return after(map[int]bool{from: true}, []string{string(p)})
	case Free:
		for e := from; e <= len(s); e++ {
			if !slices.ContainsFunc(append(without, p.Without...), func(w string) bool {
				return strings.Contains(s[from:e], w)
			}) {
				to[e] = true
			}
		}
	case Sequence:
		to[from] = true
		for _, part := range p {
			to = all(to, part, without)
		}
	case OneOf:
		for _, part := range p {
			for e := range readTo(part, s, from, without) {
				to[e] = true
			}
		}
	case Repeat:
		at := map[int]bool{from: true}
		if p.Min == 0 {
			to[from] = true
		}
		for i := 1; len(at) > 0 && (p.Max < 0 && i < 40 || i <= p.Max); i++ {
			if i > 1 && p.Between != nil {
				at = all(at, p.Between, without)
			}
			at = all(at, p.Part, without)
			for e := range at {
				if i >= p.Min {
					to[e] = true
				}
			}
		}
	case Tag:
		ends := p.Ends
		if len(ends) == 0 {
			ends = []string{""}
		}
		begun := after(map[int]bool{from: true}, []string{p.Begin})
		return after(all(begun, p.Part, p.Ends), ends)
	case Tags:
		return tagsTo(p, s, from, without, p.AtLeastOne)
	default:
		i := slices.IndexFunc(regular, func(r struct {
			part Part
			re   string
		}) bool {
			return reflect.DeepEqual(r.part, p)
		})
		re := compiledRegexes[i]()
		for e := from; e <= len(s); e++ {
			if re.MatchString(s[from:e]) {
				to[e] = true
			}
		}
	}
	return to
}

func tagsTo(p Tags, s string, from int, without []string, now bool) (to map[int]bool) {
	to = map[int]bool{}
	tag := func(at int, t Tag) {
		for e := range readTo(t, s, at, nil) {
			if to[e] = true; !p.StopAfterFirst {
				for e := range tagsTo(p, s, e, without, false) {
					to[e] = true
				}
			}
		}
	}
	if now {
		for _, t := range p.Tags {
			tag(from, t)
		}
		return to
	}
	for e := from; e <= len(s); e++ {
		longest, trigger := "", false
		for _, w := range append(append([]string{}, p.Without...), without...) {
			if strings.HasSuffix(s[from:e], w) && len(w) > len(longest) {
				longest = w
			}
		}
		shut := longest != ""
		for _, w := range p.Triggers {
			if strings.HasSuffix(s[from:e], w) && len(w) > len(longest) && !shut {
				longest, trigger = w, true
			}
		}
		if longest == "" {
			to[e] = true
			continue
		}
		for _, t := range p.Tags {
			if trigger && strings.HasPrefix(t.Begin, longest) {
				tag(e-len(longest), t)
			}
		}
		return to
	}
	return to
}

// part writes a random part.
func (m maker) part(depth int) Part {
	words := []string{"a", "ab", "<", "<a", "b<", "aa", "1", "aba", `"`}
	some := func(most int) (list []string) {
		for range m.IntN(most + 1) {
			if w := m.one(words...); !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
		return list
	}
	if depth == 0 || m.IntN(5) == 0 {
		if m.IntN(3) == 0 {
			return Literal(m.one("", "a", "ab", "<b", `1"`))
		}
		return regular[m.IntN(len(regular))].part
	}
	switch m.IntN(7) {
	case 0:
		return Free{some(2)}
	case 1:
		return Sequence{m.part(depth - 1), m.part(depth - 1)}
	case 2:
		return OneOf{m.part(depth - 1), m.part(depth - 1)}
	case 3:
		r := Repeat{Part: m.part(depth - 1), Min: m.IntN(3), Max: -1}
		if m.IntN(2) == 0 {
			r.Max = r.Min + m.IntN(2)
		}
		if m.IntN(2) == 0 {
			r.Between = m.part(0)
		}
		return r
	case 4:
		return Tag{m.one(words...), m.part(depth - 1), some(2)}
	}
	t := Tags{Triggers: append(some(1), m.one(words...)), AtLeastOne: m.IntN(4) == 0,
		StopAfterFirst: m.IntN(3) == 0, Without: some(1)}
	for _, w := range t.Triggers {
		t.Tags = append(t.Tags, Tag{w + m.one("", "a", "b", "1<"), m.part(depth - 1), some(2)})
	}
	return t
}

// TestPartsAreReadAsBySearch: of random parts and a small vocabulary, whether texts are complete,
// and what may come next, is what a search finds.
func TestPartsAreReadAsBySearch(t *testing.T) {
	const letters, longest = `ab<1"`, 5
	v, tokens := small(t, "ab", "<a", "b<", "aab", `"a`, `b"`, `a"<`, "11", "1<", `1"a"`, "<ab1", "aa<bb")
	var texts []string
	for layer := []string{""}; len(layer[0]) <= longest; {
		texts = append(texts, layer...)
		var next []string
		for _, s := range layer {
			for _, c := range letters {
				next = append(next, s+string(c))
			}
		}
		layer = next
	}
	m, compared, refused := maker{rand.New(rand.NewPCG(5, 8))}, 0, 0
	for range cases.Of(25, 3000) {
		p := m.part(3)
		c, err := Compose(v, p)
		if err != nil {
			if refused++; !strings.Contains(err.Error(), "complete") &&
				!strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "trigger") {
				t.Errorf("%#v: %v", p, err)
			}
			continue
		}
		viable := map[string]bool{}
		for _, s := range texts {
			if readTo(p, s, 0, nil)[len(s)] {
				for n := range len(s) + 1 {
					viable[s[:n]] = true
				}
			}
		}
		for range 12 {
			text, before := started(t, c), ""
			for range 5 {
				if want := readTo(p, before, 0, nil)[len(before)]; text.Complete() != want {
					t.Fatalf("%#v: %q is complete: %v, want %v", p, before, text.Complete(), want)
				}
				mask := make([]uint64, v.Words())
				if err := text.Mask(mask); err != nil {
					t.Fatalf("%#v: %q: %v", p, before, err)
				}
				var open []int
				for id, b := range tokens[:len(tokens)-1] {
					after := text.Fork().(*Text)
					is, may := mask[id>>6]>>(id&63)&1 != 0, after.Accept(id) == nil
					if next := before + string(b); is != may || viable[next] && !is {
						t.Fatalf("%#v: after %q id %q is open: %v, accepted: %v, some text has it: %v", p, before,
							b, is, may, viable[next])
					} else if is && !viable[next] && m.IntN(8) == 0 {
						for _, id := range c.form.End(after.now()) {
							next += string(tokens[id])
						}
						if !readTo(p, next, 0, nil)[len(next)] {
							t.Fatalf("%#v: after %q id %q is open, and its end makes %q", p, before, b, next)
						}
					}
					if compared++; is && (id > 255 || strings.ContainsRune(letters, rune(id))) {
						open = append(open, id)
					}
				}
				if len(open) == 0 {
					break
				}
				id := open[m.IntN(len(open))]
				if before += string(tokens[id]); text.Accept(id) != nil {
					t.Fatal("it was open")
				}
			}
		}
	}
	t.Logf("%d ids were compared, %d parts refused", compared, refused)
	if compared < 50000 {
		t.Errorf("%d ids were compared, want more", compared)
	}
}
