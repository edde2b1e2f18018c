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
	case rows == 1:
		linearChain(w, dst, x, m, bias)
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

// linearChain is one row: memory-bound, so each worker streams runs of whole cache lines.
func linearChain(w *Worker, dst, x []float32, m *Matrix, bias []float32) {
	x = x[:m.In]
	each := w.share(m.Out, tileCols, chainCols)
	for c := w.Next() * each; c < m.Out; c = w.Next() * each {
		cols := min(each, m.Out-c)
		setBias(dst[c:c+cols], bias, c)
		if m.Format == F32 {
			w.team.variant.chain(dst[c:c+cols], x, m.F32[c:], m.Out)
		} else {
			w.team.variant.chain16(dst[c:c+cols], x, m.F16[c:], m.Out, m.bf16())
		}
	}
}

const (
	chainCols  = 1024 // columns of one task of linearChain at most
	tileDepth  = 256  // rows of a packed block of weights: a panel of 16 KiB stays in L1
	tileWidth  = 96   // columns of a packed block: 96 KiB in L2
	batchRows  = 24   // up to here float32 weights are used in place
	batchDepth = 64
	batchWidth = 128
	rowBlock   = 504 // rows that pass over one packed block
)

// linearTile is several rows: blocks of weights, packed or in place, each meeting all the rows while it is in cache.
func linearTile(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	inPlace := m.Format == F32 && rows <= batchRows
	depth, width := tileDepth, tileWidth
	if inPlace {
		depth, width = batchDepth, batchWidth
	}
	width = min(width, w.share(m.Out, tileCols, width))
	colTasks := (m.Out + width - 1) / width
	rowTasks := (rows + rowBlock - 1) / rowBlock
	for t := w.Next(); t < colTasks*rowTasks; t = w.Next() {
		r, c := t/colTasks*rowBlock, t%colTasks*width
		n, cols := min(rowBlock, rows-r), min(width, m.Out-c)
		out, in := dst[r*m.Out+c:], x[r*m.In:]
		for i := range n {
			setBias(out[i*m.Out:i*m.Out+cols], bias, c)
		}
		for k := 0; k < m.In; k += depth {
			d := min(depth, m.In-k)
			linearBlock(w, out, in[k:], n, m, k, d, c, cols, inPlace)
		}
	}
}

// linearBlock goes on with the chains of n rows and cols columns from column c on, over the d inputs from k on.
func linearBlock(w *Worker, out, in []float32, n int, m *Matrix, k, d, c, cols int, inPlace bool) {
	v := w.team.variant
	panels := cols / tileCols
	at := k*m.Out + c
	b, ldb, next, ahead := m.F32, m.Out, tileCols, d // panel p begins at b[p*next:]
	switch {
	case inPlace:
		b = m.F32[at:]
	case m.Format == F32:
		b, ldb, next, ahead = w.floats(scratchPack, tileDepth*tileWidth), tileCols, d*tileCols, 0
		v.pack(b, m.F32[at:], m.Out, d, panels)
	default:
		b, ldb, next, ahead = w.floats(scratchPack, tileDepth*tileWidth), tileCols, d*tileCols, 0
		v.pack16(b, m.F16[at:], m.Out, d, panels, m.bf16())
	}
	for p := range panels {
		for i := 0; i < n; i += tileRows {
			v.tile(out[i*m.Out+p*tileCols:], m.Out, in[i*m.In:], m.In, b[p*next:], ldb, min(tileRows, n-i), d, ahead)
		}
	}
	if rest := panels * tileCols; rest < cols { // the last columns, fewer than a tile
		for i := range n {
			y, a := out[i*m.Out+rest:i*m.Out+cols], in[i*m.In:i*m.In+d]
			if m.Format == F32 {
				v.chain(y, a, m.F32[at+rest:], m.Out)
			} else {
				v.chain16(y, a, m.F16[at+rest:], m.Out, m.bf16())
			}
		}
	}
}

const (
	dotOuts = 48 // rows of weights that stay in cache while the rows of x pass: 144 KiB at GPT-2's width
	dotRows = 64
)

// linearDot is [out, in] weights: each block of weight rows meets all rows of x.
func linearDot(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	v := w.team.variant
	each := w.share(m.Out, 1, dotOuts)
	for j := w.Next() * each; j < m.Out; j = w.Next() * each {
		outs := min(each, m.Out-j)
		for i := 0; i < rows; i += dotRows {
			n := min(dotRows, rows-i)
			if m.Format == F32 {
				v.dot(dst[i*m.Out+j:], m.Out, x[i*m.In:], m.In, m.F32[j*m.In:], m.In, n, outs, m.In)
			} else {
				v.dot16(dst[i*m.Out+j:], m.Out, x[i*m.In:], m.In, m.F16[j*m.In:], m.In, n, outs, m.In, m.bf16())
			}
		}
		if bias != nil {
			for i := range rows {
				v.add(dst[i*m.Out+j:i*m.Out+j+outs], bias[j:j+outs])
			}
		}
	}
}
