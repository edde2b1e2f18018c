package main

// GPT-2 as an ONNX graph with a KV cache, with the operators that are fastest in ONNX Runtime on a
// CPU.

import (
	"fmt"
)

// gpt2Graph builds the graph of one step: the tokens [1, n_seq] at their positions, each block's
// cache [1, n_head, n_ctx, head_size], and as outputs of each block the keys and values to add to
// it, [1, n_seq, 2*n_embd]. The caches themselves are no outputs: onnxruntime-node copies every
// output into new memory, even if it is given memory. There are logits only for the last token.
func gpt2Graph(g *graph, c *source, bits int) {
	k := c.config
	g.inputs.message(11, value("tokens", onnxInt64, 1, "n_seq"))
	g.inputs.message(11, value("positions", onnxInt64, 1, "n_seq"))
	g.inputs.message(11, value("last", onnxInt32, 1))  // total minus 1
	g.inputs.message(11, value("total", onnxInt32, 1)) // tokens in the cache after this step
	wte := g.weight("wte", onnxFloat, floatBytes(c.floats("wte.weight", k.VocabSize*k.Embd)),
		k.VocabSize, k.Embd)
	wpe := g.weight("wpe", onnxFloat, floatBytes(c.floats("wpe.weight", k.Positions*k.Embd)),
		k.Positions, k.Embd)
	g.integers("split", k.Embd, 2*k.Embd) // of c_attn's output: queries; keys and values
	b := &builder{g, c, bits}
	// [1, n_seq, n_embd]
	x := g.node("Add", []string{g.node("Gather", []string{wte, "tokens"}),
		g.node("Gather", []string{wpe, "positions"})})
	for i := range k.Layer {
		x = b.block(i, x)
	}
	// [1, 1, n_embd]
	x = g.node("Gather", []string{x, g.integers("end", -1)}, attribute{"axis", 1})
	x = g.node("Reshape", []string{b.norm("ln_f", x), g.integers("row", 1, k.Embd)}) // [1, n_embd]
	b.head(x, wte)
	g.outputs.message(12, value("logits", onnxFloat, 1, k.VocabSize))
}

type builder struct {
	*graph
	c    *source
	bits int
}

// block is one transformer block: [1, n_seq, n_embd] -> [1, n_seq, n_embd].
func (b *builder) block(i int, x string) string {
	k, h := b.c.config, fmt.Sprintf("h.%d.", i)
	qkv := b.linear(h+"attn.c_attn", b.norm(h+"ln_1", x), k.Embd, 3*k.Embd) // [1, n_seq, 3*n_embd]
	a := b.linear(h+"attn.c_proj", b.attention(i, qkv), k.Embd, k.Embd)
	x = b.node("Add", []string{x, a})
	m := b.linear(h+"mlp.c_fc", b.norm(h+"ln_2", x), k.Embd, k.Inner) // [1, n_seq, n_inner]
	m = b.node("Gelu", []string{m}, attribute{"approximate", "tanh"}) // [1, n_seq, n_inner]
	return b.node("Add", []string{x, b.linear(h+"mlp.c_proj", m, k.Inner, k.Embd)})
}

// attention is com.microsoft.GroupQueryAttention, with a key and value head for each query head,
// applied to c_attn's output.
func (b *builder) attention(i int, qkv string) string {
	k := b.c.config
	past := []string{fmt.Sprintf("keys_%d", i), fmt.Sprintf("values_%d", i)}
	for _, name := range past {
		b.inputs.message(11, value(name, onnxFloat, 1, k.Head, "n_ctx", k.Embd/k.Head))
	}
	added := fmt.Sprintf("added_%d", i)
	b.nodeTo([]string{"queries_" + added, added}, "", "Split", []string{qkv, "split"},
		attribute{"axis", -1})
	b.outputs.message(12, value(added, onnxFloat, 1, "n_seq", 2*k.Embd))
	out := fmt.Sprintf("attention_%d", i)
	b.nodeTo([]string{out, out + ".keys", out + ".values"}, "com.microsoft", "GroupQueryAttention",
		[]string{qkv, "", "", past[0], past[1], "last", "total"},
		attribute{"num_heads", k.Head}, attribute{"kv_num_heads", k.Head})
	return out
}

func (b *builder) norm(name, x string) string {
	n := b.c.config.Embd
	gain := b.weight(name+".weight", onnxFloat, floatBytes(b.c.floats(name+".weight", n)), n)
	bias := b.weight(name+".bias", onnxFloat, floatBytes(b.c.floats(name+".bias", n)), n)
	return b.node("LayerNormalization", []string{x, gain, bias}, attribute{"axis", -1},
		attribute{"epsilon", float32(b.c.config.LayerNormEpsilon)})
}

// linear is x·w + b, with w [in, out] as Conv1D stores it, or in blocks.
func (b *builder) linear(name, x string, in, out int) string {
	bias := b.weight(name+".bias", onnxFloat, floatBytes(b.c.floats(name+".bias", out)), out)
	if b.bits < 32 {
		y := b.blocks(name, x, b.c.transposed(name+".weight", in, out), in, out, b.bits)
		return b.node("Add", []string{y, bias})
	}
	w := b.weight(name+".weight", onnxFloat, floatBytes(b.c.floats(name+".weight", in*out)), in,
		out)
	return b.node("Add", []string{b.node("MatMul", []string{x, w}), bias})
}

// head computes the logits [1, n_vocab], with wte or a head of its own; never in fewer than 8 bits.
func (b *builder) head(x, wte string) {
	k := b.c.config
	own := b.c.untied()
	if b.bits < 32 {
		if own == nil {
			own = b.c.floats("wte.weight", k.VocabSize*k.Embd)
		}
		b.nodeTo([]string{"logits"}, "", "Identity",
			[]string{b.blocks("head", x, own, k.Embd, k.VocabSize, 8)})
		return
	}
	if own != nil {
		wte = b.weight("lm_head", onnxFloat, floatBytes(own), k.VocabSize, k.Embd)
	}
	b.nodeTo([]string{"logits"}, "", "Gemm", []string{x, wte}, attribute{"transB", 1})
}

// blocks is x·w with w [out, in] in the form of com.microsoft.MatMulNBits: blocks of 32 along in,
// each with a float32 scale; the integers are unsigned around the middle of their range.
// accuracy_level 4 allows rounding the activations to 8 bits, as ggml does.
func (b *builder) blocks(name, x string, w []float32, in, out, bits int) string {
	middle := 1 << (bits - 1)
	var packed []byte
	var scales []float32
	for ; len(w) > 0; w = w[32:] {
		block := (*[32]float32)(w)
		d := abs(widest(block)) / float32(middle-1)
		if bits == 4 {
			d = widest(block) / -8
		}
		scales = append(scales, d)
		for i := 0; i < 32; i += 8 / bits {
			q := byte(quantized(block[i], d, middle))
			if bits == 4 {
				q |= byte(quantized(block[i+1], d, middle)) << 4
			}
			packed = append(packed, q)
		}
	}
	y := fmt.Sprintf("%s.product", name)
	b.nodeTo([]string{y}, "com.microsoft", "MatMulNBits", []string{
		x,
		b.weight(name+".blocks", onnxUint8, packed, out, in/32, 32*bits/8),
		b.weight(name+".scales", onnxFloat, floatBytes(scales), out, in/32),
	}, attribute{"K", in}, attribute{"N", out}, attribute{"bits", bits},
		attribute{"block_size", 32}, attribute{"accuracy_level", 4})
	return y
}

// quantized returns v/d rounded, around the middle.
func quantized(v, d float32, middle int) int {
	return min(2*middle-1, nearest(v, d)+middle)
}
