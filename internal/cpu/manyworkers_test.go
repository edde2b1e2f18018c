package cpu

// A pass on more workers than anybody's test machine has processors: 16, 64 and 128 on two.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// many computes passes on so many workers: a prompt of 100 tokens and three texts of one, then a
// token of each text; the prompt's rows are all read. It returns all logits.
func many(t *testing.T, p *stack.Params, workers int) (all [][]float32) {
	t.Helper()
	team, err := kernels.NewTeam(workers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	b := New(team, p, engine.NewBudget(0))
	x := &batch{params: p}
	for range 4 {
		x.caches = append(x.caches, b.NewCache().(*cache))
	}
	prompt := make([]int, 100)
	for i := range prompt {
		prompt[i] = i * 7 % p.Vocab
	}
	last := []bool{true, true, true, true}
	for _, step := range []struct {
		texts [][]int
		visit []int
	}{
		{[][]int{prompt, {1}, {2}, {3}}, []int{0, 1, 1, 1}},
		{[][]int{{4}, {5}, {6}, {7}}, []int{1, 1, 1, 1}},
	} {
		if err := x.run(b, step.texts, step.visit, last); err != nil {
			t.Fatal(err)
		}
		for i := range step.texts[0] {
			if row := x.rows[[2]int{0, i}]; row != nil {
				all = append(all, row)
			}
		}
		all = append(all, x.logits...)
	}
	return all
}

// TestManyWorkersComputeTheSameBits: at the widths of GPT-2's smallest model.
func TestManyWorkersComputeTheSameBits(t *testing.T) {
	cases.NotShort(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	formats := []kernels.Format{kernels.F32, kernels.Q8}
	if cases.Long {
		formats = append(formats, kernels.F16, kernels.Q4)
	}
	one, err := kernels.NewTeam(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	for _, format := range formats {
		p := random(t, one, rand.New(rand.NewPCG(1, 2)), format, kernels.F32, 768, 12)
		want := many(t, p, 1)
		if len(want) != 108 {
			t.Fatalf("%d rows of logits, want 100 and twice 4", len(want))
		}
		for _, workers := range []int{16, 128} {
			got := many(t, p, workers)
			if what := differs(got, want); what != "" {
				t.Errorf("%v, %d workers on 2 processors: %s", format, workers, what)
			}
		}
	}
}

// differs says where rows differ in a bit, or "".
func differs(got, want [][]float32) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(want))
	}
	for row := range want {
		for i, x := range want[row] {
			if y := got[row][i]; math.Float32bits(x) != math.Float32bits(y) {
				return fmt.Sprintf("row %d, number %d: %v, want %v", row, i, y, x)
			}
		}
	}
	return ""
}

// TestOperationsHaveTasksFor128Workers: how far an operation can be divided does not depend on the
// workers. A matrix has a task for each panel of 16 columns at least, of which the narrowest has 48;
// attention one for each head; what has a row for each task, as many as there are rows.
func TestOperationsHaveTasksFor128Workers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const workers = 128
	for _, format := range []kernels.Format{kernels.F32, kernels.Q8} {
		p := shaped(t, format)
		for _, rows := range []int{1, workers} {
			least := map[string]int{
				"kernels.Linear": 48, "kernels.CausalAttention": 12, "kernels.LayerNorm": rows,
				"kernels.Activate": workers, "kernels.Add": 96, "cpu.(*backend).embed": rows,
			}
			head, seen := 0, map[string]int{}
			for _, o := range count(t, p, workers, rows) {
				seen[o.name]++
				lastNorm := o.name == "kernels.LayerNorm" && o.tasks == 1 // of one row, before the head
				if want := least[o.name]; o.tasks < want && !lastNorm {
					t.Errorf("%v, %d rows: %s has %d tasks, want %d", format, rows, o.name, o.tasks,
						want)
				}
				if o.bytes == p.LMHead.Bytes() {
					head = o.tasks
				}
			}
			for name := range least {
				if seen[name] == 0 {
					t.Errorf("%v, %d rows: no %s was counted", format, rows, name)
				}
			}
			if head < 100 {
				t.Errorf("%v, %d rows: the head has %d tasks, want 100", format, rows, head)
			}
		}
	}
}
