package gpu

// The operations of a pass, as launches of kernels.

import (
	"fmt"

	"picogpt/kernels"
)

// A queue launches the kernels of a pass, until the first error.
type queue struct {
	*backend
	ahead    int64 // multiplications that the device has got since it was last waited for
	replayed bool  // the pass is a recording
	segments int   // of the last linear layer, in scratch.parts; 0 if there is none
	err      error
}

func (b *backend) queue() *queue { return &queue{backend: b} }

// launch runs a kernel on groups of items.
func (q *queue) launch(kernel string, groups [3]int, items int, args ...Arg) {
	if q.err != nil {
		return
	}
	l := &q.last // a field, so that a launch allocates nothing
	*l = Launch{Kernel: kernel, Groups: groups, Items: items, Args: append(l.Args[:0], args...)}
	if err := fromDevice(q.driver.Launch(l)); err != nil {
		q.err = fmt.Errorf("%s: %w", kernel, err)
	}
}

// writePlan writes the plan to the device.
func (q *queue) writePlan() {
	if q.err == nil {
		q.err = fromDevice(q.driver.Write(q.scratch.plan, 0, bytesOf(q.plan.words)))
	}
}

// read waits for the launches and reads numbers from the start of a buffer.
func (q *queue) read(to []float32, from Buffer) { q.readAt(to, from, 0) }

// readAt is read from the given index on.
func (q *queue) readAt(to []float32, from Buffer, at int) {
	if q.err == nil {
		q.err = fromDevice(q.driver.Read(bytesOf(to), from, 4*int64(at)))
	}
}

// wait waits for the launches.
func (q *queue) wait() {
	var word [4]byte
	if q.err == nil {
		q.err = fromDevice(q.driver.Read(word[:], q.scratch.plan, 0))
	}
}

// groupItems is the number of work items of a group, unless a kernel needs another number.
const groupItems = 128

// groups returns how many groups of each n elements need.
func groups(n, each int) int { return (n + each - 1) / each }

// embed: x = wte[tokens] + wpe[positions]
func (q *queue) embed() {
	s, w := &q.scratch, &q.stack
	grid := [3]int{q.rows, groups(q.params.Embd, groupItems), 1}
	q.launch("embed_"+w.wte.format.String(), grid, groupItems, memory(s.x),
		memory(w.wte.weights), memory(w.wpe), memory(s.plan), integer(q.params.Embd))
}

// allRows as the argument first means that a layer norm is of all rows of a pass. Any other number
// means the rows whose logits are wanted, from that index on.
const allRows = -1

// layerNorm: x += the last linear layer, if that was not added yet; dst [rows, n_embd] = the rows
// of x, normalized
func (q *queue) layerNorm(dst Buffer, rows, first int, n norm) {
	s := &q.scratch
	q.launch("layer_norm", [3]int{rows, 1, 1}, 256, memory(dst), memory(s.x),
		memory(s.parts), integer(q.segments), integer(q.rows), memory(s.plan), integer(first),
		memory(n.gain), memory(n.bias), integer(q.params.Embd), float(q.params.Epsilon))
}

const (
	segment = 256 // inputs of a chain of kernels/linear.cl
	fewRows = 16  // rows of a group of chains_few

	fewIntegers = 32 // rows of Q8 and Q4 up to which groups of integers_few are more and faster
)

// linear: parts [segments, rows, out], whose sum is x [rows, in] · w + bias
func (q *queue) linear(x Buffer, w *linear) {
	rows, s := q.rows, &q.scratch
	q.segments = groups(w.in, segment)
	if w.format >= kernels.Q8 {
		q.segments = 1
		q.integers(s.parts, x, rows, w)
		return
	}
	name, wide, high := "chains_one_", 16, 1 // outputs and rows of a group
	switch {
	case rows > fewRows:
		name, wide, high = "chains_many_", 64, 64
	case rows > 1:
		name, wide, high = "chains_few_", 32, fewRows
	}
	grid := [3]int{groups(w.out, wide), q.segments, groups(rows, high)}
	q.launch(name+w.format.String(), grid, 256, memory(s.parts), memory(x), memory(w.weights),
		memory(w.bias), integer(rows), integer(w.in), integer(w.out))
}

// integers: y [rows, out] = x [rows, in] · w + bias, in Q8 or Q4
func (q *queue) integers(y, x Buffer, rows int, w *linear) {
	s, blocks := &q.scratch, integer(groups(w.in, 32))
	q.launch("quantize", [3]int{rows, 1, 1}, 256,
		memory(s.q), memory(s.scales), memory(x), integer(w.in), blocks)
	name, wide, high := "integers_one_", 16, 1 // outputs and rows of a group
	switch {
	case rows > fewIntegers:
		name, wide, high = "integers_many_", 64, 64
	case rows > 1:
		name, high = "integers_few_", 8
	}
	q.launch(name+w.format.String(), [3]int{groups(w.out, wide), groups(rows, high), 1}, 256,
		memory(y), memory(s.q), memory(s.scales), memory(w.weights), memory(w.bias),
		integer(rows), blocks, integer(w.out))
}

// head: logits [rows, vocab_size] = hidden [rows, n_embd] · lm_head
func (q *queue) head(logits, hidden Buffer, rows int) {
	w := linear{matrix: q.stack.head}
	if w.format >= kernels.Q8 {
		q.integers(logits, hidden, rows, &w)
		return
	}
	name, grid := "dots_one_", [3]int{groups(w.out, 8), rows, 1}
	if rows > 2 {
		name, grid = "dots_tile_", [3]int{groups(w.out, 32), groups(rows, 8), 1}
	}
	q.launch(name+w.format.String(), grid, 64, memory(logits), memory(hidden), memory(w.weights),
		integer(rows), integer(w.in), integer(w.out))
}

// activate: y [rows, n_inner] = activation(the last linear layer)
func (q *queue) activate(y Buffer) {
	n := q.rows * q.params.Inner
	q.launch("activate_parts", [3]int{groups(n, groupItems), 1, 1}, groupItems, memory(y),
		memory(q.scratch.parts), integer(q.segments), integer(n),
		integer(int(q.params.Activation)))
	q.segments = 0
}

// store adds up the last linear layer, and stores its keys and values in their pages.
func (q *queue) store(layer int) {
	s, p := &q.scratch, q.params
	grid := [3]int{q.rows, groups(p.Embd, groupItems), 1}
	q.launch("store_"+p.CacheFormat.String(), grid, groupItems, memory(s.qkv), memory(s.parts),
		integer(q.segments), memory(q.pool.buffer), memory(s.plan), integer(q.rows),
		integer(p.Heads), integer(p.HeadDim()), integer(len(p.H)), integer(layer))
	q.segments = 0
}

// attention sets rows of out [rows, n_embd] to the attention of these rows: those of the groups.
func (q *queue) attention(out Buffer, layer int, scale float32, of groupLists) {
	s, p, format := &q.scratch, q.params, q.params.CacheFormat.String()
	pool, plan, qkv := memory(q.pool.buffer), memory(s.plan), memory(s.qkv)
	heads, dim := integer(p.Heads), integer(p.HeadDim())
	layers, at := integer(len(p.H)), integer(layer)

	if n := of.alone; n > 0 {
		span := spanOf(p.HeadDim(), p.Heads*n)
		grid := [3]int{p.Heads, n, groups(p.HeadDim(), span)}
		q.launch("attend_one_"+format, grid, 256, memory(out), qkv, pool, plan, integer(of.list),
			heads, dim, integer(span), layers, at, float(scale))
	}
	if n := of.tiles; n > 0 {
		grid := [3]int{p.Heads, n, groups(p.HeadDim(), mostSpan)}
		q.launch("attend_tile_"+format, grid, 256, memory(out), qkv, pool, plan,
			integer(of.list+2*of.alone), heads, dim, layers, at, float(scale))
	}
}

// takeRows makes the n rows that the plan lists the first ones of norm and x. It uses qkv, which
// attention has read.
func (q *queue) takeRows(n int) {
	s, embd := &q.scratch, q.params.Embd
	q.launch("take_rows", [3]int{n, 1, 1}, groupItems, memory(s.qkv), memory(s.norm), memory(s.x),
		memory(s.plan), integer(q.plan.rows), integer(n), integer(embd))
	bytes := 4 * int64(n) * int64(embd)
	q.copy(s.norm, s.qkv, 0, bytes)
	q.copy(s.x, s.qkv, bytes, bytes)
}

// copy copies n bytes from byte at on to the start of a buffer.
func (q *queue) copy(to, from Buffer, at, n int64) {
	if q.err == nil {
		q.err = fromDevice(q.driver.Copy(to, 0, from, at, n))
	}
}

const (
	mostSpan  = 64  // dimensions of a head that one group of attention computes, at most
	leastSpan = 16  // and at least: 32 bytes of a value in half precision, which a GPU loads at once
	fewGroups = 128 // as many as a large GPU runs at a time
)

// spanOf returns how many of a head's dimensions one group of attend_one computes, where so many
// pairs of a row and a head want attention. Of a few, each is shared by up to four groups: they
// compute all weights each, and load a part of the values, so that it takes less time in all.
func spanOf(dim, pairs int) int {
	span := min(dim, mostSpan)
	for span >= 2*leastSpan && pairs*groups(dim, span) <= fewGroups/2 {
		span = (span + 1) / 2
	}
	return span
}
