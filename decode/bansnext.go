package decode

// Banned strings in a distribution, which goes nowhere and so cannot come back: ids that would
// complete one at once are taken out.

import (
	"slices"
	"strings"
)

// completing returns the ids that would complete a banned string, which begins in the context's new
// tokens or in the id itself.
func (s *Stream) completing() (ids []int, err error) {
	if s.bans == nil {
		return nil, nil
	}
	isNew := min(s.sampler.State.Generated, len(s.context))
	d := s.options.Vocabulary.NewDecoder(s.context[:len(s.context)-isNew])
	tail := ""
	for _, id := range s.context[len(s.context)-isNew:] {
		text, err := d.Push(id)
		if err != nil {
			return nil, err
		}
		tail += text
	}
	silent := map[int]bool{}
	for _, id := range s.limits.endOfText { // which have no text
		silent[id] = true
	}
	for id := range min(s.limits.vocabulary, s.options.Vocabulary.Size()) {
		if silent[id] {
			continue
		}
		text, err := d.Fork().Push(id)
		if err == nil && completes(tail, text, s.options.Ban) { // an error is a gap's
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// completes reports whether a string ends in text, and begins there or in the tail before it.
func completes(tail, text string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		from := max(0, len(tail)-(len(s)-1))
		return strings.Contains(tail[from:]+text, s)
	})
}
