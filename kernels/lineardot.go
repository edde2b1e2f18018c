package kernels

// Linear layers on [out, in] weights, lane after lane: few rows meet the weights in place; for many,
// the weights are transposed, so that each lane is a chain and the register tile computes it, where
// that is faster.

const (
	dotRun = 2048 // rows of weights of one task: long streams
	// rows of x that are multiplied with each run: 192 KiB at GPT-2's width, in the second-level
	// cache
	dotRows = 64
	// fewer rows do not pay for transposing the weights
	lanesRows = 48
	// bytes of weights that stay in a last-level cache from step to step
	cachedBytes = 16 << 20
)

// linearDot computes Linear for [out, in] weights. Its caller must wait at the last barrier.
func linearDot(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	p := lanesProduct{v: w.team.variant, m: m, dst: dst, x: x, rows: rows}
	if p.v.transposes(m.Format) && rows >= lanesRows && m.In >= 8 {
		p.lanes = w.team.packed.get(rows * 8 * laneDepth(m.In))
		for i := w.Next(); i < rows; i = w.Next() {
			p.packRow(i)
		}
		w.Sync()
	}
	each := w.share(m.Out, 12, dotRun)
	for j := w.Next() * each; j < m.Out; j = w.Next() * each {
		end := min(j+each, m.Out)
		last := j
		if p.lanes != nil {
			last = p.tile(w, j, end)
		}
		p.dot(last, end)
		if bias != nil {
			for i := range rows {
				p.v.add(dst[i*m.Out+j:i*m.Out+end], bias[j:end])
			}
		}
	}
}

// transposes reports whether weights are transposed for many rows. In place the AVX2 tile is as fast
// on 16-bit weights, and slower on float32 ones, of which fewer stay in the caches: 0.9 at 768
// inputs, 0.65 from 1,024 on.
func (v *variant) transposes(f Format) bool {
	if f == F32 {
		return v.packLanes != nil
	}
	return v.halves(f == BF16).packLanes != nil
}

// A lanesProduct is the product of some rows with [out, in] weights.
type lanesProduct struct {
	v      *variant
	m      *Matrix
	dst, x []float32
	rows   int
	lanes  []float32 // the rows, lane after lane: [rows, 8, laneDepth(In)]; nil if there are few
}

// packRow copies a row of x into lanes.
func (p *lanesProduct) packRow(i int) {
	depth := laneDepth(p.m.In)
	y := p.lanes[i*8*depth:][:8*depth]
	for n, v := range p.x[i*p.m.In:][:p.m.In] {
		y[n%8*depth+n/8] = v
	}
}

// dot computes the outputs j … end-1 from weights in place.
func (p *lanesProduct) dot(j, end int) {
	if m := p.m; m.Format == F32 {
		dotsOf(p, &p.v.weightLeaves, m.F32[j*m.In:], j, end)
	} else {
		dotsOf(p, p.v.halves(m.bf16()), m.F16[j*m.In:], j, end)
	}
}

func dotsOf[T float32 | uint16](p *lanesProduct, l *weightLeaves[T], w []T, j, end int) {
	m, dot := p.m, l.dot
	if l.dotPairs != nil && p.rows > 1 && m.In > 0 && m.In%8 == 0 && m.Bytes() <= cachedBytes {
		dot = l.dotPairs
	}
	for i := 0; i < p.rows && j < end; i += dotRows {
		dot(p.dst[i*m.Out+j:], m.Out, p.x[i*m.In:], m.In, w, m.In, min(dotRows, p.rows-i), end-j,
			m.In)
	}
}

// A block of transposed weights stays in the second-level cache while all rows are multiplied with
// it, and the sums of the lanes in the first-level cache.
const (
	lanesPanels = 4             // panels of a block at most
	lanesFloats = segment * 192 // its weights, if there are several panels
	lanesTile   = 4 * tileRows  // rows whose lanes are summed together
	lanesSums   = 4             // sums of two lanes each
)

// tile computes the outputs from j on in whole panels, and returns the first that it has not
// computed.
func (p *lanesProduct) tile(w *Worker, j, end int) int {
	depth := laneDepth(p.m.In)
	most := max(1, min(lanesPanels, lanesFloats/(8*depth*panelCols)))
	room := w.floats(scratchPack, most*panelCols*(8*depth+lanesSums*lanesTile))
	weights, sums := room[:most*panelCols*8*depth], room[most*panelCols*8*depth:]
	for panels := most; end-j >= panelCols; j += panels * panelCols {
		panels = min(most, (end-j)/panelCols)
		if m := p.m; m.Format == F32 {
			p.v.packLanes(weights, m.F32[j*m.In:], m.In, m.In, panels)
		} else {
			p.v.halves(m.bf16()).packLanes(weights, m.F16[j*m.In:], m.In, m.In, panels)
		}
		for i := 0; i < p.rows; i += lanesTile {
			p.sum(sums, weights, i, min(lanesTile, p.rows-i), j, panels)
		}
	}
	return j
}

// sum computes rows from row i on by the outputs of a block, from output j on. Sum s holds lane 2s,
// then lanes 2s and 2s+1, as the tree of the package comment adds them.
func (p *lanesProduct) sum(sums, weights []float32, i, rows, j, panels int) {
	depth, cols := laneDepth(p.m.In), panels*panelCols
	size := rows * cols
	for lane := range 8 {
		sum := sums[lane/2*size:][:size]
		if lane%2 == 0 {
			clear(sum)
		}
		n := (p.m.In - lane + 7) / 8
		p.v.tile(sum, cols, p.lanes[(i*8+lane)*depth:], 8*depth, 1, weights[lane*depth*panelCols:],
			panelCols, 8*depth*panelCols, rows, n, panels, lane%2 == 1)
	}
	p.v.add(sums[:size], sums[size:2*size])
	p.v.add(sums[2*size:3*size], sums[3*size:4*size])
	p.v.add(sums[:size], sums[2*size:3*size])
	for r := range rows {
		copy(p.dst[(i+r)*p.m.Out+j:][:cols], sums[r*cols:])
	}
}
