package cpu

// The cache of one session: pages of 64 positions, which forks share until one of them writes.

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
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
			room = roomFor(c.pool.params.CacheFormat, c.reserved-i*kernels.Block)
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

// MostRoom returns for how many positions a session has pages in a format at most on its way to n
// positions, in passes of any size: where its last page becomes larger, the one before is still there.
func MostRoom(format kernels.Format, n int) int {
	if n == 0 {
		return 0
	}
	full := pagesFor(n) - 1
	last := roomFor(format, n-full*kernels.Block)
	switch {
	case full > 0: // the page before becomes full at the same time
		last += kernels.Block / 2
	case last > kernels.KVRoom(format):
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
	half := heads * n * kernels.PlainRow(c.pool.params.CacheFormat, dim)
	kernels.ReadKV(dst.Part(0, half), dst.Part(half, 2*half), p.keys, p.values, p.room, n, heads, dim,
		dim)
	return nil
}

// Write implements engine.Cache.
func (c *cache) Write(page, n int, src kernels.KV) error {
	p, heads, dim := c.pages[page], len(c.pool.params.H)*c.pool.params.Heads, c.pool.params.HeadDim()
	half := heads * n * kernels.PlainRow(c.pool.params.CacheFormat, dim)
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

// The pool of cache pages of one model: the sizes of pages, and the memory of free pages.

// A page is the keys and values of up to 64 positions, for all layers.
type page struct {
	keys, values kernels.KV // of n_layer·n_head heads
	room         int        // positions: 8, 16, 32 or 64; in Q8 32 or 64
	refs         atomic.Int32
}

// leastRoom is the room of a new session's page, in positions: a short text takes little memory. It is
// larger in Q8: see kernels.KVRoom.
const leastRoom = 8

// rooms is the number of sizes of pages: 8, 16, 32 and 64 positions.
const rooms = 4

// roomOf returns the room of a page, or 0 for nil.
func roomOf(p *page) int {
	if p == nil {
		return 0
	}
	return p.room
}

// A pool allocates and frees pages. It is safe for concurrent use.
type pool struct {
	params *stack.Params
	budget *engine.Budget
	free   [rooms]sync.Pool // *page, by room; the garbage collector frees unused ones
}

// roomFor returns the least room that holds n positions.
func roomFor(format kernels.Format, n int) int {
	return max(kernels.KVRoom(format), 1<<bits.Len(uint(n-1)))
}

// size returns the number of elements of the keys, and of all, in a page.
func (p *pool) size(room int) (keys, all int) {
	key, value := p.params.KVRow()
	return key * room, (key + value) * room
}

// bytes returns the memory that a page takes.
func (p *pool) bytes(room int) int64 {
	_, all := p.size(room)
	return kernels.KVBytes(p.params.CacheFormat, all)
}

// freeOf returns the free pages of that room.
func (p *pool) freeOf(room int) *sync.Pool { return &p.free[bits.Len(uint(room/leastRoom))-1] }

// get returns a page that belongs to the caller. It contains old data.
func (p *pool) get(room int) (*page, error) {
	if err := p.budget.Take(p.bytes(room)); err != nil {
		return nil, err
	}
	g, ok := p.freeOf(room).Get().(*page)
	if !ok {
		keys, all := p.size(room)
		memory := kernels.MakeKV(p.params.CacheFormat, all)
		g = &page{keys: memory.Part(0, keys), values: memory.Part(keys, all), room: room}
	}
	g.refs.Store(1)
	return g, nil
}

// drop removes one reference to a page.
func (p *pool) drop(g *page) {
	if g.refs.Add(-1) == 0 {
		p.budget.Give(p.bytes(g.room))
		p.freeOf(g.room).Put(g)
	}
}

// copy copies all of from to a page that has at least as much room.
func (p *pool) copy(to, from *page) {
	heads, dim := len(p.params.H)*p.params.Heads, p.params.HeadDim()
	kernels.MoveKV(to.keys, to.values, to.room, from.keys, from.values, from.room, heads, dim, dim)
}
