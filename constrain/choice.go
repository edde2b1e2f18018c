package constrain

// Choices: one of several strings.

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// newChoice returns the form of texts that are one of some strings.
func newChoice(v *trie, choices []string, m *meter) (*grammarForm, error) {
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
	n.rule("choice", addChoices(n, sorted, m))
	f, err := newForm("choice", v, n, m)
	return f, m.named("choices", err)
}

// addChoices adds a tree of sorted strings and returns its root.
func addChoices(n *network, sorted []string, m *meter) int32 {
	end, root := n.end(), n.split()
	path, before := []int32{root}, "" // the nodes of the previous string
	for _, s := range sorted {
		if m.failed() != nil {
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
			n.lead(path[len(path)-1], n.read(setOf(r), next))
			path = append(path, next)
		}
		n.lead(path[len(path)-1], end)
		before = s
	}
	return root
}
