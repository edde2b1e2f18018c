package checkpoint

// The arithmetic of merging: a low-rank product that is added to a weight, some rows at a time.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/weights"
)

// An update adds scale · left·right to a weight: left is [rows, rank], right [rank, columns].
type update struct {
	left, right []float32
	rank        int
	scale       float32
}

// update returns what a product adds to a weight of that shape and layout.
func (p *product) update(shape []int, l layout, o *openAdapter) (u update, err error) {
	in, out := shape[1], shape[0]
	switch l {
	case inOut:
		in, out = out, in
	case lookup:
		in, out = out, in // lora_embedding_A is [r, ids], lora_embedding_B [width, r]
	}
	switch {
	case p.embedding && l != lookup:
		return u, fmt.Errorf("%s: want lora_A and lora_B for a layer that is no embedding",
			quote.Plain(p.a.Name, 80))
	case !p.embedding && l == lookup:
		return u, fmt.Errorf("%s: want lora_embedding_A and lora_embedding_B for an embedding",
			quote.Plain(p.a.Name, 80))
	}
	u.rank = o.config.rankOf(p.module)
	if r := p.a.Shape[0]; r != u.rank {
		return u, fmt.Errorf("%s: rank %d, want %d as adapter_config.json has it",
			quote.Plain(p.a.Name, 80), r, u.rank)
	}
	for _, half := range []struct {
		t    *weights.Tensor
		want [2]int
	}{{p.a, [2]int{u.rank, in}}, {p.b, [2]int{out, u.rank}}} {
		if [2]int(half.t.Shape) != half.want {
			return u, fmt.Errorf("%s: shape %v, want %v", quote.Plain(half.t.Name, 80), half.t.Shape,
				half.want)
		}
	}
	scale := o.scale * o.config.scaleOf(p.module)
	if u.scale = float32(scale); u.scale-u.scale != 0 {
		return u, fmt.Errorf("%s: scale %v, want a finite number", quote.Plain(p.a.Name, 80), scale)
	}
	a, err := floats(p.a)
	if err != nil {
		return u, err
	}
	b, err := floats(p.b)
	if err != nil {
		return u, err
	}
	if l == outIn { // B·A
		u.left, u.right = append([]float32(nil), b...), append([]float32(nil), a...)
	} else { // (B·A)ᵀ = Aᵀ·Bᵀ
		u.left, u.right = transposed(a, u.rank, in), transposed(b, out, u.rank)
	}
	return u, nil
}

// transposed returns a matrix [rows, cols] as [cols, rows].
func transposed(x []float32, rows, cols int) []float32 {
	dst := make([]float32, len(x))
	kernels.Transpose(dst, rows, x, cols, rows, cols)
	return dst
}

// merged returns the tensor as it is afterwards: in float32 if products are added to it.
func (c *change) merged() weights.Tensor {
	t := c.tensor
	if len(c.updates) == 0 {
		return t
	}
	return weights.Tensor{Name: t.Name, DType: weights.F32, Shape: t.Shape, Fill: c.fill, Done: t.Done}
}

// fill makes elements of the merged tensor, as weights.Tensor.Fill has it.
func (c *change) fill(dst []byte, from int64) error {
	cols := c.tensor.Shape[1]
	b := mergeBlock{change: c}
	for first, n := int(from/4), len(dst)/4; n > 0; {
		row, col := first/cols, first%cols
		rows, width := 1, min(cols-col, n)
		if width == cols {
			rows = min(n/cols, c.blockRows())
		}
		count := rows * width
		if err := b.fill(dst[:4*count], row, col, rows, width); err != nil {
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
	return max(1, floats/c.tensor.Shape[1])
}

// A mergeBlock is the memory for some rows.
type mergeBlock struct {
	*change
	base     []byte
	sum, add []float32
}

// fill sets dst to a part of the merged tensor, rows by width elements from row and col on. The
// order of the sums is a promise, as those of package kernels are. Of each element, in float32:
//
//	product = fma(left[row,k], right[k,col], product) for k = 0, 1, …, rank-1, from +0
//	element = element + scale·product, twice rounded, for each adapter in order, from the base's
func (b *mergeBlock) fill(dst []byte, row, col, rows, width int) error {
	base, cols, n := b.tensor, b.tensor.Shape[1], rows*width
	size := base.DType.Size()
	at := int64(row*cols+col) * int64(size)
	part := weights.Tensor{Name: base.Name, DType: base.DType, Shape: []int{n}}
	if base.Data != nil {
		part.Data = base.Data[at : at+int64(n*size)]
	} else {
		b.base = grown(b.base, n*size)
		if err := base.Fill(b.base, at); err != nil {
			return err
		}
		part.Data = b.base
	}
	weight, err := part.Float32s()
	if err != nil {
		return err
	}
	b.sum, b.add = grown(b.sum, n), grown(b.add, n)
	from := weight
	for _, u := range b.updates {
		clear(b.add)
		right := kernels.Panels{Data: u.right[col:], K: u.rank, Cols: width, LD: cols}
		kernels.Leaves{}.Multiply(b.add, width, u.left[row*u.rank:], u.rank, rows, &right, 0, u.rank)
		sum := b.sum[:len(b.add)]
		from = from[:len(sum)]
		for i, x := range b.add {
			sum[i] = from[i] + float32(u.scale*x)
		}
		from = sum
	}
	if !(kernels.Leaves{}).Finite(b.sum) && (kernels.Leaves{}).Finite(weight) {
		return errors.New("what is merged is more than float32 holds")
	}
	for i, x := range b.sum {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
	return nil
}

// grown returns a slice of n elements, in the memory of s if that is enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
