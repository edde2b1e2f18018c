package batch

// A tree of texts, by their tokens: which of them has most in common with a prompt.

// A branch is a run of tokens that all texts beyond it have in common, from some place on. The root
// of a tree has no tokens.
type branch struct {
	up     *branch // nil: the root
	from   int
	tokens []int
	next   map[int]*branch // by their first tokens
	leaf   *origin         // what ends with it, or nil: then there are several in next
}

func newTree() *branch { return &branch{next: map[int]*branch{}} }

func (b *branch) end() int { return b.from + len(b.tokens) }

// walk follows tokens from the root as far as the tree has them: into the branch at, and so many of
// all tokens.
func (b *branch) walk(tokens []int) (at *branch, n int) {
	for {
		n += common(b.tokens, tokens[n:])
		if n < b.end() || n == len(tokens) || b.next[tokens[n]] == nil {
			return b, n
		}
		b = b.next[tokens[n]]
	}
}

// find returns something that has the most tokens in common, and how many; nil where the first one
// is not there.
func (b *branch) find(tokens []int) (f *origin, n int) {
	at, n := b.walk(tokens)
	if n == 0 {
		return nil, 0
	}
	return at.some(), n
}

// some returns anything that begins with all tokens up to the branch's end.
func (b *branch) some() *origin {
	for b.leaf == nil {
		for _, next := range b.next {
			b = next
			break
		}
	}
	return b.leaf
}

// add adds what is found by its tokens, and returns its branch; nil if there is something already
// that has the same.
func (b *branch) add(f *origin) *branch {
	at, n := b.walk(f.tokens)
	if n < at.end() {
		at = at.split(n)
	}
	if n < len(f.tokens) {
		to := &branch{up: at, from: n, tokens: f.tokens[n:], next: map[int]*branch{}}
		at.next[f.tokens[n]] = to
		at = to
	}
	if at.leaf != nil {
		return nil
	}
	at.leaf = f
	return at
}

// split cuts a branch before its token n of all, and returns the first part.
func (b *branch) split(n int) *branch {
	first := b.tokens[:n-b.from]
	to := &branch{up: b.up, from: b.from, tokens: first, next: map[int]*branch{}}
	b.up.next[first[0]] = to
	b.up, b.from, b.tokens = to, n, b.tokens[len(first):]
	to.next[b.tokens[0]] = b
	return to
}

// remove takes what ends with the branch away, and what nothing else needs of the tree.
func (b *branch) remove() {
	b.leaf = nil
	for b.up != nil && b.leaf == nil && len(b.next) == 0 {
		delete(b.up.next, b.tokens[0])
		b = b.up
	}
	if b.up == nil || b.leaf != nil || len(b.next) > 1 {
		return
	}
	for _, next := range b.next { // the one that is left takes its place
		next.tokens = next.some().tokens[b.from:next.end()]
		next.up, next.from = b.up, b.from
		b.up.next[next.tokens[0]] = next
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
