package main

// GGUF version 3, as ggml's docs/gguf.md describes it, with the keys and names of llama.cpp's gpt2
// architecture.

import (
	"encoding/binary"
	"fmt"
	"io"

	"picogpt/tokenizer"
)

// GGUF's numbers for types of values.
const (
	ggufUint32  = 4
	ggufInt32   = 5
	ggufFloat32 = 6
	ggufString  = 8
	ggufArray   = 9
)

const ggufAlign = 32

// A ggufTensor has its dimensions innermost first. Its data are made only when it is written.
type ggufTensor struct {
	name string
	dims []int
	as   ggmlType
	data func() []float32
}

func (t ggufTensor) len() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// writeGGUF writes the checkpoint with its matrices in type t and as [out, in], ggml's order.
// Biases, layer norms and wpe stay float32, and wte never has less than 8 bits, as in our own q4.
func writeGGUF(w io.Writer, c *source, t ggmlType) error {
	tensors := ggufTensors(c, t)
	b := append([]byte("GGUF"), 3, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(tensors)))
	keys, n := ggufKeys(c, t)
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = append(b, keys...)
	at := 0
	for _, t := range tensors {
		b = ggufText(b, t.name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.dims)))
		for _, d := range t.dims {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(t.as))
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		at += aligned(t.as.size(t.len()), ggufAlign)
	}
	if _, err := w.Write(append(b, make([]byte,
		aligned(len(b), ggufAlign)-len(b))...)); err != nil {
		return err
	}
	for _, t := range tensors {
		data := t.as.encode(nil, t.data())
		if c.err != nil {
			return c.err
		}
		if len(data) != t.as.size(t.len()) {
			return fmt.Errorf("%s: %d bytes, want %d", t.name, len(data), t.as.size(t.len()))
		}
		if _, err := w.Write(append(data, make([]byte,
			aligned(len(data), ggufAlign)-len(data))...)); err != nil {
			return err
		}
	}
	return nil
}

func aligned(n, to int) int { return (n + to - 1) / to * to }

func ggufTensors(c *source, t ggmlType) []ggufTensor {
	var ts []ggufTensor
	g := c.config
	head := t
	if t == ggmlQ4 {
		head = ggmlQ8
	}
	vector := func(name, ours string, n int) {
		ts = append(ts, ggufTensor{name, []int{n}, ggmlF32,
			func() []float32 { return c.floats(ours, n) }})
	}
	norm := func(name, ours string) {
		vector(name+".weight", ours+".weight", g.Embd)
		vector(name+".bias", ours+".bias", g.Embd)
	}
	linear := func(name, ours string, in, out int) {
		ts = append(ts, ggufTensor{name + ".weight", []int{in, out}, t,
			func() []float32 { return c.transposed(ours+".weight", in, out) }})
		vector(name+".bias", ours+".bias", out)
	}
	table := func(name, ours string, rows int, as ggmlType) {
		ts = append(ts, ggufTensor{name, []int{g.Embd, rows}, as,
			func() []float32 { return c.floats(ours, rows*g.Embd) }})
	}
	table("token_embd.weight", "wte.weight", g.VocabSize, head)
	table("position_embd.weight", "wpe.weight", g.Positions, ggmlF32)
	for i := range g.Layer {
		theirs, ours := fmt.Sprintf("blk.%d.", i), fmt.Sprintf("h.%d.", i)
		norm(theirs+"attn_norm", ours+"ln_1")
		linear(theirs+"attn_qkv", ours+"attn.c_attn", g.Embd, 3*g.Embd)
		linear(theirs+"attn_output", ours+"attn.c_proj", g.Embd, g.Embd)
		norm(theirs+"ffn_norm", ours+"ln_2")
		linear(theirs+"ffn_up", ours+"mlp.c_fc", g.Embd, g.Inner)
		linear(theirs+"ffn_down", ours+"mlp.c_proj", g.Inner, g.Embd)
	}
	norm("output_norm", "ln_f")
	if c.untied() != nil {
		ts = append(ts, ggufTensor{"output.weight", []int{g.Embd, g.VocabSize}, head, c.untied})
	}
	return ts
}

// ggufKeys returns the metadata and the number of its keys.
func ggufKeys(c *source, t ggmlType) (b []byte, n int) {
	key := func(name string, kind uint32) {
		b = binary.LittleEndian.AppendUint32(ggufText(b, name), kind)
		n++
	}
	number := func(name string, v int) {
		key(name, ggufUint32)
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	text := func(name, v string) {
		key(name, ggufString)
		b = ggufText(b, v)
	}
	list := func(name string, kind uint32, length int) {
		key(name, ggufArray)
		b = binary.LittleEndian.AppendUint32(b, kind)
		b = binary.LittleEndian.AppendUint64(b, uint64(length))
	}
	g := c.config
	text("general.architecture", "gpt2")
	text("general.name", "picogpt peer")
	number("general.file_type", t.fileType())
	number("general.quantization_version", 2)
	number("gpt2.context_length", g.Positions)
	number("gpt2.embedding_length", g.Embd)
	number("gpt2.feed_forward_length", g.Inner)
	number("gpt2.block_count", g.Layer)
	number("gpt2.attention.head_count", g.Head)
	key("gpt2.attention.layer_norm_epsilon", ggufFloat32)
	b = append(b, floatBytes([]float32{float32(g.LayerNormEpsilon)})...)

	// llama.cpp opens no file without a vocabulary. The benchmark uses only ids, so one merge is
	// enough.
	text("tokenizer.ggml.model", "gpt2")
	text("tokenizer.ggml.pre", "gpt-2")
	list("tokenizer.ggml.tokens", ggufString, g.VocabSize)
	for _, token := range vocabulary(g.VocabSize) {
		b = ggufText(b, token)
	}
	list("tokenizer.ggml.token_type", ggufInt32, g.VocabSize)
	for i := range g.VocabSize {
		kind := uint32(1) // normal
		if i == g.VocabSize-1 {
			kind = 3 // control
		}
		b = binary.LittleEndian.AppendUint32(b, kind)
	}
	list("tokenizer.ggml.merges", ggufString, 1)
	b = ggufText(b, "Ġ t")
	number("tokenizer.ggml.bos_token_id", g.VocabSize-1)
	number("tokenizer.ggml.eos_token_id", g.VocabSize-1)
	return b, n
}

func ggufText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// vocabulary returns n different tokens: first GPT-2's own, in the byte alphabet of its vocab.json.
func vocabulary(n int) []string {
	t := tokenizer.GPT2()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("<%d>", i)
		if text, err := t.Text(i); err == nil && i < n-1 {
			names[i] = visible([]byte(text))
		}
	}
	return names
}

// visible returns bytes in GPT-2's alphabet: printable Latin-1 as itself, the other 68 bytes in
// order from U+0100.
func visible(bytes []byte) string {
	var s []rune
	for _, b := range bytes {
		s = append(s, alphabet(b))
	}
	return string(s)
}

func alphabet(b byte) rune {
	printable := func(b int) bool {
		return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xff &&
			b != 0xad
	}
	if printable(int(b)) {
		return rune(b)
	}
	r := rune(0x100)
	for i := range int(b) {
		if !printable(i) {
			r++
		}
	}
	return r
}
