package constrain

// Choice: one of several strings.

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// Choice returns the constraint that a text is one of some strings. Where one begins with another,
// the text may end or continue after the shorter.
func Choice(v *Vocabulary, choices ...string) (*Constraint, error) {
	if len(choices) == 0 {
		return nil, fmt.Errorf("choice: want at least one string, found none")
	}
	total := 0
	for i, c := range choices {
		if !utf8.ValidString(c) {
			return nil, fmt.Errorf("choice %d: %s is not valid UTF-8", i+1, quote.Short(c, 60))
		}
		if total += len(c); total > 1<<20 {
			return nil, fmt.Errorf("choices: want 1 MiB at most")
		}
	}
	sorted := append([]string(nil), choices...)
	sort.Strings(sorted)
	n := newNetwork(1 << 21)
	end := n.add(netNode{kind: endNode})
	n.rules = []netRule{{"choice", n.choices(sorted, end)}}
	m, err := newMachine("choice", v, n)
	if err != nil {
		return nil, err
	}
	return &Constraint{m}, nil
}

// choices adds a tree of sorted strings and returns its root.
func (n *network) choices(sorted []string, end int32) int32 {
	root := n.split()
	path, before := []int32{root}, "" // the nodes along the newest string
	for _, s := range sorted {
		same := 0
		for same < len(s) && same < len(before) && s[same] == before[same] {
			same++
		}
		for same > 0 && same < len(s) && !utf8.RuneStart(s[same]) {
			same--
		}
		if same == len(before) && same == len(s) && same > 0 {
			continue
		}
		depth := utf8.RuneCountInString(s[:same])
		path = path[:depth+1]
		for _, r := range s[same:] {
			next := n.split()
			at := path[len(path)-1]
			read := n.read(charset{{r, r}}, next)
			n.nodes[at].more = append(n.nodes[at].more, read)
			path = append(path, next)
		}
		at := path[len(path)-1]
		n.nodes[at].more = append(n.nodes[at].more, end)
		before = s
	}
	return root
}
