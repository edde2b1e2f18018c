// Package stack is what a decoder is made of: its sizes and weights under GPT-2's names ([Params]),
// the places of the forward pass whose values can be read ([Point]), and what changes them ([Edit]).
// Package model computes with it, and has names of its own for the types that its callers need.
package stack

import (
	"unsafe"

	"picogpt/kernels"
)

// A Best holds the greatest logits of a row whose logits are all finite: the k greatest, and all
// others that equal the least of these. Top-k keeps the same ones.
type Best struct {
	IDs       []int32   // ascending
	Logits    []float32 // [len(IDs)]
	LogSumExp float64   // of the whole row, computed as kernels.Leaves does
}

// Params: the sizes of a decoder and its weights, under GPT-2's names.

// Params are the parameters of a model. They are immutable.
type Params struct {
	Vocab     int // vocab_size
	Positions int // n_positions
	Embd      int // n_embd
	Heads     int // n_head; each is n_embd/n_head wide
	Inner     int // n_inner

	CacheFormat kernels.Format // of keys and values: F32, F16 or Q8, see kernels.KV

	Epsilon    float32 // layer_norm_epsilon
	Activation kernels.Activation

	WTE kernels.Matrix // [vocab_size, n_embd]: a token's embedding is a row
	WPE []float32      // [n_positions, n_embd]
	H   []Block        // [n_layer]
	LnF Norm           // [n_embd]
	// [vocab_size, n_embd]: &WTE, or lm_head if the checkpoint has one that differs; nil for no head
	LMHead *kernels.Matrix
}

// A Block is one layer of the decoder.
type Block struct {
	Ln1, Ln2        Norm
	CAttn, AttnProj Linear  // [n_embd, 3*n_embd], [n_embd, n_embd]
	CFC, MLPProj    Linear  // [n_embd, n_inner], [n_inner, n_embd]
	Scale           float32 // of the attention scores
}

// A Norm holds the parameters of a layer norm.
type Norm struct{ Gain, Bias []float32 } // [n_embd]

// A Linear holds the parameters of a linear layer.
type Linear struct {
	Weight kernels.Matrix // [in, out]
	Bias   []float32      // [out]
}

// Same reports whether two layers have one memory: nothing of them differs.
func (l *Linear) Same(o *Linear) bool {
	a, b := &l.Weight, &o.Weight
	return l == o || unsafe.SliceData(a.F32) == unsafe.SliceData(b.F32) &&
		unsafe.SliceData(a.F16) == unsafe.SliceData(b.F16) &&
		unsafe.SliceData(a.Blocks) == unsafe.SliceData(b.Blocks) &&
		unsafe.SliceData(l.Bias) == unsafe.SliceData(o.Bias)
}

// Same reports whether two norms have one memory.
func (n *Norm) Same(o *Norm) bool {
	return unsafe.SliceData(n.Gain) == unsafe.SliceData(o.Gain) &&
		unsafe.SliceData(n.Bias) == unsafe.SliceData(o.Bias)
}

// HeadDim returns the width of a head.
func (p *Params) HeadDim() int { return p.Embd / p.Heads }

// KVRow returns how many elements of a cache the keys, and the values, of a token take in all layers.
func (p *Params) KVRow() (keys, values int) {
	key, value := kernels.KVRow(p.CacheFormat, p.HeadDim(), p.HeadDim())
	return len(p.H) * p.Heads * key, len(p.H) * p.Heads * value
}

// Linears returns the linear layers of a block: every token reads all their weights.
func (b *Block) Linears() []*Linear {
	return []*Linear{&b.CAttn, &b.AttnProj, &b.CFC, &b.MLPProj}
}

// Weights returns the number of weights in the linear layers of a block.
func (b *Block) Weights() int {
	n := 0
	for _, l := range b.Linears() {
		n += l.Weight.In * l.Weight.Out
	}
	return n
}

// Bytes returns the number of bytes of weights that one decoding step reads: the linear layers and
// the head.
func (p *Params) Bytes() int64 {
	var n int64
	if p.LMHead != nil {
		n = p.LMHead.Bytes()
	}
	for i := range p.H {
		for _, l := range p.H[i].Linears() {
			n += l.Weight.Bytes()
		}
	}
	return n
}
