package steer

// Making: the directions between what a model computes for prompts of two kinds.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"picogpt/model"
)

// A Method says how prompts of two kinds become directions.
type Method string

// The methods.
const (
	// Mean is the difference of the means, as in contrastive activation addition (Rimsky and
	// others, 2023): with scale 1 it moves the mean of one kind to that of the other.
	Mean Method = "mean"

	// PCA is the first principal component of the differences of pairs, as repeng's pca_diff: they
	// are centred, the direction has length 1, and its sign is that of most pairs; where as many
	// pairs are on either side, that of the sum of the differences.
	PCA Method = "pca"
)

// Options say how Make works. The zero value is the difference of the means.
type Options struct {
	Method   Method                // "" is Mean
	Batch    int                   // prompts in one Eval; 0 is 32. It changes no bit.
	Progress func(done, total int) // if not nil, is told how many prompts are read
}

// Made is a vector, and what helps to choose its scale.
type Made struct {
	Vector Vector

	// Stream is for each block the mean length of the residual stream after it, at the last tokens
	// of all prompts: what a direction is added to.
	Stream map[int]float64
}

// A PromptError is the error of one prompt. Its Index is that in the list.
type PromptError struct {
	Negative bool
	Index    int
	Err      error
}

func (e *PromptError) Error() string {
	kind := "positive"
	if e.Negative {
		kind = "negative"
	}
	return fmt.Sprintf("%s prompt %d: %v", kind, e.Index+1, e.Err)
}

func (e *PromptError) Unwrap() error { return e.Err }

// The bounds of a batch, and of the differences that PCA holds.
const (
	defaultBatch = 32
	batchTokens  = 512 // of several prompts in one Eval
	mostBytes    = 4 << 30
)

// Make returns the vector that leads from the negative prompts to the positive ones, each the ids
// of one text: a direction for each block from 1 on, by what the model computes after it for the
// last token, blocks.N.hook_resid_post. The bits do not depend on the batch, the threads or the
// processor. Mean takes any numbers of prompts, PCA pairs: positive[i] and negative[i]. A prompt
// that cannot be evaluated is a *PromptError.
func Make(
	ctx context.Context, m *model.Model, positive, negative [][]int, o Options,
) (Made, error) {
	c := m.Config()
	if err := o.check(c, positive, negative); err != nil {
		return Made{}, err
	}
	k := &maker{model: m, options: o, width: c.Embd, layers: c.Layer - 1,
		stream: make([]float64, c.Layer-1)}
	for i := range k.sums {
		k.sums[i] = make([]float64, k.layers*k.width)
	}
	for i := range max(len(positive), len(negative)) {
		if i < len(positive) {
			k.prompts = append(k.prompts, prompt{index: i, tokens: positive[i]})
		}
		if i < len(negative) {
			k.prompts = append(k.prompts, prompt{index: i, tokens: negative[i], negative: 1})
		}
	}
	if err := k.run(ctx); err != nil {
		return Made{}, err
	}
	return k.made(ctx, len(positive), len(negative))
}

// check refuses what no vector can be made of.
func (o *Options) check(c model.Config, positive, negative [][]int) error {
	p, n := len(positive), len(negative)
	switch {
	case c.Layer < 2:
		return fmt.Errorf("the model has %d layer, want 2 or more: a control vector has no "+
			"direction for the first", c.Layer)
	case p == 0 || n == 0:
		return fmt.Errorf("%d positive and %d negative prompts, want some of both", p, n)
	case o.Method == "" || o.Method == Mean:
	case o.Method != PCA:
		return fmt.Errorf("method %q, want mean or pca", string(o.Method))
	case p != n:
		return fmt.Errorf("pca: %d positive and %d negative prompts, want pairs: as many of both",
			p, n)
	case p < 2:
		return errors.New("pca: 1 pair of prompts, want 2 or more")
	case int64(p)*int64(c.Layer-1)*int64(c.Embd)*4 > mostBytes:
		return fmt.Errorf("pca: %d pairs of prompts, want at most %d for this model; mean takes "+
			"any number", p, mostBytes/4/((c.Layer-1)*c.Embd))
	}
	for side, list := range [][][]int{positive, negative} {
		for i, ids := range list {
			if err := checkPrompt(c, ids); err != nil {
				return &PromptError{side == 1, i, err}
			}
		}
	}
	return nil
}

// checkPrompt refuses ids that the model cannot evaluate.
func checkPrompt(c model.Config, ids []int) error {
	if n := len(ids); n == 0 || n > c.Positions {
		return fmt.Errorf("%d tokens, want 1 to %d (n_positions)", n, c.Positions)
	}
	for _, id := range ids {
		if id < 0 || id >= c.VocabSize {
			return fmt.Errorf("id %d, want 0 to %d", id, c.VocabSize-1)
		}
	}
	return nil
}

// A prompt is one text of a kind.
type prompt struct {
	index    int
	negative int // 1 if it is
	tokens   []int
	state    []float32 // [layers, width], while its batch is evaluated
}

// A maker makes a vector: it reads the prompts in batches, and takes each in its order.
type maker struct {
	model   *model.Model
	options Options
	width   int
	layers  int // blocks that get a direction
	prompts []prompt

	sums   [2][]float64 // of the positive prompts and of the negative ones, [layers, width]
	stream []float64    // sums of lengths, [layers]
	last   []float32    // of PCA: the state of the positive prompt of a pair
	diffs  [][]float32  // of PCA, one for each pair, [layers, width]
}

// run evaluates all prompts.
func (k *maker) run(ctx context.Context) error {
	most := k.options.Batch
	if most <= 0 {
		most = defaultBatch
	}
	for at := 0; at < len(k.prompts); {
		to, tokens := at, 0
		for to < len(k.prompts) && to < at+most {
			if tokens += len(k.prompts[to].tokens); tokens > batchTokens && to > at {
				break
			}
			to++
		}
		if err := k.evaluate(ctx, k.prompts[at:to]); err != nil {
			return err
		}
		for i := range k.prompts[at:to] {
			k.take(&k.prompts[at+i])
		}
		if at = to; k.options.Progress != nil {
			k.options.Progress(at, len(k.prompts))
		}
	}
	return nil
}

// evaluate reads the states of some prompts' last tokens.
func (k *maker) evaluate(ctx context.Context, batch []prompt) error {
	inputs := make([]model.Input, len(batch))
	points := make([]model.Point, k.layers)
	for i := range points {
		points[i] = model.Point{Kind: model.ResidPost, Layer: i + 1}
	}
	for i := range batch {
		p := &batch[i]
		p.state = make([]float32, k.layers*k.width)
		inputs[i] = model.Input{Session: k.model.NewSession(), Tokens: p.tokens, NoLogits: true,
			Trace: &model.Trace{Points: points, From: len(p.tokens) - 1, Read: func(r model.Reading) {
				copy(p.state[(r.At.Layer-1)*k.width:], r.Data)
			}}}
		defer inputs[i].Session.Release()
	}
	err := k.model.Eval(ctx, inputs...)
	var bad *model.InputError
	if errors.As(err, &bad) {
		p := batch[bad.Input]
		return &PromptError{p.negative == 1, p.index, bad.Err}
	}
	return err
}

// take adds the state of a prompt to what is known.
func (k *maker) take(p *prompt) {
	for i := range k.layers {
		squares := 0.0
		for j := i * k.width; j < (i+1)*k.width; j++ {
			x := float64(p.state[j])
			squares += float64(x * x)
			k.sums[p.negative][j] += x
		}
		k.stream[i] += math.Sqrt(squares)
	}
	if k.options.Method == PCA {
		if p.negative == 0 {
			k.last = p.state
		} else {
			for j, x := range k.last {
				k.last[j] = x - p.state[j]
			}
			k.diffs = append(k.diffs, k.last)
		}
	}
	p.state = nil
}

// made returns the vector.
func (k *maker) made(ctx context.Context, positive, negative int) (Made, error) {
	made := Made{Vector: Vector{}, Stream: map[int]float64{}}
	same := true
	for i := range k.layers {
		if err := ctx.Err(); err != nil {
			return Made{}, err
		}
		n, from, to := i+1, i*k.width, (i+1)*k.width
		direction := make([]float64, k.width)
		for j := range direction {
			direction[j] = k.sums[0][from+j]/float64(positive) - k.sums[1][from+j]/float64(negative)
		}
		if k.options.Method == PCA {
			rows := make([][]float32, len(k.diffs))
			for r, d := range k.diffs {
				rows[r] = d[from:to]
			}
			if direction = component(rows); direction == nil {
				return Made{}, fmt.Errorf("pca: after block %d the differences of all pairs are "+
					"the same, want pairs that differ; mean takes them", n)
			}
		}
		made.Vector[n] = make([]float32, k.width)
		for j, x := range direction {
			made.Vector[n][j] = float32(x)
			same = same && x == 0
		}
		if err := checkFinite(made.Vector[n]); err != nil {
			return Made{}, fmt.Errorf("direction.%d: %w", n, err)
		}
		made.Stream[n] = k.stream[i] / float64(positive+negative)
	}
	if same {
		return Made{}, errors.New("the positive and the negative prompts are the same for the " +
			"model: all directions are 0")
	}
	return made, nil
}

// iterations of the power iteration. It may end before, where nothing changes any more.
const iterations = 1000

// component returns the first principal component of rows [n, width]: of length 1, with the sign
// that most rows have along it, or else their sum. It is nil if all rows are equal. Here and below
// every product is rounded before it is added, so that no processor fuses them, and every sum has
// one order.
func component(rows [][]float32) []float64 {
	mean := make([]float64, len(rows[0]))
	for j := range mean {
		for _, row := range rows {
			mean[j] += float64(row[j])
		}
		mean[j] /= float64(len(rows))
	}
	centred := make([][]float64, len(rows)) // [n, width]
	for i, row := range rows {
		centred[i] = make([]float64, len(mean))
		for j, x := range row {
			centred[i][j] = float64(x) - mean[j]
		}
	}
	direction := first(centred)
	if direction == nil {
		return nil
	}
	ahead := 0
	for _, row := range rows {
		switch along := project(row, direction); {
		case along > 0:
			ahead++
		case along < 0:
			ahead--
		}
	}
	if ahead < 0 || ahead == 0 && dot(mean, direction) < 0 {
		for j := range direction {
			direction[j] = -direction[j]
		}
	}
	return direction
}

// first returns the first right singular vector of x [n, width], nil if x is 0. It iterates over
// the smaller one of x xᵀ and xᵀ x.
func first(x [][]float64) []float64 {
	if len(x) > len(x[0]) {
		return power(gram(transposed(x))) // [width, width]
	}
	u := power(gram(x)) // [n, n]
	if u == nil {
		return nil
	}
	v := make([]float64, len(x[0]))
	for i, row := range x {
		for j := range v {
			v[j] += float64(u[i] * row[j])
		}
	}
	return unit(v)
}

// power returns the eigenvector of the largest eigenvalue of a symmetric matrix without negative
// ones, of length 1; nil if the matrix is 0. The start is fixed: numbers of a small generator,
// which no eigenvector is orthogonal to but by chance.
func power(a [][]float64) []float64 {
	v, next := make([]float64, len(a)), make([]float64, len(a))
	state := uint64(1)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = float64(state>>40)/(1<<24) + 0.5
	}
	for range iterations {
		for i, row := range a {
			next[i] = dot(row, v)
		}
		if unit(next) == nil {
			return nil
		}
		same := true
		for i, x := range next {
			same = same && x == v[i]
		}
		if v, next = next, v; same {
			break
		}
	}
	return v
}

// gram returns x xᵀ, [n, n].
func gram(x [][]float64) [][]float64 {
	a := make([][]float64, len(x))
	for i := range a {
		a[i] = make([]float64, len(x))
		for j := range i + 1 {
			a[i][j] = dot(x[i], x[j])
			a[j][i] = a[i][j]
		}
	}
	return a
}

// transposed returns xᵀ.
func transposed(x [][]float64) [][]float64 {
	t := make([][]float64, len(x[0]))
	for j := range t {
		t[j] = make([]float64, len(x))
		for i := range x {
			t[j][i] = x[i][j]
		}
	}
	return t
}

// unit divides x by its length, and returns it; nil if it is 0.
func unit(x []float64) []float64 {
	length := math.Sqrt(dot(x, x))
	if length == 0 {
		return nil
	}
	for i := range x {
		x[i] /= length
	}
	return x
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// project returns the product of a row and a direction.
func project[F float32 | float64](row []float32, direction []F) float64 {
	sum := 0.0
	for i, x := range row {
		sum += float64(float64(x) * float64(direction[i]))
	}
	return sum
}
