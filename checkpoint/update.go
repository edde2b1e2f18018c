// The arithmetic of merging: what an adapter makes of a weight, some rows at a time.

package checkpoint

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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

func dot[F float32 | float64](x, y []F) (sum float64) {
	for i, v := range x {
		sum += float64(float64(v) * float64(y[i]))
	}
	return sum
}

// add adds by·x to y.
func add(y []float64, by float64, x []float64) {
	for i, v := range x {
		y[i] += float64(by * v)
	}
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

// Ways to add up several LoRA adapters: those of PEFT's add_weighted_adapter that draw nothing.

// Combinations are what Options.Combine may be: the first, "cat", is the sum of the products.
//
//   - "linear": A = Σ ±√|w·s|·A, B = Σ √|w·s|·B, with each adapter's weight w and scale s
//   - "magnitude_prune": the same of the part of the numbers of each matrix that are largest
//   - "ties": of these, of each number only those of the majority's sign, and their mean. Yadav and
//     others, 2023, arXiv 2306.01708
var Combinations = []string{"cat", "linear", "magnitude_prune", "ties"}

// combine makes one product of those of several adapters.
func (m *merging) combine(how string) error {
	how, density, err := parseCombination(how)
	if err != nil || how == Combinations[0] {
		return err
	}
	if m.kind != "LORA" {
		return fmt.Errorf("combine: %s of %s adapters, want LORA", how, m.kind)
	}
	for name, c := range m.changes {
		if c.by != "" || slices.ContainsFunc(c.updates, func(u *update) bool { return u.combine != nil }) {
			return fmt.Errorf("%s: combine: %s adds up products of LoRA alone, want nothing else in the "+
				"adapters", name, how)
		}
		if len(c.updates) == 0 {
			continue
		}
		first := c.updates[0]
		if slices.ContainsFunc(c.updates, func(u *update) bool { return u.rank != first.rank }) {
			return fmt.Errorf("%s: combine: %s of different ranks", name, how)
		}
		one := &update{rank: first.rank, scale: 1, tied: first.tied, turned: first.turned}
		if m.root { // PEFT's new adapter has the first one's use_rslora, and its α is the rank
			one.scale = float32(math.Sqrt(float64(first.rank)))
		}
		one.left = combined(how, density, c.updates, true)
		one.right = combined(how, density, c.updates, false)
		c.updates = []*update{one}
	}
	return nil
}

// CheckCombination refuses what is no Options.Combine.
func CheckCombination(how string) error {
	_, _, err := parseCombination(how)
	return err
}

func parseCombination(text string) (how string, density float64, err error) {
	how, part, given := strings.Cut(cmp.Or(text, Combinations[0]), ":")
	if density = 1; given {
		density, err = strconv.ParseFloat(part, 64)
	}
	prunes := how == "ties" || how == "magnitude_prune"
	if err != nil || !slices.Contains(Combinations, how) || !(density >= 0 && density <= 1) ||
		given && !prunes {
		return "", 0, fmt.Errorf("combine: %s, want one of %s, the last two also with the part of the "+
			"numbers that is kept, as in ties:0.2", quote.Plain(text, 40), strings.Join(Combinations, ", "))
	}
	return how, density, nil
}

// combined returns the left or the right matrix of a combination. The signs of the weights go to A.
func combined(how string, density float64, updates []*update, left bool) []float32 {
	var tasks [][]float32
	var by []float32
	for _, u := range updates {
		x, w := u.right, float32(math.Sqrt(math.Abs(float64(u.scale))))
		if left {
			x = u.left
		}
		if u.scale < 0 && left == u.turned {
			w = -w
		}
		if how != "linear" {
			x = pruned(x, density)
		}
		tasks, by = append(tasks, x), append(by, w)
	}
	sum := make([]float32, len(tasks[0]))
	for i := range sum {
		total, kept := float32(0), 0
		for _, x := range tasks {
			total += x[i]
		}
		for k, x := range tasks {
			if how == "ties" && (total >= 0 && x[i] <= 0 || total < 0 && x[i] >= 0) {
				continue
			}
			sum[i] += float32(by[k] * x[i])
			kept++
		}
		if how == "ties" {
			sum[i] /= float32(max(kept, 1))
		}
	}
	return sum
}

// pruned returns the part of the numbers that are largest, and zeros for the others.
func pruned(x []float32, density float64) []float32 {
	if density >= 1 {
		return x
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(float64(x[b])), math.Abs(float64(x[a])))
	})
	y := make([]float32, len(x))
	for _, i := range order[:int(density*float64(len(x)))] {
		y[i] = x[i]
	}
	return y
}
