// Combinations: ways to add up several LoRA adapters, those of PEFT's add_weighted_adapter.

package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/internal/quote"
)

// Combinations are what Options.Combine may begin with: the first, "cat", is the sum of the products.
//
//   - "linear": A = Σ ±√|w·s|·A, B = Σ √|w·s|·B, with each adapter's weight w and scale s
//   - "magnitude_prune": the same of the part of the numbers of each matrix that are largest
//   - "ties": of these, of each number only those of the majority's sign, and their mean. Yadav and
//     others, 2023, arXiv 2306.01708
//   - "dare_linear", "dare_ties": of numbers that are drawn, divided by the part that is kept. Yu and
//     others, 2023, arXiv 2311.03099
//   - "svd", and those that end with _svd: the same of the products s·B·A, and of the sum the matrix
//     of the largest rank of the adapters that is nearest
//
// After them may stand the part of the numbers that is kept, and numbers by their names, as in
// "dare_ties_svd:0.2,rank=8,seed=1,sign=frequency". With a seed the numbers are those that are drawn
// after torch.manual_seed(seed), by add_weighted_adapter of adapters with init_lora_weights true.
var Combinations = []string{"cat", "linear", "svd", "ties", "ties_svd", "dare_linear",
	"dare_linear_svd", "dare_ties", "dare_ties_svd", "magnitude_prune", "magnitude_prune_svd"}

// A combination is an Options.Combine.
type combination struct {
	how       string
	density   float64 // the part of the numbers that is kept
	rank      int     // 0: the largest of the adapters
	seed      uint64
	frequency bool // for the majority each number counts once, however large it is
	rng       *torchRand
}

// CheckCombination refuses what is no Options.Combine.
func CheckCombination(how string) error {
	_, err := parseCombination(how)
	return err
}

func parseCombination(text string) (c combination, err error) {
	parts := strings.Split(cmp.Or(text, Combinations[0]), ",")
	density, given := "", false
	c.how, density, given = strings.Cut(parts[0], ":")
	prunes := strings.Contains(c.how, "_") || c.how == "ties"
	if c.density = 1; given {
		c.density, err = strconv.ParseFloat(density, 64)
	}
	known := slices.Contains(Combinations, c.how) && c.density >= 0 && c.density <= 1 &&
		(prunes || !given) && !(c.has("dare") && float32(c.density) == 0)
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		wrong := error(nil)
		switch {
		case key == "rank" && c.has("svd"):
			c.rank, wrong = strconv.Atoi(value)
			known = known && c.rank > 0
		case key == "seed" && c.has("dare"):
			c.seed, wrong = strconv.ParseUint(value, 10, 64)
		case key == "sign" && c.has("ties") && (value == "frequency" || value == "total"):
			c.frequency = value == "frequency"
		default:
			known = false
		}
		err = cmp.Or(err, wrong)
	}
	if err != nil || !known {
		err = fmt.Errorf("combine: %s, want one of %s; of ties, dare and prune also the part of "+
			"the numbers that is kept, of svd a rank, of dare a seed, of ties a sign, as in "+
			"dare_ties_svd:0.2,rank=8,seed=1,sign=frequency", quote.Plain(text, 60),
			strings.Join(Combinations, ", "))
	}
	return c, err
}

// has reports whether a word is in the combination's name.
func (c *combination) has(word string) bool { return strings.Contains(c.how, word) }

// combine makes one product of those of several adapters.
func (m *merging) combine(text string) error {
	c, err := parseCombination(text)
	if err != nil || c.how == Combinations[0] {
		return err
	}
	names := slices.SortedFunc(maps.Keys(m.changes), func(a, b string) int {
		return cmp.Compare(moduleOrder(a), moduleOrder(b))
	})
	if err := m.combinable(&c, names); err != nil {
		return err
	}
	scale := 1.0
	if m.configs[0].root { // PEFT's new adapter has the first one's use_rslora; its α is the rank
		scale = math.Sqrt(float64(c.rank))
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, name := range names {
		all := m.changes[name]
		of := all.updates
		one := &update{scale: float32(scale), rank: of[0].rank, tied: of[0].tied}
		all.updates = []*update{one}
		if !c.has("svd") {
			one.left, one.right = c.halves(all, of)
			continue
		}
		basis, x := c.product(all, of)
		rows, cols := all.size()
		free <- struct{}{}
		workers.Go(func() {
			k := len(x) / cols
			one.left, one.right, one.rank = nearest(x, k, cols, c.rank)
			if basis != nil {
				left := widened(transposed(one.left, k, one.rank))
				one.left = transposed(rounded(times(left, basis, one.rank, k)), one.rank, rows)
			}
			<-free
		})
	}
	return nil
}

// combinable refuses what PEFT does not add up so, sets the rank, and skips what PEFT draws of the new
// adapter's matrices before it prunes. names are of the changes, in the model's order.
func (m *merging) combinable(c *combination, names []string) error {
	first := m.configs[0]
	if first.name != "LORA" {
		return fmt.Errorf("combine: %s of %s adapters, want LORA", c.how, first.name)
	}
	init := string(first.values["init_lora_weights"])
	if c.has("dare") && init != "" && init != "true" {
		return fmt.Errorf("combine: %s: init_lora_weights of the first adapter is %s, want true",
			c.how, quote.Plain(init, 40))
	}
	if len(m.configs) == 1 { // as PEFT
		*c = combination{how: "linear", density: 1}
	}
	if c.rank == 0 {
		for _, config := range m.configs {
			c.rank = max(c.rank, int(config.rank))
			for _, p := range config.patterns["rank_pattern"] {
				c.rank = max(c.rank, int(p.value))
			}
		}
	}
	c.rng = newTorchRand(uint32(c.seed))
	for _, name := range names {
		of := m.changes[name].updates
		if m.changes[name].by != "" ||
			slices.ContainsFunc(of, func(u *update) bool { return u.combine != nil }) {
			return fmt.Errorf("%s: combine: %s adds up products of LoRA alone, want nothing else "+
				"in the adapters", name, c.how)
		}
		if !c.has("svd") && slices.ContainsFunc(of, func(u *update) bool { return u.rank != of[0].rank }) {
			return fmt.Errorf("%s: combine: %s of different ranks", name, c.how)
		}
		if !c.has("dare") {
			continue
		}
		in, out := m.changes[name].size()
		switch a, b := c.rank*in, c.rank*out; m.layout(name) {
		case inOut:
			c.rng.skip(2*a + b) // A is drawn twice
		case outIn:
			c.rng.skip(a + 2*b)
		case lookup:
			c.rng.skip(normals(a) + 2*normals(b))
		}
	}
	return nil
}

// normals returns how many numbers Tensor.normal_ draws for n: it makes the last 16 once more if n is
// no multiple of 16.
func normals(n int) int { return n + 16*min(n%16, 1) }

// halves returns the left and the right matrix of what is made of the halves, A's first.
func (c *combination) halves(all *change, of []*update) (left, right []float32) {
	rows, cols := all.size()
	rank := of[0].rank
	var as, bs [][]float32 // [rank, in] and [out, rank]
	var byA, byB []float32 // the signs go to A
	for _, u := range of {
		root := math.Sqrt(math.Abs(float64(u.scale)))
		a, b := u.right, u.left
		if u.turned {
			a, b = transposed(u.left, rows, rank), transposed(u.right, rank, cols)
		}
		as, byA = append(as, a), append(byA, float32(math.Copysign(root, float64(u.scale))))
		bs, byB = append(bs, b), append(byB, float32(root))
	}
	a, b := c.added(as, byA), c.added(bs, byB)
	if of[0].turned {
		return transposed(a, rank, rows), transposed(b, cols, rank)
	}
	return b, a
}

// product returns the matrix x [k, cols] that is made of the products, whose nearest is that of the
// sum after the columns of basis [k, rows], which are orthonormal, or as it is.
func (c *combination) product(all *change, of []*update) (basis []float64, x []float32) {
	rows, cols := all.size()
	k := 0
	var left, right []float64 // [k, rows] and [k, cols]
	var products [][]float32
	var by []float32
	for _, u := range of {
		k += u.rank
		by = append(by, u.by)
	}
	if c.how == "svd" && k < min(rows, cols) {
		for _, u := range of {
			for _, x := range transposed(u.left, rows, u.rank) {
				left = append(left, float64(u.scale)*float64(x))
			}
			right = append(right, widened(u.right)...)
		}
		basis, t := orthonormal(left, k, rows)
		return basis, rounded(times(t, right, k, k))
	}
	for _, u := range of {
		own := *u
		own.scale = u.own
		products = append(products, own.product(nil, area{0, rows, cols}))
	}
	return nil, c.added(products, by)
}

// added returns what is made of the matrices of several adapters, with their weights.
func (c *combination) added(all [][]float32, by []float32) []float32 {
	for k, x := range all {
		all[k] = c.pruned(x)
	}
	sum := make([]float32, len(all[0]))
	elects := c.has("ties")
	for i := range sum {
		total, kept := float32(0), 0
		for _, x := range all {
			if c.frequency {
				total += float32(cmp.Compare(x[i], 0))
			} else {
				total += x[i]
			}
		}
		for k, x := range all {
			if elects && (total >= 0 && x[i] <= 0 || total < 0 && x[i] >= 0) {
				continue
			}
			sum[i] += float32(by[k] * x[i])
			kept++
		}
		if elects {
			sum[i] /= float32(max(kept, 1))
		}
	}
	return sum
}

// pruned returns the part of the numbers that are largest or drawn, and zeros for the others.
func (c *combination) pruned(x []float32) []float32 {
	if c.density >= 1 {
		return x
	}
	y := make([]float32, len(x))
	if c.has("dare") {
		for i, v := range x {
			if c.rng.uniform(0, 1) < float32(c.density) {
				y[i] = v / float32(c.density)
			}
		}
		return y
	}
	sizes := make([]float32, len(x))
	for i, v := range x {
		sizes[i] = float32(math.Abs(float64(v)))
	}
	kept := slices.Sorted(slices.Values(sizes))[len(x)-int(c.density*float64(len(x))):]
	equal := 0 // how many of the smallest that are kept: the first of them
	for equal < len(kept) && kept[equal] == kept[0] {
		equal++
	}
	for i, size := range sizes {
		if len(kept) > 0 && (size > kept[0] || size == kept[0] && equal > 0) {
			y[i] = x[i]
			if size == kept[0] {
				equal--
			}
		}
	}
	return y
}
