package engine

import (
	"errors"
	"sync"
	"testing"
)

func TestABudgetGivesNoMoreThanItHas(t *testing.T) {
	b := NewBudget(1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				err := b.Take(300)
				if used := b.Used(); used > 1000 {
					t.Errorf("%d bytes in use", used)
				}
				if err == nil {
					b.Give(300)
				} else if !errors.Is(err, ErrCacheFull) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 {
		t.Errorf("%d bytes in use at the end", b.Used())
	}
	if err := b.Take(1001); !errors.Is(err, ErrCacheFull) {
		t.Errorf("error %v for more than there is", err)
	}
	if err := NewBudget(0).Take(1 << 50); err != nil {
		t.Errorf("no limit: %v", err)
	}
}
