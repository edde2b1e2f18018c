package cpu

// Pages: how much memory a session takes, who shares it, and that it all comes back.

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// sized returns a pool for a model of that shape: pages need no weights.
func sized(format kernels.Format, layers, heads, dim int, limit int64) *pool {
	return &pool{
		params: &stack.Params{Embd: heads * dim, Heads: heads, H: make([]stack.Block, layers),
			CacheFormat: format},
		budget: engine.NewBudget(limit),
	}
}

func reserve(t *testing.T, c *cache, n int) {
	t.Helper()
	if err := c.Reserve(n); err != nil {
		t.Fatal(err)
	}
}

func hold(t *testing.T, c *cache, n int) {
	t.Helper()
	reserve(t, c, n)
	c.Commit()
}

func TestAShortTextTakesLittleMemory(t *testing.T) {
	p := sized(kernels.F32, 12, 12, 64, 0) // GPT-2 124M
	c := &cache{pool: p}
	for _, step := range []struct {
		tokens int
		most   int64
	}{{1, 600e3}, {8, 600e3}, {9, 1.2e6}, {17, 2.4e6}, {33, 4.8e6}, {64, 4.8e6}, {65, 5.4e6}} {
		hold(t, c, step.tokens-c.held)
		if n := c.Bytes(); n > step.most || n != p.budget.Used() {
			t.Errorf("%d tokens: %d bytes, %d counted, want at most %d", step.tokens, n,
				p.budget.Used(), step.most)
		}
	}
	c.Release()
	if n := p.budget.Used(); n != 0 {
		t.Errorf("%d bytes after Release", n)
	}
}

// A model is a cache's contents as a list: a number for each position, in all its keys and values.
type modelCache struct {
	*cache
	marks []int
}

// write gives the positions that are reserved their marks, in the first and the last number of a
// page's positions.
func (m *modelCache) write(marks []int) {
	for i, mark := range marks {
		key, at := m.keyAt(m.held + i)
		setNumber(key, at, mark)
		value, at := m.valueAt(m.held + i)
		setNumber(value, at, mark+1<<15)
	}
}

func setNumber(b kernels.KV, at, n int) {
	switch {
	case b.F16 != nil:
		b.F16[at] = uint16(n)
	case b.Q8 != nil:
		binary.NativeEndian.PutUint16(b.Q8[at:], uint16(n))
	default:
		b.F32[at] = float32(n)
	}
}

func number(b kernels.KV, at int) int {
	switch {
	case b.F16 != nil:
		return int(b.F16[at])
	case b.Q8 != nil:
		return int(binary.NativeEndian.Uint16(b.Q8[at:]))
	}
	return int(b.F32[at])
}

// keyAt is where a number of position at's last key is, in a model of 2 heads 3 wide and 2 layers, or
// in Q8 its scale: see kernels.KV.
func (m *modelCache) keyAt(at int) (kernels.KV, int) {
	p, j := m.pages[at/64], at%64
	const dim = 3
	head := 3 * dim * p.room
	switch {
	case p.keys.F16 != nil:
		return p.keys, head + 2*p.room + j
	case p.keys.Q8 != nil:
		row, _ := kernels.KVRow(kernels.Q8, dim, dim)
		return p.keys, 3*row*p.room + j/16*544 + 512 + j%16*2
	}
	return p.keys, head + j/16*16*dim + 2*min(16, p.room) + j%16
}

func (m *modelCache) valueAt(at int) (kernels.KV, int) {
	p, j := m.pages[at/64], at%64
	const dim = 3
	if p.values.Q8 != nil {
		_, row := kernels.KVRow(kernels.Q8, dim, dim)
		return p.values, 3*row*p.room + 4*j
	}
	return p.values, 3*dim*p.room + j*dim + 2
}

func (m *modelCache) check(t *testing.T) {
	t.Helper()
	if m.held != len(m.marks) || len(m.pages) != pagesFor(m.held) || len(m.keys) != len(m.pages) {
		t.Fatalf("%d positions in %d pages, want %d", m.held, len(m.pages), len(m.marks))
	}
	for at, mark := range m.marks {
		key, value := number(m.keyAt(at)), number(m.valueAt(at))
		if key != mark || value != mark+1<<15 {
			t.Fatalf("position %d of %d holds %d and %d, want %d and %d", at, m.held, key, value,
				mark, mark+1<<15)
		}
	}
}

// bytes counts the pages of some caches, each once.
func bytes(caches []*modelCache) int64 {
	seen, n := map[*page]bool{}, int64(0)
	for _, c := range caches {
		for _, p := range c.pages {
			if !seen[p] {
				seen[p], n = true, n+c.pool.bytes(p.room)
			}
		}
	}
	return n
}

// TestPagesKeepWhatTheyHold does random things to caches that share pages, and holds them to lists.
func TestPagesKeepWhatTheyHold(t *testing.T) {
	full := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		format := []kernels.Format{kernels.F32, kernels.F16, kernels.Q8}[seed%3]
		key, value := kernels.KVRow(format, 3, 3)
		p := sized(format, 2, 2, 3, 12*kernels.KVBytes(format, 2*2*(key+value)*64)) // 12 pages
		caches := []*modelCache{{cache: &cache{pool: p}}}
		next := 0
		for range 400 {
			m := caches[r.IntN(len(caches))]
			switch r.IntN(8) {
			case 0:
				n := r.IntN(len(m.marks) + 1)
				caches = append(caches, &modelCache{m.Fork(n).(*cache), slices.Clone(m.marks[:n])})
			case 1:
				n := r.IntN(len(m.marks) + 1)
				m.Truncate(n)
				m.marks = m.marks[:n]
			case 2:
				if m.Release(); len(caches) > 1 {
					caches = slices.DeleteFunc(caches, func(o *modelCache) bool { return o == m })
				}
				m.marks = nil
			default:
				marks := make([]int, 1+r.IntN(1+r.IntN(100)))
				for i := range marks {
					next++
					marks[i] = next
				}
				before := p.budget.Used()
				err := m.Reserve(len(marks))
				if err != nil {
					if !errors.Is(err, engine.ErrCacheFull) {
						t.Fatal(err)
					}
					full++
				} else if m.write(marks); r.IntN(3) > 0 {
					m.Commit()
					m.marks = append(m.marks, marks...)
					break
				} else {
					m.Rollback()
				}
				if used := p.budget.Used(); used != before {
					t.Fatalf("seed %d: %d bytes after what was undone, %d before", seed, used,
						before)
				}
			}
			for _, c := range caches {
				c.check(t)
			}
			if n, used := bytes(caches), p.budget.Used(); n != used {
				t.Fatalf("seed %d: pages of %d bytes, %d counted", seed, n, used)
			}
		}
		for _, c := range caches {
			c.Release()
		}
		if used := p.budget.Used(); used != 0 {
			t.Fatalf("seed %d: %d bytes when all is released", seed, used)
		}
	}
	if full < 100 {
		t.Errorf("the cache was full %d times, this test wants more", full)
	}
}
