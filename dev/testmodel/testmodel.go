// Package testmodel makes models for tests. It is separate from dev/fixture because
// tests inside package model import that.
package testmodel

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// New returns a model of the bytes of config.json and of a safetensors file. The test closes it at
// its end.
func New(t testing.TB, config, file []byte, o model.Options) *model.Model {
	t.Helper()
	m, err := Try(config, file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Try is New for tests of errors. The caller closes the model.
func Try(config, file []byte, o model.Options) (*model.Model, error) {
	c, err := model.ParseConfig(config)
	if err != nil {
		return nil, err
	}
	f, err := weights.FromBytes("test", file)
	if err != nil {
		return nil, err
	}
	return model.New(context.Background(), c, f, o)
}

// Open returns a model of the checkpoint at path. The test closes both at its end.
func Open(t testing.TB, path string, o model.Options) *model.Model {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(context.Background(), c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Demo returns a model of the demo checkpoint.
func Demo(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	return New(t, demo.Config(), demo.Weights(), o)
}

// A toy: a language model that is a table, for which the results of another program's searches are
// known.

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
	config, file := filled(o, elements)
	return New(t, config, file, model.Options{})
}

func zero(int) float64 { return 0 }

// one is 1 where something is so, and 0 elsewhere.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// filled returns the bytes of config.json and of a safetensors file in which the named tensors have
// the given elements, and all others random ones.
func filled(
	o fixture.Options, elements map[string]func(i int) float64,
) (config, file []byte) {
	tensors, found := fixture.Tensors(o), 0
	for _, tensor := range tensors {
		if element := elements[tensor.Name]; element != nil {
			for i := range tensor.Len() {
				binary.LittleEndian.PutUint32(tensor.Data[4*i:], math.Float32bits(float32(element(i))))
			}
			found++
		}
	}
	if found != len(elements) {
		panic(fmt.Sprintf("testmodel: the checkpoint has %d of %d tensors", found, len(elements)))
	}
	var b bytes.Buffer
	if err := weights.Write(&b, nil, tensors); err != nil {
		panic(err) // of a buffer in memory
	}
	return fixture.Config(o), b.Bytes()
}
