package kernels

// Products with matrices in panels of 16 columns, computed by one worker: the parts of attention.

// Panels is a matrix [K, Cols] in panels of 16 columns. If LD is 0 it is packed: each panel is
// contiguous, [⌈Cols/16⌉, K, 16], and the last one is as narrow as the remaining columns, so that
// the matrix takes K·Cols floats. Otherwise it is row-major, with rows LD apart.
type Panels struct {
	Data    []float32
	K, Cols int
	LD      int
}

// panel returns the data of the panel that begins at column j, from row k on, the distance of its
// rows, and the number of its columns.
func (p *Panels) panel(j, k int) (data []float32, ld, cols int) {
	cols = min(panelCols, p.Cols-j)
	if p.LD != 0 {
		return p.Data[k*p.LD+j:], p.LD, cols
	}
	at, cols := packedPanel(p.K, p.Cols, j, k)
	return p.Data[at:], cols, cols
}

// packedPanel returns the index of row k of the panel that begins at column j, in a packed matrix
// [rows, cols], and the number of the panel's columns, which is also the distance of its rows.
func packedPanel(rows, cols, j, k int) (at, width int) {
	width = min(panelCols, cols-j)
	return j*rows + k*width, width
}

// Multiply continues the sums of c [rows, Cols]: c[i,j] = fma(a[i,k], p[k,j], c[i,j]) for each
// k from … to-1 in order. Column k-from of a, not k, belongs to k. Rows lie ldc and lda apart. It
// is part of one worker's task: there is no barrier.
func (w *Worker) Multiply(
	c []float32, ldc int, a []float32, lda, rows int, p *Panels, from, to int,
) {
	w.team.variant.multiply(c, ldc, a, lda, rows, p, from, to, false)
}

// Multiply is [Worker.Multiply] without a team.
func (l Leaves) Multiply(
	c []float32, ldc int, a []float32, lda, rows int, p *Panels, from, to int,
) {
	l.variant().multiply(c, ldc, a, lda, rows, p, from, to, false)
}

// multiply is [Worker.Multiply]. With add, where all panels are whole, the sums start from +0 and are
// added to c.
func (v *variant) multiply(
	c []float32, ldc int, a []float32, lda, rows int, p *Panels, from, to int, add bool,
) {
	if from >= to {
		return
	}
	whole := p.Cols / panelCols * panelCols
	if whole > 0 {
		b, ldb, _ := p.panel(0, from)
		next := p.K * panelCols
		if p.LD != 0 {
			next = panelCols
		}
		v.tile(c, ldc, a, lda, 1, b, ldb, next, rows, to-from, whole/panelCols, add)
	}
	if whole < p.Cols {
		b, ldb, cols := p.panel(whole, from)
		for i := range rows {
			v.chain(c[i*ldc+whole:i*ldc+whole+cols], a[i*lda:i*lda+to-from], b, ldb)
		}
	}
}

// Dot returns the product of two vectors of equal length: lanes (see the package comment). It does
// not wait at a barrier.
func (w *Worker) Dot(x, y []float32) float32 {
	dst := w.floats(scratchState, 1)
	w.team.variant.dot(dst, 1, x, len(x), y, len(y), 1, 1, len(x))
	return dst[0]
}

// Plus adds x to dst, and Times multiplies x by a number. They do not wait at a barrier.
func (w *Worker) Plus(dst, x []float32)         { w.team.variant.add(dst, x) }
func (w *Worker) Times(x []float32, by float32) { w.team.variant.scale(x, by) }

// ELU1 sets dst to elu(x) + 1: x + 1 above 0, exp(x) below; +Inf gives NaN. It does not wait at a
// barrier.
func (w *Worker) ELU1(dst, x []float32) {
	v, positive := w.team.variant, w.floats(scratchScores, len(x))
	copy(positive, x)
	v.activate(positive, ReLU)
	copy(dst, x)
	v.scale(positive, -1)
	v.add(dst, positive) // x if it is below 0, else 0
	v.scale(positive, -1)
	v.expShift(dst[:len(x)], 0)
	v.add(dst, positive)
}

// PackRows copies the n rows of src, Cols long and ld apart, to rows k, k+1, … of packed panels.
func (p *Panels) PackRows(k int, src []float32, ld, n int) {
	for j := 0; j < p.Cols; j += panelCols {
		dst, ldp, cols := p.panel(j, k)
		for i := range n {
			if cols == panelCols {
				*(*[panelCols]float32)(dst[i*ldp:]) = *(*[panelCols]float32)(src[i*ld+j:])
			} else {
				copy(dst[i*ldp:i*ldp+cols], src[i*ld+j:])
			}
		}
	}
}

// PackColumns copies the n rows of src, K long and ld apart, to columns j, j+1, … of packed panels:
// src holds the keys of a block.
func (p *Panels) PackColumns(j int, src []float32, ld, n int) {
	for i := 0; i < n; {
		in := (j + i) % panelCols
		dst, ldp, cols := p.panel(j+i-in, 0)
		each := min(n-i, cols-in)
		Transpose(dst[in:], ldp, src[i*ld:], ld, each, p.K)
		i += each
	}
}

// Transpose sets column i of dst to row i of src, for n rows of k numbers. Rows lie ldd and lds
// apart.
func Transpose(dst []float32, ldd int, src []float32, lds, n, k int) {
	i := 0
	// four rows at a time: a cache line of dst is written once, not four times
	for ; i+4 <= n && k > 0; i += 4 {
		a, b, c, d := src[i*lds:][:k], src[(i+1)*lds:][:k], src[(i+2)*lds:][:k], src[(i+3)*lds:][:k]
		b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
		for j, x := range a {
			*(*[4]float32)(dst[j*ldd+i:]) = [4]float32{x, b[j], c[j], d[j]}
		}
	}
	for ; i < n; i++ {
		for j, x := range src[i*lds:][:k] {
			dst[j*ldd+i] = x
		}
	}
}
