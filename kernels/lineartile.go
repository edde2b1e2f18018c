package kernels

// Linear layers for many rows: packed rows are multiplied with blocks of packed weights in the
// register tile.

import (
	"sync/atomic"
	"unsafe"
)

const (
	taskLeast = 192  // outputs of a task at least, if workers are few
	taskCols  = 1536 // and at most
	taskRows  = 768  // rows that are packed together
)

// linearTile computes the product for many rows. Its caller must wait at the last barrier.
func linearTile(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	for from := 0; from < rows; from += taskRows {
		if from > 0 {
			w.Sync() // until here workers read the packed rows before these
		}
		p := tileProduct{v: w.team.variant, m: m, dst: dst[from*m.Out:], x: x[from*m.In:],
			bias: bias, rows: min(taskRows, rows-from)}
		if p.v.packRows != nil {
			p.packed = w.team.packed.get(p.packedRows() * m.In)
			for t := w.Next(); t*tileRows < p.rows; t = w.Next() {
				p.packRows(t * tileRows)
			}
			w.Sync()
		}
		p.share(w)
	}
}

// sharedFloats is memory that all workers share during one operation.
type sharedFloats struct{ memory atomic.Pointer[[]float32] }

// get returns n floats. All workers ask for the same number, and none asks again before all have
// passed the last barrier of this operation.
func (s *sharedFloats) get(n int) []float32 {
	for {
		old := s.memory.Load()
		if old != nil && len(*old) >= n {
			return (*old)[:n]
		}
		grown := make([]float32, n)
		s.memory.CompareAndSwap(old, &grown)
	}
}

// A tileProduct is the product of some rows with all outputs.
type tileProduct struct {
	v            *variant
	m            *Matrix
	dst, x, bias []float32
	rows         int
	// the rows in the tile's order: segment after segment, tileRows after tileRows; nil if the tile
	// reads them in place
	packed []float32
}

// packedRows returns the number of rows that packed has room for, in whole tiles.
func (p *tileProduct) packedRows() int { return (p.rows + tileRows - 1) / tileRows * tileRows }

// packRows packs the rows of one tile, from row first on.
func (p *tileProduct) packRows(first int) {
	in := p.m.In
	for k := 0; k < in; k += segment {
		depth := min(segment, in-k)
		p.v.packRows(p.packed[k*p.packedRows()+first*depth:], p.x[first*in+k:], in,
			min(tileRows, p.rows-first), depth)
	}
}

// share computes tasks, each of them some rows by some outputs, until there are none.
func (p *tileProduct) share(w *Worker) {
	width, down := w.tileTasks(p.m.Out, p.rows)
	across := (p.m.Out + width - 1) / width
	height := ((p.rows+down-1)/down + tileRows - 1) / tileRows * tileRows
	down = (p.rows + height - 1) / height
	room := w.floats(scratchPack, segment*p.v.tileWidth)
	for n := w.Next(); n < down*across; n = w.Next() {
		i, c := n/across*height, n%across*width
		t := tileTask{tileProduct: p, room: room, from: i, to: min(i+height, p.rows), left: c,
			right: min(c+width, p.m.Out)}
		t.run()
	}
}

// tileTasks returns the number of columns of a task of linearTile, and the number of tasks for the
// rows.
func (w *Worker) tileTasks(out, rows int) (width, rowTasks int) {
	// for smaller tasks, packing would take most of the time
	const leastWidth, leastRows = taskLeast / 4, 4 * tileRows
	width = max(taskLeast, w.share(out, panelCols, taskCols))
	for ; ; width /= 2 {
		colTasks := (out + width - 1) / width
		rowTasks = (rows + taskRows - 1) / taskRows
		for rowTasks*colTasks%w.Size() != 0 && rows/(rowTasks+1) >= leastRows {
			rowTasks++
		}
		if 2*rowTasks*colTasks > w.Size() || width/2 < leastWidth {
			return width, rowTasks
		}
	}
}

// A tileTask is rows from … to by outputs left … right. A block of weights, a segment by tileWidth
// outputs, stays in the second-level cache while all rows are multiplied with it; a tile of rows
// stays in the first-level cache meanwhile.
type tileTask struct {
	*tileProduct
	room                  []float32 // memory for one block of weights
	from, to, left, right int
}

// A tileBlock is the weights of the inputs from k on, depth of them, for outputs from col on.
type tileBlock struct{ k, depth, col, panels int }

func (t *tileTask) run() {
	whole := (t.right - t.left) / panelCols * panelCols
	last := t.left + whole
	if whole > 0 {
		b := t.block(0, t.left, last)
		for b.panels > 0 {
			next := t.after(b, last)
			t.pack(b)
			t.multiply(b, next)
			b = next
		}
	}
	if last < t.right {
		for i := t.from; i < t.to; i++ {
			t.edge(i, last)
		}
	}
}

// edge computes the last outputs of a row, fewer than a panel.
func (t *tileTask) edge(row, col int) {
	m, x := t.m, t.x[row*t.m.In:(row+1)*t.m.In]
	y := t.dst[row*m.Out+col : row*m.Out+t.right]
	setBias(y, t.bias, col)
	m.chain(t.v, y, x[:min(segment, m.In)], 0, col)
	for k := segment; k < m.In; k += segment {
		var sums [panelCols]float32
		m.chain(t.v, sums[:len(y)], x[k:min(k+segment, m.In)], k, col)
		t.v.add(y, sums[:len(y)])
	}
}

// block returns the block at an input and an output.
func (t *tileTask) block(k, col, last int) tileBlock {
	return tileBlock{k, min(segment, t.m.In-k), col, min(t.v.tileWidth, last-col) / panelCols}
}

// after returns the next block: of the same segment, or the first of the next one. After the last
// block it returns one without panels.
func (t *tileTask) after(b tileBlock, last int) tileBlock {
	if next := b.col + t.v.tileWidth; next < last {
		return t.block(b.k, next, last)
	}
	if b.k+segment < t.m.In {
		return t.block(b.k+segment, t.left, last)
	}
	return tileBlock{}
}

// pack copies the weights of a block to t.room.
func (t *tileTask) pack(b tileBlock) {
	ld := t.m.stride()
	at := b.k*ld + b.col
	if t.m.Format == F32 {
		t.v.pack(t.room, t.m.F32[at:], ld, b.depth, b.panels)
	} else {
		t.v.halves(t.m.bf16()).pack(t.room, t.m.F16[at:], ld, b.depth, b.panels)
	}
}

// multiply adds the segment of a block to the outputs of all rows.
func (t *tileTask) multiply(b, next tileBlock) {
	m, tiles := t.m, (t.to-t.from+tileRows-1)/tileRows
	each := min(t.v.aheadRows, max(aheadLeast, (next.depth+tiles-1)/tiles))
	for i, fetched := t.from, 0; i < t.to; i, fetched = i+tileRows, fetched+each {
		rows := min(tileRows, t.to-i)
		c, a, lda, ka := t.dst[i*m.Out+b.col:], t.x[i*m.In+b.k:], m.In, 1
		if t.packed != nil {
			a, lda, ka = t.packed[b.k*t.packedRows()+i*b.depth:], 1, tileRows
		}
		if b.k == 0 {
			for r := range rows {
				setBias(c[r*m.Out:][:b.panels*panelCols], t.bias, b.col)
			}
		}
		if t.v.tileAhead != nil && fetched < next.depth {
			t.v.tileAhead(c, m.Out, a, lda, ka, t.room, panelCols, b.depth*panelCols, rows, b.depth,
				b.panels, b.k > 0, m.ahead(next.k+fetched, next.col, min(each, next.depth-fetched)))
			continue
		}
		t.v.tile(c, m.Out, a, lda, ka, t.room, panelCols, b.depth*panelCols, rows, b.depth,
			b.panels, b.k > 0)
	}
}

// aheadLeast is the number of rows of weights that tileAhead prefetches at least, if a tile is a
// segment deep.
const aheadLeast = 4

// ahead is memory that is prefetched during other work: its beginning, the bytes of a row and of two
// panels, and the number of rows. AVX-512 does not look at the last: it takes aheadLeast.
type ahead struct {
	at              unsafe.Pointer
	row, pair, rows int
}

// ahead returns the weights at an input and an output.
func (m *Matrix) ahead(k, col, rows int) ahead {
	ld := m.stride()
	if m.Format == F32 {
		return ahead{unsafe.Pointer(&m.F32[k*ld+col]), 4 * ld, 8 * panelCols, rows}
	}
	return ahead{unsafe.Pointer(&m.F16[k*ld+col]), 2 * ld, 4 * panelCols, rows}
}
