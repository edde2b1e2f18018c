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
	Pairs   int // how many pairs of tokens; 0 computes none, which takes the most work
	Vectors int // of how many singular values there are vectors
	Top     int // how many tokens each vector reads and writes; 0 means 5
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

	// With each head of an earlier layer, whose output it reads, and of a later one, which reads its.
	Composition []Composition `json:"composition"`
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

const mostPairs = 1 << 20 // which are held, and sorted

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
	if o.Pairs > mostPairs {
		return nil, fmt.Errorf("%d pairs of tokens, want at most %d", o.Pairs, mostPairs)
	}
	o.Top = max(1, min(cmp.Or(o.Top, 5), p.Vocab))
	r := &circuitReader{ctx, m, p, o}
	heads, err := r.heads(layer)
	if err != nil {
		return nil, err
	}
	h, c := heads[head], &Circuit{Layer: layer, Head: head, Composition: []Composition{}}
	if err := r.compose(c, h); err != nil {
		return nil, err
	}
	reads, err := r.tokens(false, slices.Concat(h.v, h.q, h.k)) // [3·dim][vocab_size]
	if err != nil {
		return nil, err
	}
	writes, err := r.tokens(true, h.o)
	if err != nil {
		return nil, err
	}
	dim, sum, lengths := len(h.v), 0.0, 0.0
	for _, v := range eigenvalues(products(writes, reads[:dim])) {
		c.Eigenvalues = append(c.Eigenvalues, [2]float64{real(v), imag(v)})
		sum, lengths = sum+real(v), lengths+length(v)
	}
	if c.Copying = sum / lengths; lengths == 0 {
		c.Copying = 0
	}
	if c.OV.Pairs, err = r.pairs(reads[:dim], writes); err == nil {
		c.QK.Pairs, err = r.pairs(reads[dim:2*dim], reads[2*dim:])
	}
	if err = cmp.Or(err, r.decompose(&c.OV, h.v, h.o, true),
		r.decompose(&c.QK, h.q, h.k, false)); err != nil {
		return nil, err
	}
	if sum := c.Copying + total(c.OV.Singular) + total(c.QK.Singular); math.IsNaN(sum - sum) {
		return nil, fmt.Errorf("head %d.%d: a weight or an eigenvalue is %w", layer, head,
			ErrNonFinite)
	}
	return c, nil
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
			reads[i] = make([]float64, n)
			for k, v := range row {
				reads[i][k] = float64(float64(v) * float64(h.Ln1.Gain[k]))
			}
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

// withoutMean subtracts the mean.
func withoutMean(x []float64) {
	mean := total(x) / float64(len(x))
	for i := range x {
		x[i] -= mean
	}
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// tokens returns what rows [n_embd] make of each token's embedding, or of the logits what they make,
// without their mean: [len(rows)][vocab_size].
func (r *circuitReader) tokens(logits bool, rows [][]float64) ([][]float64, error) {
	table, all := &r.p.WTE, make([][]float64, len(rows))
	if logits {
		table = r.p.LMHead
	}
	for i := range all {
		all[i] = make([]float64, r.p.Vocab)
	}
	err := r.m.Work(r.ctx, func(w *kernels.Worker) {
		row, x := make([]float32, r.p.Embd), make([]float64, r.p.Embd)
		for id := w.Next(); id < r.p.Vocab; id = w.Next() {
			table.Row(row, id)
			for i, v := range row {
				if x[i] = float64(v); logits {
					x[i] *= float64(r.p.LnF.Gain[i])
				}
			}
			for i := range rows {
				all[i][id] = inner(x, rows[i])
			}
		}
		w.Sync()
	})
	for i := 0; logits && i < len(all); i++ {
		withoutMean(all[i])
	}
	return all, err
}

// decompose takes the singular values of xᵀ·y, which it overwrites, and the tokens that their vectors
// are most like, the right ones by logits or by embeddings.
func (r *circuitReader) decompose(c *CircuitMatrix, x, y [][]float64, logits bool) error {
	c.Singular, c.Vectors = singular(x, y), []SingularVector{}
	n := max(0, min(r.o.Vectors, len(x)))
	left, err := r.tokens(false, x[:n])
	if err != nil {
		return err
	}
	right, err := r.tokens(logits, y[:n])
	for i := range left {
		c.Vectors = append(c.Vectors, SingularVector{x[i], y[i], Greatest(left[i], r.o.Top),
			Greatest(right[i], r.o.Top)})
	}
	return err
}

// pairs returns the greatest elements of xᵀ·y, where x and y are [dim][vocab_size], the greatest and
// the lowest ids first. They are made in float32, some rows at a time.
func (r *circuitReader) pairs(x, y [][]float64) ([]TokenPair, error) {
	const block, waiting = 64, 1000
	dim, n, all := len(x), r.p.Vocab, []TokenPair{}
	if r.o.Pairs <= 0 {
		return all, nil
	}
	left, right := make([]float32, block*dim), make([]float32, dim*n)
	for i := range right {
		right[i] = float32(y[i/n][i%n])
	}
	by, values := dense(dim, n, right), make([]float32, block*n)
	least := float32(math.Inf(-1)) // of those that are so many
	keep := func() {
		slices.SortStableFunc(all, func(p, q TokenPair) int { return cmp.Compare(q.Value, p.Value) })
		if len(all) >= r.o.Pairs {
			all = all[:r.o.Pairs]
			least = float32(all[r.o.Pairs-1].Value)
		}
	}
	for from := 0; from < n; from += block {
		rows := min(block, n-from)
		for i := range rows * dim {
			left[i] = float32(x[i%dim][from+i/dim])
		}
		err := r.m.Work(r.ctx, func(w *kernels.Worker) {
			kernels.Linear(w, values, left, rows, &by, nil)
		})
		if err != nil {
			return nil, err
		}
		for i, v := range values[:rows*n] {
			if v > least {
				all = append(all, TokenPair{from + i/n, i % n, float64(v)})
				if len(all) > r.o.Pairs+waiting {
					keep()
				}
			}
		}
	}
	keep()
	return all, nil
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
		for i, other := range heads {
			one, another := other, h
			if layer > c.Layer {
				one, another = h, other
			}
			q, k, v := composition(one, another)
			c.Composition = append(c.Composition, Composition{layer, i, q, k, v})
		}
	}
	return nil
}

// composition says how much of what one head writes another reads.
func composition(one, other circuitHead) (q, k, v float64) {
	// Σ x∘y, for squares of norms: |aᵀ·b|² is that of a·aᵀ and b·bᵀ.
	sum := func(x, y [][]float64) float64 { return inner(slices.Concat(x...), slices.Concat(y...)) }
	vv, oo := products(one.v, one.v), products(one.o, one.o)
	of := func(by, after [][]float64) float64 {
		reads, rest := products(by, by), products(after, after)
		m, t := products(one.o, by), products(by, one.o)
		all := math.Sqrt(max(0, sum(products(vv, t), products(m, rest))))
		if norms := math.Sqrt(sum(vv, oo)) * math.Sqrt(sum(reads, rest)); norms > 0 {
			all /= norms
		}
		return all
	}
	return of(other.q, other.k), of(other.k, other.q), of(other.v, other.o)
}
