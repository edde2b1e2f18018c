// Package gpu computes a model on a GPU, to the same bits as the processor.
//
// A [Driver] allocates memory and runs the kernels: package gpu/opencl or gpu/cuda. Their function
// Devices returns the values for model.Options.Device. Package gpu/drivers has both.
//
//	devices, err := opencl.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
//
// A device is probed when a model is opened on it. A device that does not round as IEEE 754
// requires, or computes other logits than the processor for a small model, is refused; the error
// names what it lacks. If a device fails later, each session is as it was; the model must then be
// opened again.
//
// Begin with forward.go, which has a transformer block as operations. operations.go has the
// launches of each operation, and gpu/kernels/gpt2.cl lists the files with the kernels, which
// compute in the orders of the Go package kernels. memory.go has the parameters and the rows of a
// pass, pool.go and cache.go the pages of keys and values; plan.go has what the host tells the
// device about a pass; recorded.go turns a small pass into one launch; best.go reads only the best
// logits, if no others decide. devices.go chooses a device, probe.go tests it, backend.go opens a
// model on it.
package gpu

// The forward pass. Each operation is one or a few launches, in order, which are in operations.go.
// Compare internal/cpu/forward.go, and check/reference/gpt2.go, which is the same in float64.

import (
	"context"

	"picogpt/kernels"
)

// forward computes the rows of a pass and hands out the wanted logits. A small pass is one launch
// if the driver has recorded another pass of its shape.
func (q *queue) forward(ctx context.Context) error {
	var of shape
	if q.small {
		if of = q.shape(); q.replay(of) {
			q.deliver()
			return q.err
		}
	}
	q.writePlan()
	if q.layers(ctx); q.err != nil {
		return q.err
	}
	for row, first := 0, 0; row < q.Rows() && q.err == nil; {
		if q.err = ctx.Err(); q.err != nil {
			break
		}
		row = q.Gather(row)
		if n := len(q.Wanted); n > 0 {
			q.chooser.k = q.chosen()
			if q.small {
				n = q.plan.wanted // with rows that pad it
			}
			q.logits(first, n)
			q.deliver()
			first += n
		}
	}
	if q.small && q.err == nil {
		q.recordings.launched(of)
	}
	return q.err
}

// layers: the embedding and the blocks.
func (q *queue) layers(ctx context.Context) {
	q.embed() // -> x [rows, n_embd]
	for i := range q.stack.h {
		if q.err == nil {
			q.err = ctx.Err()
		}
		if q.err != nil {
			return
		}
		q.block(i)
		q.pace()
	}
}

// block: x += mha(ln_1(x)); x += mlp(ln_2(x)). The next layer norm adds the result of a linear
// layer to x.
func (q *queue) block(layer int) {
	h, s := &q.stack.h[layer], &q.scratch

	q.layerNorm(s.norm, q.rows, allRows, h.ln1, &h.cAttn.matrix) // x += mlp of the previous layer
	q.linear(s.norm, &h.cAttn)                                   // -> [rows, 3*n_embd]
	last := q.plan.only && layer == len(q.stack.h)-1
	if last || !q.attentionStores() {
		q.store(layer)
	}
	if !last {
		q.attention(s.norm, layer, h.scale, q.plan.attend) // -> [rows, n_embd]
	} else if q.attendLast(layer, h.scale); q.rows == 0 {
		return
	}
	q.linear(s.norm, &h.attnProj)

	q.layerNorm(s.norm, q.rows, allRows, h.ln2, &h.cFC.matrix) // x += mha
	q.mlp(s.norm, &h.cFC, &h.mlpProj)                          // -> [rows, n_embd]
}

// attendLast is attention in the last block if not all rows are read: of norm [rows, n_embd] it
// makes the results for the rows whose logits are wanted, and moves these rows of x to its
// beginning. The pass then has these rows only. No bit depends on that: see
// internal/cpu/forward.go.
func (q *queue) attendLast(layer int, scale float32) {
	if q.plan.wanted > 0 {
		q.attention(q.scratch.norm, layer, scale, q.plan.attendFor)
		q.takeRows(q.plan.wanted)
	}
	q.rows = q.plan.wanted
}

// logits: logits = ln_f(x) @ wte.T, for the n rows whose logits are wanted from index first on.
func (q *queue) logits(first, n int) {
	s := &q.scratch
	// [wanted, n_embd] -> [wanted, n_embd] -> [wanted, vocab_size]
	q.layerNorm(s.hidden, n, first, q.stack.lnF, &q.stack.head)
	q.head(s.logits, s.hidden, n)
	if q.chooser.k > 0 {
		q.choose(n, q.chooser.k) // logits -> the best of them
	}
}

// deliver reads the outputs of a group and hands them out.
func (q *queue) deliver() {
	switch {
	case q.err != nil:
		return
	case len(q.Wanted) == 0:
		q.wait()
		return
	case q.chooser.k > 0:
		q.readBest()
		q.readRows()
	default:
		if q.Visited() {
			q.read(q.Hidden, q.scratch.hidden)
		}
		q.read(q.Logits, q.scratch.logits)
	}
	q.runTeam(len(q.Logits), q.handOut)
}

// readRows reads the rows of a group that have no Best.
func (q *queue) readRows() {
	v, n := q.params.Vocab, q.params.Embd
	for i := range q.Wanted {
		if len(q.Best[i].IDs) == 0 {
			q.readAt(q.Logits[i*v:(i+1)*v], q.scratch.logits, i*v)
			q.readAt(q.Hidden[i*n:(i+1)*n], q.scratch.hidden, i*n)
		}
	}
}

// runTeam runs work on all workers or, if there are few numbers, on one.
func (q *queue) runTeam(numbers int, work func(*kernels.Worker)) {
	switch {
	case q.err != nil:
	case numbers < 1<<17:
		q.team.RunAlone(work)
	default:
		q.team.Run(work)
	}
}

// mostAhead is for how many multiplications a device gets work before it is waited for, so that a
// pass whose context ends does not run on: a tenth of a second on a slow device, and on a fast one
// so much that a step of a server is not waited for before its end.
const mostAhead = 1 << 34

// pace waits for the device if it has got much work since it was last waited for.
func (q *queue) pace() {
	q.ahead += int64(q.rows) * int64(q.params.H[0].Weights())
	if q.ahead >= mostAhead {
		q.wait()
		q.ahead = 0
	}
}
