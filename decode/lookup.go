package decode

// Prompt lookup: what followed the last time that the newest tokens occurred may follow again.

import "slices"

// longestMatch bounds how many of the newest tokens prompt lookup compares. The more of them occur
// before, the more likely is it that they go on in the same way.
const longestMatch = 8

// lookup returns up to n tokens [0 to n] that may follow ids, and how many of the newest ids occur
// before them. It is Hugging Face's PromptLookupCandidateGenerator (prompt_lookup_num_tokens n,
// max_matching_ngram_size longest): the longest n-gram first, of its earlier occurrences the
// leftmost, and what follows that, cut before an id that ends the text.
func lookup(ids []int, n, longest int, ends []int) (draft []int, match int) {
	for match = min(longest, len(ids)-1); match > 0; match-- {
		newest := ids[len(ids)-match:]
		for start := range len(ids) - match {
			if !slices.Equal(ids[start:start+match], newest) {
				continue
			}
			draft = ids[start+match:]
			draft = draft[:min(n, len(draft))]
			end := slices.IndexFunc(draft, func(id int) bool { return slices.Contains(ends, id) })
			if end >= 0 {
				draft = draft[:end]
			}
			return draft, match
		}
	}
	return nil, 0
}
