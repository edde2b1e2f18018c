package testmodel

// A toy: a language model that is a table, for which the results of another program's searches are
// known.

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"picogpt/internal/testing/fixture"
	"picogpt/model"
	"picogpt/weights"
)

// Toy returns a model whose logits depend only on the last id and the length of the context: the
// sum of a row of one table and a row of another. A hidden state has a 1 for the token and a 1 for
// the length, and 0 elsewhere: the block adds nothing, and ln_f subtracts the mean and divides by
// the deviation, which are always the same.
func Toy(t testing.TB) *model.Model {
	t.Helper()
	var table struct{ A, B [][]float32 }
	if err := fixture.Decoding("toy", &table); err != nil {
		t.Fatal(err)
	}
	v, n := len(table.A), len(table.A)+len(table.B)
	o := fixture.Options{Vocab: v, Positions: 100, Embd: n, Head: 1, Layer: 1, Untied: true}
	mean := 2 / float64(n)
	deviation := math.Sqrt(mean - mean*mean + 1e-5)
	zero := func(int) float64 { return 0 }
	one := func(is bool) float64 { return map[bool]float64{true: 1}[is] }
	elements := map[string]func(i int) float64{
		"wte.weight":             func(i int) float64 { return one(i%n == i/n) },
		"wpe.weight":             func(i int) float64 { return one(i%n == v+(i/n+1)%len(table.B)) },
		"h.0.attn.c_proj.weight": zero,
		"h.0.attn.c_proj.bias":   zero,
		"h.0.mlp.c_proj.weight":  zero,
		"h.0.mlp.c_proj.bias":    zero,
		"ln_f.weight":            func(int) float64 { return deviation },
		"ln_f.bias":              func(int) float64 { return mean },
		"lm_head.weight": func(i int) float64 {
			return float64(slices.Concat(table.A, table.B)[i%n][i/n])
		},
	}
	tensors := fixture.Tensors(o)
	for _, tensor := range tensors {
		if element := elements[tensor.Name]; element != nil {
			for i := range tensor.Len() {
				binary.LittleEndian.PutUint32(tensor.Data[4*i:], math.Float32bits(float32(element(i))))
			}
			delete(elements, tensor.Name)
		}
	}
	if len(elements) > 0 {
		t.Fatalf("the checkpoint has no %v", elements)
	}
	var file bytes.Buffer
	if err := weights.Write(&file, nil, tensors); err != nil {
		t.Fatal(err)
	}
	return New(t, fixture.Config(o), file.Bytes(), model.Options{})
}
