package cpu

// The last block of a pass of which only some rows are read. It needs the keys and values of all
// rows, and everything else of these rows only. No bit depends on it, because rows do not depend on
// each other except by keys and values.

import (
	"slices"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// A lastBlock is what the last block is computed for: the rows of a pass of which logits or hidden
// states are wanted.
type lastBlock struct {
	// columns of c_attn in the last block: [n_embd, n_embd] and [n_embd, 2·n_embd]
	query, keyValue         kernels.Matrix
	queryBias, keyValueBias []float32
	divided                 bool // there are such columns

	rows  []int          // of the pass, ascending
	only  []int          // rows, if the last block is computed for them only; else nil
	spans []kernels.Span // the inputs of attention for each span
}

// divide divides the weights of c_attn.
func (r *lastBlock) divide(c *stack.Linear) {
	n := c.Weight.In
	var queries, others bool
	r.query, queries = c.Weight.Columns(0, n)
	r.keyValue, others = c.Weight.Columns(n, 2*n)
	r.queryBias, r.keyValueBias = c.Bias[:n], c.Bias[n:]
	r.divided, r.rows = queries && others, []int{} // only is not nil for no rows
}

// row returns where a row that is read stands after the last block.
func (r *lastBlock) row(row int) int {
	if r.only == nil {
		return row
	}
	i, _ := slices.BinarySearch(r.only, row)
	return i
}

// rowsAfter returns how many rows there are after the last block.
func (b *backend) rowsAfter() int {
	if b.last.only == nil {
		return b.rows
	}
	return len(b.last.only)
}

// prepareLast finds the rows of the pass that are read. Keys and values of the last block stand in
// qkv [rows, 2·n_embd], and then the queries [rows that are read, n_embd].
func (b *backend) prepareLast() {
	r, n := &b.last, b.params.Embd
	r.rows, r.spans = r.rows[:0], r.spans[:0]
	keys, queries := b.qkv[:b.rows*2*n], b.qkv[b.rows*2*n:]
	for i := range b.pass.Spans {
		s, span, first := &b.pass.Spans[i], b.spans[i], len(r.rows)
		span.Unread = s.Unread()
		for token := span.Unread; token < span.Rows; token++ {
			r.rows = append(r.rows, b.Start(i)+token)
		}
		at := b.Start(i) * 2 * n
		span.Key.Data, span.Key.Row = keys[at:], 2*n
		span.Value.Data, span.Value.Row = keys[at+n:], 2*n
		span.Query.Data, span.Query.Row = queries[first*n:], n
		span.Out.Data = b.norm[first*n:]
		r.spans = append(r.spans, span)
	}
	if r.only = nil; r.divided && b.trace == nil && len(r.rows) < b.rows {
		r.only = r.rows
	}
}

// attendLast is attention in the last block: of norm [rows, n_embd] it makes the results for the
// rows that are read, in their order, and moves these rows of x to its beginning. It returns their
// number.
func (b *backend) attendLast(w *kernels.Worker, layer int) int {
	r, n := &b.last, b.params.Embd
	kernels.Linear(w, b.qkv, b.norm, b.rows, &r.keyValue, r.keyValueBias) // -> [rows, 2*n_embd]
	if w.ID() == 0 {
		for i, row := range r.only {
			copy(b.norm[i*n:(i+1)*n], b.norm[row*n:])
			copy(b.x[i*n:(i+1)*n], b.x[row*n:])
		}
	}
	w.Sync()
	if len(r.only) > 0 { // -> [rows that are read, n_embd]
		kernels.Linear(w, b.qkv[b.rows*2*n:], b.norm, len(r.only), &r.query, r.queryBias)
	}
	kernels.CausalAttention(w, r.spans, layer*n, b.params.H[layer].Scale)
	return len(r.only)
}
