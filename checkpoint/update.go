// The arithmetic of merging: what an adapter makes of a weight, some rows at a time.

package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/weights"
)

// An update changes a weight: it adds scale · left·right, where left is [rows, rank] and right
// [rank, columns], or what combine makes of them.
type update struct {
	left, right []float32
	rank        int // 0 for none
	scale       float32
	by, own     float32 // of LoRA: the scale is that of the adapter times that of its config

	// prepare, if not nil, is called once before rows are made, and sets what needs the whole weight.
	prepare func(u *update, c *change) error
	dropped bool // left and right, which prepare sets, when the whole weight is made
	// combine, if not nil, changes sum, rows of the weight as it is by now. base are these rows of
	// the base's, and product those of scale · left·right, or empty.
	combine func(at area, base, sum, product []float32)
	unit    int // of which so many rows belong together, 0 for 1

	turned bool // left is of A, and right of B
	first  bool // of several adapters, the last one's is made first
	tied   bool // of an embedding: the head that is tied to it has it too
	needed bool // of a bias: the base must have one
}

// An area is some rows of a matrix, so wide, from row on.
type area struct{ row, rows, width int }

// product returns the update that adds scale·B·A: A is [rank, in], B [out, rank].
func (l *layer) product(a, b []float32, rank int, scale float64) *update {
	u := &update{rank: rank, scale: float32(scale)}
	if u.scale-u.scale != 0 {
		fail("%s: scale %v, want a finite number", quote.Plain(l.module, 80), scale)
	}
	if l.layout == outIn { // B·A
		u.left, u.right = slices.Clone(b), slices.Clone(a)
	} else { // (B·A)ᵀ = Aᵀ·Bᵀ
		u.left, u.right, u.turned = transposed(a, rank, l.in), transposed(b, l.out, rank), true
	}
	return u
}

// instead is the update whose B·A, as product has them, takes the place of the base's weight.
func (l *layer) instead(a, b []float32, rank int) *update {
	u := l.product(a, b, rank, 1)
	u.combine = func(_ area, base, sum, product []float32) {
		for i, x := range product {
			sum[i] += float32(float32(l.scale) * (x - base[i]))
		}
	}
	return u
}

// added is the update that adds scale times an element for each output and input.
func added(scale float64, element func(out, in int) float32) *update {
	return &update{combine: func(at area, _, sum, _ []float32) {
		for i := range sum {
			sum[i] += float32(float32(scale) * element(at.row+i/at.width, i%at.width))
		}
	}}
}

// blockwise is the update that multiplies each part of a row, of so many elements, by a matrix of
// its own, or all by one. less are the matrices less the identity, [_, size, size].
func (l *layer) blockwise(less []float64, size int) *update {
	by := rowsTimes(rounded(less), []float32{float32(l.scale)})
	return &update{combine: func(at area, _, sum, _ []float32) {
		was := slices.Clone(sum)
		for i := 0; i < at.width; i += size {
			m := by[i*size%len(by):][:size*size]
			multiply(sum[i:], at.width, was[i:], at.width, at.rows, m, size)
		}
	}}
}

// multiply adds x·m to y, with rows ldx and ldy apart; m is [k, _].
func multiply(y []float32, ldy int, x []float32, ldx, rows int, m []float32, k int) {
	right := kernels.Panels{Data: m, K: k, Cols: len(m) / k, LD: len(m) / k}
	kernels.Leaves{}.Multiply(y, ldy, x, ldx, rows, &right, 0, k)
}

// input and output return which input and output of the layer element i of an area belongs to.
func (l *layer) input(at area, i int) int {
	if l.layout == outIn {
		return i % at.width
	}
	return at.row + i/at.width
}

func (l *layer) output(at area, i int) int {
	if l.layout == outIn {
		return at.row + i/at.width
	}
	return i % at.width
}

// transposed returns a matrix [rows, cols] as [cols, rows].
func transposed(x []float32, rows, cols int) []float32 {
	dst := make([]float32, len(x))
	kernels.Transpose(dst, rows, x, cols, rows, cols)
	return dst
}

// merged returns the tensor as it is afterwards: in float32 if there are updates.
func (c *change) merged() weights.Tensor {
	t := c.tensor
	if len(c.updates) == 0 {
		return t
	}
	return weights.Tensor{Name: t.Name, DType: weights.F32, Shape: t.Shape, Fill: c.fill, Done: c.done}
}

// size returns the rows and columns of the tensor; a vector is one row.
func (c *change) size() (rows, cols int) {
	if s := c.tensor.Shape; len(s) == 2 {
		return s[0], s[1]
	}
	return 1, c.tensor.Len()
}

// prepare prepares the updates.
func (c *change) prepare() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.updates {
		if u.prepare != nil && !c.ready {
			if err := u.prepare(u, c); err != nil {
				return err
			}
		}
	}
	c.ready = true
	return nil
}

// done drops what the updates have prepared.
func (c *change) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.updates {
		if u.dropped {
			u.left, u.right, u.rank, c.ready = nil, nil, 0, false
		}
	}
	if c.tensor.Done != nil {
		c.tensor.Done()
	}
}

// fill makes elements of the merged tensor, as weights.Tensor.Fill has it.
func (c *change) fill(dst []byte, from int64) error {
	if err := c.prepare(); err != nil {
		return fmt.Errorf("%s: %w", c.tensor.Name, err)
	}
	_, cols := c.size()
	unit := 1
	for _, u := range c.updates { // the least common multiple
		for step := unit; unit%max(u.unit, 1) != 0; unit += step {
		}
	}
	most := max(c.blockRows()/unit, 1) * unit
	b := mergeBlock{change: c}
	for first, end := int(from/4), int(from/4)+len(dst)/4; first < end; {
		row := first / cols / unit * unit
		rows := min(((end-1)/cols-row)/unit*unit+unit, most)
		if err := b.make(area{row, rows, cols}); err != nil {
			return fmt.Errorf("%s: %w", c.tensor.Name, err)
		}
		part := b.sum[first-row*cols:]
		part = part[:min(len(part), end-first)]
		for i, x := range part {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
		}
		dst, first = dst[4*len(part):], first+len(part)
	}
	return nil
}

// blockRows returns how many rows are merged together: what the processor's cache holds or, of
// weights that have to be made, as many as are made together.
func (c *change) blockRows() int {
	const floats, made = 1 << 15, 256
	if c.tensor.Data == nil {
		return made
	}
	_, cols := c.size()
	return max(1, floats/cols)
}

// each calls f with all of the base's weight and of an update's product, some rows at a time.
func (c *change) each(u *update, f func(at area, base, product []float32)) error {
	rows, cols := c.size()
	b := mergeBlock{change: c}
	for row := 0; row < rows; row += c.blockRows() {
		at := area{row, min(c.blockRows(), rows-row), cols}
		base, err := b.read(at)
		if err != nil {
			return err
		}
		b.add = u.product(b.add, at)
		f(at, base, b.add)
	}
	return nil
}

// A mergeBlock is the memory for some rows.
type mergeBlock struct {
	*change
	base     []byte
	sum, add []float32
}

// read returns rows of the base's weight.
func (b *mergeBlock) read(p area) ([]float32, error) {
	base, n := b.tensor, p.rows*p.width
	size := base.DType.Size()
	at := int64(p.row*p.width) * int64(size)
	part := weights.Tensor{Name: base.Name, DType: base.DType, Shape: []int{n}}
	if base.Data != nil {
		part.Data = base.Data[at : at+int64(n*size)]
	} else {
		b.base = slices.Grow(b.base[:0], n*size)[:n*size]
		if err := base.Fill(b.base, at); err != nil {
			return nil, err
		}
		part.Data = b.base
	}
	return part.Float32s()
}

// product returns rows of scale · left·right in x, none if there is none.
func (u *update) product(x []float32, p area) []float32 {
	if u.rank == 0 {
		return x[:0]
	}
	n := p.rows * p.width
	x = slices.Grow(x[:0], n)[:n]
	clear(x)
	multiply(x, p.width, u.left[p.row*u.rank:], u.rank, p.rows, u.right, u.rank)
	for i, v := range x {
		x[i] = float32(u.scale * v)
	}
	return x
}

// make makes rows of the merged tensor in sum. The order of the sums is a promise, as those of
// package kernels are. Of each element, in float32:
//
//	product = fma(left[row,k], right[k,col], product) for k = 0, 1, …, rank-1, from +0
//	element = element + scale·product, twice rounded, for each adapter in order, from the base's
func (b *mergeBlock) make(p area) error {
	weight, err := b.read(p)
	if err != nil {
		return err
	}
	b.sum = append(b.sum[:0], weight...)
	for _, u := range b.updates {
		b.add = u.product(b.add, p)
		if u.combine != nil {
			u.combine(p, weight, b.sum, b.add)
			continue
		}
		sum := b.sum[:len(b.add)]
		for i, x := range b.add {
			sum[i] += x
		}
	}
	if !(kernels.Leaves{}).Finite(b.sum) && (kernels.Leaves{}).Finite(weight) {
		return errors.New("what is merged is more than float32 holds")
	}
	return nil
}
