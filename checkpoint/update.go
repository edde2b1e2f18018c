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
	// combine, if not nil, changes sum, a part of the weight as it is by now. base is that part of
	// the base's, and product that of scale · left·right, or empty.
	combine func(at area, base, sum, product []float32)

	turned bool // left is of A, and right of B
	tied   bool // of an embedding: the head that is tied to it has it too
	needed bool // of a bias: the base must have one
}

// An area is a part of a matrix: rows by width elements from row and col on.
type area struct{ row, col, rows, width int }

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

// input and output return which input and output of the layer element i of an area belongs to.
func (l *layer) input(at area, i int) int {
	if l.layout == outIn {
		return at.col + i%at.width
	}
	return at.row + i/at.width
}

func (l *layer) output(at area, i int) int {
	if l.layout == outIn {
		return at.row + i/at.width
	}
	return at.col + i%at.width
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
	b := mergeBlock{change: c}
	for first, n := int(from/4), len(dst)/4; n > 0; {
		row, col := first/cols, first%cols
		rows, width := 1, min(cols-col, n)
		if width == cols {
			rows = min(n/cols, c.blockRows())
		}
		count := rows * width
		if err := b.fill(dst[:4*count], area{row, col, rows, width}); err != nil {
			return fmt.Errorf("%s: %w", c.tensor.Name, err)
		}
		dst, first, n = dst[4*count:], first+count, n-count
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
		at := area{row, 0, min(c.blockRows(), rows-row), cols}
		base, err := b.read(at)
		if err != nil {
			return err
		}
		f(at, base, b.product(u, at))
	}
	return nil
}

// A mergeBlock is the memory for some rows.
type mergeBlock struct {
	*change
	base     []byte
	sum, add []float32
}

// read returns a part of the base's weight.
func (b *mergeBlock) read(p area) ([]float32, error) {
	_, cols := b.size()
	base, n := b.tensor, p.rows*p.width
	size := base.DType.Size()
	at := int64(p.row*cols+p.col) * int64(size)
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

// product returns a part of scale · left·right, empty if there is none.
func (b *mergeBlock) product(u *update, p area) []float32 {
	if u.rank == 0 {
		return nil
	}
	_, cols := b.size()
	n := p.rows * p.width
	b.add = slices.Grow(b.add[:0], n)[:n]
	clear(b.add)
	right := kernels.Panels{Data: u.right[p.col:], K: u.rank, Cols: p.width, LD: cols}
	left := u.left[p.row*u.rank:]
	kernels.Leaves{}.Multiply(b.add, p.width, left, u.rank, p.rows, &right, 0, u.rank)
	for i, x := range b.add {
		b.add[i] = float32(u.scale * x)
	}
	return b.add
}

// fill sets dst to a part of the merged tensor. The order of the sums is a promise, as those of
// package kernels are. Of each element, in float32:
//
//	product = fma(left[row,k], right[k,col], product) for k = 0, 1, …, rank-1, from +0
//	element = element + scale·product, twice rounded, for each adapter in order, from the base's
func (b *mergeBlock) fill(dst []byte, p area) error {
	weight, err := b.read(p)
	if err != nil {
		return err
	}
	b.sum = append(b.sum[:0], weight...)
	for _, u := range b.updates {
		add := b.product(u, p)
		if u.combine != nil {
			u.combine(p, weight, b.sum, add)
			continue
		}
		sum := b.sum[:len(add)]
		for i, x := range add {
			sum[i] += x
		}
	}
	if !(kernels.Leaves{}).Finite(b.sum) && (kernels.Leaves{}).Finite(weight) {
		return errors.New("what is merged is more than float32 holds")
	}
	for i, x := range b.sum {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
	return nil
}
