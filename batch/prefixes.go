package batch

// The prefix cache: a text that gets a slot begins with the longest prefix of its tokens that other
// texts have evaluated. A radix tree finds it.

import (
	"container/list"
	"slices"

	"picogpt/decode"
	"picogpt/model"
)

// A prefixCache has the sessions of texts that are written, and of some that have ended.
type prefixCache struct {
	trees  map[family]*node
	live   map[*task]*prefix // of texts that are written
	stored list.List         // of *prefix, of texts that have ended; the last used at the end
	bytes  int64             // Options.PrefixBytes
	least  int               // tokens in common that are worth a fork, and waiting for
}

const (
	leastShared = 16   // fewer rows add little to a step
	mostStored  = 1024 // bounds the memory of the trees
	mostTop     = 20   // alternatives of each token that are stored
)

// A family is texts that share prefixes: of one model and salt, and, where scores of the prompt are
// wanted, with as many alternatives of each token.
type family struct {
	model *model.Model
	salt  string
	top   int // alternatives, or unscored
}

// unscored is the top of a family in which no scores are wanted.
const unscored = -1

// A prefix is a session that texts may begin with.
type prefix struct {
	tokens    []int
	taken     []part           // of the session, what was taken over from other texts
	client    string           // for which the rest was evaluated
	live      *task            // the text that is written, whose session it is; nil: it has ended
	evaluated decode.Evaluated // of a text that has ended
	element   *list.Element    // of stored, while it is there
	entries   []entry
}

// An entry is where a prefix is found: a node of a family's tree.
type entry struct {
	family family
	*node
}

func newPrefixCache(bytes int64) prefixCache {
	return prefixCache{trees: map[family]*node{}, live: map[*task]*prefix{}, bytes: bytes,
		least: leastShared}
}

// families returns those that may use the prefixes of a request's texts.
func (r *request) families() []family {
	if r.apart {
		return nil
	}
	if !r.scored || r.top > mostTop {
		return []family{{r.model, r.salt, unscored}}
	}
	return []family{{r.model, r.salt, r.top}, {r.model, r.salt, unscored}}
}

// addLive adds a text that is written, unless the cache has more of its tokens than it holds.
func (c *prefixCache) addLive(t *task) {
	p := &prefix{tokens: slices.Clone(t.Context()), taken: t.taken, client: t.request.client,
		live: t}
	for _, in := range t.request.families() {
		if tree := c.trees[in]; tree != nil {
			if _, n := tree.find(p.tokens); n > t.Pending().Held+1 {
				continue
			}
		}
		c.add(p, in)
	}
	if len(p.entries) > 0 {
		c.live[t] = p
	}
}

// removeLive removes a text that is no longer written.
func (c *prefixCache) removeLive(t *task) {
	if p := c.live[t]; p != nil {
		c.remove(p, everywhere)
		delete(c.live, t)
	}
}

// store takes the session of a text that is no longer written.
func (c *prefixCache) store(t *task) {
	if c.removeLive(t); c.bytes <= 0 {
		return
	}
	left := t.HandOver()
	if s := left.Session; s.Logits() != nil { // nobody will need them
		s.Truncate(s.Len() - 1)
	}
	p := &prefix{tokens: left.Session.Tokens(), taken: t.taken, client: t.request.client,
		evaluated: left}
	p.element = c.stored.PushBack(p)
	if len(p.tokens) >= c.least {
		for _, in := range t.request.families() {
			c.supersede(p, in)
		}
	}
	if len(p.entries) == 0 {
		c.drop(p)
	}
}

// supersede adds a stored prefix to a family and removes the stored prefixes that it begins with.
// If another prefix begins with it, it is not added, and that one counts as used.
func (c *prefixCache) supersede(p *prefix, in family) {
	if tree := c.trees[in]; tree != nil {
		if other, n := tree.find(p.tokens); n == len(p.tokens) {
			c.touch(other)
			return
		}
	}
	c.add(p, in)
	var shorter []*prefix
	for n := p.entries[len(p.entries)-1].parent; n != nil; n = n.parent {
		if n.leaf != nil && n.leaf.element != nil {
			shorter = append(shorter, n.leaf)
		}
	}
	for _, p := range shorter {
		c.remove(p, func(of family) bool { return of == in })
	}
}

// add adds a prefix to a family, unless one with the same tokens is there.
func (c *prefixCache) add(p *prefix, in family) {
	tree := c.trees[in]
	if tree == nil {
		tree = newTree()
		c.trees[in] = tree
	}
	if at := tree.add(p); at != nil {
		p.entries = append(p.entries, entry{in, at})
	}
}

// remove removes a prefix from the families for which from returns true. A stored prefix without a
// family is dropped.
func (c *prefixCache) remove(p *prefix, from func(family) bool) {
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool {
		if !from(e.family) {
			return false
		}
		if e.remove(); len(c.trees[e.family].next) == 0 {
			delete(c.trees, e.family)
		}
		return true
	})
	if p.element != nil && len(p.entries) == 0 {
		c.drop(p)
	}
}

func everywhere(family) bool { return true }

// drop gives back the memory of a stored prefix.
func (c *prefixCache) drop(p *prefix) {
	c.stored.Remove(p.element)
	p.element = nil
	p.evaluated.Session.Release()
}

// touch marks a prefix as used.
func (c *prefixCache) touch(p *prefix) {
	if p.element != nil {
		c.stored.MoveToBack(p.element)
	}
}

// evict drops the least recently used stored prefix, and reports whether there was one.
func (c *prefixCache) evict() bool {
	oldest := c.stored.Front()
	if oldest != nil {
		c.remove(oldest.Value.(*prefix), everywhere)
	}
	return oldest != nil
}

// dropModel drops the stored prefixes of a model.
func (c *prefixCache) dropModel(m *model.Model) {
	for e := c.stored.Front(); e != nil; {
		p := e.Value.(*prefix)
		if e = e.Next(); p.evaluated.Session.Model() == m {
			c.remove(p, everywhere)
		}
	}
}

// evictAll drops all stored prefixes.
func (c *prefixCache) evictAll() {
	for c.evict() {
	}
}

// trim drops stored prefixes that are beyond Options.PrefixBytes.
func (b *Batcher) trim() {
	c := &b.prefixes
	for c.stored.Len() > mostStored || c.stored.Len() > 0 && b.model.CacheBytes() > c.bytes {
		c.evict()
	}
}

// makeRoom drops stored prefixes until that frees memory, and then the prompts of samples of which
// none has a slot, as where a slow caller has no room for more. It reports whether memory is free.
func (b *Batcher) makeRoom() bool {
	before := b.model.CacheBytes()
	for b.prefixes.evict() {
		if b.model.CacheBytes() < before {
			return true
		}
	}
	for _, r := range b.requests {
		if r.running == 0 && r.parent != nil {
			b.park(r.parent, true)
			r.parent = nil
			if b.model.CacheBytes() < before {
				return true
			}
		}
	}
	return false
}

// matchAll looks for prefixes of the texts that have just been given a slot. A text whose prefix is
// about to be evaluated for another one waits for that.
func (b *Batcher) matchAll() {
	for _, t := range b.running {
		if t.matched {
			continue
		}
		p := t.Pending()
		if t.request.lent || t.request.apart || p.Held > 0 || p.Rows+p.Guide == 0 {
			t.matched = true
		} else {
			b.match(t)
		}
		t.lost()
	}
}

// lost counts that most of what was evaluated for a text is gone, now that it has a slot again.
func (t *task) lost() {
	if !t.matched || t.had == 0 {
		return
	}
	if p := t.Pending(); p.Held < t.had/2 || p.Guide > 1 {
		t.turns++
	}
	t.had = 0
}

// match makes a text take over the longest evaluated prefix, unless a longer one is being
// evaluated.
func (b *Batcher) match(t *task) {
	c, n := &b.prefixes, 0
	t.taken = nil
	p, most := c.match(t)
	if p != nil {
		now, tokens := p.now(), t.Context()[:most]
		held := common(now.Session.Tokens(), tokens)
		if most >= c.least && held < most && p.coming(tokens) {
			return
		}
		if held >= c.least {
			n = held
			t.TakeOver(now, n)
			t.taken = p.parts(n)
			c.touch(p)
		}
	}
	t.matched = true
	b.countMatch(t, n)
	c.addLive(t)
}

// match returns the prefix that has the most in common with a text, and how many of its tokens the
// text can use when they are evaluated.
func (c *prefixCache) match(t *task) (p *prefix, n int) {
	r := t.request
	in := family{r.model, r.salt, unscored}
	if r.scored && r.echo == nil { // else its scores are there already
		if in.top = r.top; r.top > mostTop {
			return nil, 0
		}
	}
	tree := c.trees[in]
	if tree == nil {
		return nil, 0
	}
	if p, n = tree.find(t.Context()); p == nil {
		return nil, 0
	}
	n = t.Usable(p.now(), n)
	if p.live != nil {
		n = min(n, len(p.live.ahead()))
	}
	return p, n
}

// countMatch counts how many tokens of a text were found.
func (b *Batcher) countMatch(t *task, n int) {
	if t.request.counted {
		return // the text was suspended
	}
	t.request.counted = true
	b.counters.prefixQueries.Add(int64(len(t.Context())))
	b.counters.prefixHits.Add(int64(n))
	t.request.progress.Cached = n
	t.request.progress.Own = of(t.taken, t.request.client)
}

// A part is tokens of a session, up to an end, that were evaluated for one client.
type part struct {
	end    int
	client string
}

// parts returns for whom the first n tokens of a prefix were evaluated.
func (p *prefix) parts(n int) (all []part) {
	for _, part := range append(slices.Clone(p.taken), part{n, p.client}) {
		part.end = min(part.end, n)
		if last := len(all) - 1; last >= 0 && all[last].client == part.client {
			all[last].end = part.end
		} else {
			all = append(all, part)
		}
		if part.end == n {
			break
		}
	}
	return all
}

// of returns how many tokens of parts were evaluated for a client.
func of(parts []part, client string) (n int) {
	begin := 0
	for _, part := range parts {
		if part.client == client {
			n += part.end - begin
		}
		begin = part.end
	}
	return n
}

// now returns the evaluated part of a prefix.
func (p *prefix) now() decode.Evaluated {
	if p.live != nil {
		return p.live.Evaluated()
	}
	return p.evaluated
}

// coming reports whether all of tokens will be evaluated for the text of a prefix, whose caller is
// not slow.
func (p *prefix) coming(tokens []int) bool {
	return p.live != nil && p.live.request.room() &&
		common(p.live.ahead(), tokens) == len(tokens)
}

// ahead returns the tokens of a text's context that are evaluated before its next token. Its
// session may hold more: guesses that were right.
func (t *task) ahead() []int {
	p := t.Pending()
	return t.Context()[:min(p.Held+p.Rows, len(t.Context()))]
}

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
