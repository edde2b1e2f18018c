package gpu

// The operations of a pass, as launches of kernels.

import (
	"fmt"

	"picogpt/kernels"
)

// A queue launches the kernels of a pass, until the first error.
type queue struct {
	*backend
	ahead    int64  // multiplications that the device has got since it was last waited for
	replayed bool   // the pass is a recording
	segments int    // of the last linear layer, in scratch.parts; 0 if there is none
	integral Buffer // its rows are in scratch.q as integers; 0 if no buffer's are
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
// of x, normalized, also as integers if the next matrix wants such
func (q *queue) layerNorm(dst Buffer, rows, first int, n norm, next *matrix) {
	s, integers := &q.scratch, Buffer(0)
	if q.integral = 0; next.format >= kernels.Q8 {
		integers, q.integral = s.q, dst
	}
	q.launch("layer_norm", [3]int{rows, 1, 1}, 256, memory(dst), memory(integers),
		memory(s.scales), memory(s.x), memory(s.parts), integer(q.segments), integer(q.rows),
		memory(s.plan), integer(first), memory(n.gain), memory(n.bias), integer(q.params.Embd),
		float(q.params.Epsilon))
}

const (
	segment = 256 // inputs of a chain of kernels/linear.cl
	fewRows = 16  // rows of a group of chains_few

	fewIntegers = 32 // rows of Q8 and Q4 up to which groups of integers_few are more and faster
)

// none is no activation.
const none = -1

// linear: parts [segments, rows, out], whose sum is x [rows, in] · w + bias
func (q *queue) linear(x Buffer, w *linear) {
	if w.format >= kernels.Q8 {
		q.integers(q.scratch.parts, x, q.rows, w, none)
		q.segments = 1
		return
	}
	q.chains(q.scratch.parts, x, 0, w)
}

// mlp: the last linear layer = activation(x [rows, n_embd] · c_fc) · c_proj. In Q8 and Q4 a group
// of c_fc has whole sums, and activates them. Of one row on float weights each group of c_proj
// activates the inputs of its segment. With more rows that would take longer than a launch which
// activates each number once.
func (q *queue) mlp(x Buffer, fc, proj *linear) {
	s := &q.scratch
	switch {
	case fc.format >= kernels.Q8:
		q.integers(s.inner, x, q.rows, fc, int(q.params.Activation)) // -> [rows, n_inner]
	case q.rows == 1 && proj.format < kernels.Q8:
		q.chains(s.inner, x, 0, fc) // -> [segments, n_inner]
		q.chains(s.parts, s.inner, q.segments, proj)
		return
	default:
		q.linear(x, fc)
		q.activate(s.inner) // -> [rows, n_inner]
	}
	q.linear(s.inner, proj)
}

// chains: parts [segments, rows, out], whose sum is x [rows, in] · w + bias; or if there are
// segments of x, it is activation(their sum) [1, in] · w + bias
func (q *queue) chains(parts, x Buffer, segments int, w *linear) {
	q.segments = groups(w.in, segment)
	grid := func(wide, high int) [3]int { // outputs and rows of a group
		return [3]int{groups(w.out, wide), q.segments, groups(q.rows, high)}
	}
	to, from, weights, bias := memory(parts), memory(x), memory(w.weights), memory(w.bias)
	rows, in, out := integer(q.rows), integer(w.in), integer(w.out)
	switch {
	case q.rows > fewRows:
		q.tiles(parts, x, w, q.tilesOf(q.rows, w.out, q.segments))
	case q.rows > 1:
		q.launch("chains_few_"+w.format.String(), grid(32, fewRows), 256, to, from, weights, bias,
			rows, in, out)
	default:
		q.launch("chains_one_"+w.format.String(), grid(16, 1), 256, to, from, weights, bias,
			integer(segments), integer(int(q.params.Activation)), in, out)
	}
}

// tiles is chains for many rows, with these tiles.
func (q *queue) tiles(parts, x Buffer, w *linear, t tile) {
	q.segments = groups(w.in, segment) / t.each
	grid := [3]int{groups(w.out, t.side), q.segments, groups(q.rows, t.side)}
	q.launch(t.kernel+w.format.String(), grid, t.items, memory(parts), memory(x),
		memory(w.weights), memory(w.bias), integer(q.rows), integer(w.in), integer(w.out),
		integer(t.each))
}

// A tile is how a group computes a linear layer of many rows on float weights, by
// kernels/chainstile.cl: side rows by side outputs, of each segments one after the other.
type tile struct {
	kernel            string
	side, items, each int
}

func manyTile(each int) tile { return tile{"chains_many_", 64, 128, each} }
func mostTile(each int) tile { return tile{"chains_most_", 128, 256, each} }

// tilesOf returns the tiles that compute a layer fastest, by rounds of as many groups as a large
// GPU runs at a time. A round of chains_most does four times the work of one of chains_many, and
// takes 10/3 of its time: 41,000 cycles of a multiprocessor's instructions, against 12,300 of its
// local memory. Where it takes no longer, a group adds up all segments, and whoever reads the layer
// finds one part.
func tilesOf(rows, out, segments int) tile {
	time := func(t tile, round int) int {
		n := groups(rows, t.side) * groups(out, t.side) * (segments / t.each)
		return groups(n, fewGroups) * t.each * round
	}
	many, most, all := manyTile(1), mostTile(1), mostTile(segments)
	switch least := min(time(many, 3), time(most, 10)); least {
	case time(all, 10):
		return all
	case time(most, 10):
		return most
	}
	return many
}

// integers: y [rows, out] = activation(x [rows, in] · w + bias), in Q8 or Q4. Of several rows that
// are not there as integers, a launch makes them; of one row each group does.
func (q *queue) integers(y, x Buffer, rows int, w *linear, activation int) {
	s, made := &q.scratch, q.integral == x
	if q.integral = 0; !made && rows > 1 {
		q.launch("quantize", [3]int{rows, 1, 1}, 256, memory(s.q), memory(s.scales), memory(x),
			integer(w.in))
	}
	if made {
		x = 0
	}
	to, of, scales, weights := memory(y), memory(s.q), memory(s.scales), memory(w.weights)
	bias, blocks, out := memory(w.bias), integer(groups(w.in, 32)), integer(w.out)
	wide, a := groups(w.out, 16), integer(activation)
	switch {
	case rows > fewIntegers:
		q.launch("integers_many_"+w.format.String(), [3]int{groups(w.out, 64), groups(rows, 64), 1},
			256, to, of, scales, weights, bias, integer(rows), blocks, out, a)
	case rows > 1:
		q.launch("integers_few_"+w.format.String(), [3]int{wide, groups(rows, 8), 1}, 256, to, of,
			scales, weights, bias, integer(rows), blocks, out, a)
	default:
		q.launch("integers_one_"+w.format.String(), [3]int{wide, 1, 1}, 256, to, of, scales,
			memory(x), weights, bias, integer(w.in), blocks, out, a)
	}
}

// head: logits [rows, vocab_size] = hidden [rows, n_embd] · lm_head
func (q *queue) head(logits, hidden Buffer, rows int) {
	w := linear{matrix: q.stack.head}
	if w.format >= kernels.Q8 {
		q.integers(logits, hidden, rows, &w, none)
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

// attentionStores reports whether attention of all rows does what store does: where each text has
// one row, so that no group needs what another one stores, and scratch.qkv has room for a query and
// a key of each group.
func (q *queue) attentionStores() bool {
	n, dim := q.plan.attend.alone, q.params.HeadDim()
	return q.plan.single && 2*n*groups(dim, spanOf(dim, q.params.Heads*n)) <= 3*q.scratch.rows
}

// attention sets rows of out [rows, n_embd] to the attention of these rows: those of the groups. If
// nothing has stored the last linear layer, these are all rows, in groups of one, which store it.
func (q *queue) attention(out Buffer, layer int, scale float32, of groupLists) {
	s, p, format := &q.scratch, q.params, q.params.CacheFormat.String()
	pool, plan, qkv := memory(q.pool.buffer), memory(s.plan), memory(s.qkv)
	heads, dim := integer(p.Heads), integer(p.HeadDim())
	layers, at := integer(len(p.H)), integer(layer)

	if n := of.alone; n > 0 {
		span := spanOf(p.HeadDim(), p.Heads*n)
		grid := [3]int{p.Heads, n, groups(p.HeadDim(), span)}
		q.launch("attend_one_"+format, grid, 256, memory(out), qkv, memory(s.parts),
			integer(q.segments), pool, plan, integer(of.list), integer(q.rows), heads, dim,
			integer(span), layers, at, float(scale))
	}
	if n := of.tiles; n > 0 {
		grid := [3]int{p.Heads, n, groups(p.HeadDim(), mostSpan)}
		q.launch("attend_tile_"+format, grid, 256, memory(out), qkv, pool, plan,
			integer(of.list+2*of.alone), heads, dim, layers, at, float(scale))
	}
	q.segments = 0
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
	leastSpan = 16  // and at least: 32 bytes of values in half precision, which a GPU loads at once
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
