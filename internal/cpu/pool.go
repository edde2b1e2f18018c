package cpu

// The pool of cache pages of one model: the sizes of pages, and the memory of free pages.

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A page is the keys and values of up to 64 positions, for all layers.
type page struct {
	keys, values kernels.KV // [n_layer, n_head, head_dim, room], [n_layer, n_head, room, head_dim]
	room         int        // positions: 8, 16, 32 or 64
	refs         atomic.Int32
}

// leastRoom is the room of a new session's page, in positions: a short text takes little memory.
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
func roomFor(n int) int {
	return max(leastRoom, 1<<bits.Len(uint(n-1)))
}

// size returns the number of keys, and of values, in a page.
func (p *pool) size(room int) int { return len(p.params.H) * p.params.Embd * room }

// bytes returns the memory that a page takes.
func (p *pool) bytes(room int) int64 {
	return kernels.KVBytes(p.params.CacheFormat, 2*p.size(room))
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
		n := p.size(room)
		memory := kernels.MakeKV(p.params.CacheFormat, 2*n)
		g = &page{keys: memory.Part(0, n), values: memory.Part(n, 2*n), room: room}
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
