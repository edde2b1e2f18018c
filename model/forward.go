package model

// The forward pass. Every worker runs these functions together; each operation of package kernels takes the worker's
// share and ends with a barrier. Compare reference/gpt2.go, which is the same in float64 without the machinery.

import "picogpt/kernels"

// forward evaluates the rows of one pass and hands out the logits that are wanted.
func (e *evaluation) forward(w *kernels.Worker) {
	if !e.small || w.Size() == 1 {
		e.layers(w)
	} else {
		if w.ID() == 0 {
			e.model.single.Run(e.layersBody)
		}
		w.Sync()
	}
	if !e.stopped {
		e.head(w)
	}
}

// layers: the embedding and the blocks.
func (e *evaluation) layers(w *kernels.Worker) {
	e.embed(w)
	for i := range e.model.params.h {
		if e.cancelled(w) {
			return
		}
		e.block(w, i)
	}
}

// embed: x = wte[tokens] + wpe[positions]
func (e *evaluation) embed(w *kernels.Worker) {
	m, n := e.model, e.model.config.Embd
	for r := w.Next(); r < e.rows; r = w.Next() {
		s := e.spanOf(r)
		i := r - s.row
		x := e.x[r*n : (r+1)*n] // [n_embd]
		m.params.wte.Row(x, s.Tokens[s.from+i])
		wpe := m.params.wpe[(s.position+i)*n:]
		for j := range x {
			x[j] += wpe[j]
		}
	}
	w.Sync()
}

// block: x += mha(ln_1(x)); x += mlp(ln_2(x))
func (e *evaluation) block(w *kernels.Worker, layer int) {
	b, n := &e.model.params.h[layer], e.rows
	eps := float32(e.model.config.LayerNormEpsilon)

	kernels.LayerNorm(w, e.norm, e.x, n, b.ln1.gain, b.ln1.bias, eps)        // [rows, n_embd]
	kernels.Linear(w, e.qkv, e.norm, n, &b.cAttn.weight, b.cAttn.bias)       // [rows, n_embd] -> [rows, 3*n_embd]
	e.attention(w, layer, e.norm)                                            // [rows, 3*n_embd] -> [rows, n_embd]
	kernels.Linear(w, e.sum, e.norm, n, &b.attnProj.weight, b.attnProj.bias) // [rows, n_embd]
	kernels.Add(w, e.x, e.sum)

	kernels.LayerNorm(w, e.norm, e.x, n, b.ln2.gain, b.ln2.bias, eps)       // [rows, n_embd]
	kernels.Linear(w, e.inner, e.norm, n, &b.cFC.weight, b.cFC.bias)        // [rows, n_embd] -> [rows, n_inner]
	kernels.Activate(w, e.inner, e.model.params.activation)                 // [rows, n_inner]
	kernels.Linear(w, e.sum, e.inner, n, &b.mlpProj.weight, b.mlpProj.bias) // [rows, n_inner] -> [rows, n_embd]
	kernels.Add(w, e.x, e.sum)
}

// attentionRows is the number of queries that pass over a block of keys together: enough to use the block well, few enough to share out.
const attentionRows = 48

// attention adds the pass's keys and values to the caches, then lets every query see its own session's keys up to its own
// position: out [rows, n_embd], from e.qkv [rows, 3*n_embd].
func (e *evaluation) attention(w *kernels.Worker, layer int, out []float32) {
	c := &e.model.config
	heads, dim, width := c.Head, c.Embd/c.Head, 3*c.Embd

	for t := w.Next(); t < len(e.spans)*heads; t = w.Next() {
		s, h := &e.spans[t/heads], t%heads
		at := (layer*heads + h) * dim * kernels.Block // of this head in a page
		for i := range s.n {
			p := s.position + i
			k := e.qkv[(s.row+i)*width+c.Embd+h*dim:][:dim]
			v := e.qkv[(s.row+i)*width+2*c.Embd+h*dim:][:dim]
			kernels.StoreKV(s.Session.keys[p/kernels.Block][at:], s.Session.values[p/kernels.Block][at:], p%kernels.Block, k, v)
		}
	}
	w.Sync()

	// The longest tasks, the last queries of a prompt, go first.
	tasks, tile := e.attentionTasks(), 0
	for t := w.Next(); t < tasks*heads; t = w.Next() {
		tile = tasks - 1 - t/heads
		s, first := e.attentionTile(tile)
		h := t % heads
		at := (layer*heads + h) * dim * kernels.Block
		row := s.row + first
		w.Attend(&kernels.Attention{
			Q: e.qkv[row*width+h*dim:], LDQ: width,
			Out: out[row*c.Embd+h*dim:], LDO: c.Embd,
			Rows: min(attentionRows, s.n-first),
			K:    s.Session.keys, V: s.Session.values, KOff: at, VOff: at,
			DK: dim, DV: dim,
			Keys: s.position + s.n, See: s.position + first + 1, Step: 1,
			Scale: e.model.params.h[layer].scale,
		})
	}
	w.Sync()
}

// attentionTasks returns the number of tiles of queries in the pass, over all spans.
func (e *evaluation) attentionTasks() int {
	n := 0
	for i := range e.spans {
		n += (e.spans[i].n + attentionRows - 1) / attentionRows
	}
	return n
}

// attentionTile returns the span of a tile, and its first query in the span.
func (e *evaluation) attentionTile(tile int) (*span, int) {
	for i := range e.spans {
		n := (e.spans[i].n + attentionRows - 1) / attentionRows
		if tile < n {
			return &e.spans[i], tile * attentionRows
		}
		tile -= n
	}
	panic("model: no such tile")
}

// spanOf returns the span that a row belongs to.
func (e *evaluation) spanOf(row int) *span {
	for i := range e.spans {
		if s := &e.spans[i]; row < s.row+s.n {
			return s
		}
	}
	panic("model: no such row")
}

// cancelled tells every worker alike whether the context has ended.
func (e *evaluation) cancelled(w *kernels.Worker) bool {
	if w.ID() == 0 && e.ctx.Err() != nil {
		e.stopped = true
	}
	w.Sync()
	return e.stopped
}

// head: logits = ln_f(x) @ wte.T, for the rows where they are wanted, a group at a time.
func (e *evaluation) head(w *kernels.Worker) {
	p := &e.model.params
	eps := float32(e.model.config.LayerNormEpsilon)
	for row := 0; row < e.rows; {
		if w.ID() == 0 {
			e.gather(row)
		}
		w.Sync()
		if n := len(e.ends); n > 0 {
			kernels.LayerNorm(w, e.hidden, e.hidden, n, p.lnF.gain, p.lnF.bias, eps) // [ends, n_embd]
			kernels.Linear(w, e.logits, e.hidden, n, p.head, nil)                    // [ends, n_embd] -> [ends, vocab_size]
			e.deliver(w)
		}
		row = e.gathered
		w.Sync()
	}
}
