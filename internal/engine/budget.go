package engine

// Budget: the memory that the caches of a model take, and its bound.

import (
	"fmt"
	"sync/atomic"
)

// A Budget counts the bytes of cache pages. It is safe for concurrent use.
type Budget struct {
	limit int64 // 0 for none
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes; 0 means no limit.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the number of bytes that are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Limit returns how many bytes may be taken; 0 means no limit.
func (b *Budget) Limit() int64 { return b.limit }

// Take takes n bytes, or returns an ErrCacheFull with the numbers.
func (b *Budget) Take(n int64) error {
	for {
		used := b.used.Load()
		if b.limit > 0 && n > b.limit-used {
			return fmt.Errorf("%w: %d bytes in use and %d more, want at most %d", ErrCacheFull,
				used, n, b.limit)
		}
		if b.used.CompareAndSwap(used, used+n) {
			return nil
		}
	}
}

// Give gives n bytes back.
func (b *Budget) Give(n int64) { b.used.Add(-n) }
