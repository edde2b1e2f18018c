package decode

// What texts have in common is evaluated once.

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/internal/fixture"
	"picogpt/internal/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

// A counter is the processor, and counts rows.
type counter struct {
	engine.Backend
	rows, heads atomic.Int64 // and rows whose logits are wanted
	passes      atomic.Int64
}

func (c *counter) Open(
	_ context.Context, p *engine.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	c.Backend = cpu.New(team, p, b)
	return c, nil
}

func (c *counter) Run(ctx context.Context, p *engine.Pass) error {
	c.passes.Add(1)
	for i := range p.Spans {
		s := &p.Spans[i]
		c.rows.Add(int64(len(s.Tokens)))
		for j := range s.Tokens {
			if s.Wants(j) {
				c.heads.Add(1)
			}
		}
	}
	return c.Backend.Run(ctx, p)
}

// took returns the rows since it was last called.
func (c *counter) took() (rows, heads int64) { return c.rows.Swap(0), c.heads.Swap(0) }

// counted is a small model with a context of 1,100 that counts its rows.
func counted(t testing.TB, cacheBytes int64) (*model.Model, *counter) {
	t.Helper()
	config, file := fixture.Checkpoint(fixture.Options{Positions: 1100})
	c := &counter{}
	return testmodel.New(t, config, file, model.Options{Threads: 2, Device: c,
		CacheBytes: cacheBytes}), c
}

// randomIDs are ids of the small model.
func randomIDs(random *rand.Rand, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = random.IntN(29)
	}
	return ids
}

func TestAPrefixOf32PromptsIsEvaluatedOnce(t *testing.T) {
	const texts, prefix, own = 32, 900, 8
	random := rand.New(rand.NewPCG(3, 4))
	begin := randomIDs(random, prefix)
	var prompts [][]int
	for i := range texts { // which differ in their first own token
		rest := append([]int{i % 29}, randomIDs(random, own-1)...)
		rest[1] = i / 29
		prompts = append(prompts, slices.Concat(begin, rest))
	}
	for _, c := range []struct {
		about string
		o     Options
		rows  int64 // of a text beyond the prefix
	}{
		{"greedy", Options{MaxTokens: 3}, own + 2},
		// The logits before the first own token are not kept: a row more.
		{"echo", Options{MaxTokens: 3, Echo: EchoPrompt, Top: 2}, own + 3},
		{"echo only", Options{Echo: EchoOnly, Top: 2}, own},
	} {
		for name, run := range map[string]func(b *Batcher, one func(i int)){
			"at the same moment": func(_ *Batcher, one func(i int)) {
				var group sync.WaitGroup
				for i := range texts {
					group.Go(func() { one(i) })
				}
				group.Wait()
			},
			"one after the other": func(b *Batcher, one func(i int)) {
				for i := range texts {
					one(i)
				}
			},
		} {
			m, rows := counted(t, 0)
			b := newBatcher(t, m, BatcherOptions{PrefixBytes: 1 << 30, MaxDelay: time.Millisecond})
			plain := counted0(t)
			run(b, func(i int) {
				var got []Token
				for tok, err := range b.Run(context.Background(), Request{Prompt: prompts[i],
					Options: c.o}) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, tok)
				}
				if i%8 == 0 && !same(got, collect(t, plain.NewSession(), prompts[i], c.o)) {
					t.Errorf("%s, %s: text %d is not the one that it is alone", c.about, name, i)
				}
			})
			n, _ := rows.took()
			// Some first own tokens are equal, and shared too.
			if most := prefix + texts*c.rows; n > most || n < most-texts {
				t.Errorf("%s, %s: %d rows, want %d", c.about, name, n, most)
			}
			s := b.Stats()
			if least := int64((texts - 1) * (prefix - 1)); s.PrefixHits < least ||
				s.PrefixQueries != texts*(prefix+own) || s.Rows != n {
				t.Errorf("%s, %s: %+v, want %d hits, %d rows", c.about, name, s, least, n)
			}
			b.Close()
			if n := m.CacheBytes(); n != 0 {
				t.Errorf("%s, %s: %d bytes stay after Close", c.about, name, n)
			}
		}
	}
}

func counted0(t testing.TB) *model.Model {
	m, _ := counted(t, 0)
	return m
}
