package model

// Variants: models that share all weights but some with another one, as a LoRA adapter leaves them.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"picogpt/kernels"
	"picogpt/weights"
)

// A Change says how a variant differs from its model: checkpoint.Checkpoint.With returns one.
type Change struct {
	Tensors *weights.Tensors // all, which stay open as long as the variant is used
	Names   []string         // of those that are not the ones that the model was made of
	Digest  func() (string, error)
}

// ErrNoVariants is wrapped in the error of Variant where a device computes the model.
var ErrNoVariants = errors.New("a GPU has one set of weights, want the processor (--device cpu), " +
	"whose numbers are the same")

// Variant returns a model whose weights are m's but for those that c names. It copies these, as New
// would, on one thread and beside running Evals, and shares the rest: other weights, workers, edits
// and the bound of the cache. One Eval may have sessions of m and of its variants, and the bits are
// those of models that New makes. A variant ends with m, and its copies when nothing refers to it.
func (m *Model) Variant(ctx context.Context, c Change) (*Model, error) {
	switch {
	case ctx == nil:
		return nil, ErrNoContext
	case m.base != nil:
		return nil, errors.New("variant: of a variant, want one of the model that New returned")
	case m.virtual > 0:
		return nil, errors.New("variant: of a model with virtual tokens, which its weights compute")
	case m.device:
		return nil, fmt.Errorf("variant: %s: %w", m.Kernel(), ErrNoVariants)
	}
	team, err := kernels.NewTeam(1, m.team.Variant())
	if err != nil {
		return nil, err
	}
	defer team.Close()
	l := loader{ctx: ctx, config: m.config, tensors: c.Tensors, team: team, held: m.held,
		changed: map[string]bool{}, cache: m.params.CacheFormat}
	for _, name := range c.Names {
		l.changed[name] = true
	}
	for _, name := range headNames {
		if _, ok := c.Tensors.Tensor(name); ok && m.held[name] == nil { // wte's copy, or trained
			l.config.TieWordEmbeddings = false
		}
	}
	v := &Model{base: m, wanted: m.wanted, edits: m.edits, resources: m.resources}
	if v.params, err = l.load(m.wanted); err != nil {
		return nil, err
	}
	v.config, v.format, v.ignored = l.config, l.format, l.ignored
	v.notes, v.noHead = l.notes(), l.noHead
	if c.Digest != nil {
		v.digest = sync.OnceValues(c.Digest)
	}
	runtime.KeepAlive(m)
	return v, nil
}

// BytesIn returns how many bytes tensors of those names take in a model of one of Formats, at most.
// It reads no element.
func BytesIn(format string, tensors *weights.Tensors, names []string) (n int64) {
	l := loader{}
	l.wantFormat(format)
	for _, name := range names {
		t, _ := tensors.Tensor(name)
		plain, as := strings.TrimPrefix(name, "transformer."), l.format
		isOutIn := plain == "wte.weight" || slices.Contains(headNames, plain)
		if isOutIn {
			as = headFormat(as)
		}
		switch {
		case t.DType == weights.U8 || l.auto && len(t.Shape) == 2:
			n += t.Size()
		case len(t.Shape) != 2 || plain == "wpe.weight" || as == kernels.F32:
			n += 4 * int64(t.Len())
		case as == kernels.F16 || as == kernels.BF16:
			n += 2 * int64(t.Len())
		case isOutIn:
			n += int64(kernels.QuantBytes(as, t.Shape[1], t.Shape[0]))
		default:
			n += int64(kernels.QuantBytes(as, t.Shape[0], t.Shape[1]))
		}
	}
	return n
}

// hold keeps weights for variants.
func (l *loader) hold(name string, weights any) {
	if l.changed == nil && l.err == nil && !l.dry {
		l.held[name] = weights
	}
}

// shares reports whether a variant has its base's weights of that name.
func (l *loader) shares(name string) bool { return l.changed != nil && !l.changed[name] }

// shared returns a matrix of the base. A head that the base has not by this name is its wte.
func (l *loader) shared(name string, layout kernels.Layout) kernels.Matrix {
	m, ok := l.held[name].(kernels.Matrix)
	if !ok {
		m, ok = l.held[l.prefix+"wte.weight"].(kernels.Matrix)
	}
	t, found := l.tensors.Tensor(name)
	if !ok || !found {
		l.fail("%s: missing, want the model's", name)
		return m
	}
	if l.use(t); l.auto {
		l.seeFormat(m.Format, layout)
	}
	return m
}
