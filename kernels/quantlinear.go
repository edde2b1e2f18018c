package kernels

// Linear layers on Q8 and Q4 weights: the rows of x are converted to integers once, then each
// worker takes tiles of outputs.

// quantRows are rows of x as integers, with scales.
type quantRows struct {
	q      []int16   // [rows, blocks, quantBlock]
	starts []int32   // [rows, blocks]
	scales []float32 // [rows]
}

// grown returns r if it has room, or a larger one.
func (r *quantRows) grown(rows, blocks int) *quantRows {
	if len(r.starts) >= rows*blocks && len(r.scales) >= rows {
		return r
	}
	blocks, scales := max(rows*blocks, len(r.starts)), max(rows, len(r.scales))
	return &quantRows{make([]int16, blocks*quantBlock), make([]int32, blocks),
		make([]float32, scales)}
}

// sharedRows returns the team's memory for quantized rows. It is the same for all workers during
// one operation: all ask for the same size, and none asks again before all have passed the last
// barrier of this operation.
func (t *Team) sharedRows(rows, blocks int) *quantRows {
	for {
		old := t.rows.Load()
		grown := old.grown(rows, blocks)
		if grown == old || t.rows.CompareAndSwap(old, grown) {
			return grown
		}
	}
}

// quantize sets row i of r to x.
func (r *quantRows) quantize(v *variant, i int, x []float32, blocks int) {
	at := i * blocks
	r.scales[i] = v.quantizeRow(r.q[at*quantBlock:(at+blocks)*quantBlock], r.starts[at:at+blocks],
		x)
}

const (
	quantMany = 96 // rows from which on widening the weights once for all of them pays
	// tiles of outputs in a task of few rows. Leaves take up to four at a time and prefetch the
	// next: only the first tiles of a task come from cold memory.
	quantRun   = 64
	quantWidth = 12 // tiles of outputs in a task of many rows
	// the rows in a task are a multiple of it: leaves take six, eight or 16 at a time
	quantStep = 48
	// rows in a task, which widens its weights once for all of them
	leastRange, mostRange = 96, 256
	// blocks of inputs at a time: the weights of two tiles stay in L1, even widened to 16 bits
	quantDepth = 8
)

// linearQuant quantizes x, and then computes the product. Its caller must wait at the last barrier.
func linearQuant(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	v, blocks := w.team.variant, blocksOf(m.In)
	tiles := tilesOf(m.Out)
	if rows == 1 { // each worker by itself: that takes less time than a barrier
		row := w.row.grown(1, blocks)
		w.row = row
		row.quantize(v, 0, x[:m.In], blocks)
		each := w.shareTiles(tiles, quantRun, 1)
		for t := w.Next() * each; t < tiles; t = w.Next() * each {
			w.quantTask(dst, row, 0, 1, m, bias, t, min(each, tiles-t))
		}
		return
	}
	r := w.team.sharedRows(rows, blocks)
	for i := w.Next(); i < rows; i = w.Next() {
		r.quantize(v, i, x[i*m.In:(i+1)*m.In], blocks)
	}
	w.Sync()
	width := quantWidth
	if rows < quantMany {
		width = quantRun
	}
	ranges := (rows + mostRange - 1) / mostRange
	each := w.shareTiles(tiles, width, max(ranges, rows/leastRange))
	across := (tiles + each - 1) / each
	for across*ranges < 4*w.Size() && rows/(ranges+1) >= leastRange {
		ranges++
	}
	height := ((rows+ranges-1)/ranges + quantStep - 1) / quantStep * quantStep
	for n := w.Next(); n < across*((rows+height-1)/height); n = w.Next() {
		i, t := n/across*height, n%across*each
		w.quantTask(dst, r, i, min(height, rows-i), m, bias, t, min(each, tiles-t))
	}
}

// shareTiles is share for tiles of some ranges of rows. A task with a multiple of four tiles is
// fastest, unless many workers would then be idle.
func (w *Worker) shareTiles(tiles, most, ranges int) int {
	best, least := 0, 0
	for _, grain := range []int{4, 2, 1} {
		each := w.share(tiles, grain, most)
		tasks := (tiles + each - 1) / each * ranges
		rounds := (tasks + w.Size() - 1) / w.Size()
		if time := rounds * each; best == 0 || time+time/8 < least {
			best, least = each, time
		}
	}
	return best
}

// quantTask computes rows from row i on, of tiles tiles of outputs from tile t on. The chains grow
// in the worker's own memory, because the rows of dst lie pages apart, and leaves write some
// outputs of each.
func (w *Worker) quantTask(
	dst []float32, r *quantRows, i, rows int, m *Matrix, bias []float32, t, tiles int,
) {
	c, cols, blocks := t*quantCols, tiles*quantCols, blocksOf(m.In)
	ldy := cols + quantCols // not a power of two: such rows share sets of the first cache
	y := w.floats(scratchPack, rows*ldy)
	if blocks == 0 {
		clear(y)
	}
	ldw := blocks * m.Format.tileBytes()
	w.team.variant.multiplyTiles(m.Format, y, ldy, r, i, rows, m.Blocks[t*ldw:], ldw, blocks, tiles)
	cols = min(cols, m.Out-c) // the last tile may have fewer outputs than columns
	if bias != nil {
		bias = bias[c : c+cols]
	}
	w.team.variant.scaleAdd(dst[i*m.Out+c:], m.Out, y, ldy, bias, r.scales[i:i+rows], cols)
}

// multiplyTiles sets y, rows that lie ldy apart, to the chains of the rows from row i of r on with
// some tiles of outputs, which lie ldw bytes apart in weights.
func (v *variant) multiplyTiles(
	format Format, y []float32, ldy int, r *quantRows, i, rows int, weights []byte, ldw, blocks,
	tiles int,
) {
	leaf, one := v.quantTile8, v.quantOne8
	if format == Q4 {
		leaf, one = v.quantTile4, v.quantOne4
	}
	q, starts := r.q[i*blocks*quantBlock:], r.starts[i*blocks:]
	if four := tiles &^ 3; rows == 1 && one != nil && four > 0 && blocks > 0 {
		clear(y[:four*quantCols])
		one(y, q, starts, weights, ldw, blocks, four)
		y, weights, tiles = y[four*quantCols:], weights[four*ldw:], tiles-four
	}
	if tiles == 0 {
		return
	}
	depth := quantDepth
	if rows < quantMany || v.wholeDepth { // few rows: memory is the limit, read it in order
		depth = max(blocks, 1)
	}
	for b := 0; b < blocks; b += depth {
		leaf(y, ldy, q[b*quantBlock:], starts[b:], blocks, weights[b*format.tileBytes():], ldw,
			rows, min(depth, blocks-b), tiles, b > 0)
	}
}
