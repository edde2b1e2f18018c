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
	n := automaton.NewNetwork(2*maxChoices, m)
	root, end := n.Split(), n.End()
	n.Rule("choice", root)
	n.Words(root, choices, slices.Repeat([]int32{end}, len(choices)))
	return n, nil
}
