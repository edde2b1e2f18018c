package constrain

// Choice: one of several strings.

import (
	"context"
	"fmt"
	"sort"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// Choice returns the constraint that a text is one of some strings. If one string is the beginning
// of another, the text may end after the shorter one or continue.
func Choice(v *Vocabulary, choices ...string) (*Constraint, error) {
	return Compiler{Vocabulary: v}.Choice(context.Background(), choices...)
}

func choice(v *Vocabulary, choices []string, m *meter) (*Constraint, error) {
	if len(choices) == 0 {
		return nil, fmt.Errorf("choice: want at least one string, found none")
	}
	total := 0
	for i, c := range choices {
		if !utf8.ValidString(c) {
			return nil, fmt.Errorf("choice %d: %s is not valid UTF-8", i+1, quote.Short(c, 60))
		}
		if total += len(c); total > maxChoices {
			return nil, fmt.Errorf("choices: want %d bytes at most, found more", maxChoices)
		}
		if err := m.charge(48 + len(c)); err != nil {
			return nil, fmt.Errorf("choices: %w", err)
		}
	}
	sorted := append([]string(nil), choices...)
	sort.Strings(sorted)
	n := newNetwork(2*maxChoices, m)
	end := n.add(netNode{kind: endNode})
	n.rules = []netRule{{"choice", n.choices(sorted, end)}}
	made, err := newMachine("choice", v, n, m)
	if err != nil {
		return nil, m.named("choices", err)
	}
	return &Constraint{a: made}, nil
}

// choices adds a tree of sorted strings and returns its root.
func (n *network) choices(sorted []string, end int32) int32 {
	root := n.split()
	path, before := []int32{root}, "" // the nodes of the previous string
	for _, s := range sorted {
		if n.meter.failed() != nil {
			break
		}
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
