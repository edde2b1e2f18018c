package inside

// Circuits: what a head reads and writes, from its weights alone.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// CircuitOptions say what is told of a circuit.
type CircuitOptions struct {
	Pairs   int   // how many pairs of tokens; 0 computes none, which takes the most work
	Among   []int // pairs of these tokens alone, each once, in rising order; nil: of all
	Vectors int   // of how many singular values there are vectors
	Top     int   // how many tokens each vector reads and writes; 0 means 5

	Progress func(done, steps int) // nil, or called as the work proceeds
}

// A Circuit is the matrices of a head of attention, [n_embd, n_embd] of rank n_embd/n_head. The
// weights are as in the view TransformerLens: with the gains of the LayerNorms before them, and
// without the means that LayerNorms take away; the unembedding is without its mean over the
// vocabulary. Biases have no part in it. Of weights in q8 and q4 it is that of their values.
type Circuit struct {
	Layer int `json:"layer"`
	Head  int `json:"head"`

	OV CircuitMatrix `json:"ov"` // W_V·W_O: what is written where a token is looked at
	QK CircuitMatrix `json:"qk"` // W_Q·W_Kᵀ: who looks at whom, without the factor of the scores

	// Those of the whole OV circuit, W_E·W_V·W_O·W_U [vocab_size, vocab_size], but for zeros: real
	// and imaginary part, the greatest real part first.
	Eigenvalues [][2]float64 `json:"eigenvalues"`
	Copying     float64      `json:"copying"` // their sum, in parts of the sum of their lengths

	Reads  []Composition `json:"reads"`  // what earlier heads write
	Writes []Composition `json:"writes"` // for later heads
}

// A CircuitMatrix is one of the two.
type CircuitMatrix struct {
	Singular []float64        `json:"singular"` // values, in falling order
	Vectors  []SingularVector `json:"vectors"`
	Pairs    []TokenPair      `json:"pairs"` // with embeddings on both sides, the largest first
}

// A SingularVector is what a matrix reads, and what it writes then, of unit length, and the tokens
// that are most like each. The query is the left one of QK.
type SingularVector struct {
	Left     []float64 `json:"left"`
	Right    []float64 `json:"right"`
	LeftTop  []int     `json:"left_top"`
	RightTop []int     `json:"right_top"`
}

// A TokenPair is an element of a whole circuit: of OV, by how much a token From that is looked at
// raises the logit of To; of QK, by how much a token From looks at To.
type TokenPair struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Value float64 `json:"value"`
}

// A Composition says how much of what a head writes another reads: the Frobenius norm of the product
// of two circuits over the product of their norms. Q, K and V are by its queries, keys and values.
type Composition struct {
	Layer int     `json:"layer"`
	Head  int     `json:"head"`
	Q     float64 `json:"q"`
	K     float64 `json:"k"`
	V     float64 `json:"v"`
}

// circuitHead is the matrices of a head [n_embd/n_head, n_embd]: those of Q, K and V transposed.
type circuitHead struct{ q, k, v, o [][]float64 }

// ReadCircuit computes the circuits of a head. The time is that of vocab_size² · n_embd/n_head
// products, and little else; memory holds vocab_size · (n_embd/n_head + 64) numbers a few times.
// Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021.
func ReadCircuit(
	ctx context.Context, m *model.Model, layer, head int, o CircuitOptions,
) (*Circuit, error) {
	p := m.Params()
	if layer < 0 || layer >= len(p.H) || head < 0 || head >= p.Heads {
		return nil, fmt.Errorf("head %d.%d: want layer 0 to %d, head 0 to %d", layer, head,
			len(p.H)-1, p.Heads-1)
	}
	if p.LMHead == nil {
		return nil, model.ErrNoLogits
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	o.Top = min(cmp.Or(o.Top, 5), p.Vocab)
	if o.Among == nil {
		for id := range p.Vocab {
			o.Among = append(o.Among, id)
		}
	}
	for _, id := range o.Among {
		if err := checkID("among", id, m); err != nil {
			return nil, err
		}
	}
	r := &circuitReader{ctx, m, p, o}
	heads, err := r.heads(layer)
	if err != nil {
		return nil, err
	}
	h, c := heads[head], &Circuit{Layer: layer, Head: head, Reads: []Composition{},
		Writes: []Composition{}}
	for _, row := range slices.Concat(h.q, h.k, h.v, h.o) {
		if sum := total(row); math.IsNaN(sum - sum) {
			return nil, fmt.Errorf("head %d.%d: a weight is %w", layer, head, ErrNonFinite)
		}
	}
	if err := r.compose(c, h); err != nil {
		return nil, err
	}
	reads, err := r.tokens(&p.WTE, nil, slices.Concat(h.v, h.q, h.k)) // [3·dim][vocab_size]
	if err != nil {
		return nil, err
	}
	writes, err := r.unembedded(h.o)
	if err != nil {
		return nil, err
	}
	dim := len(h.v)
	sum, lengths := 0.0, 0.0
	for _, v := range eigenvalues(complexes(products(writes, reads[:dim]))) {
		c.Eigenvalues = append(c.Eigenvalues, [2]float64{real(v), imag(v)})
		sum, lengths = sum+real(v), lengths+length(v)
	}
	if c.Copying = sum / lengths; lengths == 0 {
		c.Copying = 0
	}
	if math.IsNaN(c.Copying) {
		return nil, fmt.Errorf("head %d.%d: an eigenvalue is %w", layer, head, ErrNonFinite)
	}
	if c.OV.Pairs, err = r.pairs(reads[:dim], writes, 0); err == nil {
		c.QK.Pairs, err = r.pairs(reads[dim:2*dim], reads[2*dim:], len(o.Among))
	}
	if err == nil {
		err = r.decompose(&c.OV, h.v, h.o, r.unembedded)
	}
	if err == nil {
		err = r.decompose(&c.QK, h.q, h.k, func(rows [][]float64) ([][]float64, error) {
			return r.tokens(&p.WTE, nil, rows)
		})
	}
	return c, err
}

type circuitReader struct {
	ctx context.Context
	m   *model.Model
	p   *stack.Params
	o   CircuitOptions
}

// heads returns the matrices of the heads of a layer.
func (r *circuitReader) heads(layer int) ([]circuitHead, error) {
	h, n, dim := &r.p.H[layer], r.p.Embd, r.p.HeadDim()
	reads, writes := make([][]float64, 3*n), make([][]float64, n)
	for i := range writes {
		writes[i] = make([]float64, n)
	}
	err := r.m.Work(r.ctx, func(w *kernels.Worker) {
		row := make([]float32, n)
		for i := w.Next(); i < 3*n; i = w.Next() {
			h.CAttn.Weight.Row(row, i)
			reads[i] = gained(row, h.Ln1.Gain)
		}
		w.Sync()
		for i := w.Next(); i < n; i = w.Next() {
			h.AttnProj.Weight.Row(row, i)
			for k, v := range row {
				writes[k][i] = float64(v)
			}
		}
		w.Sync()
	})
	for _, row := range slices.Concat(reads, writes) {
		withoutMean(row)
	}
	heads := make([]circuitHead, r.p.Heads)
	for i := range heads {
		from, to := i*dim, (i+1)*dim
		heads[i] = circuitHead{reads[from:to], reads[n+from : n+to], reads[2*n+from : 2*n+to],
			writes[from:to]}
	}
	return heads, err
}

// gained returns x ⊙ gain, or x where there is none.
func gained(x, gain []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if y[i] = float64(v); gain != nil {
			y[i] *= float64(gain[i])
		}
	}
	return y
}

// withoutMean subtracts the mean.
func withoutMean(x []float64) []float64 {
	mean := total(x) / float64(len(x))
	for i := range x {
		x[i] -= mean
	}
	return x
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// tokens returns what rows make of the rows of a table [vocab_size, n_embd]: [len(rows)][vocab_size].
func (r *circuitReader) tokens(
	table *kernels.Matrix, gain []float32, rows [][]float64,
) ([][]float64, error) {
	all := make([][]float64, len(rows))
	for i := range all {
		all[i] = make([]float64, r.p.Vocab)
	}
	return all, r.m.Work(r.ctx, func(w *kernels.Worker) {
		row := make([]float32, r.p.Embd)
		for id := w.Next(); id < r.p.Vocab; id = w.Next() {
			table.Row(row, id)
			x := gained(row, gain)
			for i := range rows {
				all[i][id] = inner(x, rows[i])
			}
		}
		w.Sync()
	})
}

// unembedded returns the logits of rows without their means.
func (r *circuitReader) unembedded(rows [][]float64) ([][]float64, error) {
	all, err := r.tokens(r.p.LMHead, r.p.LnF.Gain, rows)
	for _, row := range all {
		withoutMean(row)
	}
	return all, err
}

// decompose takes the singular values of xᵀ·y, which it overwrites, and what tokens their vectors
// are like: in the embedding, or as right tells them.
func (r *circuitReader) decompose(c *CircuitMatrix, x, y [][]float64,
	right func([][]float64) ([][]float64, error)) error {
	c.Singular, c.Vectors = singular(x, y), []SingularVector{}
	n := min(r.o.Vectors, len(x))
	reads, err := r.tokens(&r.p.WTE, nil, x[:n])
	if err != nil {
		return err
	}
	writes, err := right(y[:n])
	for i := range reads {
		c.Vectors = append(c.Vectors, SingularVector{Left: x[i], Right: y[i],
			LeftTop: highest(reads[i], r.o.Top), RightTop: highest(writes[i], r.o.Top)})
	}
	return err
}

// pairs returns the greatest elements of xᵀ·y, where x and y are [dim][vocab_size]. They are made in
// float32, some rows at a time. done is how many rows have been made before.
func (r *circuitReader) pairs(x, y [][]float64, done int) ([]TokenPair, error) {
	const block = 64
	dim, ids, k := len(x), r.o.Among, r.o.Pairs
	if k == 0 || len(ids) == 0 {
		return []TokenPair{}, nil
	}
	n := len(ids)
	left, right := make([]float32, block*dim), make([]float32, dim*n)
	for i := range right {
		right[i] = float32(y[i/n][ids[i%n]])
	}
	by, values := dense(dim, n, right), make([]float32, block*n)
	var all []TokenPair
	least := math.Inf(-1) // of those that are so many
	for from := 0; from < n; from += block {
		rows := min(block, n-from)
		for i := range rows * dim {
			left[i] = float32(x[i%dim][ids[from+i/dim]])
		}
		found := make([][]TokenPair, rows)
		err := r.m.Work(r.ctx, func(w *kernels.Worker) {
			kernels.Linear(w, values, left, rows, &by, nil)
			for i := w.Next(); i < rows; i = w.Next() {
				found[i] = r.greatest(values[i*n:(i+1)*n], ids[from+i], least)
			}
			w.Sync()
		})
		if err != nil {
			return nil, err
		}
		all = append(all, slices.Concat(found...)...)
		slices.SortFunc(all, func(p, q TokenPair) int {
			return cmp.Or(cmp.Compare(q.Value, p.Value), p.From-q.From, p.To-q.To)
		})
		if len(all) >= k {
			all = all[:k]
			least = all[k-1].Value
		}
		r.o.Progress(done+from+rows, 2*n)
	}
	return all, nil
}

// greatest returns the greatest pairs of a row that are greater than least.
func (r *circuitReader) greatest(row []float32, from int, least float64) (all []TokenPair) {
	k := r.o.Pairs
	for i, v := range row {
		if value := float64(v); value > least {
			at, _ := slices.BinarySearchFunc(all, value, func(p TokenPair, v float64) int {
				return cmp.Or(cmp.Compare(v, p.Value), -1) // after those that are equal
			})
			all = slices.Insert(all, at, TokenPair{from, r.o.Among[i], value})
			if len(all) >= k {
				all = all[:k]
				least = all[k-1].Value
			}
		}
	}
	return all
}

// compose compares a head with those of all other layers.
func (r *circuitReader) compose(c *Circuit, h circuitHead) error {
	for layer := range r.p.H {
		if layer == c.Layer {
			continue
		}
		heads, err := r.heads(layer)
		if err != nil {
			return err
		}
		all := make([]Composition, len(heads))
		err = r.m.Work(r.ctx, func(w *kernels.Worker) {
			for i := w.Next(); i < len(heads); i = w.Next() {
				if layer < c.Layer {
					all[i] = composition(heads[i], h)
				} else {
					all[i] = composition(h, heads[i])
				}
				all[i].Layer, all[i].Head = layer, i
			}
			w.Sync()
		})
		if err != nil {
			return err
		}
		if layer < c.Layer {
			c.Reads = append(c.Reads, all...)
		} else {
			c.Writes = append(c.Writes, all...)
		}
	}
	return nil
}

// composition says how much of what one head writes another reads.
func composition(one, other circuitHead) Composition {
	// Σ x∘y, for squares of norms: |aᵀ·b|² is that of a·aᵀ and b·bᵀ.
	sum := func(x, y [][]float64) float64 { return inner(slices.Concat(x...), slices.Concat(y...)) }
	vv, oo := products(one.v, one.v), products(one.o, one.o)
	all := [3]float64{}
	for i, by := range [][2][][]float64{{other.q, other.k}, {other.k, other.q}, {other.v, other.o}} {
		reads, rest := products(by[0], by[0]), products(by[1], by[1])
		m, t := products(one.o, by[0]), products(by[0], one.o)
		all[i] = math.Sqrt(max(0, sum(products(vv, t), products(m, rest))))
		if norms := math.Sqrt(sum(vv, oo)) * math.Sqrt(sum(reads, rest)); norms > 0 {
			all[i] /= norms
		}
	}
	return Composition{Q: all[0], K: all[1], V: all[2]}
}
