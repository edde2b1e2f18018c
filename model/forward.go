package model

// The forward pass. Every worker runs these functions together; each operation of package kernels takes the worker's
// share and ends with a barrier. Compare reference/gpt2.go, which is the same in float64 without the machinery.

import (
	"picogpt/attention"
	"picogpt/kernels"
)

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
		if w.ID() == 0 && e.ctx.Err() != nil {
			e.stopped = true
		}
		if !e.block(w, i) {
			return
		}
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

// block: x += mha(ln_1(x)); x += mlp(ln_2(x)). It reports false, to every worker alike, where the context has ended.
func (e *evaluation) block(w *kernels.Worker, layer int) bool {
	b, n := &e.model.params.h[layer], e.rows
	eps := float32(e.model.config.LayerNormEpsilon)
	at := e.model.cacheOffset(layer)

	kernels.LayerNorm(w, e.norm, e.x, n, b.ln1.gain, b.ln1.bias, eps) // [rows, n_embd]
	if e.stopped {                                                    // written before this barrier, and again only after others
		return false
	}
	kernels.Linear(w, e.qkv, e.norm, n, &b.cAttn.weight, b.cAttn.bias)       // [rows, n_embd] -> [rows, 3*n_embd]
	attention.Attend(w, e.heads, at, at, b.scale)                            // qkv -> norm: [rows, 3*n_embd] -> [rows, n_embd]
	kernels.Linear(w, e.sum, e.norm, n, &b.attnProj.weight, b.attnProj.bias) // [rows, n_embd] -> [rows, n_embd]

	kernels.AddLayerNorm(w, e.norm, e.x, e.sum, n, b.ln2.gain, b.ln2.bias, eps) // x += sum; [rows, n_embd]
	kernels.Linear(w, e.inner, e.norm, n, &b.cFC.weight, b.cFC.bias)            // [rows, n_embd] -> [rows, n_inner]
	kernels.Activate(w, e.inner, e.model.params.activation)                     // [rows, n_inner]
	kernels.Linear(w, e.sum, e.inner, n, &b.mlpProj.weight, b.mlpProj.bias)     // [rows, n_inner] -> [rows, n_embd]
	kernels.Add(w, e.x, e.sum)
	return true
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

// head: logits = ln_f(x) @ wte.T, for the rows where they are wanted, a group at a time.
func (e *evaluation) head(w *kernels.Worker) {
	p := e.model.params
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
