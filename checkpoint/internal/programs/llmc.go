package programs

// The checkpoints of llm.c: model files of version 3 (float32) and 5 (bfloat16),
// and gpt2_tokenizer.bin, a list of tokens. It follows train_gpt2.py, which writes both, and
// train_gpt2.c, which reads them.
//
// A model file is 256 int32s and then each parameter of all layers. Vocabularies are padded to a
// multiple of 128; the tensors here do not have the padding rows.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/weights"
)

const (
	header     = 256 * 4
	modelMagic = 20240326
	stateMagic = 20240327 // of *_debug_state.bin
	tokenMagic = 20240328
)

// A Model is the contents of a model file. Its MLP is four times as wide as Embd, its activation is
// the tanh form of GELU, the epsilon of its norms is 1e-5, and its head is wte.
type Model struct {
	Positions, Vocab, Layers, Heads, Embd int

	// Tensors have Hugging Face's names and orientation. Their elements are those of the file.
	Tensors []weights.Tensor
}

// ParseModel checks a model file and returns its contents. If forget is not nil, the tensors' Done calls
// it with the part of b that is no longer needed.
func ParseModel(b []byte, forget func(part []byte)) (*Model, error) {
	dtype, err := checkStart(b)
	if err != nil {
		return nil, err
	}
	m, padded := &Model{}, 0
	for i, f := range []struct {
		name string
		dst  *int
		most int32
	}{
		{"max_seq_len", &m.Positions, 1 << 20}, {"vocab_size", &m.Vocab, 1 << 24},
		{"num_layers", &m.Layers, 1 << 12}, {"num_heads", &m.Heads, 1 << 16},
		{"channels", &m.Embd, 1 << 16}, {"padded_vocab_size", &padded, 1 << 24},
	} {
		n := int32(binary.LittleEndian.Uint32(b[8+4*i:]))
		if n < 1 || n > f.most {
			return nil, fmt.Errorf("%s: %d, want 1 to %d", f.name, n, f.most)
		}
		*f.dst = int(n)
	}
	if padded < m.Vocab {
		return nil, fmt.Errorf("padded_vocab_size: %d, want at least vocab_size, %d", padded, m.Vocab)
	}
	parameters := m.parameters(padded)
	want := int64(0)
	for _, p := range parameters {
		want += int64(p.times) * p.stride(dtype)
	}
	if int64(len(b)-header) != want {
		return nil, fmt.Errorf("%d bytes after the header, want %d for %d layers of %d channels, "+
			"%d rows of tokens and %d positions in %s", len(b)-header, want, m.Layers, m.Embd,
			padded, m.Positions, dtype)
	}
	m.cut(b[header:], parameters, dtype, forget)
	return m, nil
}

// checkStart returns the type of the elements of a model file.
func checkStart(b []byte) (weights.DType, error) {
	if len(b) < header {
		return "", fmt.Errorf("%d bytes, too short for a model of llm.c", len(b))
	}
	switch n := binary.LittleEndian.Uint32(b); n {
	case modelMagic:
	case stateMagic:
		return "", errors.New("a debug state of llm.c, which has no weights: want its model file")
	case tokenMagic:
		return "", errors.New("a list of tokens of llm.c, which has no weights: want its model file")
	default:
		return "", fmt.Errorf("begins with %s, want llm.c's number %d",
			quote.Short(string(b[:8]), 8), modelMagic)
	}
	switch version := int32(binary.LittleEndian.Uint32(b[4:])); version {
	case 3:
		return weights.F32, nil
	case 5:
		return weights.BF16, nil
	case 1, 2:
		return "", fmt.Errorf("version %d of llm.c's models, which has no padding: want 3 or 5; "+
			"write it again with a newer train_gpt2.py", version)
	default:
		return "", fmt.Errorf("version %d of llm.c's models, want 3 (F32) or 5 (BF16)", version)
	}
}

// A parameter is one array of the file.
type parameter struct {
	name  string // * stands for the number of a layer
	times int    // the number of layers, 1 for a parameter of the whole model
	rows  int    // in the file
	shape []int  // of one layer
	turn  bool   // stored as [out, in]
}

// parameters returns the arrays of the file in order.
func (m *Model) parameters(padded int) []parameter {
	c := m.Embd
	vector := func(name string, n int) parameter {
		return parameter{"h.*." + name, m.Layers, n, []int{n}, false}
	}
	matrix := func(name string, out, in int) parameter {
		return parameter{"h.*." + name, m.Layers, out, []int{out, in}, true}
	}
	return []parameter{
		{"wte.weight", 1, padded, []int{m.Vocab, c}, false},
		{"wpe.weight", 1, m.Positions, []int{m.Positions, c}, false},
		vector("ln_1.weight", c), vector("ln_1.bias", c),
		matrix("attn.c_attn.weight", 3*c, c), vector("attn.c_attn.bias", 3*c),
		matrix("attn.c_proj.weight", c, c), vector("attn.c_proj.bias", c),
		vector("ln_2.weight", c), vector("ln_2.bias", c),
		matrix("mlp.c_fc.weight", 4*c, c), vector("mlp.c_fc.bias", 4*c),
		matrix("mlp.c_proj.weight", c, 4*c), vector("mlp.c_proj.bias", c),
		{"ln_f.weight", 1, c, []int{c}, false}, {"ln_f.bias", 1, c, []int{c}, false},
	}
}

// stride returns the bytes of one layer of a parameter in the file: less than 2^43, by Parse's
// bounds.
func (p parameter) stride(dtype weights.DType) int64 {
	n := int64(p.rows) * int64(dtype.Size())
	for _, d := range p.shape[1:] {
		n *= int64(d)
	}
	return n
}

// cut makes the tensors from the bytes after the header.
func (m *Model) cut(
	b []byte, parameters []parameter, dtype weights.DType, forget func(part []byte),
) {
	for _, p := range parameters {
		for layer := range p.times {
			name := strings.Replace(p.name, "*", strconv.Itoa(layer), 1)
			t := weights.Tensor{Name: name, DType: dtype, Shape: p.shape}
			t.Data = b[:t.Size():t.Size()]
			b = b[p.stride(dtype):]
			if data := t.Data; p.turn {
				t = t.Transposed()
				if forget != nil {
					t.Done = func() { forget(data) }
				}
			}
			m.Tensors = append(m.Tensors, t)
		}
	}
}

// The list of tokens, gpt2_tokenizer.bin.

// Tokens checks a list of tokens and returns the bytes of each id, and the id that ends a text, or
// -1 if the file does not say it. Files of version 1 do not; llm.c assumes GPT-2's.
func Tokens(b []byte) (list [][]byte, endOfText int, err error) {
	if len(b) < header {
		return nil, 0, fmt.Errorf("%d bytes, too short for llm.c's tokens", len(b))
	}
	if n := binary.LittleEndian.Uint32(b); n != tokenMagic {
		return nil, 0, fmt.Errorf("begins with %s, want llm.c's number %d",
			quote.Short(string(b[:8]), 8), tokenMagic)
	}
	version, n := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	rest := b[header:]
	if int64(n) > int64(len(rest)) { // each has at least the byte of its length
		return nil, 0, fmt.Errorf("%d tokens, but only %d bytes follow: truncated?", n, len(rest))
	}
	switch end := binary.LittleEndian.Uint32(b[12:]); {
	case version == 1 && n == 50257:
		endOfText = 50256
	case version == 1:
		endOfText = -1
	case version != 2:
		return nil, 0, fmt.Errorf("version %d of llm.c's tokens, want 1 or 2", version)
	case end >= n:
		return nil, 0, fmt.Errorf("end-of-text token %d, want one of %d", end, n)
	default:
		endOfText = int(end)
	}
	list = make([][]byte, n)
	for i := range list {
		if len(rest) == 0 || int(rest[0]) > len(rest)-1 {
			return nil, 0, fmt.Errorf("token %d: longer than the file: truncated?", i)
		}
		size := int(rest[0])
		list[i], rest = rest[1:1+size], rest[1+size:]
	}
	if len(rest) > 0 {
		return nil, 0, fmt.Errorf("%d bytes after the last token, want none", len(rest))
	}
	return list, endOfText, nil
}
