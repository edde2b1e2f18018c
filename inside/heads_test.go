package inside_test

// Head scores beside float64 patterns, beside a model whose answers are known, and to the last bit.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

func heads(
	t testing.TB, m *model.Model, ids []int, o inside.HeadsOptions,
) *inside.HeadTable {
	t.Helper()
	table, err := inside.Heads(context.Background(), m, ids, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The scores of the answers' patterns, by their definitions.
func TestHeadScoresAreThoseOfFloat64(t *testing.T) {
	answers, m := answers(t), testmodel.Demo(t, model.Options{Threads: 2})
	ids := answers.IDs[0]
	n := len(ids)
	for _, from := range []int{0, 7, n - 1} {
		table := heads(t, m, ids, inside.HeadsOptions{From: from})
		for _, score := range table.Heads {
			all := answers.Points[fmt.Sprintf("blocks.%d.attn.hook_pattern", score.Layer)]
			weight := func(to, from int) float64 { // [head, to, from]
				return float64(all.Data[(score.Head*n+to)*n+from])
			}
			mean := func(f func(to int) float64, counts func(to int) bool) float64 {
				sum, rows := 0.0, 0.0
				for to := max(1, from); to < n; to++ {
					if counts(to) {
						sum += f(to)
						rows++
					}
				}
				return sum / rows
			}
			earlier := func(to int) (places []int) {
				for at, id := range ids[:to] {
					if id == ids[to] {
						places = append(places, at)
					}
				}
				return places
			}
			sumOf := func(f func(to, from int) float64) func(to int) float64 {
				return func(to int) float64 {
					sum := 0.0
					for from := range to + 1 {
						sum += f(to, from)
					}
					return sum
				}
			}
			at := func(back int) func(to int) float64 {
				return func(to int) float64 {
					sum := 0.0
					for _, place := range earlier(to) {
						sum += weight(to, place+back)
					}
					return sum
				}
			}
			every := func(int) bool { return true }
			repeated := func(to int) bool { return len(earlier(to)) > 0 }
			what := fmt.Sprintf("from %d: head %d.%d: ", from, score.Layer, score.Head)
			near(t, what+"previous", score.Previous,
				mean(func(to int) float64 { return weight(to, to-1) }, every), 1e-5)
			near(t, what+"first", score.First,
				mean(func(to int) float64 { return weight(to, 0) }, every), 1e-5)
			near(t, what+"self", score.Self,
				mean(func(to int) float64 { return weight(to, to) }, every), 1e-5)
			near(t, what+"entropy", score.Entropy, mean(sumOf(func(to, from int) float64 {
				return -weight(to, from) * math.Log(max(weight(to, from), 1e-300))
			}), every), 1e-4)
			near(t, what+"distance", score.Distance, mean(sumOf(func(to, from int) float64 {
				return weight(to, from) * float64(to-from)
			}), every), 1e-4)
			if table.Repeats == 0 {
				if score.Duplicate != nil || score.Induction != nil {
					t.Errorf("%sduplicate and induction of a text without", what)
				}
				continue
			}
			near(t, what+"duplicate", *score.Duplicate, mean(at(0), repeated), 1e-5)
			near(t, what+"induction", *score.Induction, mean(at(1), repeated), 1e-5)
		}
		if len(table.Heads) != 16 || table.From != max(1, from) || from == 0 && table.Repeats == 0 {
			t.Errorf("from %d: %d heads from %d, %d repeats", from, len(table.Heads), table.From,
				table.Repeats)
		}
	}
}

func TestHeadScoresOfTheInductionModel(t *testing.T) {
	m := testmodel.Induction(t, model.Options{Threads: 2})
	ids, err := inside.Repeated(m, half, 1)
	if err != nil {
		t.Fatal(err)
	}
	table := heads(t, m, ids, inside.HeadsOptions{From: half + 1})
	var idle inside.HeadScore // means of 1/(t+1) and so on over the second half
	for at := half + 1; at <= 2*half; at++ {
		idle.Previous += 1 / float64(at+1) / half
		idle.Entropy += math.Log(float64(at+1)) / half
		idle.Distance += float64(at) / 2 / half
	}
	for i, want := range []inside.HeadScore{
		{Previous: 1, Distance: 1, Duplicate: new(float64), Induction: new(float64)},
		{Previous: idle.Previous, First: idle.Previous, Self: idle.Previous, Entropy: idle.Entropy,
			Distance: idle.Distance, Duplicate: &idle.Previous, Induction: &idle.Previous},
		{Distance: half - 1, Duplicate: new(float64), Induction: &[]float64{1}[0]},
		{Previous: idle.Previous, First: idle.Previous, Self: idle.Previous, Entropy: idle.Entropy,
			Distance: idle.Distance, Duplicate: &idle.Previous, Induction: &idle.Previous},
	} {
		got, what := table.Heads[i], fmt.Sprintf("head %d.%d: ", i/2, i%2)
		near(t, what+"previous", got.Previous, want.Previous, 1e-7)
		near(t, what+"first", got.First, want.First, 1e-7)
		near(t, what+"self", got.Self, want.Self, 1e-7)
		near(t, what+"duplicate", *got.Duplicate, *want.Duplicate, 1e-7)
		near(t, what+"induction", *got.Induction, *want.Induction, 1e-7)
		near(t, what+"entropy", got.Entropy, want.Entropy, 1e-6)
		near(t, what+"distance", got.Distance, want.Distance, 1e-5)
		if got.Layer != i/2 || got.Head != i%2 {
			t.Errorf("%sis %d.%d", what, got.Layer, got.Head)
		}
	}
	if table.Repeats != half {
		t.Errorf("%d repeats, want %d", table.Repeats, half)
	}
}

// The patterns that are handed out are all of them, and nothing depends on threads or kernels.
func TestHeadScoresHaveTheSameBits(t *testing.T) {
	cases.NotShort(t)
	ids := answers(t).IDs[0]
	var first *inside.HeadTable
	for i, kernel := range kernels.Variants() {
		m := testmodel.Demo(t, model.Options{Threads: 1 + 6*(i%2), Kernel: kernel})
		var mu sync.Mutex
		patterns := map[[2]int]int{}
		table := heads(t, m, ids, inside.HeadsOptions{
			Pattern: func(layer, position int, weights []float32) {
				mu.Lock()
				defer mu.Unlock()
				patterns[[2]int{layer, position}] = len(weights)
			}})
		for layer := range 4 {
			for at := range ids {
				if n := patterns[[2]int{layer, at}]; n != 4*(at+1) {
					t.Errorf("layer %d, token %d: %d weights", layer, at, n)
				}
			}
		}
		if first == nil {
			first = table
		}
		if !reflect.DeepEqual(table, first) {
			t.Errorf("%s gives other scores than %s", kernel, kernels.Variants()[0])
		}
	}
	b, err := json.Marshal(first)
	var back inside.HeadTable
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || !reflect.DeepEqual(back, *first) || !strings.Contains(string(b),
		`"heads":[{"layer":0,"head":0,"previous":`) {
		t.Errorf("%s: %v", b, err)
	}
}

func TestRepeatedTextsAreTwiceTheSameDifferentIDs(t *testing.T) {
	m := starting(t, map[string]any{"bos_token_id": 5})
	seen := map[int]bool{}
	for seed := range uint64(50) {
		n := 1 + int(seed%28)
		ids, err := inside.Repeated(m, n, seed)
		if err != nil {
			t.Fatal(err)
		}
		r := slices.Clone(ids[1 : n+1])
		if len(ids) != 2*n+1 || ids[0] != 5 || !slices.Equal(r, ids[n+1:]) {
			t.Errorf("%d ids: %v", n, ids)
		}
		slices.Sort(r)
		if slices.Contains(r, ids[0]) || len(slices.Compact(r)) != n || r[0] < 0 || r[n-1] > 28 {
			t.Errorf("%d ids are not different ones: %v", n, ids)
		}
		for _, id := range ids[1:] {
			seen[id] = true
		}
	}
	if len(seen) != 28 {
		t.Errorf("%d ids of 28 are drawn", len(seen))
	}
	// The numbers are those of PCG-DXSM by its definition.
	if ids, _ := inside.Repeated(m, 4, 1); !slices.Equal(ids[:5], []int{5, 17, 4, 21, 2}) {
		t.Errorf("seed 1 gives %v", ids)
	}
	for first, config := range map[int]map[string]any{
		7: {"bos_token_id": 99, "eos_token_id": 7},
		0: {"bos_token_id": nil, "eos_token_id": nil},
	} {
		ids, err := inside.Repeated(starting(t, config), 28, 0)
		if err != nil || ids[0] != first {
			t.Errorf("%v: first %d, %v, want %d", config, ids[0], err, first)
		}
	}
}

// starting returns a model of 29 ids with a config of its own.
func starting(t testing.TB, keys map[string]any) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(fixture.Options{Positions: 100, Config: keys})
	return testmodel.New(t, config, file, model.Options{})
}

func TestHeadsRefuse(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	for _, c := range []struct {
		ids  []int
		from int
		want string
	}{
		{nil, 0, "no tokens, want at least one"},
		{[]int{1}, 0, "heads: 1 token, want at least 2"},
		{[]int{1, 2}, 2, "heads: from position 2, want 1 to 1"},
		{[]int{1, 2}, -1, "heads: from position -1, want 1 to 1"},
		{[]int{1, 29}, 0, "token 1: id 29, want 0 to 28"},
	} {
		_, err := inside.Heads(context.Background(), m, c.ids, inside.HeadsOptions{From: c.from})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.ids, err, c.want)
		}
	}
	// Residual streams of layer 1 overflow: so do its scores, and what is after it.
	bad := testmodel.New(t, config, file, model.Options{Edits: []model.Edit{{Op: model.Set, Head: model.AllHeads,
		At: model.Point{Kind: model.ResidPre, Layer: 1}, Values: []float32{math.MaxFloat32}, From: 1, To: 2}}})
	_, err := inside.Heads(context.Background(), bad, []int{1, 2, 3}, inside.HeadsOptions{})
	if want := "heads: layer 1, head 0: a weight at position 1 is not finite"; err == nil ||
		err.Error() != want || !errors.Is(err, inside.ErrNonFinite) {
		t.Errorf("%v, want %s", err, want)
	}
	for _, n := range []int{-1, 0, 12} {
		_, err := inside.Repeated(m, n, 0)
		want := fmt.Sprintf("repeat: %d tokens, want 1 to 11 (n_positions 23, vocab_size 29)", n)
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
