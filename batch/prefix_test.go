package batch

// The tree of texts against a list of them.

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkTree fails unless every branch is as it says, and needed.
func checkTree(t *testing.T, b *branch, root bool) (leaves int) {
	t.Helper()
	if b.leaf != nil {
		leaves++
		if len(b.leaf.tokens) != b.end() {
			t.Fatalf("a leaf of %d tokens at %d", len(b.leaf.tokens), b.end())
		}
	}
	if !root && (len(b.tokens) == 0 || b.leaf == nil && len(b.next) < 2) {
		t.Fatalf("a branch with %d tokens, %d branches and leaf %v", len(b.tokens), len(b.next),
			b.leaf)
	}
	for first, next := range b.next {
		if next.up != b || next.from != b.end() || next.tokens[0] != first ||
			!slices.Equal(next.some().tokens[next.from:next.end()], next.tokens) {
			t.Fatalf("branch %v from %d, under %v", next.tokens, next.from, b.tokens)
		}
		leaves += checkTree(t, next, false)
	}
	return leaves
}

func TestTheTreeFindsWhatAListFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range sized(100, 5000) {
		tree := newTree()
		list := map[*origin]*branch{}
		for range 60 {
			tokens := make([]int, 1+random.IntN(8))
			for i := range tokens {
				tokens[i] = random.IntN(2)
			}
			if random.IntN(3) == 0 {
				for f, at := range list {
					at.remove()
					delete(list, f)
					break
				}
			} else {
				f := &origin{tokens: tokens}
				at := tree.add(f)
				there := false
				for other := range list {
					there = there || slices.Equal(other.tokens, tokens)
				}
				if there != (at == nil) {
					t.Fatalf("%v is there: %v; added: %v", tokens, there, at != nil)
				}
				if at != nil {
					list[f] = at
				}
			}
			if n := checkTree(t, tree, true); n != len(list) {
				t.Fatalf("the tree has %d, want %d", n, len(list))
			}
			tokens = make([]int, 1+random.IntN(8))
			for i := range tokens {
				tokens[i] = random.IntN(2)
			}
			want := 0
			for f := range list {
				want = max(want, common(f.tokens, tokens))
			}
			f, n := tree.find(tokens)
			if n != want || n > 0 && common(f.tokens, tokens) != n || n == 0 && f != nil {
				t.Fatalf("%v: %v, %d tokens, want %d", tokens, f, n, want)
			}
		}
	}
}
