//go:build linux && (amd64 || arm64)

package cuda

// A device without memory, at any time.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// TestNoMemoryAtAnyTime: each time that a model asks for memory, of the device or of the host, there
// is none, one after the other. Sessions stay as they were, and then continue.
func TestNoMemoryAtAnyTime(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 200, Layer: 1, Embd: 64, Head: 1,
		Inner: 8})
	f := newFake(t)
	library := f.file()
	refusals := 0
	for at := 1; ; at++ {
		f.reset()
		f.idle, f.refuse = true, at
		all, err := devices(library)
		if err != nil {
			t.Fatal(err)
		}
		m, err := testmodel.Try(config, file, model.Options{Device: all[0].WithoutProbe(), Threads: 1})
		if err != nil {
			if !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") || f.left() != 0 {
				t.Errorf("request %d: %d things left, error %v", at, f.left(), err)
			}
			continue
		}
		a, b := m.NewSession(), m.NewSession()
		work := func() error {
			for _, batch := range [][]model.Input{
				{{Session: a, Tokens: make([]int, 70)}, {Session: b, Tokens: []int{1}}},
				{{Session: a, Tokens: []int{2}}, {Session: b, Tokens: []int{3}}},
				{{Session: a, Tokens: []int{4}}, {Session: b, Tokens: []int{5}}},
				{{Session: a, Tokens: []int{6}}, {Session: b, Tokens: make([]int, 100)}},
			} {
				before := [][]int{slices.Clone(a.Tokens()), slices.Clone(b.Tokens())}
				used := m.CacheBytes()
				err := m.Eval(t.Context(), batch...)
				if err == nil {
					continue
				}
				refusals++
				if !slices.Equal(a.Tokens(), before[0]) || !slices.Equal(b.Tokens(), before[1]) ||
					m.CacheBytes() != used {
					t.Errorf("request %d: %d and %d tokens, %d bytes, want %d, %d, %d", at, a.Len(),
						b.Len(), m.CacheBytes(), len(before[0]), len(before[1]), used)
				}
				if !errors.Is(err, model.ErrCacheFull) &&
					!strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") ||
					strings.Contains(err.Error(), "has failed") {
					t.Errorf("request %d: error %v", at, err)
				}
				if err := m.Eval(t.Context(), batch...); err != nil { // there is memory again
					return fmt.Errorf("the second time: %w", err)
				}
			}
			return nil
		}
		if err := work(); err != nil {
			t.Errorf("request %d: %v", at, err)
		}
		if err := m.Close(); err != nil || f.left() != 0 || len(f.refused) > 0 {
			t.Errorf("request %d: Close: error %v, %d things left, the library refused %q", at, err,
				f.left(), f.refused)
		}
		if f.refuse > f.requests {
			break
		}
	}
	if refusals < 5 {
		t.Errorf("%d evaluations found no memory, want more", refusals)
	}
}
