package gpu

// The cache of one session: pages of 64 positions, which forks share until one of them writes.

import (
	"slices"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// A cache holds the pages of one session. Page i holds positions [64·i, 64·i+64). Outside an
// evaluation the session has exactly as many pages as its positions need.
type cache struct {
	backend *backend
	held    int // positions
	pages   []int32

	// while a reservation is open:
	reserved int   // number of positions after Commit
	replaced int32 // the page whose copy now holds position held; noPage if none was copied
}

const noPage = -1

var _ engine.Cache = (*cache)(nil)

// pagesFor returns the number of pages for that many positions.
func pagesFor(positions int) int { return (positions + kernels.Block - 1) / kernels.Block }

// Reserve implements engine.Cache. It replaces a page that a fork shares by a copy.
func (c *cache) Reserve(n int) error {
	if c.backend.lost != nil {
		return c.backend.lost
	}
	c.replaced, c.reserved = noPage, c.held+n
	for i := c.held / kernels.Block; i < pagesFor(c.reserved); i++ {
		if i < len(c.pages) && !c.backend.pool.shared(c.pages[i]) {
			continue
		}
		page, err := c.backend.pool.get()
		if err == nil && i < len(c.pages) {
			if err = c.backend.pool.copy(page, c.pages[i]); err == nil {
				c.replaced, c.pages[i] = c.pages[i], page
				continue
			}
			c.backend.pool.drop(page)
		}
		if err != nil {
			c.Rollback()
			return c.backend.failed(err)
		}
		c.pages = append(c.pages, page)
	}
	return nil
}

// Commit implements engine.Cache.
func (c *cache) Commit() {
	if c.replaced != noPage {
		c.backend.pool.drop(c.replaced)
	}
	c.held = c.reserved
}

// Rollback implements engine.Cache.
func (c *cache) Rollback() {
	if c.replaced != noPage {
		c.backend.pool.drop(c.pages[c.held/kernels.Block])
		c.pages[c.held/kernels.Block] = c.replaced
	}
	c.Truncate(c.held)
}

// Fork implements engine.Cache.
func (c *cache) Fork(n int) engine.Cache {
	f := &cache{backend: c.backend, held: n, pages: slices.Clone(c.pages[:pagesFor(n)])}
	c.backend.pool.share(f.pages)
	return f
}

// Truncate implements engine.Cache.
func (c *cache) Truncate(n int) {
	pages := pagesFor(n)
	c.backend.pool.drop(c.pages[pages:]...)
	c.pages, c.held = c.pages[:pages], n
}

// Read implements engine.Cache.
func (c *cache) Read(dst kernels.KV, page, n int) error {
	if c.backend.lost != nil {
		return c.backend.lost
	}
	held, err := c.backend.pool.read(c.pages[page])
	if err != nil {
		return c.backend.failed(err)
	}
	c.eachHead(held, dst, n, func(k, v, keys, values kernels.KV, dim int) {
		if k.F16 != nil {
			kernels.ReadKV(keys, values, k, v, kernels.Block, n, 1, dim, dim)
			return
		}
		kernels.Transpose(keys.F32, dim, k.F32, kernels.Block, dim, n)
		copy(values.F32, v.F32)
	})
	return nil
}

// Write implements engine.Cache.
func (c *cache) Write(page, n int, src kernels.KV) error {
	if c.backend.lost != nil {
		return c.backend.lost
	}
	held := c.backend.pool.make()
	c.eachHead(held, src, n, func(k, v, keys, values kernels.KV, dim int) {
		if k.F16 != nil {
			kernels.WriteKV(k, v, kernels.Block, keys, values, n, 1, dim, dim)
			return
		}
		kernels.Transpose(k.F32, kernels.Block, keys.F32, dim, n, dim)
		copy(v.F32, values.F32)
	})
	return c.backend.failed(c.backend.pool.write(c.pages[page], held))
}

// eachHead calls f with the keys and values of each head, in the layout of a page (see
// kernels/attention.cl) and in that of engine.Cache.Read for n positions.
func (c *cache) eachHead(
	page, rows kernels.KV, n int, f func(k, v, keys, values kernels.KV, dim int),
) {
	p := c.backend.params
	dim, heads, all := p.HeadDim(), p.Heads, p.Heads*len(p.H)
	block, each := kernels.Block*dim, n*dim
	for i := range all {
		k := (2*(i/heads)*heads + i%heads) * block
		v := k + heads*block
		f(page.Part(k, k+block), page.Part(v, v+block), rows.Part(i*each, (i+1)*each),
			rows.Part((all+i)*each, (all+i+1)*each), dim)
	}
}

// Bytes implements engine.Cache.
func (c *cache) Bytes() int64 { return int64(len(c.pages)) * c.backend.pool.page }

// Release implements engine.Cache.
func (c *cache) Release() { c.Truncate(0) }
