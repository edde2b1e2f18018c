package engine

// The outputs of a pass: which rows need logits, and where the logits are written. All backends use
// it.

import (
	"cmp"
	"slices"
	"sync/atomic"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// Outputs holds the rows of a pass whose logits are wanted, one group at a time. The zero value can
// be used; later passes use its memory again.
type Outputs struct {
	// the rows of the pass that are in the group
	Wanted []int
	Hidden []float32    // [len(Wanted), n_embd], after ln_f; written by the backend
	Logits []float32    // [len(Wanted), vocab_size]; written by the backend
	Best   []stack.Best // [len(Wanted)]; one that has IDs replaces Hidden and Logits

	params *stack.Params
	pass   *Pass
	starts []int // the first row of each span
	rows   int   // of the pass

	nonFinite atomic.Pointer[NonFiniteError] // the first one found, in the order of the pass
}

// Begin sets the pass, and computes the rows of its spans.
func (o *Outputs) Begin(params *stack.Params, pass *Pass) {
	o.params, o.pass = params, pass
	o.nonFinite.Store(nil)
	o.starts, o.rows = o.starts[:0], 0
	for i := range pass.Spans {
		o.starts = append(o.starts, o.rows)
		o.rows += len(pass.Spans[i].Tokens)
	}
}

// End drops the references to the pass, which belongs to the caller.
func (o *Outputs) End() { o.pass = nil }

// Rows returns the number of rows of the pass.
func (o *Outputs) Rows() int { return o.rows }

// Start returns the first row of a span.
func (o *Outputs) Start(span int) int { return o.starts[span] }

// At returns the span of a row, and the index of its token there.
func (o *Outputs) At(row int) (span, token int) {
	span = len(o.starts) - 1
	for o.starts[span] > row {
		span--
	}
	return span, row - o.starts[span]
}

// GroupRows bounds the rows of logits that exist at a time: each is a vocabulary of floats.
const GroupRows = 64

// Gather sets Wanted to the next rows, from row on, whose logits are wanted, and makes room for
// their outputs. It returns the row after the last one that it checked.
func (o *Outputs) Gather(row int) int {
	o.Wanted = o.Wanted[:0]
	for ; row < o.rows && len(o.Wanted) < GroupRows; row++ {
		if span, token := o.At(row); o.pass.Spans[span].Wants(token) {
			o.Wanted = append(o.Wanted, row)
		}
	}
	grow(&o.Hidden, len(o.Wanted)*o.params.Embd)
	grow(&o.Logits, len(o.Wanted)*o.params.Vocab)
	for len(o.Best) < len(o.Wanted) {
		o.Best = append(o.Best, stack.Best{})
	}
	for i := range o.Best {
		o.Best[i].IDs, o.Best[i].Logits = o.Best[i].IDs[:0], o.Best[i].Logits[:0]
	}
	return row
}

// Needs returns how many of the greatest logits of row i of the group are needed; 0 means the whole
// row.
func (o *Outputs) Needs(i int) int {
	span, token := o.At(o.Wanted[i])
	s := &o.pass.Spans[span]
	if s.Logits != nil && token == len(s.Tokens)-1 {
		return 0
	}
	return s.Best
}

// Enough reports whether Best[i] decides what the visitor of row i of the group needs.
func (o *Outputs) Enough(i int) bool {
	span, _ := o.At(o.Wanted[i])
	enough := o.pass.Spans[span].Enough
	return enough == nil || enough(&o.Best[i])
}

func grow(b *[]float32, n int) {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
}

// A worker processes between leastDelivered and mostDelivered logits of a row in one task: fewer if
// there are few rows for many workers.
const leastDelivered, mostDelivered = 2048, 16384

// Deliver checks the logits of a group, copies those that spans want, and calls Visit for its rows.
// Rows with a Best are finite, and no span wants their logits. All workers of a team call Deliver
// together.
func (o *Outputs) Deliver(w *kernels.Worker) {
	v, leaves := o.params.Vocab, w.Leaves()
	each := min(max(leastDelivered, (len(o.Wanted)*v+w.Size()-1)/w.Size()), mostDelivered)
	parts := (v + each - 1) / each
	for t := w.Next(); t < len(o.Wanted)*parts; t = w.Next() {
		span, token := o.At(o.Wanted[t/parts])
		if len(o.Best[t/parts].IDs) > 0 {
			continue
		}
		from := t % parts * each
		logits := o.Logits[t/parts*v:][from:min(from+each, v)]
		if !leaves.Finite(logits) {
			id := from + kernels.FirstNonFinite(logits)
			o.report(&NonFiniteError{Span: span, Token: token, ID: id})
		}
		if s := &o.pass.Spans[span]; s.Logits != nil && token == len(s.Tokens)-1 {
			copy(s.Logits[from:], logits)
		}
	}
	w.Sync()
	if !o.Visited() || o.nonFinite.Load() != nil {
		return
	}
	for t := w.Next(); t < len(o.Wanted); t = w.Next() {
		if span, token := o.At(o.Wanted[t]); token >= o.pass.Spans[span].Visit {
			o.pass.Visit(span, token, o.row(t))
		}
	}
	w.Sync()
}

// HandOut calls Visit for the rows that want the hidden state of a layer, if it is finite. x
// [rows, n_embd] has the states of all rows of the pass, or of those in only. All workers of a team
// call HandOut together.
func (o *Outputs) HandOut(w *kernels.Worker, layer int, x []float32, only []int) {
	n, leaves := o.params.Embd, w.Leaves()
	for r := w.Next(); r < o.rows && (only == nil || r < len(only)); r = w.Next() {
		row := r
		if only != nil {
			row = only[r]
		}
		span, token := o.At(row)
		if s := &o.pass.Spans[span]; !s.Hidden || s.Layer != layer || token < s.Visit {
			continue
		}
		hidden := x[r*n : (r+1)*n : (r+1)*n]
		if !leaves.Finite(hidden) {
			o.report(&NonFiniteError{Span: span, Token: token, ID: kernels.FirstNonFinite(hidden)})
			continue
		}
		o.pass.Visit(span, token, Row{Hidden: hidden})
	}
	w.Sync()
}

// row returns row i of the group in the form for the visitor.
func (o *Outputs) row(i int) Row {
	if len(o.Best[i].IDs) > 0 {
		return Row{Best: &o.Best[i]}
	}
	v, n := o.params.Vocab, o.params.Embd
	return Row{
		Logits: o.Logits[i*v : (i+1)*v : (i+1)*v], Hidden: o.Hidden[i*n : (i+1)*n : (i+1)*n],
	}
}

// Visited reports whether a row of the group is visited, so that its Hidden is needed.
func (o *Outputs) Visited() bool {
	return slices.ContainsFunc(o.Wanted, func(row int) bool {
		span, token := o.At(row)
		return token >= o.pass.Spans[span].Visit
	})
}

// report stores found unless an earlier logit was found, so that the error does not depend on the
// workers.
func (o *Outputs) report(found *NonFiniteError) {
	for {
		old := o.nonFinite.Load()
		if old != nil && !before(found, old) || o.nonFinite.CompareAndSwap(old, found) {
			return
		}
	}
}

func before(a, b *NonFiniteError) bool {
	return cmp.Or(cmp.Compare(a.Span, b.Span), cmp.Compare(a.Token, b.Token),
		cmp.Compare(a.ID, b.ID)) < 0
}

// Err returns the first logit of the pass that is not finite, as a *NonFiniteError, or nil.
func (o *Outputs) Err() error {
	if found := o.nonFinite.Load(); found != nil {
		return found
	}
	return nil
}
