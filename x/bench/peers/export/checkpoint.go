package main

// Reading a checkpoint of any float type as float32.

import (
	"fmt"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights"
)

// A source is a checkpoint to be exported. It keeps the first error of its tensors, which the writers
// check once, at the end.
type source struct {
	config model.Config
	file   *weights.Tensors
	prefix string // "transformer." if the file has it
	err    error
}

// openCheckpoint opens a directory and refuses what llama.cpp's gpt2 graph cannot compute.
func openCheckpoint(dir string) (*source, error) {
	opened, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	config, file := opened.Config, opened.Tensors
	if config.Activation.Plain() != model.GELUNew || !config.ScaleAttnWeights ||
		config.ScaleAttnByInverseLayerIdx {
		return nil, fmt.Errorf("%s: the peers compute GPT-2 with tanh GELU and plainly scaled attention, not %s", dir, config.Activation)
	}
	if config.Embd%32 != 0 || config.Inner%32 != 0 {
		return nil, fmt.Errorf("%s: n_embd %d, n_inner %d: want multiples of 32, the peers' quantized blocks", dir, config.Embd, config.Inner)
	}
	c := &source{config: config, file: file}
	if _, ok := file.Tensor("wte.weight"); !ok {
		c.prefix = "transformer."
	}
	return c, nil
}

// untied returns the head's own matrix, or nil if the head is wte.
func (c *source) untied() []float32 {
	if _, ok := c.file.Tensor("lm_head.weight"); !ok {
		return nil
	}
	return c.named("lm_head.weight", c.config.VocabSize*c.config.Embd)
}

// floats returns n numbers of a tensor, row-major.
func (c *source) floats(name string, n int) []float32 { return c.named(c.prefix+name, n) }

func (c *source) named(name string, n int) []float32 {
	t, ok := c.file.Tensor(name)
	x, err := []float32(nil), fmt.Errorf("not in the file")
	if ok {
		x, err = t.Float32s()
	}
	if err == nil && len(x) != n {
		err = fmt.Errorf("%d numbers, want %d", len(x), n)
	}
	if err != nil {
		if c.err == nil {
			c.err = fmt.Errorf("%s: %w", name, err)
		}
		return make([]float32, n)
	}
	return x
}

// transposed returns a Conv1D weight [in, out] as [out, in].
func (c *source) transposed(name string, in, out int) []float32 {
	x := c.floats(name, in*out)
	y := make([]float32, len(x))
	for i := range in {
		for j := range out {
			y[j*in+i] = x[i*out+j]
		}
	}
	return y
}
