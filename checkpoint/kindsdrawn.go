// Kinds of adapters whose layers share matrices, or whose numbers stand at places that a seed draws.

package checkpoint

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/weights"
)

// vera is VeRA: ΔW = (b∘B)·(d∘A), where all layers take what they need of one A [r, in] and one B
// [out, r], saved or drawn. Kopiczko and others, 2023, arXiv 2310.11454; PEFT's vera/layer.py.
// PVeRA's A and d have a second half, for what a training draws, which no merged weight has.
func (l *layer) vera(all []*layer) (weight, bias *update) {
	rank, in, out := l.config.whole("r", 256, 1), 0, 0
	rows := rank
	if l.config.name == "PVERA" {
		rows *= 2
	}
	for _, o := range all {
		in, out = max(in, o.in), max(out, o.out)
	}
	d, _ := l.matrix("lambda_d", rows)
	b, _ := l.matrix("lambda_b", l.out)
	var as, bs []float32
	if string(l.config.values["save_projection"]) != "false" {
		as, _ = l.matrix("A", rows, in)
		bs, _ = l.matrix("B", out, rank)
	} else { // Kaiming's uniform numbers
		l.bound("r", rank, 4096+in+out)
		rng := newTorchRand(uint32(l.config.whole("projection_prng_key", 0, 0)))
		draw := func(n, fan int) []float32 {
			bound := float32(math.Sqrt(3) * (math.Sqrt2 / math.Sqrt(float64(fan))))
			x := make([]float32, n)
			for i := range x {
				x[i] = rng.uniform(-bound, bound)
			}
			return x
		}
		as, bs = draw(rows*in, in), draw(out*rank, rank)
	}
	a := make([]float32, rank*l.in)
	for i := range a {
		a[i] = as[i/l.in*in+i%l.in]
	}
	return l.product(rowsTimes(a, d[:rank]), rowsTimes(bs[:l.out*rank], b), rank, l.scale), nil
}

// rowsTimes returns a matrix whose rows are multiplied by a number each.
func rowsTimes(x, by []float32) []float32 {
	y, width := make([]float32, len(x)), len(x)/len(by)
	for i, v := range x {
		y[i] = v * by[i/width]
	}
	return y
}

// randlora is RandLoRA: ΔW = α/r·Σₙ Bₙ·(λₙ∘A∘γₙ) over n bases, with the saved A [r, 1, least] and
// B [most, n, r], where least and most are the smaller and the larger of in and out, turned where out
// is the smaller one. Albert and others, 2025, arXiv 2502.00987; PEFT's randlora/layer.py, which pairs
// the columns of B, base by base, with the rows of A, number by number.
func (l *layer) randlora(_ []*layer) (weight, bias *update) {
	r, least, most := l.config.whole("r", 32, 1), min(l.in, l.out), max(l.in, l.out)
	bases := (least + r - 1) / r
	lambda, _ := l.matrix("lambda", r, bases)
	gamma, _ := l.matrix("gamma", bases, least)
	small, ts := l.matrix("A", r, 1, 0)
	large, tl := l.matrix("B", 0, 0, r)
	if ts.Shape[2] < least || tl.Shape[0] < most || tl.Shape[1] < bases {
		fail("%s: shapes %v and %v of randlora_A and _B, want [%d 1 %d] and [%d %d %d] or more",
			quote.Plain(l.module, 80), ts.Shape, tl.Shape, r, least, most, bases, r)
	}
	rank := r * bases
	// [rank, least] and [most, rank]
	rows, columns := make([]float32, rank*least), make([]float32, most*rank)
	for k := range rank {
		j, n := k/bases, k%bases
		for i := range least {
			rows[k*least+i] = lambda[k] * small[j*ts.Shape[2]+i] * gamma[n*least+i]
		}
		for i := range most {
			columns[i*rank+k] = large[(i*tl.Shape[1]+k/r)*r+k%r]
		}
	}
	if least != l.in {
		rows, columns = transposed(columns, most, rank), transposed(rows, rank, least)
	}
	scale := l.scale * l.config.number("randlora_alpha", 640) / float64(r)
	return l.product(rows, columns, rank, scale), nil
}

// vblora is VB-LoRA: LoRA whose A and B are made of vectors of one bank, each the softmax of the topk
// largest logits times their vectors. Li and others, 2024, arXiv 2405.15179; PEFT's vblora/layer.py.
func (l *layer) vblora(_ []*layer) (weight, bias *update) {
	rank, topk := l.config.whole("r", 4, 1), l.config.whole("topk", 2, 1)
	vectors, length := l.config.whole("num_vectors", 256, 1), l.config.whole("vector_length", 256, 1)
	l.bound("r", rank, 4096+l.in+l.out)
	if l.in%length != 0 || l.out%length != 0 || topk > vectors {
		failConfig("vector_length %d and topk %d, want a divisor of %d and %d, and at "+
			"most %d vectors", length, topk, l.in, l.out, vectors)
	}
	bank, _ := l.matrix("vector_bank", vectors, length)
	made := func(part string, first, second int) []float32 { // [first, second, length]
		logits, _ := l.matrix(part, first, second, vectors)
		x := make([]float32, first*second*length)
		for to := x; len(logits) > 0; logits, to = logits[vectors:], to[length:] {
			order := descending(logits[:vectors])
			sum, most := 0.0, logits[order[0]]
			for _, id := range order[:topk] {
				sum += kernels.Exp64(float64(logits[id] - most))
			}
			for _, id := range order[:topk] {
				share := float32(kernels.Exp64(float64(logits[id]-most)) / sum)
				for j, v := range bank[id*length : (id+1)*length] {
					to[j] += float32(share * v)
				}
			}
		}
		return x
	}
	b, tiles := make([]float32, l.out*rank), made("logits_B", l.out/length, rank)
	for i, x := range tiles { // [out/length, rank, length]
		tile, k, j := i/length/rank, i/length%rank, i%length
		b[(tile*length+j)*rank+k] = x
	}
	return l.product(made("logits_A", rank, l.in/length), b, rank, l.scale), nil
}

// tinylora is TinyLoRA: ΔW = B·(Σ v[i]·P[i])·A with the saved A [r, in], B [out, r] and P [u, r, r],
// and one v [u] for a group of layers, in the model's order. An embedding's ΔW is [ids, width].
// PEFT's tinylora/layer.py and model.py.
func (l *layer) tinylora(all []*layer) (weight, bias *update) {
	n, sharing := l.config.whole("u", 64, 1), l.config.number("weight_tying", 0)
	order := slices.SortedFunc(slices.Values(all), func(a, b *layer) int {
		return cmp.Compare(moduleOrder(a.module), moduleOrder(b.module))
	})
	groups := max(1, int(math.RoundToEven(float64(len(all))*(1-sharing))))
	group := min(slices.Index(order, l)/max(1, len(all)/groups), groups-1)
	v, _ := l.matrix(fmt.Sprint("v.", group), n)
	o := *l
	if l.layout == lookup {
		o.in, o.out, o.layout = l.out, l.in, outIn
	}
	rank := min(l.config.whole("r", 2, 1), o.in, o.out)
	p, _ := o.matrix("P", n, rank, rank)
	a, b := o.halves("A", "B", rank)
	mixed := make([]float64, rank*rank) // Σ v[i]·P[i]
	for i, x := range v {
		add(mixed, float64(x), widened(p[i*rank*rank:(i+1)*rank*rank]))
	}
	return o.product(rounded(times(mixed, widened(a), rank, rank)), b, rank, l.scale), nil
}

// unilora is Uni-LoRA: LoRA whose A and B are numbers of one vector θ of all layers, at places that
// are saved (save_indices: else NumPy draws them), times saved scales. Li and others, 2025, arXiv
// 2506.00799; PEFT's unilora/layer.py.
func (l *layer) unilora(_ []*layer) (weight, bias *update) {
	rank, n := l.config.whole("r", 4, 1), l.config.whole("theta_d_length", 256, 1)
	theta, _ := l.matrix("theta_d", n)
	half := func(name string, shape ...int) []float32 {
		scales, _ := l.matrix("scales_"+name, shape...)
		x := make([]float32, len(scales))
		for i, at := range l.indices("indices_"+name, n, shape...) {
			x[i] = theta[at] * scales[i]
		}
		return x
	}
	return l.product(half("A", rank, l.in), half("B", l.out, rank), rank, l.scale), nil
}

// indices returns the elements of a part, as tensor has it, which are whole numbers from 0 below n.
// PEFT saves them in int64 or int32, and on Windows some in float32.
func (l *layer) indices(part string, n int, shape ...int) []int {
	t := l.tensor(part, shape...)
	data, err := t.Bytes()
	if err != nil || !listed("I64 I32 F32", string(t.DType)) {
		fail("%s: %s, want I32", quote.Plain(t.Name, 80), t.DType)
	}
	at := make([]int, t.Len())
	for i := range at {
		x, b := 0., data[i*t.DType.Size():]
		switch t.DType {
		case weights.I64:
			x = float64(int64(binary.LittleEndian.Uint64(b)))
		case weights.I32:
			x = float64(int32(binary.LittleEndian.Uint32(b)))
		case weights.F32:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if !(x >= 0 && x < float64(n)) {
			fail("%s: %v, want 0 to %d", quote.Plain(t.Name, 80), x, n-1)
		}
		at[i] = int(x)
	}
	return at
}

// frod is FRoD: U·(S + diag λ)·Vᵀ in the place of W, with V [in, in] and the places of S of all layers
// of a name. U has the columns of W·V⁻ᵀ, each with the norm 1. PEFT's frod/layer.py.
func (l *layer) frod(_ []*layer) (weight, bias *update) {
	path := strings.Split(l.module, ".")
	name := strings.Join(path[max(0, len(path)-2):], "_")
	v, _ := l.matrix("V."+name, l.in, l.in)
	lambda, _ := l.matrix("lambda_l", l.in)
	s, _ := l.matrix("lambda_s_values", 0)
	at := l.indices("s_indices."+name, l.in, 2, len(s))
	return &update{prepare: func(u *update, c *change) error {
		y := make([]float64, l.in*l.out) // (W·V⁻ᵀ)ᵀ solves V·Y = Wᵀ
		err := c.each(&update{}, func(at area, base, _ []float32) {
			for n, w := range base {
				y[l.input(at, n)*l.out+l.output(at, n)] = float64(w)
			}
		})
		if err != nil || !solve(widened(v), y, l.in) {
			return cmp.Or(err, errors.New("frod_V has no inverse"))
		}
		for i := range l.in {
			row := y[i*l.out : (i+1)*l.out]
			norm := math.Sqrt(dot(row, row))
			for n := range row {
				row[n] /= max(norm, 1e-12)
			}
		}
		columns, inner := widened(transposed(v, l.in, l.in)), make([]float64, l.in*l.in)
		sum := func(i, j int, by float32) {
			add(inner[i*l.in:(i+1)*l.in], float64(by), columns[j*l.in:(j+1)*l.in])
		}
		for i, x := range lambda {
			sum(i, i, x)
		}
		for i, x := range s {
			sum(at[i], at[len(s)+i], x)
		}
		*u = *l.instead(rounded(inner), transposed(rounded(y), l.in, l.out), l.in)
		return nil
	}}, nil
}

// places returns the numbers of a spectrum [n_frequency], and where they stand in ΔW [out, in]: the
// first n_frequency of a permutation that the seed gives.
func (l *layer) places(usual int, scaling float64) (x []float32, at []int, scale float64) {
	n := l.config.whole("n_frequency", usual, 1)
	n = int(of(l.config.patterns["n_frequency_pattern"], l.module, float64(n)))
	if t := l.parts["spectrum"]; l.config.isTrue("proportional_parameters") && len(t.Shape) == 1 {
		n = t.Shape[0] // PEFT counts it by the sizes of the layers
	}
	if x, _ = l.matrix("spectrum", n); n > l.in*l.out {
		fail("%s: n_frequency %d, want at most %d", quote.Plain(l.module, 80), n, l.in*l.out)
	}
	rng := newTorchRand(uint32(l.config.whole("random_loc_seed", 777, 0)))
	return x, rng.permutation(l.in*l.out, n), l.scale * l.config.number("scaling", scaling)
}

// fourier is FourierFT: ΔW = scaling·Re ifft2(F), F [out, in] zero but for a spectrum at drawn places.
// Gao and others, 2024, arXiv 2405.03003; PEFT's fourierft/layer.py. A row u of F gives
// cos(2πu·o/out)·Σ F cos(2πv·i/in) − sin(2πu·o/out)·Σ F sin(2πv·i/in): a product of rank 2.
func (l *layer) fourier(_ []*layer) (weight, bias *update) {
	x, at, scale := l.places(1000, 150)
	weight = l.product(nil, nil, 0, scale/(float64(l.in)*float64(l.out)))
	weight.prepare = func(u *update, _ *change) error {
		numbers := map[int]int{} // of the rows of F that are not zero
		for _, place := range at {
			if _, ok := numbers[place/l.in]; !ok {
				numbers[place/l.in] = len(numbers)
			}
		}
		rank := 2 * len(numbers)
		a, b := make([]float64, rank*l.in), make([]float64, l.out*rank)
		for f, place := range at {
			row := a[2*numbers[place/l.in]*l.in:]
			for i := range l.in {
				sin, cos := turn(place%l.in*i, l.in)
				row[i] += float64(float64(x[f]) * cos)
				row[l.in+i] -= float64(float64(x[f]) * sin)
			}
		}
		for u, k := range numbers {
			for o := range l.out {
				b[o*rank+2*k+1], b[o*rank+2*k] = turn(u*o, l.out)
			}
		}
		made := l.product(rounded(a), rounded(b), rank, 1)
		u.left, u.right, u.rank = made.left, made.right, rank
		return nil
	}
	weight.dropped = true
	return weight, nil
}

// turn returns the sine and cosine of 2π·k/n, by Taylor's series within an eighth of a turn, in an
// order of operations that every processor has.
func turn(k, n int) (sin, cos float64) {
	eighth := 8 * (k % n) / n
	x := float64(8*(k%n)-eighth*n) / float64(8*n) // of a turn, from 0 to 1/8
	if eighth%2 == 1 {
		x = 0.125 - x
	}
	x = float64(2 * math.Pi * x)
	s, c := series(x, 20)
	if eighth%4 == 1 || eighth%4 == 2 {
		s, c = c, s
	}
	if eighth >= 4 {
		s = -s
	}
	if eighth >= 2 && eighth < 6 {
		c = -c
	}
	return s, c
}

// series returns the sine and cosine of x by Taylor's series, to a power of x.
func series(x, power float64) (sin, cos float64) {
	square := float64(x * x)
	sin, cos = 1, 1
	for i := power; i > 0; i -= 2 {
		sin = 1 - float64(square*sin)/(i*(i+1))
		cos = 1 - float64(square*cos)/(i*(i-1))
	}
	return float64(x * sin), cos
}

// wave is WaveFT: ΔW = scaling·S, S [out, in] zero but for a spectrum at drawn places, or with
// use_idwt one step of the inverse wavelet transform of it, by db1: of the quarters of S each number
// becomes four, halved, with the signs of the quarter. Bilican and others, 2025, arXiv 2505.12532;
// PEFT's waveft/layer.py and waverec2d.py.
func (l *layer) wave(_ []*layer) (weight, bias *update) {
	x, at, scale := l.places(2592, 25)
	l.config.only("wavelet_family", "db1")
	byRow := map[int][]number{} // of the weight
	put := func(o, i int, x float64) {
		if o >= l.out || i >= l.in {
			return // of a padded row or column
		}
		if l.layout != outIn {
			o, i = i, o
		}
		byRow[o] = append(byRow[o], number{i, float32(scale * x)})
	}
	plain, rows, cols := string(l.config.values["use_idwt"]) == "false", (l.out+1)/2, (l.in+1)/2
	for f, place := range at {
		o, i, v := place/l.in, place%l.in, float64(x[f])
		if plain {
			put(o, i, v)
			continue
		}
		for k := range 4 {
			half := v / 2
			if i >= cols && k/2 == 1 { // the right quarters have (1, −1)/√2 down the columns
				half = -half
			}
			if o >= rows && k%2 == 1 { // and the lower ones along the rows
				half = -half
			}
			put(2*(o%rows)+k/2, 2*(i%cols)+k%2, half)
		}
	}
	return sparse(byRow), nil
}

// A number is one that stands in a column.
type number struct {
	col int
	x   float32
}

// sparse is the update that adds numbers, by the rows of the weight.
func sparse(byRow map[int][]number) *update {
	return &update{combine: func(a area, _, sum, _ []float32) {
		for row := range a.rows {
			for _, n := range byRow[a.row+row] {
				sum[row*a.width+n.col] += n.x
			}
		}
	}}
}
