// Kinds of adapters that share or draw matrices and places, as PEFT 0.21 has them.

package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/weights"
)

// vera is VeRA: ΔW = (b∘B)·(d∘A), where all layers take what they need of one A [r, in] and one B
// [out, r], saved or drawn. Kopiczko and others, 2023, arXiv 2310.11454; PEFT's vera/layer.py.
// PVeRA's A and d have a second half, for what a training draws, which no merged weight has.
func (l *layer) vera(all []*layer) (weight, bias *update, err error) {
	rank, err := l.config.whole("r", 256, 1)
	if err != nil {
		return nil, nil, err
	}
	rows, in, out := rank, 0, 0
	if l.config.name == "PVERA" {
		rows *= 2
	}
	for _, o := range all {
		in, out = max(in, o.in), max(out, o.out)
	}
	d, _, err := l.matrix("lambda_d", rows)
	if err != nil {
		return nil, nil, err
	}
	b, _, err := l.matrix("lambda_b", l.out)
	if err != nil {
		return nil, nil, err
	}
	var as, bs []float32
	if string(l.config.values["save_projection"]) != "false" {
		as, _, err = l.matrix("A", rows, in)
		if err == nil {
			bs, _, err = l.matrix("B", out, rank)
		}
	} else {
		as, bs, err = l.drawn(rows, in, out, rank)
	}
	if err != nil {
		return nil, nil, err
	}
	a := make([]float32, rank*l.in)
	for i := range a {
		a[i] = as[i/l.in*in+i%l.in]
	}
	weight, err = l.product(rowsTimes(a, d[:rank]), rowsTimes(bs[:l.out*rank], b), rank, l.scale)
	return weight, nil, err
}

// drawn returns the matrices of VeRA as its seed gives them: Kaiming's uniform numbers.
func (l *layer) drawn(rows, in, out, rank int) (a, b []float32, err error) {
	seed, err := l.config.whole("projection_prng_key", 0, 0)
	if err != nil {
		return nil, nil, err
	}
	const most = 1 << 28
	if rows > most/in || rank > most/out {
		return nil, nil, fmt.Errorf("adapter_config.json: r: %d, want less for matrices that are drawn",
			rank)
	}
	rng := newTorchRand(uint32(seed))
	kaiming := func(n, fan int) []float32 {
		bound := float32(math.Sqrt(3) * (math.Sqrt2 / math.Sqrt(float64(fan))))
		x := make([]float32, n)
		for i := range x {
			x[i] = rng.uniform(-bound, bound)
		}
		return x
	}
	return kaiming(rows*in, in), kaiming(out*rank, rank), nil
}

// randlora is RandLoRA: ΔW = α/r·Σₙ Bₙ·(λₙ∘A∘γₙ) over n bases, with the saved A [r, 1, least] and
// B [most, n, r], where least and most are the smaller and the larger of in and out, turned where out
// is the smaller one. Albert and others, 2025, arXiv 2502.00987; PEFT's randlora/layer.py, which pairs
// the columns of B, base by base, with the rows of A, number by number.
func (l *layer) randlora(_ []*layer) (weight, bias *update, err error) {
	r, err := l.config.whole("r", 32, 1)
	if err != nil {
		return nil, nil, err
	}
	alpha, err := l.config.number("randlora_alpha", 640)
	if err != nil {
		return nil, nil, err
	}
	least, most := min(l.in, l.out), max(l.in, l.out)
	bases := (least + r - 1) / r
	lambda, _, err := l.matrix("lambda", r, bases)
	if err != nil {
		return nil, nil, err
	}
	gamma, _, err := l.matrix("gamma", bases, least)
	if err != nil {
		return nil, nil, err
	}
	small, ts, err := l.matrix("A", r, 1, 0)
	if err != nil {
		return nil, nil, err
	}
	large, tl, err := l.matrix("B", 0, 0, r)
	if err != nil {
		return nil, nil, err
	}
	if ts.Shape[2] < least || tl.Shape[0] < most || tl.Shape[1] < bases {
		return nil, nil, fmt.Errorf("%s: shapes %v and %v of randlora_A and _B, want [%d 1 %d] and [%d %d %d] "+
			"or more", quote.Plain(l.module, 80), ts.Shape, tl.Shape, r, least, most, bases, r)
	}
	rank := r * bases
	rows, columns := make([]float32, rank*least), make([]float32, most*rank) // [rank, least], [most, rank]
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
	weight, err = l.product(rows, columns, rank, l.scale*alpha/float64(r))
	return weight, nil, err
}

// vblora is VB-LoRA: LoRA whose A and B are made of vectors of one bank, each the softmax of the topk
// largest logits times their vectors. Li and others, 2024, arXiv 2405.15179; PEFT's vblora/layer.py.
func (l *layer) vblora(_ []*layer) (weight, bias *update, err error) {
	var n [4]int
	for i, key := range []string{"r", "topk", "num_vectors", "vector_length"} {
		if n[i], err = l.config.whole(key, []int{4, 2, 256, 256}[i], 1); err != nil {
			return nil, nil, err
		}
	}
	rank, topk, vectors, length := n[0], n[1], n[2], n[3]
	if l.in%length != 0 || l.out%length != 0 || topk > vectors {
		return nil, nil, fmt.Errorf("adapter_config.json: vector_length %d and topk %d, want a divisor of %d "+
			"and %d, and at most %d vectors", length, topk, l.in, l.out, vectors)
	}
	bank, _, err := l.matrix("vector_bank", vectors, length)
	if err != nil {
		return nil, nil, err
	}
	made := func(part string, first, second int) ([]float32, error) { // [first, second, length]
		ids, shares, err := l.chosen(part, first, second, vectors, topk)
		x := make([]float32, first*second*length)
		for i := range ids {
			for j := range length {
				x[i/topk*length+j] += float32(shares[i]) * bank[ids[i]*length+j]
			}
		}
		return x, err
	}
	a, err := made("logits_A", rank, l.in/length) // [rank, in]
	if err != nil {
		return nil, nil, err
	}
	tiles, err := made("logits_B", l.out/length, rank) // [out/length, rank, length]
	if err != nil {
		return nil, nil, err
	}
	b := make([]float32, l.out*rank)
	for i, x := range tiles {
		tile, k, j := i/length/rank, i/length%rank, i%length
		b[(tile*length+j)*rank+k] = x
	}
	weight, err = l.product(a, b, rank, l.scale)
	return weight, nil, err
}

// chosen returns of each row of logits the ids of the topk largest and their softmax, or what was
// saved of these with save_only_topk_weights.
func (l *layer) chosen(part string, first, second, vectors, topk int) ([]int, []float64, error) {
	ids, shares := make([]int, 0, first*second*topk), make([]float64, 0, first*second*topk)
	if _, ok := l.parts[part+"_topk_indices"]; ok {
		ids, err := l.ints(part+"_topk_indices", vectors, first, second, topk)
		if err != nil {
			return nil, nil, err
		}
		saved, _, err := l.matrix(part+"_topk_weights", first, second, topk-1)
		for i := range first * second {
			rest := float32(0)
			for _, x := range saved[i*(topk-1) : (i+1)*(topk-1)] {
				shares = append(shares, float64(x))
				rest += x
			}
			shares = append(shares, float64(1-rest))
		}
		return ids, shares, err
	}
	logits, _, err := l.matrix(part, first, second, vectors)
	order := make([]int, vectors)
	for ; len(logits) > 0; logits = logits[vectors:] {
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case logits[a] > logits[b]:
				return -1
			case logits[a] < logits[b]:
				return 1
			}
			return 0
		})
		sum := 0.0
		for _, id := range order[:topk] {
			ids, shares = append(ids, id), append(shares, math.Exp(float64(logits[id]-logits[order[0]])))
			sum += shares[len(shares)-1]
		}
		for i := len(shares) - topk; i < len(shares); i++ {
			shares[i] /= sum
		}
	}
	return ids, shares, err
}

// ints returns the elements of a part, whole numbers below n.
func (l *layer) ints(part string, n int, shape ...int) ([]int, error) {
	t, ok := l.parts[part]
	if !ok || !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("%s: %s%s: shape %v, want %v", quote.Plain(l.module, 80),
			l.config.kind.prefix, part, t.Shape, shape)
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	size, whole := t.DType.Size(), slices.Contains([]weights.DType{weights.U8, weights.I16, weights.I32,
		weights.I64}, t.DType)
	x := make([]int, t.Len())
	for i := range x {
		var wide [8]byte
		copy(wide[:], b[i*size:(i+1)*size])
		v := binary.LittleEndian.Uint64(wide[:])
		if !whole || v >= uint64(n) {
			return nil, fmt.Errorf("%s: %s %d, want whole numbers below %d", quote.Plain(t.Name, 80),
				t.DType, v, n)
		}
		x[i] = int(v)
	}
	return x, nil
}

// unilora is Uni-LoRA: LoRA whose A and B are numbers of one vector θ at saved places, times saved
// scales. Li and others, 2025, arXiv 2506.00799; PEFT's unilora/layer.py.
func (l *layer) unilora(_ []*layer) (weight, bias *update, err error) {
	if !l.config.isTrue("save_indices") {
		return nil, nil, fmt.Errorf("adapter_config.json: save_indices: false: not supported, because NumPy " +
			"draws the places: save the adapter with save_indices")
	}
	rank, err := l.config.whole("r", 4, 1)
	if err != nil {
		return nil, nil, err
	}
	n, err := l.config.whole("theta_d_length", 256, 1)
	if err != nil {
		return nil, nil, err
	}
	theta, _, err := l.matrix("theta_d", n)
	if err != nil {
		return nil, nil, err
	}
	half := func(name string, shape ...int) ([]float32, error) {
		at, err := l.ints("indices_"+name, n, shape...)
		if err != nil {
			return nil, err
		}
		x, _, err := l.matrix("scales_"+name, shape...)
		for i := range x {
			x[i] *= theta[at[i]]
		}
		return x, err
	}
	a, err := half("A", rank, l.in)
	if err != nil {
		return nil, nil, err
	}
	b, err := half("B", l.out, rank)
	if err != nil {
		return nil, nil, err
	}
	weight, err = l.product(a, b, rank, l.scale)
	return weight, nil, err
}

// tinylora is TinyLoRA: ΔW = B·(Σ v[i]·P[i])·A with the saved A [r, in], B [out, r] and P [u, r, r],
// and one v [u] for a group of layers, in the model's order. An embedding's ΔW is [ids, width].
// PEFT's tinylora/layer.py and model.py.
func (l *layer) tinylora(all []*layer) (weight, bias *update, err error) {
	rank, err := l.config.whole("r", 2, 1)
	if err != nil {
		return nil, nil, err
	}
	n, err := l.config.whole("u", 64, 1)
	if err != nil {
		return nil, nil, err
	}
	sharing, err := l.config.number("weight_tying", 0)
	if err != nil {
		return nil, nil, err
	} else if string(l.config.values["save_projection"]) == "false" {
		return nil, nil, errors.New("adapter_config.json: save_projection: false: not supported, want " +
			"matrices that are saved")
	}
	order := slices.SortedFunc(slices.Values(all), func(a, b *layer) int {
		return cmp.Compare(a.order(), b.order())
	})
	groups := max(1, int(math.RoundToEven(float64(len(all))*(1-sharing))))
	group := min(slices.Index(order, l)/max(1, len(all)/groups), groups-1)
	v, _, err := l.matrix(fmt.Sprint("v.", group), n)
	if err != nil {
		return nil, nil, err
	}
	in, out, layout := l.in, l.out, l.layout
	if l.layout == lookup {
		l.in, l.out, l.layout = out, in, outIn
	}
	defer func() { l.in, l.out, l.layout = in, out, layout }()
	rank = min(rank, l.in, l.out)
	p, _, err := l.matrix("P", n, rank, rank)
	if err != nil {
		return nil, nil, err
	}
	a, b, err := l.halves("A", "B", rank)
	if err != nil {
		return nil, nil, err
	}
	mixed := make([]float32, len(a)) // Σ v[i]·P[i] times A
	for j := range rank {
		for k := range rank {
			sum := float32(0)
			for i, x := range v {
				sum += x * p[(i*rank+j)*rank+k]
			}
			for i := range l.in {
				mixed[j*l.in+i] += sum * a[k*l.in+i]
			}
		}
	}
	weight, err = l.product(mixed, b, rank, l.scale)
	return weight, nil, err
}

// order returns where a module stands in the model.
func (l *layer) order() int {
	at := 0
	for i, name := range []string{"wte", "wpe", "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"} {
		if strings.HasSuffix(l.module, name) {
			at = i
		}
	}
	fields := strings.Split(l.module, ".")
	for i, field := range fields {
		if n, err := strconv.Atoi(field); err == nil && i > 0 && fields[i-1] == "h" {
			return 10*(n+1) + at
		}
	}
	if strings.HasSuffix(l.module, "wte") || strings.HasSuffix(l.module, "wpe") {
		return at
	}
	return math.MaxInt // a head
}

// gralora is GraLoRA: ΔW in k·k blocks, each a product of its own: of the inputs of block n and the
// outputs of block m A[n, :, m·r/k:]·B[m, n·r/k:, :], times α/(r + hybrid_r), and with hybrid_r a LoRA
// of that rank beside them. Jung and others, 2025, arXiv 2505.20355; PEFT's gralora/layer.py.
func (l *layer) gralora(_ []*layer) (weight, bias *update, err error) {
	var n [3]int
	for i, key := range []string{"r", "hybrid_r", "gralora_k"} {
		if n[i], err = l.config.whole(key, []int{32, 0, 2}[i], []int{1, 0, 1}[i]); err != nil {
			return nil, nil, err
		}
	}
	alpha, err := l.config.number("alpha", 64)
	if err != nil {
		return nil, nil, err
	}
	r, hybrid, k := n[0], n[1], n[2]
	if l.in%k != 0 || l.out%k != 0 || r%k != 0 {
		return nil, nil, fmt.Errorf("adapter_config.json: gralora_k: %d, want a divisor of %d, %d and r %d", k,
			l.in, l.out, r)
	}
	in, out, part, rank := l.in/k, l.out/k, r/k, k*r+hybrid
	as, _, err := l.matrix("A", k, in, r)
	if err != nil {
		return nil, nil, err
	}
	bs, _, err := l.matrix("B", k, r, out)
	if err != nil {
		return nil, nil, err
	}
	a, b := make([]float32, rank*l.in), make([]float32, l.out*rank)
	for row := range k * r {
		n, m, j := row/r, row%r/part, row%part // inputs of block n, outputs of block m
		for i := range in {
			a[row*l.in+n*in+i] = as[(n*in+i)*r+m*part+j]
		}
		for i := range out {
			b[(m*out+i)*rank+row] = bs[(m*r+n*part+j)*out+i]
		}
	}
	if hybrid > 0 {
		ga, gb, err := l.halves("A_general.weight", "B_general.weight", hybrid)
		if err != nil {
			return nil, nil, err
		}
		copy(a[k*r*l.in:], ga)
		for i, x := range gb {
			b[i/hybrid*rank+k*r+i%hybrid] = x
		}
	}
	weight, err = l.product(a, b, rank, l.scale*alpha/float64(r+hybrid))
	return weight, nil, err
}

// places returns the numbers of a spectrum [n_frequency], and where they stand in ΔW [out, in]: the
// first n_frequency of a permutation that the seed gives.
func (l *layer) places(usual int, scaling float64) (x []float32, at []int, scale float64, err error) {
	n, err := l.config.whole("n_frequency", usual, 1)
	if err != nil {
		return nil, nil, 0, err
	}
	if value, ok := l.config.values["n_frequency_pattern"]; ok {
		patterns, err := parsePatterns(value)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("adapter_config.json: n_frequency_pattern: %w", err)
		}
		n = int(of(patterns, l.module, float64(n)))
	}
	if t := l.parts["spectrum"]; l.config.isTrue("proportional_parameters") && len(t.Shape) == 1 {
		n = t.Shape[0] // PEFT counts it by the sizes of the layers
	}
	if x, _, err = l.matrix("spectrum", n); err != nil {
		return nil, nil, 0, err
	}
	if n > l.in*l.out {
		return nil, nil, 0, fmt.Errorf("%s: n_frequency %d, want at most %d", l.module, n, l.in*l.out)
	}
	seed, err := l.config.whole("random_loc_seed", 777, 0)
	if err != nil {
		return nil, nil, 0, err
	}
	if scaling, err = l.config.number("scaling", scaling); err != nil {
		return nil, nil, 0, err
	}
	return x, newTorchRand(uint32(seed)).permutation(l.in*l.out, n), l.scale * scaling, nil
}

// fourier is FourierFT: ΔW = scaling·Re ifft2(F), F [out, in] zero but for a spectrum at drawn places.
// Gao and others, 2024, arXiv 2405.03003; PEFT's fourierft/layer.py. A row u of F gives
// cos(2πu·o/out)·Σ F cos(2πv·i/in) − sin(2πu·o/out)·Σ F sin(2πv·i/in): a product of rank 2.
func (l *layer) fourier(_ []*layer) (weight, bias *update, err error) {
	x, at, scale, err := l.places(1000, 150)
	if err != nil {
		return nil, nil, err
	}
	scale /= float64(l.in) * float64(l.out)
	weight, err = l.product(nil, nil, 0, scale)
	if err != nil {
		return nil, nil, err
	}
	weight.combine = func(_ area, _, sum, product []float32) {
		for i, p := range product {
			sum[i] += p
		}
	}
	weight.prepare = func(u *update, _ *change) error {
		numbers := map[int]int{} // of the rows of F that are not zero
		for _, place := range at {
			if _, ok := numbers[place/l.in]; !ok {
				numbers[place/l.in] = len(numbers)
			}
		}
		rank := 2 * len(numbers)
		sums, b := make([]float64, rank*l.in), make([]float32, l.out*rank)
		for f, place := range at {
			row := sums[2*numbers[place/l.in]*l.in:]
			for i := range l.in {
				sin, cos := turn(place%l.in*i, l.in)
				row[i] += float64(x[f]) * cos
				row[l.in+i] -= float64(x[f]) * sin
			}
		}
		for u, k := range numbers {
			for o := range l.out {
				sin, cos := turn(u*o, l.out)
				b[o*rank+2*k], b[o*rank+2*k+1] = float32(cos), float32(sin)
			}
		}
		a := make([]float32, len(sums))
		for i, s := range sums {
			a[i] = float32(s)
		}
		made, err := l.product(a, b, rank, scale)
		if err == nil {
			u.left, u.right, u.rank = made.left, made.right, rank
		}
		return err
	}
	weight.release = func(u *update) { u.left, u.right, u.rank = nil, nil, 0 }
	return weight, nil, nil
}

// turn returns the sine and cosine of 2π·k/n.
func turn(k, n int) (sin, cos float64) { return math.Sincos(2 * math.Pi * float64(k%n) / float64(n)) }

// wave is WaveFT: ΔW = scaling·S, S [out, in] zero but for a spectrum at drawn places, or with
// use_idwt one step of the inverse wavelet transform of it, by db1: of the quarters of S each number
// becomes four, halved, with the signs of the quarter. Bilican and others, 2025, arXiv 2505.12532;
// PEFT's waveft/layer.py and waverec2d.py.
func (l *layer) wave(_ []*layer) (weight, bias *update, err error) {
	x, at, scale, err := l.places(2592, 25)
	if err != nil {
		return nil, nil, err
	}
	var family string
	if value := l.config.values["wavelet_family"]; value != nil &&
		(json.Unmarshal(value, &family) != nil || family != "db1") {
		return nil, nil, fmt.Errorf("adapter_config.json: wavelet_family: %s: not supported, want db1",
			quote.Plain(string(value), 40))
	}
	type number struct {
		row, col int // of the weight
		x        float32
	}
	var all []number
	put := func(o, i int, x float64) {
		if o >= l.out || i >= l.in {
			return // of a padded row or column
		}
		if l.layout != outIn {
			o, i = i, o
		}
		all = append(all, number{o, i, float32(scale * x)})
	}
	rows, cols := (l.out+1)/2, (l.in+1)/2
	for f, place := range at {
		o, i, v := place/l.in, place%l.in, float64(x[f])
		if string(l.config.values["use_idwt"]) == "false" {
			put(o, i, v)
			continue
		}
		for k := range 4 {
			half := v / 2
			// the right quarters have the second filter, (1, −1)/√2, along the rows, the lower along columns
			if right := i >= cols; right && k/2 == 1 {
				half = -half
			}
			if lower := o >= rows; lower && k%2 == 1 {
				half = -half
			}
			put(2*(o%rows)+k/2, 2*(i%cols)+k%2, half)
		}
	}
	slices.SortStableFunc(all, func(a, b number) int { return a.row - b.row })
	return &update{combine: func(a area, _, sum, _ []float32) {
		from, _ := slices.BinarySearchFunc(all, a.row, func(n number, row int) int { return n.row - row })
		for _, n := range all[from:] {
			if n.row >= a.row+a.rows {
				break
			}
			if col := n.col - a.col; col >= 0 && col < a.width {
				sum[(n.row-a.row)*a.width+col] += n.x
			}
		}
	}}, nil, nil
}

// deft is DEFT: ΔW = Q·(s·R − Pᵀ·W), where Q is P [out, r] and Pᵀ the positive part of it, or with qr
// both are the Q of P's QR decomposition; s = α/r; without R for para (PaRa). PEFT's deft/layer.py.
func (l *layer) deft(_ []*layer) (weight, bias *update, err error) {
	rank, err := l.config.whole("r", 8, 1)
	if err != nil {
		return nil, nil, err
	}
	rank = min(rank, l.out)
	alpha, err := l.config.number("alpha", float64(rank))
	if err != nil {
		return nil, nil, err
	} else if alpha == 0 {
		alpha = float64(rank)
	}
	p, _, err := l.matrix("P", l.out, rank)
	if err != nil {
		return nil, nil, err
	}
	q, right := slices.Clone(p), slices.Clone(p)
	switch method := strings.Trim(string(l.config.values["decomposition_method"]), `"`); method {
	case "", "relu":
		for i := range right {
			right[i] = max(right[i], 0)
		}
	case "qr":
		q = orthogonal(p, l.out, rank)
		right = q
	default:
		return nil, nil, fmt.Errorf("adapter_config.json: decomposition_method: %s, want relu or qr",
			quote.Plain(method, 40))
	}
	r := make([]float32, rank*l.in)
	if !l.config.isTrue("para") {
		if r, _, err = l.matrix("R", rank, l.in); err != nil {
			return nil, nil, err
		}
	}
	weight, err = l.product(r, q, rank, l.scale)
	if err != nil {
		return nil, nil, err
	}
	weight.prepare = func(u *update, c *change) error {
		inner := make([]float64, rank*l.in) // s·R − Pᵀ·W
		for i, x := range r {
			inner[i] = alpha / float64(rank) * float64(x)
		}
		err := c.each(&update{}, func(at area, base, _ []float32) {
			for n, w := range base {
				i, o := at.row+n/at.width, at.col+n%at.width
				if l.layout == outIn {
					i, o = o, i
				}
				for k := range rank {
					inner[k*l.in+i] -= float64(right[o*rank+k]) * float64(w)
				}
			}
		})
		a := make([]float32, len(inner))
		for i, x := range inner {
			a[i] = float32(x)
		}
		made, err2 := l.product(a, q, rank, l.scale)
		if err == nil {
			err = err2
		}
		if err == nil {
			u.left, u.right = made.left, made.right
		}
		return err
	}
	return weight, nil, nil
}

// orthogonal returns the Q of the QR decomposition of a matrix [rows, cols] by Householder's
// reflections, with LAPACK's signs.
func orthogonal(x []float32, rows, cols int) []float32 {
	a := make([]float64, len(x))
	for i, v := range x {
		a[i] = float64(v)
	}
	var mirrors [][]float64
	reflect := func(m []float64, v []float64, k int) { // m = (1 − 2vvᵀ)·m
		for j := range cols {
			dot := 0.0
			for i := k; i < rows; i++ {
				dot += v[i] * m[i*cols+j]
			}
			for i := k; i < rows; i++ {
				m[i*cols+j] -= 2 * dot * v[i]
			}
		}
	}
	for k := range cols {
		v, norm, below := make([]float64, rows), 0.0, 0.0
		for i := k; i < rows; i++ {
			v[i] = a[i*cols+k]
			norm += v[i] * v[i]
			if i > k {
				below += v[i] * v[i]
			}
		}
		if below > 0 {
			v[k] += math.Copysign(math.Sqrt(norm), v[k])
			length := math.Sqrt(below + v[k]*v[k])
			for i := k; i < rows; i++ {
				v[i] /= length
			}
		} else {
			clear(v)
		}
		reflect(a, v, k)
		mirrors = append(mirrors, v)
	}
	q := make([]float64, rows*cols)
	for k := range cols {
		q[k*cols+k] = 1
	}
	for k := cols - 1; k >= 0; k-- {
		reflect(q, mirrors[k], k)
	}
	y := make([]float32, len(q))
	for i, v := range q {
		y[i] = float32(v)
	}
	return y
}

// A torchRand is torch.Generator("cpu"): Matsumoto and Nishimura's mt19937, 1998.
type torchRand struct {
	state [624]uint32
	next  int
}

func newTorchRand(seed uint32) *torchRand {
	r := &torchRand{next: 624}
	r.state[0] = seed
	for i := uint32(1); i < 624; i++ {
		before := r.state[i-1]
		r.state[i] = 1812433253*(before^before>>30) + i
	}
	return r
}

func (r *torchRand) bits() uint32 {
	if r.next == 624 {
		s := &r.state
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%624]&(1<<31-1)
			s[i] = s[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		r.next = 0
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uniform returns a number of [from, to) as Tensor.uniform_ does.
func (r *torchRand) uniform(from, to float32) float32 {
	x := float32(r.bits()&(1<<24-1)) * (1.0 / (1 << 24))
	return float32(x*(to-from)) + from
}

// permutation returns the first count of torch.randperm(n): each is swapped with one of those after
// it.
func (r *torchRand) permutation(n, count int) []int {
	moved, first := map[int]int{}, make([]int, count)
	at := func(i int) int {
		if x, ok := moved[i]; ok {
			return x
		}
		return i
	}
	for i := range first {
		j := i + int(r.bits()%uint32(n-i))
		x := at(i)
		first[i] = at(j)
		moved[j] = x
	}
	return first
}
