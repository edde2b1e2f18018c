package cpu

// Groups: the rows of a pass whose sessions are of one variant of the model. Where the weights of
// groups side by side are the same memory, their rows go through them together.

import (
	"slices"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// A group is rows side by side of a pass.
type group struct {
	params *stack.Params
	ends   [3]int // how many rows there are up to its end, of each rowSet
	head   stack.Linear
	divided
}

// A rowSet says which rows of a pass an operation has.
type rowSet int

const (
	all   rowSet = iota
	after        // the last block
	head         // those whose logits are computed together
)

// paramsOf returns the weights for the rows of a span.
func (b *backend) paramsOf(span int) *stack.Params {
	if p := b.pass.Spans[span].Params; p != nil {
		return p
	}
	return b.params
}

// prepareGroups finds the groups of the pass.
func (b *backend) prepareGroups() {
	b.parts = b.parts[:0]
	for i := range b.pass.Spans {
		p, last := b.paramsOf(i), len(b.parts)-1
		if last < 0 || b.parts[last].params != p {
			g := group{params: p, divided: b.last.divided}
			if p != b.params {
				g.divided = divide(p)
			}
			if p.LMHead != nil {
				g.head.Weight = *p.LMHead
			}
			b.parts = append(b.parts, g)
			last++
		}
		end := b.Start(i) + len(b.pass.Spans[i].Tokens)
		b.parts[last].ends = [3]int{all: end, after: end}
	}
}

// canDivide reports whether the last block can be computed for some rows only.
func (b *backend) canDivide() bool {
	return !slices.ContainsFunc(b.parts, func(g group) bool { return !g.can })
}

// countRows sets how many of some rows of the pass, ascending, the groups have.
func (b *backend) countRows(as rowSet, rows []int) {
	for i := range b.parts {
		g := &b.parts[i]
		g.ends[as], _ = slices.BinarySearch(rows, g.ends[all])
	}
}

// runs calls do for the rows of each group, or of several that have the same weights.
func runs[T interface{ Same(T) bool }](
	groups []group, rows rowSet, of func(*group) T, do func(weights T, from, to int),
) {
	from := 0
	for i := 0; i < len(groups); {
		weights, next := of(&groups[i]), i+1
		for next < len(groups) && weights.Same(of(&groups[next])) {
			next++
		}
		if to := groups[next-1].ends[rows]; to > from {
			do(weights, from, to)
			from = to
		}
		i = next
	}
}

// linear is kernels.Linear, of each row with the weights of its variant.
func (b *backend) linear(
	w *kernels.Worker, dst, x []float32, rows rowSet, of func(*group) *stack.Linear,
) {
	runs(b.parts, rows, of, func(l *stack.Linear, from, to int) {
		m := &l.Weight
		kernels.Linear(w, dst[from*m.Out:], x[from*m.In:], to-from, m, l.Bias)
	})
}

// layerNorm is kernels.LayerNorm, of each row with the weights of its variant.
func (b *backend) layerNorm(
	w *kernels.Worker, dst, x []float32, rows rowSet, of func(*group) *stack.Norm,
) {
	runs(b.parts, rows, of, func(f *stack.Norm, from, to int) {
		n := len(f.Gain)
		kernels.LayerNorm(w, dst[from*n:], x[from*n:], to-from, f.Gain, f.Bias, b.params.Epsilon)
	})
}

func finalNorm(g *group) *stack.Norm { return &g.params.LnF }
