package model

// The tensors of a checkpoint as the parameters of the stack.

import (
	"fmt"
	"math"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// stack reads the tensors that the configuration asks for, in the order of the forward pass.
func (l *loader) stack() *stack.Params {
	c := &l.config
	p := &stack.Params{
		Vocab: c.VocabSize, Positions: c.Positions, Embd: c.Embd, Heads: c.Head, Inner: c.Inner,
		CacheFormat: l.cache,
		Epsilon:     float32(c.LayerNormEpsilon), Activation: c.Activation.kernel(),
	}
	p.WTE = l.embedding()
	p.WPE = l.floats("wpe.weight", c.Positions, c.Embd)
	for i := 0; i < c.Layer && l.err == nil; i++ {
		h := fmt.Sprintf("h.%d.", i)
		p.H = append(p.H, stack.Block{
			Ln1:      l.norm(h + "ln_1"),
			CAttn:    l.linear(h+"attn.c_attn", c.Embd, 3*c.Embd),
			AttnProj: l.linear(h+"attn.c_proj", c.Embd, c.Embd),
			Ln2:      l.norm(h + "ln_2"),
			CFC:      l.linear(h+"mlp.c_fc", c.Embd, c.Inner),
			MLPProj:  l.linear(h+"mlp.c_proj", c.Inner, c.Embd),
			Scale:    c.attentionScale(i),
		})
	}
	p.LnF = l.norm("ln_f")
	p.LMHead = l.lmHead(&p.WTE)
	return p
}

// attentionScale returns the factor of a layer's attention scores.
func (c *Config) attentionScale(layer int) float32 {
	scale := 1.0
	if c.ScaleAttnWeights {
		scale = 1 / math.Sqrt(float64(c.Embd/c.Head))
	}
	if c.ScaleAttnByInverseLayerIdx {
		scale /= float64(layer + 1)
	}
	return float32(scale)
}

func (a Activation) kernel() kernels.Activation {
	switch a.Plain() {
	case GELU:
		return kernels.GELUErf
	case QuickGELU:
		return kernels.QuickGELU
	case ReLU:
		return kernels.ReLU
	case SiLU:
		return kernels.SiLU
	case Tanh:
		return kernels.Tanh
	case ReLU2:
		return kernels.ReLU2
	case Mish:
		return kernels.Mish
	default: // gelu_new
		return kernels.GELUTanh
	}
}
