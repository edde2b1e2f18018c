package model_test

import (
	"context"
	"errors"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// TestSessionBytesAreEnoughAndNeeded: with so many bytes a session comes to n tokens in steps of any
// size, and with one byte less not in all.
func TestSessionBytesAreEnoughAndNeeded(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300})
	for _, format := range []string{"f32", "f16"} {
		with := func(limit int64) *model.Model {
			return testmodel.New(t, config, file, model.Options{Threads: 1, CacheFormat: format,
				CacheBytes: limit})
		}
		free := with(0)
		for _, n := range []int{1, 8, 9, 17, 33, 64, 65, 73, 97, 129, 200, 256, 300} {
			bytes := free.SessionBytes(n)
			grow := func(m *model.Model, first, step int) error { // a first step, then equal ones
				s := m.NewSession()
				defer s.Release()
				for next := first; s.Len() < n; next = step {
					in := model.Input{Session: s, Tokens: make([]int, min(next, n-s.Len())), NoLogits: true}
					if err := m.Eval(context.Background(), in); err != nil {
						return err
					}
				}
				return nil
			}
			enough := with(bytes)
			for _, step := range []int{1, 7, 33, 50, 300} {
				if err := grow(enough, step, step); err != nil {
					t.Errorf("%s: %d tokens in steps of %d, %d bytes: %v", format, n, step, bytes, err)
				}
			}
			less, needed := with(bytes-1), false
			for first := 1; first <= n && !needed; first++ {
				needed = errors.Is(grow(less, first, 1), model.ErrCacheFull) ||
					errors.Is(grow(less, first, n), model.ErrCacheFull)
			}
			if !needed {
				t.Errorf("%s: %d bytes are enough for %d tokens in all steps", format, bytes-1, n)
			}
		}
	}
}
