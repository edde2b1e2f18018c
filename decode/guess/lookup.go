package guess

// Prompt lookup: the tokens that followed an earlier occurrence of the newest ones may follow
// again.

import (
	"context"
	"slices"
)

// longestMatch is how many of the newest tokens prompt lookup compares at most. The more of them
// occur before, the more likely is it that the same tokens follow.
const longestMatch = 8

// lookup returns up to n tokens [0 to n] that may follow ids, their position in ids, and how many
// of the newest ids precede them there. It is Hugging Face's PromptLookupCandidateGenerator
// (prompt_lookup_num_tokens n, max_matching_ngram_size longest): it takes the longest n-gram first,
// of its earlier occurrences the leftmost, and the ids that follow it, before an id that ends the
// text.
func lookup(ids []int, n, longest int, ends []int) (draft []int, at, match int) {
	for match = min(longest, len(ids)-1); match > 0; match-- {
		newest := ids[len(ids)-match:]
		for start := range len(ids) - match {
			if !slices.Equal(ids[start:start+match], newest) {
				continue
			}
			at = start + match
			return copied(ids, n, at, ends), at, match
		}
	}
	return nil, 0, 0
}

// copied returns up to n of ids from position at on, before an id that ends the text.
func copied(ids []int, n, at int, ends []int) []int {
	draft := ids[at:min(at+n, len(ids))]
	end := slices.IndexFunc(draft, func(id int) bool { return slices.Contains(ends, id) })
	if end >= 0 {
		draft = draft[:end]
	}
	return draft
}

// A lookupGuesser guesses by prompt lookup.
type lookupGuesser struct {
	most int
	ends []int // ids that end texts
}

// kinds returns a kind for each number of newest tokens that occurred before; the last is for text
// beside a copy.
func (g lookupGuesser) kinds() []odds {
	kinds := make([]odds, longestMatch+2)
	for match := range kinds {
		kinds[match].prior = float64(match) / float64(match+2)
	}
	kinds[longestMatch+1].prior = 0.5
	return kinds
}

// outlook implements guesser. Where the newest token differs from a text that is being copied, the
// guess is the text after that position.
func (g lookupGuesser) outlook(t *attempt, room int) (most, kind int) {
	n := min(room, g.most)
	context := t.Context()
	ids, at, kind := lookup(context, n, longestMatch, g.ends)
	if beside := len(context) - t.back; kind < 1 && t.back > 0 && beside > 0 {
		ids, kind = copied(context, n, beside, g.ends), longestMatch+1
	} else if kind > 0 {
		t.back = len(context) - at
	}
	t.ids = append(t.ids[:0], ids...)
	return len(t.ids), kind
}

func (g lookupGuesser) beginning(*pace, []*attempt) float64 { return 0 }

func (g lookupGuesser) ready(context.Context, *pace, []*attempt, bool) (bool, error) {
	return true, nil
}

func (g lookupGuesser) guess(context.Context, *pace, []*attempt, int) error { return nil }

func (g lookupGuesser) release() {}
