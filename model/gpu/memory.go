package gpu

// What a model takes of a device's memory: its parameters, scratch memory for the rows of a pass,
// and how much is left. What does not fit is said before it is tried.

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"picogpt/internal/engine"
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
	if p.LMHead != nil && p.LMHead != &p.WTE {
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
	if p.LMHead != nil && p.LMHead != &p.WTE {
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

// A scratch holds buffers for that many rows.
type scratch struct {
	rows, words int

	plan    Buffer // [words] int32
	x, norm Buffer // [rows, n_embd]
	parts   Buffer // [segments, rows, out]: the partial sums of a linear layer
	qkv     Buffer // [rows, 3, n_embd]
	inner   Buffer // [rows, n_inner]; of one row it may be [segments, n_inner]
	q       Buffer // [rows, ⌈in/32⌉·32] int16: the inputs of a linear layer as integers
	scales  Buffer // [rows]
	hidden  Buffer // [groupRows, n_embd]
	logits  Buffer // [groupRows, vocab_size]

	// for kernels/best.cl, if the device has float64
	maxima Buffer // [groupRows, runs]
	terms  Buffer // [groupRows, runs·64] float64
	best   Buffer // [groupRows, bestWords]

	// memory of the host for what recordings copy, if the driver has some: a plan, and results of
	// best.cl
	hostPlan, hostBest []byte

	all   []Buffer
	bytes int64 // of all
}

// fits reports whether there is room for a pass.
func (s *scratch) fits(rows, words int) bool { return rows <= s.rows && words <= s.words }

// list returns the index in a plan at which the groups of attention begin.
func (s *scratch) list() int { return 4 * s.rows }

// newScratch makes room for a pass, and for somewhat larger ones. best is how many of the greatest
// logits of a row the device can choose.
func newScratch(d Driver, p *stack.Params, best, rows, words int) (s scratch, err error) {
	up := func(n, least int) int { return max(least, 1<<bits.Len(uint(n-1))) }
	s.rows = up(rows, 16)
	s.words = up(words+6*(s.rows-rows), leastPlan)
	group := min(s.rows, engine.GroupRows)
	blocks := groups(max(p.Embd, p.Inner), 32)
	parts := 0           // for one row
	for i := range p.H { // whose formats may differ
		for _, l := range p.H[i].Linears() {
			segments := 1
			if l.Weight.Format < kernels.Q8 {
				segments = groups(l.Weight.In, segment)
			}
			parts = max(parts, segments*l.Weight.Out)
		}
	}
	runs := runsOf(p.Vocab)
	if best == 0 {
		runs = 0
	}
	for _, b := range []struct {
		buffer *Buffer
		words  int // of 4 bytes
	}{
		{&s.plan, s.words}, {&s.x, s.rows * p.Embd}, {&s.norm, s.rows * p.Embd},
		{&s.parts, s.rows * parts}, {&s.qkv, s.rows * 3 * p.Embd},
		{&s.inner, max(s.rows, groups(p.Embd, segment)) * p.Inner},
		{&s.q, s.rows * blocks * 16}, {&s.scales, s.rows},
		{&s.hidden, group * p.Embd}, {&s.logits, group * p.Vocab},
		{&s.maxima, group * runs}, {&s.terms, group * 2 * runs * runLogits},
		{&s.best, group * bestWords(best)},
	} {
		if b.words == 0 {
			continue
		}
		*b.buffer, err = d.Alloc(4 * int64(b.words))
		if err != nil {
			s.free(d)
			return scratch{}, fmt.Errorf("memory for %d rows: %w", rows, err)
		}
		s.all, s.bytes = append(s.all, *b.buffer), s.bytes+4*int64(b.words)
	}
	if err := s.pin(d, best); err != nil {
		s.free(d)
		return scratch{}, err
	}
	return s, nil
}

// pin sets hostPlan and hostBest.
func (s *scratch) pin(d Driver, best int) (err error) {
	pinner, ok := d.(Pinner)
	if !ok {
		return nil
	}
	if s.hostPlan, err = pinner.Pin(4 * s.words); err == nil && best > 0 {
		s.hostBest, err = pinner.Pin(4 * min(s.rows, mostFew) * bestWords(best))
	}
	return fromDevice(err)
}

// free gives the memory back.
func (s *scratch) free(d Driver) {
	for _, b := range s.all {
		d.Free(b)
	}
	for _, memory := range [][]byte{s.hostPlan, s.hostBest} {
		if memory != nil {
			d.(Pinner).Unpin(memory)
		}
	}
	*s = scratch{}
}

// freeMemory returns how many bytes of the device are free. A driver that does not know them has
// all that this model does not use. 0 of Info.Memory means that nothing is known.
func (b *backend) freeMemory() int64 {
	if meter, ok := b.driver.(Meter); ok {
		if n, err := meter.FreeMemory(); err == nil {
			return n
		}
	}
	if b.info.Memory == 0 {
		return math.MaxInt64
	}
	own := b.weightBytes + b.scratch.bytes
	if b.pool.buffer != 0 {
		own += int64(len(b.pool.refs)) * b.pool.page
	}
	return max(0, b.info.Memory-own)
}

// room returns how many bytes the pages may take besides their own: what is free without what the
// rows of the largest pass take, or an eighth of the memory, if that is less.
func (b *backend) room() int64 {
	rows := b.rowBytes(engine.PassRows) - b.scratch.bytes
	return max(0, b.freeMemory()-min(max(0, rows), b.info.Memory/8))
}

// rowBytes returns how much scratch memory that many rows take.
func (b *backend) rowBytes(rows int) int64 {
	s, _ := newScratch(nowhere{}, b.params, b.mostChosen(), rows, 0)
	return s.bytes
}

// nowhere is a Driver whose memory is none.
type nowhere struct{ Driver }

func (nowhere) Alloc(int64) (Buffer, error) { return 1, nil }

// fits returns an error if the weights, the rows of a small pass and a page do not fit into the
// memory that is free.
func (b *backend) fits() error {
	weights := paramBytes(b.params)
	if most := b.info.Memory; most > 0 && weights > most {
		return fmt.Errorf("the weights take %d bytes, want at most the device's memory of %d",
			weights, most)
	}
	rows, free := b.rowBytes(1), b.freeMemory()
	if all := weights + rows + b.pool.page; all > free {
		return fmt.Errorf("the model takes %d bytes: weights %d, rows %d, and %d for each %d "+
			"positions of a text, want at most %d, which the device has free", all, weights, rows,
			b.pool.page, kernels.Block, free)
	}
	return nil
}
