package gpu

// The pool of pages grows within a bound of the device's memory, and no page loses its contents.

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"

	"picogpt/kernels"
	"picogpt/model"
)

// A memoryDriver is a fake with contents.
type memoryDriver struct {
	*fakeDriver
	data  map[Buffer][]byte
	peak  int64
	thief int64 // bytes that somebody else takes as soon as a buffer is freed

	asked, refuse int // how often memory was asked for; the time that it is refused
}

func (d *memoryDriver) Alloc(n int64) (Buffer, error) {
	if d.asked++; d.asked == d.refuse {
		return 0, errFull
	}
	b, err := d.fakeDriver.Alloc(n)
	if err == nil {
		d.data[b] = bytes.Repeat([]byte{0xee}, int(n))
	}
	d.peak = max(d.peak, d.used())
	return b, err
}

func (d *memoryDriver) used() (n int64) {
	for _, size := range d.live {
		n += size
	}
	return n
}

func (d *memoryDriver) Free(b Buffer) {
	d.fakeDriver.Free(b)
	delete(d.data, b)
	d.limit -= d.thief
	d.thief = 0
}

func (d *memoryDriver) Write(to Buffer, at int64, from []byte) error {
	err := d.fakeDriver.Write(to, at, from)
	if err == nil {
		copy(d.data[to][at:], from)
	}
	return err
}

func (d *memoryDriver) Read(to []byte, from Buffer, at int64) error {
	err := d.fakeDriver.Read(to, from, at)
	if err == nil {
		copy(to, d.data[from][at:])
	}
	return err
}

func (d *memoryDriver) Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error {
	err := d.fakeDriver.Copy(to, toAt, from, fromAt, n)
	if err == nil {
		copy(d.data[to][toAt:], d.data[from][fromAt:fromAt+n])
	}
	return err
}

// A growingDriver has buffers that grow in place. They count as much as they have.
type growingDriver struct {
	*memoryDriver
	most  map[Buffer]int64
	grown int
}

func (d *growingDriver) Reserve(most int64) (Buffer, error) {
	d.next++
	d.live[d.next], d.data[d.next], d.most[d.next] = 0, nil, most
	return d.next, d.call()
}

func (d *growingDriver) Grow(b Buffer, n int64) error {
	if d.asked++; d.asked == d.refuse || d.used()-d.live[b]+n > d.limit || n > d.most[b] {
		return errFull
	}
	d.grown++
	d.data[b] = append(d.data[b], make([]byte, n-d.live[b])...)
	d.live[b] = n
	d.peak = max(d.peak, d.used())
	return nil
}

const testPage = 96 // bytes: 24 numbers

// newTestPool is a pool of small pages, in one of the two kinds of memory.
func newTestPool(t *testing.T, inPlace bool, limit int64) (*pool, *memoryDriver) {
	m := &memoryDriver{fakeDriver: newFake(t), data: map[Buffer][]byte{}}
	m.limit = limit
	p := &pool{driver: m, info: &Info{Memory: limit}, budget: engine.NewBudget(0), page: testPage,
		format: kernels.F32}
	if inPlace {
		p.driver = &growingDriver{memoryDriver: m, most: map[Buffer]int64{}}
	}
	return p, m
}

// fill gives a page contents of its own; holds checks them.
func fill(t *testing.T, p *pool, page int32) {
	t.Helper()
	numbers := p.make()
	for i := range numbers.F32 {
		numbers.F32[i] = float32(page*100) + float32(i)
	}
	if err := p.write(page, numbers); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, what string, p *pool, pages []int32) {
	t.Helper()
	for _, page := range pages {
		numbers, err := p.read(page)
		if err != nil {
			t.Fatalf("%s: page %d: %v", what, page, err)
		}
		for i, x := range numbers.F32 {
			if x != float32(page*100)+float32(i) {
				t.Fatalf("%s: number %d of page %d is %v", what, i, page, x)
			}
		}
	}
}

// TestThePoolUsesTheMemoryThatThereIs: all of it, not only what is left beside an old buffer.
func TestThePoolUsesTheMemoryThatThereIs(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		const most = 50 // pages
		p, d := newTestPool(t, inPlace, most*testPage+10)
		var held []int32
		for {
			page, err := p.get()
			if errors.Is(err, engine.ErrCacheFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			fill(t, p, page)
			held = append(held, page)
		}
		what := fmt.Sprintf("in place %v", inPlace)
		holds(t, what, p, held)
		if len(held) != most || d.peak > d.limit {
			t.Errorf("%s: %d pages, %d bytes at most, want %d pages and at most %d", what, len(held),
				d.peak, most, d.limit)
		}
		calls := d.calls // what is known not to fit is not moved to and fro again
		if _, err := p.get(); err == nil || d.calls > calls+4 {
			t.Errorf("%s: error %v, %d calls", what, err, d.calls-calls)
		}
		p.drop(held[0])
		if page, err := p.get(); err != nil || page != held[0] {
			t.Errorf("%s: page %d, error %v, want the one that was released", what, page, err)
		}
	}
}

// TestWhatDoesNotFitIsNotTried where the free memory is known.
func TestWhatDoesNotFitIsNotTried(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		p, d := newTestPool(t, inPlace, 1<<20)
		p.room = func() int64 { return 10*testPage - d.used() }
		held := 0
		for ; ; held++ {
			if _, err := p.get(); err != nil {
				break
			}
		}
		calls := d.calls
		if _, err := p.get(); !errors.Is(err, engine.ErrCacheFull) || d.calls != calls || held != 10 {
			t.Errorf("in place %v: %d pages, %d calls, error %v, want 10 and none", inPlace, held,
				d.calls-calls, err)
		}
	}
}

// TestNoMemoryAtAnyAllocation: each allocation of a pool that grows fails, one after the other.
func TestNoMemoryAtAnyAllocation(t *testing.T) {
	cases.NotShort(t)
	for _, inPlace := range []bool{false, true} {
		for at := 1; ; at++ {
			p, d := newTestPool(t, inPlace, 40*testPage)
			d.refuse = at
			var held []int32
			for range 200 { // what is refused once is tried again, later
				page, err := p.get()
				if err == nil {
					fill(t, p, page)
					held = append(held, page)
				} else if !errors.Is(err, engine.ErrCacheFull) {
					t.Fatalf("allocation %d: %v", at, err)
				}
				if p.budget.Used() != int64(len(held))*testPage {
					t.Fatalf("allocation %d: %d bytes of the budget for %d pages", at,
						p.budget.Used(), len(held))
				}
			}
			holds(t, fmt.Sprintf("in place %v, allocation %d", inPlace, at), p, held)
			if len(held) != 40 {
				t.Errorf("in place %v, allocation %d: %d pages, want 40", inPlace, at,
					len(held))
			}
			if d.asked < at {
				if at < 5 {
					t.Errorf("%d allocations", d.asked)
				}
				break
			}
		}
	}
}

// TestSomebodyElseTakesTheMemory between the old buffer and the new one: the pages are in the
// host's memory until there is room.
func TestSomebodyElseTakesTheMemory(t *testing.T) {
	p, d := newTestPool(t, false, 20*testPage)
	var held []int32
	for len(held) < 15 {
		page, err := p.get()
		if err != nil {
			t.Fatal(err)
		}
		fill(t, p, page)
		held = append(held, page)
	}
	p.drop(held[14])
	held = held[:14]
	for {
		d.thief = 12 * testPage
		page, err := p.get()
		if err == nil {
			fill(t, p, page)
			held = append(held, page)
			continue
		}
		if !errors.Is(err, engine.ErrCacheFull) {
			t.Fatal(err)
		}
		break
	}
	if p.away == nil || p.buffer != 0 {
		t.Fatalf("%d bytes away, buffer %d", len(p.away), p.buffer)
	}
	if _, err := p.read(held[0]); !errors.Is(err, engine.ErrCacheFull) ||
		!strings.Contains(err.Error(), "no room for the") {
		t.Errorf("error %v", err)
	}
	d.limit += 12 * testPage
	holds(t, "with room again", p, held)
}

// TestAModelThatDoesNotFit is refused before anything of it is written, with what it takes.
func TestAModelThatDoesNotFit(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700})
	for _, free := range []int64{10_000, 100_000, 1 << 30} {
		d := &meteredDriver{newFake(t), free}
		m, err := testmodel.Try(config, file, model.Options{Device: NewDevice(
			Info{Name: "fake", Memory: 1 << 31}, func() (Driver, error) { return d, nil }).WithoutProbe()})
		if free == 1<<30 {
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		want := fmt.Sprintf("want at most %d, which the device has free", free)
		if err == nil || !strings.Contains(err.Error(), want) || d.calls > 0 || d.closed != 1 {
			t.Errorf("%d bytes free: %d calls, closed %d times, error %v", free, d.calls, d.closed, err)
		}
	}
}

// A meteredDriver knows how much memory is free.
type meteredDriver struct {
	*fakeDriver
	free int64
}

func (d *meteredDriver) FreeMemory() (int64, error) { return d.free, nil }
