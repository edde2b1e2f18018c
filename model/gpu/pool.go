package gpu

// The pool of cache pages of one model: one buffer, in which pages have numbers, and how it becomes
// larger.

import (
	"errors"
	"fmt"
	"math"
	"slices"
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

	buffer  Buffer // memory of len(refs) pages; 0 for none
	inPlace bool   // the buffer is one of a Grower
	tried   bool   // whether there are such buffers is known
	away    []byte // the pages, while the device has no memory for them; buffer is then 0
	refused int64  // bytes that the device did not have even without the old buffer; 0 for none
	spared  int    // how often that was not tried again since

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

// mostSpared is after how many requests a size that did not fit is tried again: the pages are moved
// to the host and back for it.
const mostSpared = 64

// mostMoved is how many bytes of pages the host keeps while a larger buffer takes the place of
// theirs.
const mostMoved = 4 << 30

// errNoRoom says that a buffer cannot have so many bytes.
var errNoRoom = errors.New("no room")

// grow makes room for at least one more page: where the buffer is, if the driver can do that; else
// in a larger buffer, beside the old one or, if there is no room for both, in its place, while the
// pages are in the host's memory. If the device does not have the memory, the error is
// ErrCacheFull, and nothing has changed: releasing sessions makes room.
func (p *pool) grow() error {
	had := int64(len(p.refs))
	least := had + 1
	if err := p.reserve(); err != nil {
		return err
	}
	for _, pages := range p.sizes(had, least) {
		err := p.resize(had*p.page, pages*p.page)
		if errors.Is(err, errNoRoom) {
			continue
		}
		if err == nil {
			p.add(had, pages)
		}
		return err
	}
	return fmt.Errorf("%w: the device has no room for %d bytes of pages, where %d are in use",
		engine.ErrCacheFull, least*p.page, had*p.page)
}

// sizes returns how many pages a larger buffer may have, the best first: twice as many as before,
// or somewhat more if nothing has to be copied, within the budget.
func (p *pool) sizes(had, least int64) (sizes []int64) {
	all := []int64{max(2*had, 4), had + had/2, had + had/8, least}
	if p.inPlace {
		all = []int64{max(had+had/8, 4), least}
	}
	for _, pages := range all {
		if limit := p.budget.Limit(); limit > 0 {
			pages = min(pages, limit/p.page)
		}
		if pages = max(pages, least); !slices.Contains(sizes, pages) &&
			(p.info.MostOne == 0 || p.inPlace || pages*p.page <= p.info.MostOne) {
			sizes = append(sizes, pages)
		}
	}
	return sizes
}

// reserve finds out whether the buffer can grow in place.
func (p *pool) reserve() (err error) {
	grower, ok := p.driver.(Grower)
	if p.tried || !ok {
		return nil
	}
	most := p.info.Memory
	if limit := p.budget.Limit(); limit > 0 {
		most = min(most, limit+2*p.page)
	}
	p.buffer, err = grower.Reserve(max(most, p.page))
	p.inPlace, p.tried = p.buffer != 0, err == nil
	return fromDevice(err)
}

// resize makes a buffer of had bytes one of n bytes. If that does not fit, which is said without
// trying if it is known, the error is errNoRoom.
func (p *pool) resize(had, n int64) error {
	room := int64(math.MaxInt64) - had
	if p.room != nil {
		room = min(room, p.room())
	}
	switch {
	case room+had < n:
		return errNoRoom
	case p.inPlace:
		if p.driver.(Grower).Grow(p.buffer, n) == nil {
			return nil
		}
		if had > 0 {
			return errNoRoom
		}
		p.driver.Free(p.buffer) // perhaps the device has other memory
		p.buffer, p.inPlace = 0, false
	}
	if room >= n {
		if larger, err := p.driver.Alloc(n); err == nil {
			return p.move(larger, had)
		}
	}
	if had == 0 || had > mostMoved {
		return errNoRoom
	}
	if p.refused > 0 && n >= p.refused && p.spared < mostSpared {
		p.spared++
		return errNoRoom
	}
	return p.replace(had, n)
}

// move moves the pages to a larger buffer.
func (p *pool) move(larger Buffer, had int64) error {
	if had > 0 {
		if err := p.driver.Copy(larger, 0, p.buffer, 0, had); err != nil {
			p.driver.Free(larger)
			return fromDevice(err)
		}
		p.driver.Free(p.buffer)
	}
	p.buffer, p.refused = larger, 0
	return nil
}

// replace frees the buffer before it allocates the larger one. If there is no memory for that, it
// allocates the old size again.
func (p *pool) replace(had, n int64) error {
	away := make([]byte, had)
	if err := p.driver.Read(away, p.buffer, 0); err != nil {
		return fromDevice(err)
	}
	p.driver.Free(p.buffer)
	p.buffer, p.away = 0, away
	larger, err := p.driver.Alloc(n)
	if err == nil {
		return p.back(larger)
	}
	p.refused, p.spared = n, 0
	if err := p.here(); err != nil {
		return err
	}
	return errNoRoom
}

// here gives the pages memory of the device if they have none, because something else took it while
// they were to be given more.
func (p *pool) here() error {
	if p.away == nil {
		return nil
	}
	b, err := p.driver.Alloc(int64(len(p.away)))
	if err != nil {
		return fmt.Errorf("%w: the device has no room for the %d bytes of pages that are in use: "+
			"%w", engine.ErrCacheFull, len(p.away), err)
	}
	return p.back(b)
}

// back writes the pages to a buffer, which is then theirs.
func (p *pool) back(b Buffer) error {
	err := p.driver.Write(b, 0, p.away)
	p.buffer, p.away = b, nil
	return fromDevice(err)
}

// add adds the pages from number had on.
func (p *pool) add(had, pages int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for page := pages - 1; page >= had; page-- {
		p.refs = append(p.refs, 0)
		p.free = append(p.free, int32(page))
	}
}
