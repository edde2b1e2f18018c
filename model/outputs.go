package model

// The outputs of a pass: which rows want logits, and where these go.

import (
	"cmp"
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

	nonFinite atomic.Pointer[nonFinite] // the first one found, in the order of the batch
}

// An end is a row whose logits are wanted.
type end struct {
	*span
	i int // of the token in Tokens
}

// kept reports whether the session keeps the row's logits.
func (d end) kept() bool { return d.i == len(d.Tokens)-1 && !d.NoLogits }

// visited reports whether the row is shown to the visitor.
func (d end) visited() bool { return d.Visit != nil && d.i >= d.VisitFrom }

// logitsRows bounds the rows of logits that exist at a time: each is a vocabulary of floats.
const logitsRows = 64

// gather fills ends with the next rows, from row on, whose logits are wanted, and copies their hidden states.
func (e *evaluation) gather(row int) {
	e.ends = e.ends[:0]
	for ; row < e.rows && len(e.ends) < logitsRows; row++ {
		s := e.spanOf(row)
		d := end{s, s.from + row - s.row}
		if d.visited() || d.kept() {
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
		visitors = visitors || d.visited()
	}
	for t := w.Next(); t < len(e.ends)*parts; t = w.Next() {
		d, from := e.ends[t/parts], t%parts*deliverCols
		logits := e.logits[t/parts*v:][from:min(from+deliverCols, v)]
		if i := firstNonFinite(logits); i >= 0 {
			e.report(d.input, &NonFiniteError{d.Session.Len() + d.i, from + i})
		}
		if d.kept() {
			copy(d.Session.next[from:], logits)
		}
	}
	w.Sync()
	if !visitors || e.nonFinite.Load() != nil {
		return
	}
	n := e.model.config.Embd
	for t := w.Next(); t < len(e.ends); t = w.Next() {
		if d := e.ends[t]; d.visited() {
			d.Visit(Row{d.i, e.logits[t*v : (t+1)*v], e.hidden[t*n : (t+1)*n]})
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

// nonFinite is a logit that is no finite number.
type nonFinite struct {
	input int
	NonFiniteError
}

// before orders such logits as the batch does.
func (a *nonFinite) before(b *nonFinite) bool {
	return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID)) < 0
}

// report keeps the first logit of those found, so that the error does not depend on the workers.
func (o *outputs) report(input int, err *NonFiniteError) {
	found := &nonFinite{input, *err}
	for {
		old := o.nonFinite.Load()
		if old != nil && !found.before(old) || o.nonFinite.CompareAndSwap(old, found) {
			return
		}
	}
}
