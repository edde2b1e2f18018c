package grammar

// Choices: texts that are one of several strings.

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
)

const maxChoices = 1 << 20 // bytes

// Choice returns the network of texts that are one of some strings.
func Choice(choices []string, m *automaton.Meter) (*automaton.Network, error) {
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
		if err := m.Charge(48 + len(c)); err != nil {
			return nil, fmt.Errorf("choices: %w", err)
		}
	}
	sorted := slices.Clone(choices)
	slices.Sort(sorted)
	n := automaton.NewNetwork(2*maxChoices, m)
	n.Rule("choice", addChoices(n, sorted, m))
	return n, nil
}

// addChoices adds a tree of sorted strings and returns its root.
func addChoices(n *automaton.Network, sorted []string, m *automaton.Meter) int32 {
	end, root := n.End(), n.Split()
	path, before := []int32{root}, "" // the nodes of the previous string
	for _, s := range sorted {
		if m.Failed() != nil {
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
			next := n.Split()
			n.Lead(path[len(path)-1], n.Read(automaton.SetOf(r), next))
			path = append(path, next)
		}
		n.Lead(path[len(path)-1], end)
		before = s
	}
	return root
}
