package model_test

// The interface between the model and its device, with a second backend that computes something
// else than GPT-2.

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

var errLost = errors.New("device lost")

// A listDevice remembers tokens in lists. Its logits are a hash of all tokens so far.
type listDevice struct {
	params *stack.Params
	budget *engine.Budget
	runs   int
	failAt int // the run that fails, from 1; 0 for none
	nanAt  int // the token whose logits are not finite, 0 for none
	closed int
}

func (d *listDevice) Open(
	_ context.Context, p *stack.Params, b *engine.Budget, _ *kernels.Team,
) (engine.Backend, error) {
	d.params, d.budget = p, b
	return d, nil
}

func (d *listDevice) Kernel() string         { return "lists" }
func (d *listDevice) Inside() bool           { return false }
func (d *listDevice) NewCache() engine.Cache { return &listCache{device: d} }
func (d *listDevice) Close() error           { d.closed++; return nil }

func (d *listDevice) Run(ctx context.Context, p *engine.Pass) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.runs++; d.runs == d.failAt {
		return errLost
	}
	for n := range p.Spans {
		s := &p.Spans[n]
		cache := s.Cache.(*listCache)
		if s.Position < len(cache.tokens) || s.Position+len(s.Tokens) > cache.reserved {
			return fmt.Errorf("span %d: positions %d to %d, the cache holds %d and has room for %d",
				n, s.Position, s.Position+len(s.Tokens), len(cache.tokens), cache.reserved)
		}
		cache.written = append(cache.written[:s.Position-len(cache.tokens)], s.Tokens...)
		for i, id := range s.Tokens {
			if !s.Wants(i) {
				continue
			}
			if id == d.nanAt && id > 0 {
				return &engine.NonFiniteError{Span: n, Token: i, ID: 3}
			}
			logits := listLogits(append(slices.Clone(cache.tokens),
				cache.written[:s.Position-len(cache.tokens)+i+1]...), d.params.Vocab)
			if s.Logits != nil && i == len(s.Tokens)-1 {
				copy(s.Logits, logits)
			}
			if i >= s.Visit {
				row := engine.Row{Logits: logits, Hidden: make([]float32, d.params.Embd)}
				p.Visit(n, i, row)
			}
		}
	}
	return nil
}

// listLogits is what the device says after some tokens.
func listLogits(tokens []int, vocab int) []float32 {
	h := fnv.New32()
	for _, id := range tokens {
		h.Write([]byte{byte(id)})
	}
	logits := make([]float32, vocab)
	for i := range logits {
		h.Write([]byte{1})
		logits[i] = float32(h.Sum32())
	}
	return logits
}

type listCache struct {
	device          *listDevice
	tokens, written []int
	reserved        int // 0 outside of an evaluation
}

func (c *listCache) Reserve(n int) error {
	if err := c.device.budget.Take(int64(n)); err != nil {
		return err
	}
	c.reserved, c.written = len(c.tokens)+n, nil
	return nil
}

func (c *listCache) Commit() {
	c.tokens, c.written, c.reserved = append(c.tokens[:len(c.tokens):len(c.tokens)], c.written...),
		nil, 0
}

func (c *listCache) Rollback() {
	c.device.budget.Give(int64(c.reserved - len(c.tokens)))
	c.written, c.reserved = nil, 0
}

func (c *listCache) Fork(n int) engine.Cache {
	if err := c.device.budget.Take(int64(n)); err != nil {
		panic(err)
	}
	return &listCache{device: c.device, tokens: slices.Clone(c.tokens[:n])}
}

func (c *listCache) Truncate(n int) {
	c.device.budget.Give(int64(len(c.tokens) - n))
	c.tokens = c.tokens[:n]
}

// Read and Write: every number of a position is its token.
func (c *listCache) Read(dst kernels.KV, page, n int) error {
	for i := range dst.F32 {
		dst.F32[i] = float32(c.tokens[64*page+i/c.device.params.HeadDim()%n])
	}
	return nil
}

func (c *listCache) Write(page, n int, src kernels.KV) error {
	for i := range n {
		c.written = append(c.written, int(src.F32[i*c.device.params.HeadDim()]))
	}
	return nil
}

func (c *listCache) Bytes() int64 { return int64(len(c.tokens)) }
func (c *listCache) Release()     { c.Truncate(0) }

func TestAnotherDeviceComputesTheModel(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 2000})
	d := &listDevice{}
	m := testmodel.New(t, config, file, model.Options{Device: d, CacheBytes: 3000})
	if m.Kernel() != "lists" {
		t.Errorf("kernel %q", m.Kernel())
	}
	ids := make([]int, 1300) // three passes
	for i := range ids {
		ids[i] = i * i % 29
	}
	want := func(n int) []float32 { return listLogits(ids[:n], 29) }
	a, b := m.NewSession(), m.NewSession()
	eval(t, b, ids[:5]...)
	rows := make([][]float32, len(ids))
	err := m.Eval(context.Background(),
		model.Input{Session: a, Tokens: ids, VisitFrom: 500,
			Visit: func(r model.Row) { rows[r.Index] = slices.Clone(r.Logits) }},
		model.Input{Session: b, Tokens: ids[5:7]})
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, "a whole text", a.Logits(), want(1300))
	sameBits(t, "beside it", b.Logits(), want(7))
	for i, row := range rows {
		if (row != nil) != (i >= 500) {
			t.Fatalf("row %d is visited: %v", i, row != nil)
		}
		if row != nil {
			sameBits(t, fmt.Sprint("row ", i), row, want(i+1))
		}
	}
	f := a.Fork(700)
	sameBits(t, "a fork", eval(t, f, ids[700:710]...), want(710))
	a.Truncate(100)
	sameBits(t, "after truncation", eval(t, a, ids[100:102]...), want(102))
	if n := m.CacheBytes(); n != 102+7+710 || f.Bytes() != 710 {
		t.Errorf("%d bytes of cache, %d in the fork", n, f.Bytes())
	}
	runtime.KeepAlive(b) // a session that nobody holds gives its memory back
	if err := m.Close(); err != nil || d.closed != 1 {
		t.Errorf("Close: error %v, device closed %d times", err, d.closed)
	}
}

func TestADeviceThatFailsLeavesSessionsAsTheyWere(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 2000})
	for _, d := range []*listDevice{{failAt: 2}, {failAt: 3}, {failAt: 4}, {nanAt: 7}} {
		m := testmodel.New(t, config, file, model.Options{Device: d, CacheBytes: 4000})
		a, b := m.NewSession(), m.NewSession()
		eval(t, a, 1, 2, 3)
		before, used := slices.Clone(a.Logits()), m.CacheBytes()
		batch := []model.Input{{Session: a, Tokens: make([]int, 1200)},
			{Session: b, Tokens: []int{6, 7}}}
		err := m.Eval(context.Background(), batch...)
		var nan *model.NonFiniteError
		var in *model.InputError
		switch {
		case d.nanAt != 0:
			if !errors.As(err, &nan) || nan.Position != 1 || nan.ID != 3 || !errors.As(err, &in) ||
				in.Input != 1 {
				t.Errorf("error %v, want a NonFiniteError of input 1 after position 1", err)
			}
		case !errors.Is(err, errLost):
			t.Errorf("error %v, want the device's", err)
		}
		if a.Len() != 3 || b.Len() != 0 || m.CacheBytes() != used {
			t.Errorf("%d and %d tokens in %d bytes, want 3 and 0 in %d", a.Len(), b.Len(),
				m.CacheBytes(), used)
		}
		sameBits(t, "the logits", a.Logits(), before)
		d.nanAt = 0
		if err := m.Eval(context.Background(), batch...); err != nil {
			t.Errorf("again: %v", err)
		}
		if n := math.Abs(float64(a.Len()-1203)) + math.Abs(float64(b.Len()-2)); n != 0 {
			t.Errorf("%d and %d tokens", a.Len(), b.Len())
		}
	}
}
