package cpu

// The outputs of a pass: which rows want logits, and where these go.

import (
	"cmp"
	"math"
	"sync/atomic"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// outputs are the rows of a pass whose logits are wanted, a group at a time.
type outputs struct {
	wanted   []wantedRow
	hidden   []float32 // [len(wanted), n_embd]
	logits   []float32 // [len(wanted), vocab_size]
	gathered int       // rows of the pass that have been looked at

	nonFinite atomic.Pointer[engine.NonFiniteError] // the first one found, in the order of the pass
}

// A wantedRow is a row whose logits are wanted: a token of a span.
type wantedRow struct{ span, token int }

// groupRows bounds the rows of logits that exist at a time: each is a vocabulary of floats.
const groupRows = 64

// gather fills wanted with the next rows, from row on, whose logits are wanted, and copies their
// hidden states.
func (b *backend) gather(row int) {
	b.wanted = b.wanted[:0]
	n := b.params.Embd
	grow(&b.hidden, min(groupRows, b.rows)*n)
	for ; row < b.rows && len(b.wanted) < groupRows; row++ {
		i := b.spanOf(row)
		token := row - b.starts[i]
		if !b.pass.Spans[i].Wants(token) {
			continue
		}
		copy(b.hidden[len(b.wanted)*n:][:n], b.x[row*n:])
		b.wanted = append(b.wanted, wantedRow{i, token})
	}
	b.gathered = row
	grow(&b.hidden, len(b.wanted)*n)
	grow(&b.logits, len(b.wanted)*b.params.Vocab)
}

// A worker looks at so many logits of a row in one task: fewer, where there are few rows for many
// workers.
const leastDelivered, mostDelivered = 2048, 16384

// deliver checks the logits of a group, copies those that spans want, and shows rows to the
// visitor.
func (b *backend) deliver(w *kernels.Worker) {
	v, leaves := b.params.Vocab, b.team.Leaves()
	each := min(max(leastDelivered, (len(b.wanted)*v+w.Size()-1)/w.Size()), mostDelivered)
	parts := (v + each - 1) / each
	for t := w.Next(); t < len(b.wanted)*parts; t = w.Next() {
		r, from := b.wanted[t/parts], t%parts*each
		logits := b.logits[t/parts*v:][from:min(from+each, v)]
		if !leaves.Finite(logits) {
			id := from + firstNonFinite(logits)
			b.report(&engine.NonFiniteError{Span: r.span, Token: r.token, ID: id})
		}
		if s := &b.pass.Spans[r.span]; s.Logits != nil && r.token == len(s.Tokens)-1 {
			copy(s.Logits[from:], logits)
		}
	}
	w.Sync()
	if !b.anyVisited() || b.nonFinite.Load() != nil {
		return
	}
	n := b.params.Embd
	for t := w.Next(); t < len(b.wanted); t = w.Next() {
		if r := b.wanted[t]; b.visits(r) {
			b.pass.Visit(r.span, r.token, b.logits[t*v:(t+1)*v:(t+1)*v],
				b.hidden[t*n:(t+1)*n:(t+1)*n])
		}
	}
	w.Sync()
}

// visits reports whether a row is shown to the visitor.
func (b *backend) visits(r wantedRow) bool { return r.token >= b.pass.Spans[r.span].Visit }

func (b *backend) anyVisited() bool {
	for _, r := range b.wanted {
		if b.visits(r) {
			return true
		}
	}
	return false
}

// firstNonFinite returns the index of the first NaN or infinity, or −1.
func firstNonFinite(x []float32) int {
	const exponent = 0xff << 23
	for i, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return i
		}
	}
	return -1
}

// report keeps the first logit of those found, so that the error does not depend on the workers.
func (o *outputs) report(found *engine.NonFiniteError) {
	for {
		old := o.nonFinite.Load()
		if old != nil && !before(found, old) || o.nonFinite.CompareAndSwap(old, found) {
			return
		}
	}
}

func before(a, b *engine.NonFiniteError) bool {
	return cmp.Or(cmp.Compare(a.Span, b.Span), cmp.Compare(a.Token, b.Token),
		cmp.Compare(a.ID, b.ID)) < 0
}
