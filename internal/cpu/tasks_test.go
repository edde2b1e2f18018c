package cpu

// How many tasks each operation of a pass has for a number of workers. This needs no machine with
// many processors.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// counted is an operation as Team.Count tells it, with the bytes of weights that it reads.
type counted struct {
	name  string
	tasks int
	bytes int64
}

// shaped returns two layers of GPT-2's smallest model and its head, with weights of 0.
func shaped(t *testing.T, format kernels.Format) *stack.Params {
	const embd = 768
	vocab := 10007 // enough that the head feeds everybody
	if cases.Long {
		vocab = 50257
	}
	matrix := func(layout kernels.Layout, in, out int) kernels.Matrix {
		m := kernels.Matrix{Format: format, Layout: layout, In: in, Out: out}
		switch format {
		case kernels.F32:
			m.F32 = make([]float32, in*out)
		case kernels.F16:
			m.F16 = make([]uint16, in*out)
		default:
			var err error
			m, err = kernels.QuantMatrix(format, in, out,
				make([]byte, kernels.QuantBytes(format, in, out)))
			if err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	linear := func(in, out int) stack.Linear {
		return stack.Linear{Weight: matrix(kernels.InOut, in, out), Bias: make([]float32, out)}
	}
	norm := stack.Norm{Gain: make([]float32, embd), Bias: make([]float32, embd)}
	block := stack.Block{Ln1: norm, Ln2: norm, CAttn: linear(embd, 3*embd),
		AttnProj: linear(embd, embd), CFC: linear(embd, 4*embd),
		MLPProj: linear(4*embd, embd), Scale: 0.125}
	p := &stack.Params{Vocab: vocab, Positions: 1024, Embd: embd, Heads: 12, Inner: 4 * embd,
		Epsilon: 1e-5, WTE: matrix(kernels.OutIn, embd, vocab), WPE: make([]float32, 1024*embd),
		H: []stack.Block{block, block}, LnF: norm}
	p.LMHead = &p.WTE
	return p
}

// count runs a pass of so many rows and returns its operations.
func count(t *testing.T, p *stack.Params, workers, rows int) (operations []counted) {
	team, err := kernels.NewTeam(workers, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	b := New(team, p, engine.NewBudget(0))
	cache := b.NewCache()
	if err := cache.Reserve(rows); err != nil {
		t.Fatal(err)
	}
	h := &p.H[0]
	block := []int64{h.CAttn.Weight.Bytes(), h.AttnProj.Weight.Bytes(), h.CFC.Weight.Bytes(),
		h.MLPProj.Weight.Bytes()}
	linears := append(slices.Clone(block), block...)
	if rows > 1 { // the last block is computed for one row, but for its keys and values
		linears = append(slices.Clone(block), 0, 0, 0, 0, 0)
	}
	linears = append(linears, p.LMHead.Bytes())
	team.Count(func(name string, tasks int) {
		o := counted{name: name, tasks: tasks}
		if strings.HasSuffix(name, ".Linear") {
			o.bytes, linears = linears[0], linears[1:]
		}
		operations = append(operations, o)
	})
	pass := &engine.Pass{Spans: []engine.Span{{Cache: cache, Tokens: make([]int, rows),
		Visit: rows, Logits: make([]float32, p.Vocab)}}}
	if err := b.Run(context.Background(), pass); err != nil {
		t.Fatal(err)
	}
	return operations
}

// TestManyWorkersHaveTasks checks, for the operations that take nearly all of the time, which share
// of the workers has work if all tasks are equal: at least 0.55, or all heads in a token's
// attention and where keys are stored. With -v it prints all operations.
func TestManyWorkersHaveTasks(t *testing.T) {
	cases.NotShort(t)
	formats, sizes := []kernels.Format{kernels.F32, kernels.Q8}, []int{2, 16, 64}
	if cases.Long {
		formats = append(formats, kernels.F16, kernels.Q4)
		sizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}
	}
	for _, format := range formats {
		p := shaped(t, format)
		for _, rows := range []int{1, 128, 512} {
			for _, workers := range sizes {
				operations, barriers := count(t, p, workers, rows), 0
				for _, o := range operations {
					barriers++
					rounds := (o.tasks + workers - 1) / workers
					busy := float64(o.tasks) / float64(max(1, rounds)*workers)
					line := fmt.Sprintf("%v, %3d rows, %2d workers: %-28s %4d tasks, %.2f busy, "+
						"%9d bytes", format, rows, workers, o.name, o.tasks, busy, o.bytes)
					t.Log(line)
					heads := o.name == "kernels.CausalAttention" && o.tasks == p.Heads
					if (o.bytes > 0 || o.name == "kernels.CausalAttention") && busy < 0.55 && !heads {
						t.Error(line)
					}
				}
				t.Logf("%v, %3d rows, %2d workers: %d barriers", format, rows, workers, barriers)
			}
		}
	}
}
