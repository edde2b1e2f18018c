package gpu

// The parameters of a model in the device's memory.

import (
	"context"
	"fmt"
	"unsafe"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// Tensors are stack.Params on the device.
type tensors struct {
	wte, head matrix
	wpe       Buffer // [n_positions, n_embd]
	h         []block
	lnF       norm
}

// A block is one layer of the decoder.
type block struct {
	ln1, ln2                      norm
	cAttn, attnProj, cFC, mlpProj linear
	scale                         float32 // of the attention scores
}

type norm struct{ gain, bias Buffer } // [n_embd]

type linear struct {
	matrix
	bias Buffer // [out]; 0 for none
}

// A matrix is weights [in, out] in a number format.
type matrix struct {
	weights Buffer
	format  kernels.Format
	in, out int
}

// A loader writes parameters to the device. It keeps the first error, and loads nothing after it.
type loader struct {
	ctx     context.Context
	driver  Driver
	info    *Info
	buffers []Buffer // all that it has made
	bytes   int64    // size of the buffers
	err     error
}

// load writes the parameters.
func (l *loader) load(p *stack.Params) (s tensors) {
	s.wte = l.matrix(&p.WTE)
	s.head = s.wte
	if p.LMHead != &p.WTE {
		s.head = l.matrix(p.LMHead)
	}
	s.wpe = l.floats(p.WPE)
	for i := range p.H {
		h := &p.H[i]
		s.h = append(s.h, block{
			ln1: l.norm(h.Ln1), ln2: l.norm(h.Ln2),
			cAttn: l.linear(&h.CAttn), attnProj: l.linear(&h.AttnProj),
			cFC: l.linear(&h.CFC), mlpProj: l.linear(&h.MLPProj),
			scale: h.Scale,
		})
	}
	s.lnF = l.norm(p.LnF)
	return s
}

// paramBytes returns the size of all parameters.
func paramBytes(p *stack.Params) int64 {
	n := p.WTE.Bytes() + 4*int64(len(p.WPE)+2*p.Embd)
	if p.LMHead != &p.WTE {
		n += p.LMHead.Bytes()
	}
	for i := range p.H {
		n += 4 * int64(4*p.Embd)
		for _, m := range p.H[i].Linears() {
			n += m.Weight.Bytes() + 4*int64(len(m.Bias))
		}
	}
	return n
}

func (l *loader) norm(n stack.Norm) norm { return norm{l.floats(n.Gain), l.floats(n.Bias)} }

func (l *loader) linear(from *stack.Linear) linear {
	return linear{l.matrix(&from.Weight), l.floats(from.Bias)}
}

func (l *loader) matrix(m *kernels.Matrix) matrix {
	dst := matrix{format: m.Format, in: m.In, out: m.Out}
	switch m.Format {
	case kernels.F32:
		dst.weights = l.floats(m.F32)
	case kernels.F16, kernels.BF16:
		dst.weights = l.write(bytesOf(m.F16))
	default:
		dst.weights = l.write(m.Blocks)
	}
	return dst
}

func (l *loader) floats(x []float32) Buffer { return l.write(bytesOf(x)) }

// write makes a buffer with some bytes.
func (l *loader) write(from []byte) Buffer {
	if l.err == nil {
		l.err = l.ctx.Err()
	}
	if l.err != nil {
		return 0
	}
	n := int64(len(from))
	if most := l.info.MostOne; most > 0 && n > most {
		l.err = fmt.Errorf("a tensor takes %d bytes, want at most %d, the device's largest buffer",
			n, most)
		return 0
	}
	b, err := l.driver.Alloc(max(n, 1))
	if err != nil {
		l.err = fmt.Errorf("weights: %d bytes beside %d: %w", n, l.bytes, err)
		return 0
	}
	l.buffers, l.bytes = append(l.buffers, b), l.bytes+n
	if err := l.driver.Write(b, 0, from); err != nil {
		l.err = fmt.Errorf("weights: %w", err)
	}
	return b
}

// bytesOf returns the memory of a slice of numbers as bytes.
func bytesOf[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}
