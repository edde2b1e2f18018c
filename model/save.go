package model

// Save: a model's weights as a safetensors file, in the model's number format.

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"picogpt/internal/outfile"
	"picogpt/kernels"
	"picogpt/model/stack"
	"picogpt/weights"
)

// Save writes the model's weights to a file that checkpoint.Open maps without conversion: f32, f16
// and bf16 as Hugging Face stores them, q8 and q4 in this project's layout. Names have no prefix;
// the tensors that Ignored lists are left out. config.json is not written.
//
// In q8 and q4 a matrix is a U8 tensor [tiles, bytes in a tile] under its usual name, with the
// bytes that kernels/quant.go describes; wte, and lm_head if there is one, are q8 in both. wpe,
// layer norms and biases are F32 in all formats. The file's metadata has the format's name under
// "picogpt.format".
//
// Save takes its turn with Eval. If the context ends, no file is left.
func (m *Model) Save(ctx context.Context, path string) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return weights.WriteFile(ctx, path, m.metadata(), m.tensors())
}

// SaveTo writes the bytes of Save's file to w.
func (m *Model) SaveTo(ctx context.Context, w io.Writer) error {
	return m.Export(ctx, func(tensors []weights.Tensor) error {
		return weights.Write(outfile.Cancellable(ctx, w), m.metadata(), tensors)
	})
}

// Export calls f with the tensors that Save writes, in the order of the forward pass. They are
// valid until f returns. Export takes its turn with Eval.
func (m *Model) Export(ctx context.Context, f func(tensors []weights.Tensor) error) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return f(m.tensors())
}

// SaveSize returns the number of bytes of all tensors that Save writes. The file has a header
// besides.
func (m *Model) SaveSize() int64 {
	var n int64
	for _, t := range m.tensors() {
		n += t.Size()
	}
	return n
}

func (m *Model) metadata() map[string]string {
	return map[string]string{"format": "pt", "picogpt.format": m.Format()}
}

// tensors returns the tensors of the stack in the order of the forward pass.
func (m *Model) tensors() []weights.Tensor {
	p, c := m.params, &m.config
	ts := []weights.Tensor{matrixTensor("wte.weight", &p.WTE),
		floatsTensor("wpe.weight", p.WPE, c.Positions, c.Embd)}
	ln := func(name string, n stack.Norm) {
		ts = append(ts, floatsTensor(name+".weight", n.Gain, c.Embd),
			floatsTensor(name+".bias", n.Bias, c.Embd))
	}
	layer := func(name string, l *stack.Linear) {
		ts = append(ts, matrixTensor(name+".weight", &l.Weight),
			floatsTensor(name+".bias", l.Bias, l.Weight.Out))
	}
	for i := range p.H {
		b, h := &p.H[i], fmt.Sprintf("h.%d.", i)
		ln(h+"ln_1", b.Ln1)
		layer(h+"attn.c_attn", &b.CAttn)
		layer(h+"attn.c_proj", &b.AttnProj)
		ln(h+"ln_2", b.Ln2)
		layer(h+"mlp.c_fc", &b.CFC)
		layer(h+"mlp.c_proj", &b.MLPProj)
	}
	ln("ln_f", p.LnF)
	// a config that does not tie wants a head in the file, even if the head is wte
	if p.LMHead != &p.WTE || !c.TieWordEmbeddings {
		ts = append(ts, matrixTensor(headNames[0], p.LMHead))
	}
	return ts
}

func floatsTensor(name string, x []float32, shape ...int) weights.Tensor {
	return weights.Tensor{Name: name, DType: weights.F32, Shape: shape,
		Fill: func(dst []byte, from int64) error {
			for i := range len(dst) / 4 {
				v := x[int(from)/4+i]
				binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
			}
			return nil
		}}
}

func matrixTensor(name string, m *kernels.Matrix) weights.Tensor {
	shape := []int{m.In, m.Out}
	if m.Layout == kernels.OutIn {
		shape = []int{m.Out, m.In}
	}
	switch m.Format {
	case kernels.F32:
		return floatsTensor(name, m.F32, shape...)
	case kernels.F16, kernels.BF16:
		t := weights.Tensor{Name: name, DType: weights.F16, Shape: shape}
		if m.Format == kernels.BF16 {
			t.DType = weights.BF16
		}
		t.Fill = func(dst []byte, from int64) error {
			for i := range len(dst) / 2 {
				binary.LittleEndian.PutUint16(dst[2*i:], m.F16[int(from)/2+i])
			}
			return nil
		}
		return t
	default:
		return weights.Tensor{Name: name, DType: weights.U8,
			Shape: blocksShape(m.Format, m.In, m.Out), Data: m.Blocks}
	}
}
