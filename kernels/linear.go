package kernels

// Linear layers on float weights: which blocks of a product each worker computes, and in which
// order.

// Linear sets dst [rows, out] to x [rows, in] · m + bias. bias may be nil. It ends with a barrier.
func Linear(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	m.check(dst, x, rows, bias)
	switch {
	case m.Format == Q8 || m.Format == Q4:
		linearQuant(w, dst, x, rows, m, bias)
	case m.Layout == OutIn:
		linearDot(w, dst, x, rows, m, bias)
	case rows <= streamRows || rows*m.Out <= streamFloats && m.In >= 2*segment*w.Size():
		linearStream(w, dst, x, rows, m, bias)
	case rows <= w.team.variant.batchRows:
		linearBatch(w, dst, x, rows, m, bias)
	default:
		linearTile(w, dst, x, rows, m, bias)
	}
	w.Sync()
}

// setBias starts the chains of one row from the bias, or from +0.
func setBias(dst, bias []float32, from int) {
	if bias == nil {
		clear(dst)
		return
	}
	copy(dst, bias[from:])
}

// segment is the number of inputs of a chain: part of the definition of Linear for [in, out]
// weights. Segment 0 starts from the bias, the others from +0; they are added in order.
const segment = 256

// linearBatch is for more rows than linearStream takes. Memory is still nearly the limit, so each
// worker reads long runs of weights. The rows of the output and of x that it uses are few, and are
// copied to memory that does not share lines of the cache.
func linearBatch(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	v, xs := w.team.variant, w.packGroups(x, rows, m.In)
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

// packGroups returns rows of x in chainRows's order. Each worker packs a few for itself: that takes
// less time than a barrier.
func (w *Worker) packGroups(x []float32, rows, in int) []float32 {
	v, groups := w.team.variant, in/groupDepth
	if rows*in < packTogether {
		xs := w.floats(scratchRows, rows*in)
		v.packGroups(xs, x, in, rows, groups)
		return xs
	}
	xs := w.team.packed.get(rows * in)
	for g := w.Next() * packTask; g < groups; g = w.Next() * packTask {
		v.packGroups(xs[g*rows*groupDepth:], x[g*groupDepth:], in, rows, min(packTask, groups-g))
	}
	w.Sync()
	return xs
}

const (
	packTogether = 32 << 10 // floats
	packTask     = 16       // groups: whole lines of the cache
)

// chainRows continues the sums of rows by cols outputs, from column c on, over the inputs k … end
// of one segment; y's rows lie ldy apart. xs is x, packed; k is a multiple of groupDepth.
func (m *Matrix) chainRows(
	v *variant, y []float32, ldy int, x, xs []float32, rows, k, end, c, cols int,
) {
	groups, whole, ld := (end-k)/groupDepth, cols/panelCols*panelCols, m.stride()
	rest := k + groups*groupDepth
	if m.Format == F32 {
		v.chainRows(y, ldy, xs[rows*k:], m.F32[k*ld+c:], ld, rows, groups, whole)
	} else {
		v.halves(m.bf16()).chainRows(y, ldy, xs[rows*k:], m.F16[k*ld+c:], ld, rows, groups, whole)
	}
	if whole == cols && rest == end {
		return
	}
	for i := range rows {
		yi, xi := y[i*ldy:i*ldy+cols], x[i*m.In:(i+1)*m.In]
		m.chain(v, yi[whole:], xi[k:rest], k, c+whole)
		m.chain(v, yi, xi[rest:end], rest, c)
	}
}

// chain continues the sums of the outputs from column c on over the inputs from k on.
func (m *Matrix) chain(v *variant, y, x []float32, k, c int) {
	ld := m.stride()
	switch {
	case len(x) == 0 || len(y) == 0:
	case m.Format == F32:
		v.chain(y, x, m.F32[k*ld+c:], ld)
	default:
		v.halves(m.bf16()).chain(y, x, m.F16[k*ld+c:], ld)
	}
}

// batchFloats is the output in one task of linearBatch: 18 KiB, which stay in the first-level cache.
const batchFloats = 4608
