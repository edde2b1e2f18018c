// Ways to add up several LoRA adapters: those of PEFT's add_weighted_adapter that draw nothing.

package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/quote"
)

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
