package batch

// The prefix cache: sessions that texts may begin with, found by their tokens.

import (
	"container/list"
	"slices"

	"picogpt/decode"
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

// A family is texts that share prefixes: of one salt, and, where scores of the prompt are wanted,
// with as many alternatives of each token.
type family struct {
	salt string
	top  int // alternatives, or unscored
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
		return []family{{r.salt, unscored}}
	}
	return []family{{r.salt, r.top}, {r.salt, unscored}}
}

// addLive adds a text that is written, unless the cache has more of its tokens than it holds.
func (c *prefixCache) addLive(t *task) {
	p := &prefix{tokens: slices.Clone(t.Context()), taken: t.taken, client: t.request.client, live: t}
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
