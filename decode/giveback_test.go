package decode

// A failure releases its forks at once: nothing waits for the garbage collector.

import (
	"context"
	"errors"
	"runtime/debug"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
)

// A balking constraint allows everything, and fails after so many tokens of a text.
type balking struct{ left int }

var errBalked = errors.New("no further")

func (b *balking) Mask(open []uint64) error {
	for i := range open {
		open[i] = ^uint64(0)
	}
	return nil
}

func (b *balking) Accept(int) error {
	if b.left--; b.left < 0 {
		return errBalked
	}
	return nil
}

func (b *balking) Rewind(n int) error      { b.left += n; return nil }
func (b *balking) Fork() constrain.Matcher { f := *b; return &f }

func TestWhatFailsGivesItsForksBack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m := tiny(t, fixture.Options{})
	ctx, prompt := context.Background(), []int{1, 2, 3}
	balks := Options{Constraint: &balking{3}, MaxTokens: 9}
	draws := balks
	draws.Temperature = 1
	for name, fails := range map[string]func(s *model.Session) error{
		"Samples": func(s *model.Session) (err error) {
			for _, err = range Samples(ctx, s, prompt, 3, draws) {
			}
			return err
		},
		"NewStream": func(s *model.Session) error {
			if err := m.Eval(ctx, model.Input{Session: s, Tokens: prompt,
				NoLogits: true}); err != nil {
				t.Fatal(err)
			}
			_, err := NewStream(s, nil, Options{Params: sample.Params{Guidance: &sample.Guidance{Scale: 2, Negative: []int{99}}}})
			return err
		},
	} {
		s, before := m.NewSession(), m.CacheBytes()
		err := fails(s)
		var negative *NegativeError
		if !errors.Is(err, errBalked) && !errors.As(err, &negative) {
			t.Errorf("%s: error %v", name, err)
		}
		s.Release()
		if n := m.CacheBytes() - before; n != 0 {
			t.Errorf("%s: %d bytes of cache stay", name, n)
		}
	}
}
