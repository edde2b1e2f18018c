package gpu

// The forward pass. Each operation is a launch or a few, in order; operations.go has them. Compare
// internal/cpu/forward.go, and reference/gpt2.go, which is the same in float64.

import "context"

// layers: the embedding and the blocks.
func (b *backend) layers(ctx context.Context) error {
	q := b.queue()
	q.embed() // -> x [rows, n_embd]
	for i := range b.stack.h {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.block(i)
		if b.heavy() {
			q.wait()
		}
		if q.err != nil {
			return q.err
		}
	}
	return nil
}

// block: x += mha(ln_1(x)); x += mlp(ln_2(x))
func (q *queue) block(layer int) {
	h, s := &q.stack.h[layer], &q.scratch

	q.layerNorm(s.norm, s.x, q.rows, allRows, h.ln1) // [rows, n_embd]
	q.linear(s.qkv, s.norm, q.rows, &h.cAttn, store) // -> [rows, 3*n_embd]
	q.attention(s.norm, s.qkv, layer, h.scale)       // -> [rows, n_embd]
	q.linear(s.x, s.norm, q.rows, &h.attnProj, add)  // x += [rows, n_embd]

	q.layerNorm(s.norm, s.x, q.rows, allRows, h.ln2)
	q.linear(s.inner, s.norm, q.rows, &h.cFC, q.activate()) // -> [rows, n_inner]
	q.linear(s.x, s.inner, q.rows, &h.mlpProj, add)         // x += [rows, n_embd]
}

// logitsOfRows: logits = ln_f(x) @ wte.T, for the rows where they are wanted, a group at a time.
func (b *backend) logitsOfRows() error {
	q, s := b.queue(), &b.scratch
	for row, first := 0, 0; row < b.Rows(); {
		row = b.Gather(row)
		n := len(b.Wanted)
		if n == 0 {
			continue
		}
		// [wanted, n_embd] -> [wanted, n_embd] -> [wanted, vocab_size]
		q.layerNorm(s.hidden, s.x, n, first, b.stack.lnF)
		q.linear(s.logits, s.hidden, n, &linear{matrix: b.stack.head}, store)
		q.read(b.Hidden, s.hidden)
		q.read(b.Logits, s.logits)
		if q.err != nil {
			return q.err
		}
		b.deliver()
		first += n
	}
	return nil
}

// deliver hands out a group: on one worker where that is little work.
func (b *backend) deliver() {
	if len(b.Logits) < 1<<17 {
		b.team.RunAlone(b.handOut)
	} else {
		b.team.Run(b.handOut)
	}
}

// heavy reports whether a layer of this pass takes so long that a context that ends meanwhile is
// to be seen: the device then finishes a layer before it gets the next.
func (b *backend) heavy() bool {
	return b.Rows()*b.params.H[0].Weights() >= 1<<28
}
