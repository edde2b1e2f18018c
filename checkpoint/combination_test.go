// Ways to add up LoRA adapters, beside gonum's singular values.

package checkpoint_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/weights"
)

// TestTruncatedSumsAreGonums: of two adapters, wide and high matrices, ranks that differ, more than
// there are, and products that prune nothing and almost all.
func TestTruncatedSumsAreGonums(t *testing.T) {
	const n, up, down = 60, "transformer.h.0.mlp.c_fc", "transformer.h.0.mlp.c_proj"
	dir := write(t, fixture.Options{Embd: n, Head: 12, Layer: 1, Vocab: 29}, nil)
	before, _ := opened(t, dir, checkpoint.Options{})
	sizes := map[string][2]int{up: {n, 4 * n}, down: {4 * n, n}, "transformer.h.0.attn.c_proj": {n, n}}
	for _, ranks := range [][2]int{{3, 5}, {5, 1}, {40, 30}} {
		one, two := newLora(ranks[0], 6, weights.F32), newLora(ranks[1], 4, weights.BF16)
		for module, size := range sizes {
			one.pair(module, ranks[0], size[0], size[1])
			two.pair(module, ranks[1], size[0], size[1])
		}
		first, second := 0.7, -1.5
		o := checkpoint.Options{Adapters: []checkpoint.Adapter{{one.write(t), &first}, {two.write(t), &second}}}
		for _, density := range []float64{0, 0.03, 0.6, 1} {
			for _, rank := range []int{1, 4, 7, 100} {
				if o.Combine = fmt.Sprintf("magnitude_prune_svd:%v,rank=%d", density, rank); density == 1 {
					o.Combine = fmt.Sprintf("svd,rank=%d", rank)
				}
				after, _ := opened(t, dir, o)
				for module, size := range sizes {
					a := one.delta(module, ranks[0], size[0], size[1], true)
					b := two.delta(module, ranks[1], size[0], size[1], true)
					sum := mat.NewDense(size[0], size[1], nil)
					for i, x := range pruned(a, density) {
						sum.RawMatrix().Data[i] += first * 6 / float64(ranks[0]) * x
					}
					for i, x := range pruned(b, density) {
						sum.RawMatrix().Data[i] += second * 4 / float64(ranks[1]) * x
					}
					sameAsFloat64(t, before.Tensors, after.Tensors, module, 1, nearest(t, sum, rank))
				}
			}
		}
	}
}

// pruned returns the part of the numbers that are largest, the first of equal ones, and zeros.
func pruned(x []float64, density float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(math.Abs(x[j]), math.Abs(x[i]))
	})
	y := make([]float64, len(x))
	for _, i := range order[:int(density*float64(len(x)))] {
		y[i] = x[i]
	}
	return y
}

// nearest returns the matrix of a rank that is nearest, by gonum's singular value decomposition.
func nearest(t *testing.T, x *mat.Dense, rank int) []float64 {
	t.Helper()
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u, v, product mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	for k := range values {
		if k >= rank {
			values[k] = 0
		}
	}
	u.Mul(&u, mat.NewDiagDense(len(values), values))
	product.Mul(&u, v.T())
	return product.RawMatrix().Data
}

// TestWhatIsNoCombination is refused, in one line that says what there is.
func TestWhatIsNoCombination(t *testing.T) {
	for _, how := range []string{"svd", "ties_svd:0.2,rank=8", "dare_ties:0.5,seed=3,sign=total", ""} {
		if err := checkpoint.CheckCombination(how); err != nil {
			t.Error(err)
		}
	}
	for _, how := range []string{"tie", "svd:0.2", "cat:1", "linear,rank=2", "svd,rank=0", "svd,rank=-1",
		"svd,rank=x", "ties:1.5", "ties:-0.1", "ties:NaN", "ties,seed=1", "dare_ties,seed=-1",
		"dare_linear,sign=total", "ties,sign=most", "dare_linear:0", "dare_linear:1e-60", "ties,", "svd,clamp=1"} {
		wantText(t, checkpoint.CheckCombination(how), how+", want one of cat, linear, svd, ")
	}
}

// TestCombinationsOfWhatPEFTDoesNotCombine are refused by name.
func TestCombinationsOfWhatPEFTDoesNotCombine(t *testing.T) {
	const module = "transformer.h.1.mlp.c_fc"
	dir := write(t, fixture.Options{}, nil)
	open := func(how string, change func(l *lora)) error {
		first, second := newLora(2, 4, weights.F32), newLora(3, 9, weights.F32)
		first.pair(module, 2, 15, 60)
		second.pair(module, 3, 15, 60)
		change(first)
		c, err := checkpoint.Open(dir, checkpoint.Options{Combine: how,
			Adapters: []checkpoint.Adapter{{Path: first.write(t)}, {Path: second.write(t)}}})
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := open("dare_linear_svd:0.5", func(*lora) {}); err != nil {
		t.Error(err)
	}
	wantText(t, open("ties", func(*lora) {}), "h.1.mlp.c_fc.weight: combine: ties of different ranks")
	wantText(t, open("dare_ties_svd", func(l *lora) { l.config["init_lora_weights"] = "gaussian" }),
		`combine: dare_ties_svd: init_lora_weights of the first adapter is "gaussian", want true`)
	wantText(t, open("svd", func(l *lora) {
		l.config["bias"] = "lora_only"
		l.add(peft+module+".bias", 60)
	}), "h.1.mlp.c_fc.bias: combine: svd adds up products of LoRA alone")
}
