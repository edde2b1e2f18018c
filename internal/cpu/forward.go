package cpu

// The forward pass. All workers run these functions together; each operation of package kernels
// does the worker's share and ends with a barrier. check/reference/gpt2.go is the same in float64,
// without cache and workers. at does nothing unless somebody reads or edits the point.

import (
	"slices"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// forward computes the rows of a pass and hands out the wanted logits. Of a small pass, the first
// worker computes the layers by itself while the others wait.
func (b *backend) forward(w *kernels.Worker) {
	one := w
	if b.alone {
		one = w.Alone()
	}
	if one != nil {
		b.embed(one)
		b.handOut(one, 0)
		for i := 0; i < b.depth && b.block(one, i); i++ {
			b.handOut(one, i+1)
		}
	}
	if b.alone {
		w.Sync()
	}
	if !b.stopped.Load() && b.depth == len(b.params.H) {
		b.at(w, stack.FinalScale, 0)
		b.at(w, stack.FinalNormalized, 0)
		b.logitsOfRows(w)
	}
}

// handOut hands out the hidden states after so many layers, where they are wanted.
func (b *backend) handOut(w *kernels.Worker, layers int) {
	if b.reads == nil || !b.reads[layers] {
		return
	}
	if p := b.params; layers < len(p.H) {
		b.HandOut(w, layers, b.x, nil) // [rows, n_embd]
	} else {
		b.layerNorm(w, b.norm, b.x, after, finalNorm)
		b.HandOut(w, layers, b.norm, b.last.only) // [rows that are read, n_embd]
	}
}

// embed: x = wte[tokens] + wpe[positions]
func (b *backend) embed(w *kernels.Worker) {
	if b.trace != nil {
		b.embedTraced(w)
		return
	}
	n := b.params.Embd
	for r := w.Next(); r < b.rows; r = w.Next() {
		i, at := b.At(r)
		s, p := &b.pass.Spans[i], b.paramsOf(i)
		x := b.x[r*n : (r+1)*n] // [n_embd]
		p.WTE.Row(x, s.Tokens[at])
		wpe := p.WPE[(s.Position+at)*n:]
		for j := range x {
			x[j] += wpe[j]
		}
	}
	w.Sync()
}

// block: x += mha(ln_1(x)); x += mlp(ln_2(x)). It returns false if the context has ended, to all
// workers alike.
func (b *backend) block(w *kernels.Worker, layer int) bool {
	h, n, rows := &b.params.H[layer], b.rows, all
	if w.ID() == 0 {
		if err := b.ctx.Err(); err != nil {
			b.ended = err
			b.stopped.Store(true)
		}
	}

	// x, norm and sum are [rows, n_embd]
	b.at(w, stack.ResidPre, layer)
	b.layerNorm(w, b.norm, b.x, rows, func(g *group) *stack.Norm { return &g.params.H[layer].Ln1 })
	b.at(w, stack.LN1Scale, layer)
	b.at(w, stack.LN1Normalized, layer)
	if b.stopped.Load() { // one worker sets it before this barrier, and again only after later ones
		return false
	}
	b.touch(w, layer, &h.CAttn.Weight, &h.AttnProj.Weight, &h.CFC.Weight, &h.MLPProj.Weight)
	if b.last.only != nil && layer == len(b.params.H)-1 {
		if n = b.attendLast(w, layer); n == 0 {
			return true
		}
		rows = after
	} else {
		b.linear(w, b.qkv, b.norm, rows, func(g *group) *stack.Linear { // -> [rows, 3*n_embd]
			return &g.params.H[layer].CAttn
		})
		b.at(w, stack.Query, layer)
		b.at(w, stack.Key, layer)
		b.at(w, stack.Value, layer)
		b.watchAttention(w, layer)
		kernels.CausalAttention(w, b.spans, layer*b.params.Heads, h.Scale) // qkv -> norm [rows, n_embd]
		b.at(w, stack.Scores, layer)
		b.at(w, stack.Pattern, layer)
		b.at(w, stack.Z, layer)
		b.readResults(w, layer)
	}
	b.linear(w, b.sum, b.norm, rows, func(g *group) *stack.Linear { // -> [rows, n_embd]
		return &g.params.H[layer].AttnProj
	})
	b.at(w, stack.AttnOut, layer)

	b.addLayerNorm(w, layer, rows) // x += sum, norm = ln_2(x)
	b.at(w, stack.LN2Scale, layer)
	b.at(w, stack.LN2Normalized, layer)
	b.linear(w, b.inner, b.norm, rows, func(g *group) *stack.Linear { // -> [rows, n_inner]
		return &g.params.H[layer].CFC
	})
	b.at(w, stack.MLPPre, layer)
	kernels.Activate(w, b.inner[:n*b.params.Inner], b.params.Activation) // [rows, n_inner]
	b.at(w, stack.MLPPost, layer)
	b.linear(w, b.sum, b.inner, rows, func(g *group) *stack.Linear { // -> [rows, n_embd]
		return &g.params.H[layer].MLPProj
	})
	b.at(w, stack.MLPOut, layer)
	kernels.Add(w, b.x[:n*b.params.Embd], b.sum)
	b.at(w, stack.ResidPost, layer)
	return true
}

// touch touches the weights of a layer, or of the head, before they are read for the first time: not
// earlier, for the system may have forgotten them by then, and no pass reads what it does not need.
func (b *backend) touch(w *kernels.Worker, layer int, weights ...*kernels.Matrix) {
	if !b.read[layer] {
		kernels.Touch(w, weights...)
		if w.ID() == 0 { // the others have seen it before Touch's barrier
			b.read[layer] = true
		}
	}
}

// logitsOfRows: logits = ln_f(x) @ wte.T for the rows whose logits are wanted, a group at a time.
func (b *backend) logitsOfRows(w *kernels.Worker) {
	p := b.params
	for row := 0; row < b.rows; {
		if w.ID() == 0 {
			b.gathered = b.Gather(row)
			for i, wanted := range b.Wanted {
				copy(b.Hidden[i*p.Embd:(i+1)*p.Embd], b.x[b.last.row(wanted)*p.Embd:])
			}
			b.countRows(head, b.Wanted)
		}
		w.Sync()
		if n := len(b.Wanted); n > 0 {
			b.touch(w, len(p.H), p.LMHead)
			// [wanted, n_embd] -> [wanted, n_embd] -> [wanted, vocab_size]
			b.layerNorm(w, b.Hidden, b.Hidden, head, finalNorm)
			b.linear(w, b.Logits, b.Hidden, head, func(g *group) *stack.Linear { return &g.head })
			b.Deliver(w)
		}
		row = b.gathered
		w.Sync()
	}
}

// The last block of a pass of which only some rows are read. It needs the keys and values of all
// rows, and everything else of these rows only. No bit depends on it, because rows do not depend on
// each other except by keys and values.

// A lastBlock is what the last block is computed for: the rows of a pass of which logits or hidden
// states are wanted.
type lastBlock struct {
	divided

	rows  []int          // of the pass, ascending
	only  []int          // rows, if the last block is computed for them only; else nil
	spans []kernels.Span // the inputs of attention for each span
}

// A divided is the columns of c_attn in the last block: [n_embd, n_embd] and [n_embd, 2·n_embd].
type divided struct {
	query, keyValue stack.Linear
	can             bool // there are such columns
}

// divide divides the weights of c_attn.
func divide(p *stack.Params) (d divided) {
	c, n := &p.H[len(p.H)-1].CAttn, p.Embd
	var queries, others bool
	d.query.Weight, queries = c.Weight.Columns(0, n)
	d.keyValue.Weight, others = c.Weight.Columns(n, 2*n)
	d.query.Bias, d.keyValue.Bias = c.Bias[:n], c.Bias[n:]
	d.can = queries && others
	return d
}

// row returns where a row that is read stands after the last block.
func (r *lastBlock) row(row int) int {
	if r.only == nil {
		return row
	}
	i, _ := slices.BinarySearch(r.only, row)
	return i
}

// prepareLast finds the rows of the pass that are read. Keys and values of the last block stand in
// qkv [rows, 2·n_embd], and then the queries [rows that are read, n_embd].
func (b *backend) prepareLast() {
	r, n := &b.last, b.params.Embd
	if r.rows == nil {
		r.rows = []int{} // only is not nil for no rows
	}
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
	if r.only = nil; b.canDivide() && b.trace == nil && len(r.rows) < b.rows {
		r.only = r.rows
		b.countRows(after, r.only)
	}
}

// attendLast is attention in the last block: of norm [rows, n_embd] it makes the results for the
// rows that are read, in their order, and moves these rows of x to its beginning. It returns their
// number.
func (b *backend) attendLast(w *kernels.Worker, layer int) int {
	r, n := &b.last, b.params.Embd
	// -> [rows, 2*n_embd]
	b.linear(w, b.qkv, b.norm, all, func(g *group) *stack.Linear { return &g.keyValue })
	if w.ID() == 0 {
		for i, row := range r.only {
			copy(b.norm[i*n:(i+1)*n], b.norm[row*n:])
			copy(b.x[i*n:(i+1)*n], b.x[row*n:])
		}
	}
	w.Sync()
	if len(r.only) > 0 { // -> [rows that are read, n_embd]
		queries := b.qkv[b.rows*2*n:]
		b.linear(w, queries, b.norm, after, func(g *group) *stack.Linear { return &g.query })
	}
	kernels.CausalAttention(w, r.spans, layer*b.params.Heads, b.params.H[layer].Scale)
	return len(r.only)
}
