package batch

// The radix tree compared with a list of texts.

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkTree fails unless every node is consistent and needed.
func checkTree(t *testing.T, n *node, root bool) (leaves int) {
	t.Helper()
	if n.leaf != nil {
		leaves++
		if len(n.leaf.tokens) != n.end() {
			t.Fatalf("a leaf of %d tokens at %d", len(n.leaf.tokens), n.end())
		}
	}
	if !root && (len(n.tokens) == 0 || n.leaf == nil && len(n.next) < 2) {
		t.Fatalf("a node with %d tokens, %d nodes below and leaf %v", len(n.tokens), len(n.next),
			n.leaf)
	}
	for first, next := range n.next {
		if next.parent != n || next.from != n.end() || next.tokens[0] != first ||
			!slices.Equal(next.any().tokens[next.from:next.end()], next.tokens) {
			t.Fatalf("node %v from %d, under %v", next.tokens, next.from, n.tokens)
		}
		leaves += checkTree(t, next, false)
	}
	return leaves
}

func TestTheTreeFindsWhatAListFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range sized(100, 5000) {
		tree := newTree()
		list := map[*prefix]*node{}
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
				f := &prefix{tokens: tokens}
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
