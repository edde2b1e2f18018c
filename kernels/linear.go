package kernels

// Linear layers on float weights: which blocks of a product each worker takes, and in what order.

// Linear sets dst [rows, out] to x [rows, in] · m + bias. bias may be nil. It ends with a barrier.
func Linear(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	m.check(dst, x, rows, bias)
	switch {
	case m.Format == Q8 || m.Format == Q4:
		linearQuant(w, dst, x, rows, m, bias)
	case m.Layout == OutIn:
		linearDot(w, dst, x, rows, m, bias)
	case rows <= streamRows:
		linearStream(w, dst, x, rows, m, bias)
	case rows <= batchRows:
		linearBatch(w, dst, x, rows, m, bias)
	default:
		linearTile(w, dst, x, rows, m, bias)
	}
	w.Sync()
}

// setBias starts the chains of one row: at the bias, or at +0.
func setBias(dst, bias []float32, from int) {
	if bias == nil {
		clear(dst)
		return
	}
	copy(dst, bias[from:])
}

// segment is how many inputs a chain runs over: part of the definition of Linear on [in, out]
// weights. Segment 0 starts from the bias, the others from +0; they are added in order.
const segment = 256

// linearBatch is more rows than linearStream takes: memory is still nearly the limit, so each worker streams runs of
// weights, and what is worked on in between, rows of the output and of x, is small and copied to
// where it does not share lines of the cache.
func linearBatch(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	v, groups := w.team.variant, m.In/groupDepth
	xs := w.floats(scratchRows, rows*groups*groupDepth)
	v.packGroups(xs, x, m.In, rows, groups)
	each := w.share(m.Out, 2*panelCols, max(2*panelCols, batchFloats/rows/(2*panelCols)*2*panelCols))
	for c := w.Next() * each; c < m.Out; c = w.Next() * each {
		cols := min(each, m.Out-c)
		ldy := stride(cols)
		y := w.floats(scratchPack, 2*rows*ldy)
		y, sums := y[:rows*ldy], y[rows*ldy:]
		for i := range rows {
			setBias(y[i*ldy:i*ldy+cols], bias, c)
		}
		m.chainRows(v, y, ldy, x, xs, rows, 0, min(segment, m.In), c, cols)
		for k := segment; k < m.In; k += segment {
			clear(sums)
			m.chainRows(v, sums, ldy, x, xs, rows, k, min(k+segment, m.In), c, cols)
			v.add(y, sums)
		}
		for i := range rows {
			copy(dst[i*m.Out+c:(i+1)*m.Out], y[i*ldy:i*ldy+cols])
		}
	}
}

// chainRows continues the sums of rows by cols outputs from column c on over the inputs k … end of
// one segment; y's rows lie ldy apart. xs is x, packed; k is a multiple of groupDepth.
func (m *Matrix) chainRows(
	v *variant, y []float32, ldy int, x, xs []float32, rows, k, end, c, cols int,
) {
	groups, whole := (end-k)/groupDepth, cols/panelCols*panelCols
	rest := k + groups*groupDepth
	if m.Format == F32 {
		v.chainRows(y, ldy, xs[rows*k:], m.F32[k*m.Out+c:], m.Out, rows, groups, whole)
	} else {
		v.chainRows16(y, ldy, xs[rows*k:], m.F16[k*m.Out+c:], m.Out, rows, groups, whole, m.bf16())
	}
	for i := range rows {
		yi, xi := y[i*ldy:i*ldy+cols], x[i*m.In:(i+1)*m.In]
		m.chain(v, yi[whole:], xi[k:rest], k, c+whole)
		m.chain(v, yi, xi[rest:end], rest, c)
	}
}

// chain continues the sums of the outputs from column c on over the inputs from k on.
func (m *Matrix) chain(v *variant, y, x []float32, k, c int) {
	switch {
	case len(x) == 0 || len(y) == 0:
	case m.Format == F32:
		v.chain(y, x, m.F32[k*m.Out+c:], m.Out)
	default:
		v.chain16(y, x, m.F16[k*m.Out+c:], m.Out, m.bf16())
	}
}

const (
	batchRows   = 96   // rows of linearBatch at most
	batchFloats = 4608 // of its output in one task: 18 KiB stay in the first-level cache

	// The sizes of the blocks of linearTile. A block of weights stays in the second-level cache
	// while all the rows pass, a tile of rows in the first while it meets the whole block. Its depth
	// is a segment.
	tileWidth = 192
	taskCols  = 1536 // columns of a task: the rows are packed once for all of them
	taskRows  = 768
)

// linearTile is several rows.
func linearTile(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	width, rowTasks := w.tileTasks(m.Out, rows)
	colTasks := (m.Out + width - 1) / width
	height := (rows + rowTasks - 1) / rowTasks
	rowTasks = (rows + height - 1) / height
	for t := w.Next(); t < rowTasks*colTasks; t = w.Next() {
		r, c := t/colTasks*height, t%colTasks*width
		b := linearBlock{w: w, m: m, dst: dst[r*m.Out+c:], x: x[r*m.In:], rows: min(height, rows-r),
			col: c, cols: min(width, m.Out-c)}
		for i := range b.rows {
			setBias(b.dst[i*m.Out:i*m.Out+b.cols], bias, c)
		}
		for k := 0; k < m.In; k += segment {
			b.run(k, min(segment, m.In-k))
		}
	}
}

// tileTasks returns how many columns a task of linearTile has, and how many tasks the rows give.
func (w *Worker) tileTasks(out, rows int) (width, rowTasks int) {
	const leastWidth, leastRows = tileWidth / 4, 4 * tileRows // below: more packing than work
	width = max(tileWidth, w.share(out, panelCols, taskCols))
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

// A linearBlock is one task of linearTile: some rows by some columns, over all inputs.
type linearBlock struct {
	w         *Worker
	m         *Matrix
	dst, x    []float32 // from the first row and column on
	rows      int
	col, cols int
}

// run adds the segment of depth inputs that begins at k: it packs the rows, then block after block
// of the weights.
func (b *linearBlock) run(k, depth int) {
	v, m := b.w.team.variant, b.m
	var a []float32
	if v.packRows != nil {
		a = b.w.floats(scratchRows, (b.rows/tileRows+2)*tileRows*depth)
		for i, at := 0, 0; i < b.rows; i, at = i+tileHeight(b.rows-i), at+tileRows*depth {
			v.packRows(a[at:], b.x[i*m.In+k:], m.In, tileHeight(b.rows-i), depth)
		}
	}
	for c := 0; c < b.cols; c += tileWidth {
		panels := min(tileWidth, b.cols-c) / panelCols
		if panels > 0 {
			b.panels(a, k, depth, c, panels)
		}
	}
	if rest := b.cols % panelCols; rest > 0 { // the last columns, fewer than a panel
		c := b.cols - rest
		for i := range b.rows {
			y, x := b.dst[i*m.Out+c:i*m.Out+b.cols], b.x[i*m.In+k:i*m.In+k+depth]
			if k == 0 {
				m.chain(v, y, x, k, b.col+c)
				continue
			}
			var sums [panelCols]float32
			m.chain(v, sums[:rest], x, k, b.col+c)
			v.add(y, sums[:rest])
		}
	}
}

// panels multiplies the packed rows by one block of weights.
func (b *linearBlock) panels(a []float32, k, depth, c, panels int) {
	v, m := b.w.team.variant, b.m
	block := b.w.floats(scratchPack, segment*tileWidth)
	at := k*m.Out + b.col + c
	if m.Format == F32 {
		v.pack(block, m.F32[at:], m.Out, depth, panels)
	} else {
		v.pack16(block, m.F16[at:], m.Out, depth, panels, m.bf16())
	}
	if v.packRows == nil {
		v.tile(b.dst[c:], m.Out, b.x[k:], m.In, 1, block, panelCols, depth*panelCols, b.rows, depth,
			panels, k > 0)
		return
	}
	for i := 0; i < b.rows; i += tileHeight(b.rows - i) {
		v.tile(b.dst[i*m.Out+c:], m.Out, a, 1, tileRows, block, panelCols, depth*panelCols,
			tileHeight(b.rows-i), depth, panels, k > 0)
		a = a[tileRows*depth:]
	}
}

// tileHeight returns how many of the rows that are left go into one tile: 7 and 8 are better split
// in two than as 6 and a rest.
func tileHeight(rest int) int {
	if rest == 7 || rest == 8 {
		return 4
	}
	return min(rest, tileRows)
}

const (
	dotRun = 2048 // rows of weights of one task: long streams
	// rows of x that meet each of them: 192 KiB at GPT-2's width, in the second-level cache
	dotRows = 64
)

// linearDot is [out, in] weights.
func linearDot(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	v := w.team.variant
	each := w.share(m.Out, 12, dotRun)
	for j := w.Next() * each; j < m.Out; j = w.Next() * each {
		outs := min(each, m.Out-j)
		for i := 0; i < rows; i += dotRows {
			n := min(dotRows, rows-i)
			if m.Format == F32 {
				v.dot(dst[i*m.Out+j:], m.Out, x[i*m.In:], m.In, m.F32[j*m.In:], m.In, n, outs, m.In)
			} else {
				v.dot16(dst[i*m.Out+j:], m.Out, x[i*m.In:], m.In, m.F16[j*m.In:], m.In, n, outs,
					m.In, m.bf16())
			}
		}
		if bias != nil {
			for i := range rows {
				v.add(dst[i*m.Out+j:i*m.Out+j+outs], bias[j:j+outs])
			}
		}
	}
}
