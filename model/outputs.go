package model

// The outputs of a pass: which rows want logits, and where these go.

import (
	"math"
	"sync/atomic"

	"picogpt/kernels"
)

// outputs are the rows of a pass whose logits are wanted, a group at a time.
type outputs struct {
	ends     []end
	hidden   []float32 // [len(ends), n_embd]
	logits   []float32 // [len(ends), vocab_size]
	gathered int       // rows of the pass that have been looked at

	nonFinite atomic.Pointer[NonFiniteError] // the one at the lowest position found
}

// An end is a row whose logits are wanted.
type end struct {
	*span
	i int // of the token in Tokens
}

// last reports whether the row is its input's last, whose logits the session keeps.
func (d end) last() bool { return d.i == len(d.Tokens)-1 }

// logitsRows bounds the rows of logits that exist at a time: each is a vocabulary of floats.
const logitsRows = 64

// gather fills ends with the next rows, from row on, whose logits are wanted, and copies their hidden states.
func (e *evaluation) gather(row int) {
	e.ends = e.ends[:0]
	for ; row < e.rows && len(e.ends) < logitsRows; row++ {
		s := e.spanOf(row)
		d := end{s, s.from + row - s.row}
		if s.Visit != nil || d.last() {
			e.ends = append(e.ends, d)
		}
	}
	e.gathered = row
	n, c := len(e.ends), &e.model.config
	grow(&e.hidden, n*c.Embd)
	grow(&e.logits, n*c.VocabSize)
	for t, d := range e.ends {
		r := d.row + d.i - d.from
		copy(e.hidden[t*c.Embd:(t+1)*c.Embd], e.x[r*c.Embd:])
	}
}

// deliverCols is how many logits of a row one worker looks at in one go.
const deliverCols = 16384

// deliver checks the logits of a group, copies a last row's to its session, and shows them to the visitors.
func (e *evaluation) deliver(w *kernels.Worker) {
	v := e.model.config.VocabSize
	parts := (v + deliverCols - 1) / deliverCols
	visitors := false
	for _, d := range e.ends {
		visitors = visitors || d.Visit != nil
	}
	for t := w.Next(); t < len(e.ends)*parts; t = w.Next() {
		d, from := e.ends[t/parts], t%parts*deliverCols
		logits := e.logits[t/parts*v:][from:min(from+deliverCols, v)]
		if i := firstNonFinite(logits); i >= 0 {
			e.report(&NonFiniteError{d.Session.Len() + d.i, from + i})
		}
		if d.last() {
			copy(d.Session.next[from:], logits)
		}
	}
	w.Sync()
	if !visitors || e.nonFinite.Load() != nil {
		return
	}
	for t := w.Next(); t < len(e.ends); t = w.Next() {
		if d := e.ends[t]; d.Visit != nil {
			d.Visit(d.i, e.logits[t*v:(t+1)*v])
		}
	}
	w.Sync()
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

// report keeps the error at the lowest position, and there at the lowest id, so that it does not depend on the workers.
func (o *outputs) report(err *NonFiniteError) {
	for {
		old := o.nonFinite.Load()
		if old != nil && (old.Position < err.Position || old.Position == err.Position && old.ID <= err.ID) {
			return
		}
		if o.nonFinite.CompareAndSwap(old, err) {
			return
		}
	}
}
