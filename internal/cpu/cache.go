package cpu

// The cache of one session: pages of 64 positions, which forks share until one of them writes.

import (
	"slices"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// A cache holds the pages of one session. Page i holds the keys and values of positions [64·i,
// 64·i+64) for all layers. Only the last page may have room for fewer than 64 positions. Outside an
// evaluation the session has exactly as many pages as its positions need.
type cache struct {
	pool *pool
	held int // positions

	pages        []*page
	keys, values []kernels.KV // those of the pages, in the form for the kernels

	before   []*page // while a reservation is open: pages[first:] before it
	first    int
	reserved int // while a reservation is open: the number of positions after Commit
}

var _ engine.Cache = (*cache)(nil)

func pagesFor(positions int) int { return (positions + kernels.Block - 1) / kernels.Block }

// Reserve implements engine.Cache. It replaces a page that a fork shares, or that has too little
// room, by a copy.
func (c *cache) Reserve(n int) error {
	c.first, c.reserved = c.held/kernels.Block, c.held+n
	c.before = append(c.before[:0], c.pages[c.first:]...)
	need := pagesFor(c.reserved)
	for i := c.first; i < need; i++ {
		room := kernels.Block
		if i == need-1 {
			room = roomFor(c.reserved - i*kernels.Block)
		}
		if i == len(c.pages) {
			c.set(i, nil)
		}
		old := c.pages[i]
		if old != nil && old.room >= room && old.refs.Load() == 1 {
			continue
		}
		p, err := c.pool.get(max(room, roomOf(old)))
		if err != nil {
			c.restore(i)
			return err
		}
		if old != nil {
			c.pool.copy(p, old)
		}
		c.set(i, p)
	}
	return nil
}

// MostRoom returns for how many positions a session has pages at most on its way to n positions, in
// passes of any size: where its last page becomes larger, the one before is still there.
func MostRoom(n int) int {
	if n == 0 {
		return 0
	}
	full := pagesFor(n) - 1
	last := roomFor(n - full*kernels.Block)
	switch {
	case full > 0: // the page before becomes full at the same time
		last += kernels.Block / 2
	case last > leastRoom:
		last += last / 2
	}
	return full*kernels.Block + last
}

// set sets page i, which may be the next new one.
func (c *cache) set(i int, p *page) {
	var keys, values kernels.KV
	if p != nil {
		keys, values = p.keys, p.values
	}
	if i == len(c.pages) {
		c.pages, c.keys, c.values = append(c.pages, p), append(c.keys, keys),
			append(c.values, values)
		return
	}
	c.pages[i], c.keys[i], c.values[i] = p, keys, values
}

// cut removes all but the first n pages from the lists.
func (c *cache) cut(n int) {
	clear(c.pages[n:])
	clear(c.keys[n:])
	clear(c.values[n:])
	c.pages, c.keys, c.values = c.pages[:n], c.keys[:n], c.values[:n]
}

// restore undoes Reserve, which has replaced the pages before page end.
func (c *cache) restore(end int) {
	for i := c.first; i < end; i++ {
		if j := i - c.first; j >= len(c.before) || c.pages[i] != c.before[j] {
			c.pool.drop(c.pages[i])
		}
	}
	c.cut(c.first)
	for i, p := range c.before {
		c.set(c.first+i, p)
	}
	c.forget()
}

// forget ends a reservation.
func (c *cache) forget() {
	clear(c.before)
	c.before, c.first = c.before[:0], len(c.pages)
}

// Commit implements engine.Cache.
func (c *cache) Commit() {
	for i, p := range c.before {
		if c.pages[c.first+i] != p {
			c.pool.drop(p)
		}
	}
	c.held = c.reserved
	c.forget()
}

// Rollback implements engine.Cache.
func (c *cache) Rollback() { c.restore(len(c.pages)) }

// Fork implements engine.Cache.
func (c *cache) Fork(n int) engine.Cache {
	pages := pagesFor(n)
	for _, p := range c.pages[:pages] {
		p.refs.Add(1)
	}
	return &cache{
		pool: c.pool, held: n, pages: slices.Clone(c.pages[:pages]),
		keys: slices.Clone(c.keys[:pages]), values: slices.Clone(c.values[:pages]),
	}
}

// Truncate implements engine.Cache.
func (c *cache) Truncate(n int) {
	pages := pagesFor(n)
	for _, p := range c.pages[pages:] {
		c.pool.drop(p)
	}
	c.cut(pages)
	c.held = n
}

// Read implements engine.Cache.
func (c *cache) Read(dst kernels.KV, page, n int) error {
	p, heads, dim := c.pages[page], len(c.pool.params.H)*c.pool.params.Heads, c.pool.params.HeadDim()
	half := heads * n * dim
	kernels.ReadKV(dst.Part(0, half), dst.Part(half, 2*half), p.keys, p.values, p.room, n, heads, dim,
		dim)
	return nil
}

// Write implements engine.Cache.
func (c *cache) Write(page, n int, src kernels.KV) error {
	p, heads, dim := c.pages[page], len(c.pool.params.H)*c.pool.params.Heads, c.pool.params.HeadDim()
	half := heads * n * dim
	kernels.WriteKV(p.keys, p.values, p.room, src.Part(0, half), src.Part(half, 2*half), n, heads, dim,
		dim)
	return nil
}

// Bytes implements engine.Cache.
func (c *cache) Bytes() int64 {
	n := int64(0)
	for _, p := range c.pages {
		n += c.pool.bytes(p.room)
	}
	return n
}

// Release implements engine.Cache.
func (c *cache) Release() { c.Truncate(0) }

// room returns the number of positions for which the last page has room.
func (c *cache) room() int { return roomOf(c.pages[len(c.pages)-1]) }
