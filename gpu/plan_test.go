package gpu

import (
	"slices"
	"testing"

	"picogpt/internal/engine"
)

// TestAGroupOfAttentionHasRowsOfOneText: each row of a pass is in one group, and no group goes past the
// end of its text.
func TestAGroupOfAttentionHasRowsOfOneText(t *testing.T) {
	pass, text := &engine.Pass{}, []int{} // of each row
	for i, n := range []int{1, leastTiled, queries + 1, leastTiled - 1, 2 * queries, 1, queries - 1} {
		pass.Spans = append(pass.Spans, engine.Span{Tokens: make([]int, n)})
		text = append(text, slices.Repeat([]int{i}, n)...)
	}
	var rows engine.Outputs
	rows.Begin(nil, pass)
	var l plan
	alone, tiles := l.group(pass, &rows, 1), l.group(pass, &rows, queries)
	if len(l.words) != 2*(alone+tiles) {
		t.Fatalf("%d words of %d groups", len(l.words), alone+tiles)
	}
	seen := make([]int, len(text))
	for group := range alone + tiles {
		first, n := int(l.words[2*group]), int(l.words[2*group+1])
		most := queries
		if group < alone {
			most = 1
		}
		if n < 1 || n > most || first+n > len(text) || text[first] != text[first+n-1] {
			t.Fatalf("group %d: %d rows from %d on of texts %v", group, n, first, text)
		}
		for row := first; row < first+n; row++ {
			seen[row]++
		}
	}
	if !slices.Equal(seen, slices.Repeat([]int{1}, len(text))) {
		t.Errorf("rows are in so many groups: %v", seen)
	}
}
