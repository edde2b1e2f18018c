package gpu

// The operations of a pass, as launches of kernels.

import (
	"fmt"

	"picogpt/kernels"
)

// A queue launches kernels for a pass, until the first error.
type queue struct {
	*backend
	rows int // of the pass
	err  error
}

func (b *backend) queue() *queue { return &queue{backend: b, rows: b.Rows()} }

// launch runs a kernel on groups of items.
func (q *queue) launch(kernel string, groups [3]int, items int, args ...Arg) {
	if q.err != nil {
		return
	}
	l := Launch{Kernel: kernel, Groups: groups, Items: items, Args: args}
	if err := fromDevice(q.driver.Launch(&l)); err != nil {
		q.err = fmt.Errorf("%s: %w", kernel, err)
	}
}

// read waits for the launches and reads numbers.
func (q *queue) read(to []float32, from Buffer) {
	if q.err == nil {
		q.err = fromDevice(q.driver.Read(bytesOf(to), from, 0))
	}
}

// wait waits for the launches.
func (q *queue) wait() {
	var word [4]byte
	if q.err == nil {
		q.err = fromDevice(q.driver.Read(word[:], q.scratch.plan, 0))
	}
}

const groupItems = 64 // work items of a group, where a kernel does not ask for a number

// groups returns how many groups of so many take n.
func groups(n, each int) int { return (n + each - 1) / each }

// embed: x = wte[tokens] + wpe[positions]
func (q *queue) embed() {
	s, w := &q.scratch, &q.stack
	q.launch("embed_"+w.wte.format.String(), [3]int{q.rows, 1, 1}, groupItems,
		memory(s.x), memory(w.wte.weights), memory(w.wpe), memory(s.plan), integer(q.params.Embd))
}

// allRows says that a layer norm is of all rows of a pass; another number, that it is of those whose
// logits are wanted, from that one on.
const allRows = -1

// layerNorm: dst [rows, n_embd] = the rows of x, normalized
func (q *queue) layerNorm(dst, x Buffer, rows, first int, n norm) {
	q.launch("layer_norm", [3]int{rows, 1, 1}, groupItems, memory(dst), memory(x),
		memory(q.scratch.plan), integer(first), memory(n.gain), memory(n.bias),
		integer(q.params.Embd), float(q.params.Epsilon))
}

// What becomes of the outputs of a linear layer, as kernels/linear.cl has it.
const (
	store = iota
	add
	activate
)

// activate stores outputs that have gone through the model's activation.
func (q *queue) activate() int { return activate + int(q.params.Activation) }

// linear: y [rows, out] = x [rows, in] · w + bias; or what after says
func (q *queue) linear(y, x Buffer, rows int, w *linear, after int) {
	name := "linear_" + w.format.String()
	in, out, then := integer(w.in), integer(w.out), integer(after)
	switch {
	case w.format >= kernels.Q8:
		s, blocks := &q.scratch, integer(groups(w.in, 32))
		q.launch("quantize", [3]int{rows, 1, 1}, 64,
			memory(s.q), memory(s.starts), memory(s.scales), memory(x), in, blocks)
		q.launch(name, [3]int{groups(w.out, groupItems), rows, 1}, groupItems, memory(y),
			memory(s.q), memory(s.starts), memory(s.scales), memory(w.weights), memory(w.bias),
			blocks, out, then)
	case w.bias == 0: // [out, in] weights: the head
		q.launch("head_"+w.format.String(), [3]int{groups(w.out, 8), rows, 1}, 64,
			memory(y), memory(x), memory(w.weights), in, out)
	default:
		q.launch(name, [3]int{groups(w.out, groupItems), rows, 1}, groupItems,
			memory(y), memory(x), memory(w.weights), memory(w.bias), in, out, then)
	}
}

// attention stores the keys and values of qkv [rows, 3·n_embd] in their pages, and sets out [rows,
// n_embd] to what each row sees.
func (q *queue) attention(out, qkv Buffer, layer int, scale float32) {
	s, p, format := &q.scratch, q.params, "_"+q.params.CacheFormat.String()
	pool, plan := memory(q.pool.buffer), memory(s.plan)
	heads, dim := integer(p.Heads), integer(p.HeadDim())
	layers, at, blocks := integer(len(p.H)), integer(layer), integer(q.blocks)
	scores, maxima := memory(s.scores), memory(s.maxima)
	part, sums := memory(s.part), memory(s.sums)

	q.launch("store"+format, [3]int{q.rows, 1, 1}, groupItems,
		pool, plan, memory(qkv), heads, dim, layers, at)
	each := [3]int{q.blocks, p.Heads, q.rows}
	q.launch("scores"+format, each, kernels.Block, scores, maxima, pool, plan, memory(qkv),
		heads, dim, layers, at, blocks, float(scale))
	q.launch("weigh"+format, each, kernels.Block, part, sums, scores, maxima, pool, plan,
		heads, dim, layers, at, blocks)
	q.launch("combine", [3]int{p.Heads, q.rows, 1}, groupItems,
		memory(out), part, sums, maxima, plan, heads, dim, blocks)
}
