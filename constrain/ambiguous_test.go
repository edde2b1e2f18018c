package constrain

// Grammars that can be read in many ways, and rules that begin with themselves: random ones beside
// a recogniser of their own, and long texts.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// A branch is a part of a random grammar: letters, a rule, or sequences, that comes from min to max
// times (-1: any number).
type branch struct {
	letters   string
	rule      int
	sequences [][]branch
	min, max  int
}

// branches makes alternatives of rules below n.
func (m maker) branches(n, depth int) (all [][]branch) {
	for range 1 + m.IntN(3) {
		var s []branch
		for range m.IntN(4) {
			b := branch{rule: -1, min: 1, max: 1}
			switch k := m.IntN(8); {
			case k < 3:
				b.letters = m.one("a", "b", "c", "a", "b", "ab", "")
			case k < 6 || depth == 0:
				b.rule = m.IntN(n)
			default:
				b.sequences = m.branches(n, depth-1)
			}
			if m.IntN(4) == 0 {
				b.min, b.max = m.IntN(3), m.IntN(5)-1
				if b.max >= 0 {
					b.max = max(b.max, b.min)
				}
			}
			s = append(s, b)
		}
		all = append(all, s)
	}
	return all
}

// branchText writes alternatives in GBNF.
func branchText(all [][]branch) string {
	var texts []string
	for _, s := range all {
		text := ` ""`
		for _, b := range s {
			switch {
			case b.sequences != nil:
				text += " (" + branchText(b.sequences) + ")"
			case b.rule >= 0:
				text += " " + ruleName(b.rule)
			default:
				text += fmt.Sprintf(" %q", b.letters)
			}
			if most := fmt.Sprint(b.max); b.min != 1 || b.max != 1 {
				text += fmt.Sprintf("{%d,%s}", b.min, strings.TrimPrefix(most, "-1"))
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " |")
}

func ruleName(i int) string {
	if i == 0 {
		return "root"
	}
	return fmt.Sprintf("r%d", i)
}

// A chart says of each rule and part of a text how many letters must follow the text so that the
// rule reads both: row i, column j, from i on up to j, where letters that follow are read at the
// end. It begins with the largest numbers, and its numbers become less until none does.
type chart struct {
	text  string
	rules [][][]branch
	cost  [][][]int
}

const unread = math.MaxInt / 4

// sequence returns the costs of the ends after beginnings with some costs.
func (c *chart) sequence(from []int, s []branch) []int {
	for _, b := range s {
		once := func(from []int) []int {
			to := slices.Repeat([]int{unread}, len(from))
			for i, before := range from {
				if before >= unread {
					continue
				}
				var ends []int
				switch {
				case b.sequences != nil:
					ends = c.ends(i, b.sequences)
				case b.rule >= 0:
					ends = c.cost[b.rule][i]
				default:
					ends = slices.Repeat([]int{unread}, len(from))
					at, more := i, 0
					for k := 0; k < len(b.letters) && at >= 0; k++ {
						switch {
						case at == len(c.text):
							more++
						case c.text[at] == b.letters[k]:
							at++
						default:
							at = -1
						}
					}
					if at >= 0 {
						ends[at] = more
					}
				}
				for j, more := range ends {
					to[j] = min(to[j], before+more)
				}
			}
			return to
		}
		for range b.min {
			from = once(from)
		}
		for n := b.min; n != b.max; n++ {
			next := once(from)
			same := true
			for j := range next {
				next[j] = min(next[j], from[j])
				same = same && next[j] == from[j]
			}
			if from = next; same {
				break
			}
		}
	}
	return from
}

// ends returns the costs of the ends of what begins at i.
func (c *chart) ends(i int, all [][]branch) []int {
	least := slices.Repeat([]int{unread}, len(c.text)+1)
	for _, s := range all {
		from := slices.Repeat([]int{unread}, len(c.text)+1)
		from[i] = 0
		for j, cost := range c.sequence(from, s) {
			least[j] = min(least[j], cost)
		}
	}
	return least
}

// needs returns how many letters must follow a text, unread or more if it is none.
func needs(rules [][][]branch, text string) int {
	c := &chart{text: text, rules: rules}
	for range rules {
		c.cost = append(c.cost, nil)
		for range len(text) + 1 {
			c.cost[len(c.cost)-1] = append(c.cost[len(c.cost)-1], slices.Repeat([]int{unread}, len(text)+1))
		}
	}
	for changed := true; changed; {
		changed = false
		for r, all := range rules {
			for i := range len(text) + 1 {
				if ends := c.ends(i, all); !slices.Equal(ends, c.cost[r][i]) {
					c.cost[r][i], changed = ends, true
				}
			}
		}
	}
	return c.cost[0][0][len(text)]
}

// TestRandomRulesAreThoseOfAChart: what is open after a text, whether it may end, and how many
// letters it needs, is what a chart says: for all texts of a few letters.
func TestRandomRulesAreThoseOfAChart(t *testing.T) {
	v, _ := small(t)
	m := maker{rand.New(rand.NewPCG(14, 3))}
	checked, empty := 0, 0
	for range cases.Of(200, 20000) {
		var rules [][][]branch
		text, n := "", 1+m.IntN(4)
		for i := range n {
			rules = append(rules, m.branches(n, 1))
			text += ruleName(i) + " ::=" + branchText(rules[i]) + "\n"
		}
		c, err := Grammar(v, text)
		if needs(rules, "") >= unread {
			if empty++; err == nil || !strings.Contains(err.Error(), "no text can match") {
				t.Errorf("%s has no texts: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var follow func(m *Text, before string)
		follow = func(m *Text, before string) {
			want := needs(rules, before)
			if checked++; m.Complete() != (want == 0) {
				t.Fatalf("%s: %q: complete %v, and it needs %d", text, before, m.Complete(), want)
			}
			if least, ok := m.Least(); !ok || least != want {
				t.Fatalf("%s: %q needs %d, %v; want %d", text, before, least, ok, want)
			}
			end := before
			for _, id := range c.form.End(m.now()) {
				end += string(v.Bytes(id))
			}
			if len(end) != len(before)+want || needs(rules, end) != 0 {
				t.Fatalf("%s: %q needs %d and ends %q", text, before, want, end)
			}
			mask := make([]uint64, v.Words())
			if err := m.Mask(mask); err != nil {
				t.Fatalf("%s: %q: %v", text, before, err)
			}
			for _, letter := range "abc" {
				is := mask[letter>>6]>>(letter&63)&1 != 0
				if want := needs(rules, before+string(letter)) < unread; is != want {
					t.Fatalf("%s: %q, then %c: open %v, want %v", text, before, letter, is, want)
				}
				after := m.Fork().(*Text)
				if err := after.Accept(int(letter)); (err == nil) != is {
					t.Fatalf("%s: %q, then %c: open %v, then %v", text, before, letter, is, err)
				}
				if is && len(before) < 4 {
					follow(after, before+string(letter))
				}
			}
		}
		follow(started(t, c), "")
	}
	if checked < 2000 || empty < 10 {
		t.Errorf("%d texts of rules were checked, and %d rules without: want more", checked, empty)
	}
}

// TestAmbiguousTextsAreLong: texts that can be read in very many ways have as many tokens as a
// model takes, with a bound and without.
func TestAmbiguousTextsAreLong(t *testing.T) {
	v := gpt2()
	for _, rules := range []string{
		"root ::= s\ns ::= \"a\" s s | \"a\" s | \"a\"",
		"root ::= s\ns ::= s s | \"a\" | \"\"",
		"root ::= s\ns ::= \"\" | s s \"a\"",
		"root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [0-9]+",
		"root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"a\" | \"b\" | \"\"",
		"root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"",
		"root ::= l\nl ::= \"if \" l (\" else \" l)? | \"x\"",
	} {
		c := compiled(t, v, "grammar", rules)
		for turn := range 4 {
			most := 1024 / (1 + turn/2) // long tokens, then any
			r, text := rand.New(rand.NewPCG(uint64(turn), 8)), started(t, c)
			if turn%2 == 1 {
				text.Within(most)
			}
			open, n := make([]uint64, v.Words()), 0
			for ; n < most; n++ {
				if err := text.Mask(open); err != nil {
					t.Fatalf("%s: after %d tokens: %v", rules, n, err)
				}
				ids := walks.Opened(open)
				ids = slices.DeleteFunc(ids, func(id int) bool { return id == walks.EndOfText })
				if len(ids) == 0 {
					break
				}
				id := ids[r.IntN(len(ids))]
				if longer := func(a, b int) int { return len(v.Bytes(a)) - len(v.Bytes(b)) }; turn < 2 {
					id = slices.MaxFunc(ids, longer)
				}
				if err := text.Accept(id); err != nil {
					t.Fatalf("%s: after %d tokens: %v", rules, n, err)
				}
			}
			if turn%2 == 1 && !text.Complete() || !strings.Contains(rules, `"d"`) && n < most/3 {
				t.Errorf("%s: turn %d: %d tokens, complete %v", rules, turn, n, text.Complete())
			}
		}
	}
}

func TestGrammarsThatGrowTooAmbiguousSaySo(t *testing.T) {
	v, _ := small(t)
	c := compiled(t, v, "grammar", `root ::= "b" | "a" root | r2
r1 ::= "b" "c" r2 | root "ab"* | r2{2,3} r1{0,3}
r2 ::= (r1 | "ab" root | r3) | ("" | r2 r2 | "ab" r3){1,3}
r3 ::= "c" r1 | r3 r2 ("a" "b" | r3 "ab" | "") | root (r2 | r2{2} | r1 "")`)
	text, r := started(t, c), rand.New(rand.NewPCG(1, 1))
	var err error
	for n := 0; n < 1000 && err == nil; n++ {
		err = text.Accept('a' + r.IntN(3))
		if _, shut := err.(*NotOpenError); shut {
			err = nil
		}
	}
	if err == nil || !strings.Contains(err.Error(), "more than 8192 places or 1048576 steps") {
		t.Errorf("error %v, want one about places", err)
	}
}
