package model

// Params: the weights of the stack under GPT-2's names, as a checkpoint's tensors are told apart.

import (
	"fmt"
	"math"

	"picogpt/kernels"
)

// params are the weights of the stack.
type params struct {
	wte        kernels.Matrix  // [vocab_size, n_embd]: a token's embedding is a row
	wpe        []float32       // [n_positions, n_embd]
	h          []block         // [n_layer]
	lnF        norm            // [n_embd]
	head       *kernels.Matrix // [vocab_size, n_embd]: wte, or lm_head where the file has another
	activation kernels.Activation
}

// A block is one layer of the decoder.
type block struct {
	ln1, ln2        norm
	cAttn, attnProj linear  // [n_embd, 3*n_embd], [n_embd, n_embd]
	cFC, mlpProj    linear  // [n_embd, n_inner], [n_inner, n_embd]
	scale           float32 // of the attention scores
}

type norm struct{ gain, bias []float32 } // [n_embd]

type linear struct {
	weight kernels.Matrix // [in, out]
	bias   []float32      // [out]
}

// linears lists the layers whose weights every token reads.
func (b *block) linears() []*linear {
	return []*linear{&b.cAttn, &b.attnProj, &b.cFC, &b.mlpProj}
}

// layerSize returns the number of weights in a layer.
func (p *params) layerSize() int {
	n := 0
	for _, l := range p.h[0].linears() {
		n += l.weight.In * l.weight.Out
	}
	return n
}

// stack reads the tensors that the configuration asks for, in the order of the forward pass.
func (l *loader) stack() *params {
	c := &l.config
	p := &params{activation: c.Activation.kernel()}
	p.wte = l.embedding()
	p.wpe = l.floats("wpe.weight", c.Positions, c.Embd)
	for i := 0; i < c.Layer && l.err == nil; i++ {
		h := fmt.Sprintf("h.%d.", i)
		p.h = append(p.h, block{
			ln1:      l.norm(h + "ln_1"),
			cAttn:    l.linear(h+"attn.c_attn", c.Embd, 3*c.Embd),
			attnProj: l.linear(h+"attn.c_proj", c.Embd, c.Embd),
			ln2:      l.norm(h + "ln_2"),
			cFC:      l.linear(h+"mlp.c_fc", c.Embd, c.Inner),
			mlpProj:  l.linear(h+"mlp.c_proj", c.Inner, c.Embd),
			scale:    c.attentionScale(i),
		})
	}
	p.lnF = l.norm("ln_f")
	p.head = l.head(&p.wte)
	return p
}

// attentionScale returns what the attention scores of a layer are multiplied by.
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
	switch a {
	case GELU:
		return kernels.GELUErf
	case QuickGELU:
		return kernels.QuickGELU
	case ReLU:
		return kernels.ReLU
	case SiLU, Swish:
		return kernels.SiLU
	case Tanh:
		return kernels.Tanh
	default: // gelu_new, gelu_pytorch_tanh, gelu_fast
		return kernels.GELUTanh
	}
}
