// Kinds of adapters that PEFT attaches to nn.Linear: in GPT-2 lm_head and the heads of classifiers.

package checkpoint

import (
	"cmp"
	"math"
	"slices"

	"picogpt/internal/quote"
)

// linearKinds returns the table of these kinds: by peft_type.
func linearKinds() map[string]*kind {
	const ranks = "r alpha rank_pattern alpha_pattern"
	return map[string]*kind{
		"LOKR": {make: (*layer).lokr, parts: "w1 w1_a w1_b w2 w2_a w2_b",
			fields: ranks + " decompose_both decompose_factor",
			passed: "use_effective_conv2d rank_dropout_scale"},
		"LOHA": {prefix: "hada_", make: (*layer).loha, parts: "w1_a w1_b w2_a w2_b", fields: ranks,
			passed: "use_effective_conv2d"},
		"C3A":  {make: (*layer).c3a, parts: "kernel", fields: "block_size block_size_pattern"},
		"MISS": {make: (*layer).miss, parts: "block", fields: "r mini_r init_weights"},
		"SHIRA": {make: (*layer).shira, parts: "weight indices", fields: "r",
			passed: "mask_type random_seed"},
		"OSF": {make: (*layer).osf, parts: "svd_params.", passed: "effective_rank rank_pattern " +
			"target_svd_config"},
		"HRA": {make: (*layer).hra, parts: "u", fields: "r apply_GS"},
		"DELORA": {make: (*layer).delora, parts: "A B lambda w_norm", fields: "r rank_pattern",
			passed: "delora_lambda lambda_pattern"},
		"OFT": {make: (*layer).oft, parts: "R.weight embedding_R.weight", fields: "r " +
			"oft_block_size coft eps block_share use_cayley_neumann num_cayley_neumann_terms"},
		"BOFT": {make: (*layer).boft, parts: "R s", fields: "boft_block_size boft_block_num",
			passed: "boft_n_butterfly_factor"},
		"ROAD": {make: (*layer).road, parts: "theta alpha", fields: "variant group_size"},
	}
}

// sized returns a whole number of the config, or what a pattern has for the module.
func (l *layer) sized(key string, usual int, pattern string) int {
	x := of(l.config.patterns[pattern], l.module, float64(l.config.whole(key, usual, 1)))
	if !isRank(x) {
		failConfig("%s: %v, want whole numbers, 1 or more", pattern, x)
	}
	return int(x)
}

// divides refuses a size that divides none of these.
func (l *layer) divides(key string, size int, of ...int) {
	for _, n := range of {
		if n%size != 0 {
			failConfig("%s: %d, want a divisor of %d for %s", key, size, n, quote.Plain(l.module, 80))
		}
	}
}

// ranked returns the rank of LoKr and LoHa, and α/r times the adapter's scale.
func (l *layer) ranked() (rank int, scale float64) {
	rank = l.sized("r", 8, "rank_pattern")
	alpha := of(l.config.patterns["alpha_pattern"], l.module, l.config.number("alpha", 8))
	return rank, l.scale * alpha / float64(rank)
}

// lokr is LoKr: ΔW = α/r·W1⊗W2, each a matrix, or a product of rank r where that is smaller. Yeh
// and others, 2023, arXiv 2309.14859; PEFT's lokr/layer.py.
func (l *layer) lokr(_ []*layer) (weight, bias *update) {
	r, scale := l.ranked()
	factor := l.config.whole("decompose_factor", -1, -1)
	rows, height := factors(l.out, factor) // of W1, and of W2
	cols, width := factors(l.in, factor)
	half := func(name string, rows, cols int, whole bool) []float32 {
		if whole {
			x, _ := l.matrix(name, rows, cols)
			return x
		}
		a, _ := l.matrix(name+"_a", rows, r)
		b, _ := l.matrix(name+"_b", r, cols)
		x := make([]float32, rows*cols)
		multiply(x, cols, a, r, rows, b, r)
		return x
	}
	w1 := half("w1", rows, cols, !l.config.isTrue("decompose_both") || r >= (max(rows, cols)+1)/2)
	w2 := half("w2", height, width, r >= (max(height, width)+1)/2)
	return added(scale, func(o, i int) float32 {
		return w1[o/height*cols+i/width] * w2[o%height*width+i%width]
	}), nil
}

// factors returns two factors of n by PEFT's rule: factor and the other, if it is one, else those
// nearest to the root with one of them at most factor, which -1 does not bound.
func factors(n, factor int) (small, large int) {
	if factor > 0 && n%factor == 0 {
		return factor, n / factor
	}
	if factor == -1 {
		factor = n
	}
	small, large = 1, n
	for d := 2; d <= factor && small < large; d++ {
		if n%d == 0 {
			small, large = d, n/d
		}
	}
	return min(small, large), max(small, large)
}

// loha is LoHa: ΔW = α/r·(A1·B1)∘(A2·B2). Hyeon-Woo and others, 2021, arXiv 2108.06098; PEFT's
// loha/layer.py.
func (l *layer) loha(_ []*layer) (weight, bias *update) {
	r, scale := l.ranked()
	half := func(name string, scale float64) *update {
		a, _ := l.matrix(name+"_a", l.out, r)
		b, _ := l.matrix(name+"_b", r, l.in)
		return l.product(b, a, r, scale)
	}
	weight, other := half("w1", scale), half("w2", 1)
	weight.combine = func(at area, _, sum, product []float32) {
		for i, x := range other.product(nil, at) {
			sum[i] += float32(product[i] * x)
		}
	}
	return weight, nil
}

// c3a is C3A: ΔW is of blocks [b, b] with a kernel [b] each, which every column has, turned by one
// more place: ΔW[m·b+s, n·b+j] = kernel[m, n, (j−s) mod b]/in. Chen and others, 2024, arXiv
// 2407.19342; PEFT's c3a/utils.py.
func (l *layer) c3a(_ []*layer) (weight, bias *update) {
	b := l.sized("block_size", 256, "block_size_pattern")
	l.divides("block_size", b, l.in, l.out)
	x, _ := l.matrix("kernel", l.out/b, l.in/b, b)
	return added(l.scale/float64(l.in), func(o, i int) float32 {
		return x[(o/b*(l.in/b)+i/b)*b+(i%b-o%b+b)%b]
	}), nil
}

// miss is MiSS: ΔW[o, i] = B[i mod r, o], B [r, out], or [r, mini_r] that repeats; of "bat" ΔW =
// (W+I)·B in blocks [r, r], with a B for each r outputs. Kang and Yin, 2024, arXiv 2409.15371;
// PEFT's miss/layer.py.
func (l *layer) miss(_ []*layer) (weight, bias *update) {
	r, width := l.config.whole("r", 64, 1), l.out
	switch string(l.config.values["init_weights"]) {
	case `"mini"`:
		width = l.config.whole("mini_r", 1, 1)
		l.divides("mini_r", width, l.out)
	case `"bat"`:
		l.divides("r", r, l.in, l.out)
		b, _ := l.matrix("block", l.out/r, r, r)
		b = rowsTimes(b, []float32{float32(l.scale)})
		return &update{combine: func(at area, _, sum, _ []float32) {
			was := slices.Clone(sum)
			for i := 0; i < len(sum); i += r {
				o := at.row + i/at.width
				was[i+o%r]++
				multiply(sum[i:], r, was[i:], r, 1, b[o/r*r*r:(o/r+1)*r*r], r)
			}
		}}, nil
	}
	x, _ := l.matrix("block", r, width)
	return added(l.scale, func(o, i int) float32 { return x[i%r*width+o%width] }), nil
}

// shira is SHiRA: ΔW is zero but for r·(in+out) numbers, with their places [2, _]. Bhardwaj and
// others, 2024, arXiv 2406.13175; PEFT's shira/layer.py, which on Windows saves these in float32.
func (l *layer) shira(_ []*layer) (weight, bias *update) {
	r := l.config.whole("r", 32, 1)
	l.bound("r", r, l.in*l.out/(l.in+l.out))
	n := r * (l.in + l.out)
	x, _ := l.matrix("weight", n)
	at := l.indices("indices", max(l.out, l.in), 2, n)
	numbers := map[int][]number{}
	for i, v := range x {
		row, col := at[i], at[n+i]
		if row >= l.out || col >= l.in {
			fail("%s: its shira_indices: %d, %d, want less than %d, %d", l.shown(), row, col, l.out, l.in)
		}
		numbers[row] = append(numbers[row], number{col, float32(l.scale * float64(v))})
	}
	return sparse(numbers), nil
}

// osf is OSF: the singular values of W after the first have others in their place, S, with their
// vectors. PEFT's osf/layer.py.
func (l *layer) osf(_ []*layer) (weight, bias *update) {
	s, _ := l.matrix("svd_params.S_low", 0)
	u, _ := l.matrix("svd_params.U_low", l.out, len(s))
	v, _ := l.matrix("svd_params.V_low", len(s), l.in)
	first := min(l.in, l.out) - len(s)
	if first < 1 || len(s) == 0 {
		fail("%s: %d singular values, want 1 to %d", l.shown(), len(s), first+len(s)-1)
	}
	others := rowsTimes(transposed(u, l.out, len(s)), s)
	return &update{prepare: func(to *update, c *change) error {
		x := make([]float32, 0, l.out*l.in)
		err := c.each(&update{}, func(_ area, base, _ []float32) { x = append(x, base...) })
		if err == nil {
			left, right, k := nearest(x, l.out, l.in, first)
			b := transposed(append(transposed(left, l.out, k), others...), k+len(s), l.out)
			*to = *l.instead(append(right, v...), b, k+len(s))
		}
		return err
	}}, nil
}

// hra is HRA: W·H, H a product of r reflections I − 2·u·uᵀ/‖u‖², with apply_GS of vectors made
// orthogonal first. Yuan and others, 2024, arXiv 2405.17484; PEFT's hra/layer.py.
func (l *layer) hra(_ []*layer) (weight, bias *update) {
	r, in := l.config.whole("r", 8, 1), l.in
	x, _ := l.matrix("u", in, r)
	u, less := make([][]float64, r), make([]float64, in*in) // H − I
	for k := range u {
		u[k] = make([]float64, in)
		for i := range in {
			u[k][i] = float64(x[i*r+k])
		}
		for j := 0; j < k && l.config.isTrue("apply_GS"); j++ {
			add(u[k], -dot(u[j], u[k]), u[j])
		}
		add(u[k], 1/math.Sqrt(dot(u[k], u[k]))-1, u[k])
		for i := range in {
			row := less[i*in : (i+1)*in]
			add(row, -2*(dot(row, u[k])+u[k][i]), u[k])
		}
	}
	return l.blockwise(less, in), nil
}

// delora is DeLoRA: ΔW = λ/r·B·A, of rows of A and columns of B with the norm 1, times the saved
// norms of W's columns. Bini and others, 2025, arXiv 2503.18225; PEFT's delora/layer.py.
func (l *layer) delora(_ []*layer) (weight, bias *update) {
	r := l.sized("r", 8, "rank_pattern")
	a, _ := l.matrix("A", r, l.in)
	b, _ := l.matrix("B", l.out, r)
	lambda, _ := l.matrix("lambda", 1)
	columns, _ := l.matrix("w_norm", l.in)
	by, turned := make([]float32, r), transposed(b, l.out, r)
	norm := func(x []float32) float64 { w := widened(x); return max(math.Sqrt(dot(w, w)), 1e-4) }
	for k := range by {
		by[k] = float32(1 / (norm(a[k*l.in:(k+1)*l.in]) * norm(turned[k*l.out:(k+1)*l.out])))
	}
	a = rowsTimes(a, by)
	for i := range a {
		a[i] *= columns[i%l.in]
	}
	return l.product(a, b, r, l.scale*float64(lambda[0])/float64(r)), nil
}

// oft is OFT: W·Rᵀ, of an embedding W·R. R has blocks on its diagonal, or one that repeats, each
// made of a skew-symmetric Q whose upper triangle is saved; with coft this is cut to the norm
// eps/√blocks. Qiu and others, 2023, arXiv 2306.07280, and 2025, arXiv 2506.19847; PEFT's
// oft/layer.py.
func (l *layer) oft(_ []*layer) (weight, bias *update) {
	part, width, sign := "R.weight", l.in, -1.0 // Rᵀ is R of −Q
	if l.layout == lookup {
		part, width, sign = "embedding_R.weight", l.out, 1
	}
	size := l.blockSize("oft_block_size", 32, "r", width, true)
	blocks, terms := width/size, 0
	if l.config.isTrue("block_share") {
		blocks = 1
	}
	if string(l.config.values["use_cayley_neumann"]) != "false" {
		terms = l.config.whole("num_cayley_neumann_terms", 5, 4)
		l.bound("num_cayley_neumann_terms", terms, 32)
	}
	x, _ := l.matrix(part, blocks, size*(size-1)/2)
	most, at := l.config.number("eps", 6e-5)/math.Sqrt(float64(blocks)), 0
	weight = l.turned(blocks, size, terms, func(_ int, q []float64) {
		for i := range size {
			for j := i + 1; j < size; j++ {
				q[i*size+j], q[j*size+i] = sign*float64(x[at]), -sign*float64(x[at])
				at++
			}
		}
		if norm := math.Sqrt(dot(q, q)); l.config.isTrue("coft") && norm > most {
			add(q, most/norm-1, q)
		}
	})
	weight.first = l.layout == outIn
	return weight, nil
}

// boft is BOFT without butterflies, as PEFT makes it where its CUDA extension is not built:
// s∘(W·Rᵀ), R as in OFT, of Q = (D−Dᵀ)/2. Liu and others, 2023, arXiv 2311.06243; PEFT's
// boft/layer.py.
func (l *layer) boft(_ []*layer) (weight, bias *update) {
	size := l.blockSize("boft_block_size", 4, "boft_block_num", l.in, false)
	x, _ := l.matrix("R", 1, l.in/size, size, size)
	s, _ := l.matrix("s", l.out, 1)
	weight = l.turned(l.in/size, size, 0, func(n int, q []float64) {
		d := x[n*len(q):]
		for i := range q {
			q[i] = (float64(d[i%size*size+i/size]) - float64(d[i])) / 2
		}
	})
	turn := weight.combine
	weight.combine = func(at area, base, sum, product []float32) {
		turn(at, base, sum, product)
		for i := range sum {
			sum[i] *= float32(1 + float64(l.scale*(float64(s[at.row+i/at.width])-1)))
		}
	}
	return weight, nil
}

// turned is the update that multiplies blocks of a row by a rotation each, of what skew makes q.
func (l *layer) turned(blocks, size, terms int, skew func(n int, q []float64)) *update {
	less, q := make([]float64, 0, blocks*size*size), make([]float64, size*size)
	for n := range blocks {
		skew(n, q)
		less = append(less, rotation(q, size, terms)...)
	}
	return l.blockwise(less, size)
}

// blockSize returns the size of blocks of n numbers, of which the config has the size or the
// number: a divisor of n, for which the nearest one may be taken, the smaller of two.
func (l *layer) blockSize(size string, usual int, number string, n int, nearest bool) int {
	s, blocks := l.config.whole(size, usual, 0), l.config.whole(number, 0, 0)
	if (s == 0) == (blocks == 0) {
		failConfig("%s: %d and %s: %d, want one of them", size, s, number, blocks)
	}
	wish := s + blocks
	for d := min(wish, n); nearest && n%wish != 0; d-- {
		if n%d == 0 {
			wish = d
		} else if up := 2*wish - d; n%up == 0 {
			wish = up
		}
	}
	if l.divides(size+" or "+number, wish, n); s == 0 {
		return n / wish
	}
	return wish
}

// rotation returns R − I for a skew-symmetric Q [n, n]: with terms 0 of Cayley's (I−Q)·(I+Q)⁻¹,
// else of the powers of Q below terms in the series of (I+Q)·(I−Q)⁻¹, each twice but the last one,
// as in PEFT.
func rotation(q []float64, n, terms int) []float64 {
	y := make([]float64, n*n)
	if terms == 0 { // R − I solves (I+Q)·Y = −2·Q, which has one solution: xᵀ·(I+Q)·x = xᵀ·x
		add(y, -2, q)
		a := slices.Clone(q)
		for i := range n {
			a[i*n+i]++
		}
		solve(a, y, n)
		return y
	}
	for by, k := 1.0, 1; k < terms; by, k = 2, k+1 {
		for i := range n {
			y[i*n+i] += by
		}
		y = times(q, y, n, n)
	}
	return y
}

// road is RoAd: R·W, and R·bias. R turns pairs of outputs, half a group apart, by angles θ, and
// stretches them by α: y = α·cos θ·x − α·sin θ·x', y' = α'·cos θ'·x' + α'·sin θ'·x, where variants
// share more or fewer of these. Liao and Monz, 2024, arXiv 2409.00119; PEFT's road/layer.py.
func (l *layer) road(_ []*layer) (weight, bias *update) {
	group := l.config.whole("group_size", 64, 2)
	if l.bound("group_size", group, 4096); group%2 != 0 || l.out%group != 0 { // rows made together
		failConfig("group_size: %d, want an even divisor of %d", group, l.out)
	}
	half, variant := group/2, cmp.Or(string(l.config.values["variant"]), `"road_1"`)
	per := map[string]int{`"road_1"`: half, `"road_2"`: group, `"road_4"`: 2 * group}[variant]
	if per == 0 {
		failConfig("variant: %s, want road_1, road_2 or road_4", quote.Plain(variant, 40))
	}
	theta, _ := l.matrix("theta", l.out/group*per)
	alpha, _ := l.matrix("alpha", l.out/group*per)
	own, other := make([]float64, l.out), make([]float64, l.out)
	for o := range l.out {
		c := o/group*per + o%min(per, group)
		s := c + max(per-group, 0) // road_4 has a group's cosines before its sines
		_, cos := series(math.Mod(float64(theta[c]), 2*math.Pi), 40)
		sin, _ := series(math.Mod(float64(theta[s]), 2*math.Pi), 40)
		own[o] = 1 + float64(l.scale*(float64(float64(alpha[c])*cos)-1))
		other[o] = float64(l.scale * float64(float64(alpha[s])*sin))
	}
	turn := func(x []float32, first, width int) { // rows, for outputs from first on
		for i := range x {
			if o, j := first+i/width, i+half*width; o%group < half {
				a, b := float64(x[i]), float64(x[j])
				x[i] = float32(float64(own[o]*a) - float64(other[o]*b))
				x[j] = float32(float64(own[o+half]*b) + float64(other[o+half]*a))
			}
		}
	}
	weight = &update{unit: group}
	weight.combine = func(at area, _, sum, _ []float32) { turn(sum, at.row, at.width) }
	return weight, &update{combine: func(_ area, _, sum, _ []float32) { turn(sum, 0, 1) }}
}
