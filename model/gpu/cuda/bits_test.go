package cuda

// Promise 2 on the PTX that ships: a model on the interpreter has the processor's bits.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

// story evaluates texts on a model in every way there is: prompts in parts, over a page's end,
// forks side by side, truncation, row by row. It returns all logits.
func story(m *model.Model) (rows [][]float32, err error) {
	ids := make([]int, 90)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range ids {
		ids[i] = r.IntN(m.Config().VocabSize)
	}
	eval := func(batch ...model.Input) {
		start := len(rows)
		for i, in := range batch {
			rows = append(rows, make([][]float32, len(in.Tokens))...)
			first := len(rows) - len(in.Tokens)
			batch[i].Visit = func(r model.Row) {
				rows[first+r.Index] = append([]float32(nil), r.Logits...)
			}
		}
		if e := m.Eval(context.Background(), batch...); e != nil && err == nil {
			err = fmt.Errorf("from row %d on: %w", start, e)
		}
	}
	s := m.NewSession()
	eval(model.Input{Session: s, Tokens: ids[:40]})
	eval(model.Input{Session: s, Tokens: ids[40:66]})
	fork := s.Fork(62)
	eval(model.Input{Session: s, Tokens: ids[66:67]},
		model.Input{Session: fork, Tokens: ids[70:74]})
	s.Truncate(63)
	eval(model.Input{Session: s, Tokens: ids[80:83]})
	for _, id := range ids[83:85] { // one row, and a row of each of two texts: attention stores them
		eval(model.Input{Session: s, Tokens: []int{id}})
		eval(model.Input{Session: s, Tokens: []int{id / 2}},
			model.Input{Session: fork, Tokens: []int{id}})
	}
	return rows, err
}

// differs says where two results differ, in any bit; it is empty where they do not.
func differs(got, want [][]float32) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Sprintf("row %d: %d logits, want %d", i, len(got[i]), len(want[i]))
		}
		for id, w := range want[i] {
			if math.Float32bits(got[i][id]) != math.Float32bits(w) {
				return fmt.Sprintf("row %d: logit %d is %g, want %g", i, id, got[i][id], w)
			}
		}
	}
	return ""
}

// A way is the formats of one run.
type way struct{ weights, cache string }

func (w way) options() model.Options {
	return model.Options{Format: w.weights, CacheFormat: w.cache, Threads: 1}
}

func TestPTXGivesTheProcessorsBits(t *testing.T) {
	cases.NotShort(t)
	devices := map[string]*gpu.Device{}
	for name, text := range shipped() {
		program, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		devices[name] = ptx.Device(program).WithoutProbe()
	}
	all := []way{{"f32", "f32"}, {"f16", "f16"}, {"bf16", "f32"}, {"q8", "f16"}, {"q4", "f32"}}
	shapes := map[string]fixture.Options{
		"small and odd": {Seed: 1, Vocab: 53, Positions: 99, Layer: 1,
			Config: map[string]any{"activation_function": "relu"}},
		"two segments": {Seed: 2, Vocab: 37, Positions: 99, Embd: 24, Inner: 290, Layer: 1},
		"one head":     {Seed: 3, Vocab: 67, Positions: 99, Embd: 33, Head: 1, Layer: 2},
		"many slices":  {Seed: 4, Vocab: 37, Positions: 99, Embd: 264, Head: 1, Inner: 40, Layer: 1},
	}
	for turn, name := range cases.Keys(shapes, len(shapes), 0) {
		o := shapes[name]
		config, file := fixture.Checkpoint(o)
		ways := all[turn : turn+1] // .ci/run does all where the kernels change
		if name == "two segments" {
			ways = all[turn:] // the last shape has the formats that are left
		}
		if cases.Long {
			ways = all
		}
		for _, w := range ways {
			t.Run(fmt.Sprintf("%s, %s, cache %s", name, w.weights, w.cache), func(t *testing.T) {
				want, err := story(testmodel.New(t, config, file, w.options()))
				if err != nil {
					t.Fatal(err)
				}
				for on, d := range devices {
					if on != "gpt2.ptx" && w.weights[0] != 'q' {
						continue // the same kernels
					}
					o := w.options()
					o.Device = d
					got, err := story(testmodel.New(t, config, file, o))
					if err != nil {
						t.Fatal(err)
					}
					if d := differs(got, want); d != "" {
						t.Errorf("%s: %s", on, d)
					}
				}
			})
		}
	}
}
