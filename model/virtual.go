package model

// Virtual tokens: what every session of a model begins with, before its own tokens.

import (
	"context"
	"errors"
	"fmt"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// The tensors of virtual tokens, which prompts that PEFT has trained become. Every session then
// begins with their keys and values, which sessions share, and the context is shorter by their
// number.
const (
	// VirtualEmbeddings is [tokens, n_embd]: rows in the place of wte's. wpe is added to them.
	VirtualEmbeddings = "virtual_tokens.embeddings"
	// VirtualKeysValues is [tokens, n_layer·2·n_embd]: of each layer the key and the value.
	VirtualKeysValues = "virtual_tokens.keys_values"
)

// virtual finds the tensor of virtual tokens, checks its shape and reads it. The model's own context
// is Positions, from which they are taken.
func (l *loader) virtual() (name string, numbers []float32) {
	for _, of := range []struct {
		name  string
		width int
	}{{VirtualEmbeddings, l.config.Embd}, {VirtualKeysValues, 2 * l.config.Layer * l.config.Embd}} {
		t, ok := l.tensors.Tensor(of.name)
		if !ok {
			continue
		}
		if len(t.Shape) != 2 || t.Shape[0] < 1 || t.Shape[0] >= l.config.Positions {
			l.fail("%s: shape %v, want [1 to %d, %d]", of.name, t.Shape, l.config.Positions-1, of.width)
			return "", nil
		}
		t = l.tensor(of.name, t.Shape[0], of.width)
		if l.err != nil || l.dry {
			return "", nil
		}
		x, err := t.Float32s()
		if err == nil && !(kernels.Leaves{}).Finite(x) {
			err = fmt.Errorf("%s: a number that is not finite", of.name)
		}
		if err != nil {
			l.fail("%w", err)
		}
		return of.name, x
	}
	return "", nil
}

// begins makes every session begin with virtual tokens, the numbers of a tensor of that name.
func (m *Model) begins(ctx context.Context, name string, numbers []float32) error {
	if name == "" {
		return nil
	} else if len(m.edits) > 0 {
		return errVirtualEdits
	}
	s, c := m.NewSession(), &m.config
	defer s.Release()
	var n int
	var err error
	if name == VirtualKeysValues {
		n = len(numbers) / (2 * c.Layer * c.Embd)
		err = s.setKeysValues(ctx, numbers, n)
	} else {
		n = len(numbers) / c.Embd
		err = Cause(m.Eval(ctx, Input{Session: s, Tokens: make([]int, n), NoLogits: true,
			Trace: Editing([]Edit{{At: Point{Kind: Embed}, Head: AllHeads, Op: stack.Set, To: n,
				Values: numbers}})}))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m.beginning, m.virtual = s.cache.fork(n), n
	c.Positions -= n
	return nil
}

// setKeysValues fills the cache of an empty session with [tokens, n_layer, 2, n_head, head_dim].
func (s *Session) setKeysValues(ctx context.Context, numbers []float32, n int) error {
	m, p := s.model, s.model.params
	if p.CacheFormat != kernels.F32 {
		return fmt.Errorf("cache format %s, want f32", m.CacheFormat())
	}
	layers, dim := len(p.H), p.HeadDim()
	for page := 0; page*kernels.Block < n; page++ {
		rows := min(kernels.Block, n-page*kernels.Block)
		// [2, n_layer, n_head, rows, head_dim]
		to := kernels.MakeKV(kernels.F32, 2*p.Embd*layers*rows)
		for i := range 2 * layers * p.Heads * rows {
			row, head := i%rows, i/rows%p.Heads
			layer, value := i/rows/p.Heads%layers, i/rows/p.Heads/layers
			at := (((page*kernels.Block+row)*layers+layer)*2+value)*p.Embd + head*dim
			copy(to.F32[i*dim:(i+1)*dim], numbers[at:])
		}
		if err := s.writePage(ctx, page, rows, to); err != nil {
			return err
		}
	}
	return nil
}

// newCache returns the cache of a session without tokens: with virtual ones, if there are any.
func (m *Model) newCache() engine.Cache {
	if m.beginning == nil {
		return m.backend.NewCache()
	}
	return m.beginning.Fork(m.virtual)
}

// VirtualTokens returns how many virtual tokens every session begins with. They are none of
// Session.Tokens, and Config's Positions are those that they leave.
func (m *Model) VirtualTokens() int { return m.virtual }

var (
	errVirtualEdits = errors.New("traces and edits: not of a model with virtual tokens")
	errVirtualSaved = errors.New("snapshot: the model has virtual tokens, which a file does not hold")
)
