package attention

// Sizes, options and masks, and the checks that slices fit them.

import (
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
)

// Sizes are the sizes of one call of scaled dot-product attention.
type Sizes struct {
	Batch, Heads     int
	Queries, Keys    int // tokens
	KeyDim, ValueDim int // of one head; queries have KeyDim too
}

// Options change what softmax attention computes. The zero value is no mask and a scale of 1/√dim.
type Options struct {
	Scale float32 // factor of q·k; 0 for 1/√KeyDim, or for the scale of the layer's layout

	// Causal hides the keys after a query: query i sees keys 0 … Past+i. Past is the number of keys
	// before the first query: 0 for a whole sequence. The result equals adding −1e10, as GPT-2 and
	// picoGPT do, because exp of that is 0.
	Causal bool
	Past   int

	Mask Mask

	// [batch, heads, queries, keys]: the attention weights are written here, if not nil
	Weights []float32
	// [batch, queries, keys]: their mean over the heads is written here, if not nil
	MeanWeights []float32
}

// A Mask is added to the scores, or hides some of them. Both fields may be set.
type Mask struct {
	Add  []float32 // added after scaling: −1e10 or −Inf to hide, anything else to bias
	Keep []bool    // true if a query may see a key, as in PyTorch's scaled_dot_product_attention

	// Shape is that of Add and Keep, [batch, heads, queries, keys]. Each of the first three is the
	// size, or 1 if the mask is the same for all. All zero means [1, 1, queries, keys].
	Shape [4]int
}

// check panics unless n numbers are the product of the sizes.
func check(name string, n int, sizes ...int) {
	want := 1
	for _, s := range sizes {
		if s < 0 {
			panic(fmt.Sprintf("attention: %s: sizes %v", name, slices.Clone(sizes)))
		}
		want *= s
	}
	if n != want {
		// Clone, so that sizes stays on the stack
		panic(fmt.Sprintf("attention: %s has %d numbers, want %v = %d", name, n,
			slices.Clone(sizes), want))
	}
}

// check completes the options for the sizes.
func (o *Options) check(s Sizes) {
	if o.Scale == 0 && s.KeyDim > 0 {
		o.Scale = float32(1 / math.Sqrt(float64(s.KeyDim)))
	}
	if o.Past != 0 && (!o.Causal || o.Past < 0) {
		panic(fmt.Sprintf("attention: Past is %d with Causal %v, want 0, or more with Causal",
			o.Past, o.Causal))
	}
	if o.Weights != nil {
		check("Weights [batch heads queries keys]", len(o.Weights), s.Batch, s.Heads, s.Queries,
			s.Keys)
	}
	if o.MeanWeights != nil {
		check("MeanWeights [batch queries keys]", len(o.MeanWeights), s.Batch, s.Queries, s.Keys)
	}
	o.Mask.check(s)
}

func (m *Mask) check(s Sizes) {
	full := [4]int{s.Batch, s.Heads, s.Queries, s.Keys}
	if m.Shape == [4]int{} {
		m.Shape = [4]int{1, 1, s.Queries, s.Keys}
	}
	for i, n := range m.Shape {
		if n != full[i] && (n != 1 || i == 3) {
			panic(fmt.Sprintf("attention: Mask.Shape is %v, want [batch heads queries keys] = %v, or 1 in place of the first three", m.Shape, full))
		}
	}
	if m.Add != nil {
		check("Mask.Add", len(m.Add), m.Shape[:]...)
	}
	if m.Keep != nil {
		check("Mask.Keep", len(m.Keep), m.Shape[:]...)
	}
}

// at returns the offset of a query's row, and the distance between the rows of consecutive queries.
func (m *Mask) at(batch, head, query int) (offset, ld int) {
	if m.Shape[0] == 1 {
		batch = 0
	}
	if m.Shape[1] == 1 {
		head = 0
	}
	ld = m.Shape[3]
	if m.Shape[2] == 1 {
		query, ld = 0, 0
	}
	return ((batch*m.Shape[1]+head)*m.Shape[2] + query) * m.Shape[3], ld
}

// A view is numbers [batch, heads, rows, dim] in a slice, at any distances.
type view struct {
	data             []float32
	batch, head, row int // distances
}

// byHead returns the view of [batch, heads, rows, dim].
func byHead(data []float32, heads, rows, dim int) view {
	return view{data, heads * rows * dim, rows * dim, dim}
}

// byRow returns the view of [batch, rows, heads·dim].
func byRow(data []float32, heads, rows, dim int) view {
	return view{data, rows * heads * dim, dim, heads * dim}
}

func (v *view) at(batch, head, row int) []float32 {
	return v.data[batch*v.batch+head*v.head+row*v.row:]
}

// sequence returns the part of one sequence of the batch.
func (v *view) sequence(batch int) kernels.HeadRows {
	return kernels.HeadRows{Data: v.at(batch, 0, 0), Row: v.row, Head: v.head}
}

// grow returns n floats of memory, which *b stores from call to call. They contain old data.
func grow(b *[]float32, n int) []float32 {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	return (*b)[:n]
}
