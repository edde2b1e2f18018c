package batch

// A radix tree of texts: which of them has the most tokens in common with a prompt.

// A node is a run of tokens that all texts below it have in common. The root has no tokens.
type node struct {
	parent *node // nil: the root
	from   int   // tokens before the run
	tokens []int
	next   map[int]*node // by their first tokens
	leaf   *prefix       // the one that ends here, or nil: then there are several in next
}

func newTree() *node { return &node{next: map[int]*node{}} }

// end returns how many tokens there are up to the end of the node's run.
func (n *node) end() int { return n.from + len(n.tokens) }

// walk follows tokens from the root as far as the tree has them. It returns the node at which it
// ends, and how many tokens it has followed.
func (n *node) walk(tokens []int) (at *node, held int) {
	for {
		held += common(n.tokens, tokens[held:])
		if held < n.end() || held == len(tokens) || n.next[tokens[held]] == nil {
			return n, held
		}
		n = n.next[tokens[held]]
	}
}

// find returns a prefix that has the most tokens in common, and how many; nil if none has any.
func (n *node) find(tokens []int) (p *prefix, held int) {
	at, held := n.walk(tokens)
	if held == 0 {
		return nil, 0
	}
	return at.any(), held
}

// any returns a prefix at the node or below it.
func (n *node) any() *prefix {
	for n.leaf == nil {
		for _, next := range n.next {
			n = next
			break
		}
	}
	return n.leaf
}

// add adds a prefix and returns its node: nil if the tree has one with the same tokens.
func (n *node) add(p *prefix) *node {
	at, held := n.walk(p.tokens)
	if held < at.end() {
		at = at.split(held)
	}
	if held < len(p.tokens) {
		to := &node{parent: at, from: held, tokens: p.tokens[held:], next: map[int]*node{}}
		at.next[p.tokens[held]] = to
		at = to
	}
	if at.leaf != nil {
		return nil
	}
	at.leaf = p
	return at
}

// split cuts the node's run after so many tokens from the root, and returns the node of its first
// part.
func (n *node) split(end int) *node {
	first := n.tokens[:end-n.from]
	to := &node{parent: n.parent, from: n.from, tokens: first, next: map[int]*node{}}
	n.parent.next[first[0]] = to
	n.parent, n.from, n.tokens = to, end, n.tokens[len(first):]
	to.next[n.tokens[0]] = n
	return to
}

// remove removes the prefix that ends at the node, and the nodes that no other prefix needs.
func (n *node) remove() {
	n.leaf = nil
	for n.parent != nil && n.leaf == nil && len(n.next) == 0 {
		delete(n.parent.next, n.tokens[0])
		n = n.parent
	}
	if n.parent == nil || n.leaf != nil || len(n.next) > 1 {
		return
	}
	for _, next := range n.next { // the only one takes the node's place
		next.tokens = next.any().tokens[n.from:next.end()]
		next.parent, next.from = n.parent, n.from
		n.parent.next[next.tokens[0]] = next
	}
}

// common returns how many tokens a and b have in common at the beginning.
func common(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
