package gpu

// The pool of cache pages of one model: one buffer, in which pages have numbers.

import (
	"sync"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A pool allocates and frees pages. A page holds the keys and values of 64 positions for all
// layers, as kernels/attention.cl describes. Sessions may release pages at any time; the methods
// that call the driver (get, copy, read, write) run only in the model's turn.
type pool struct {
	driver Driver
	info   *Info
	budget *engine.Budget
	room   func() int64   // bytes of the device's memory that pages may take besides their own
	page   int64          // bytes of one
	format kernels.Format // of its numbers

	buffer Buffer // memory of len(refs) pages; 0 for none
	growing

	mu   sync.Mutex
	refs []int32 // the number of sessions that hold each page
	free []int32 // pages that no session holds
}

func newPool(
	d Driver, info *Info, p *stack.Params, budget *engine.Budget, room func() int64,
) pool {
	return pool{driver: d, info: info, budget: budget, room: room, format: p.CacheFormat,
		page: kernels.KVBytes(p.CacheFormat, 2*len(p.H)*p.Embd*kernels.Block)}
}

// get returns a page that belongs to the caller. It contains old data.
func (p *pool) get() (int32, error) {
	if err := p.here(); err != nil {
		return 0, err
	}
	if err := p.budget.Take(p.page); err != nil {
		return 0, err
	}
	if page, ok := p.take(); ok {
		return page, nil
	}
	if err := p.grow(); err != nil {
		p.budget.Give(p.page)
		return 0, err
	}
	page, _ := p.take() // no other goroutine takes pages
	return page, nil
}

// take takes a free page.
func (p *pool) take() (page int32, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return 0, false
	}
	page, p.free = p.free[last], p.free[:last]
	p.refs[page] = 1
	return page, true
}

// copy copies a page to another.
func (p *pool) copy(to, from int32) error {
	return fromDevice(p.driver.Copy(p.buffer, int64(to)*p.page, p.buffer, int64(from)*p.page,
		p.page))
}

// make returns memory of the host for the numbers of a page.
func (p *pool) make() kernels.KV {
	return kernels.MakeKV(p.format, int(p.page/kernels.KVBytes(p.format, 1)))
}

// read returns the numbers of a page.
func (p *pool) read(page int32) (kernels.KV, error) {
	numbers := p.make()
	if err := p.here(); err != nil {
		return numbers, err
	}
	return numbers, fromDevice(p.driver.Read(numbers.Bytes(), p.buffer, int64(page)*p.page))
}

// write writes the numbers of a page.
func (p *pool) write(page int32, numbers kernels.KV) error {
	if err := p.here(); err != nil {
		return err
	}
	return fromDevice(p.driver.Write(p.buffer, int64(page)*p.page, numbers.Bytes()))
}

// share adds one reference to each page.
func (p *pool) share(pages []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, page := range pages {
		p.refs[page]++
	}
}

// shared reports whether several sessions hold a page.
func (p *pool) shared(page int32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refs[page] > 1
}

// drop removes one reference from each page.
func (p *pool) drop(pages ...int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, page := range pages {
		if p.refs[page]--; p.refs[page] == 0 {
			p.free = append(p.free, page)
			p.budget.Give(p.page)
		}
	}
}
