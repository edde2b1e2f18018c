package model

// Number formats: weights as stored or converted when they are loaded; keys and values.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picogpt/kernels"
	"picogpt/weights"
)

// Formats returns the names that Options.Format takes.
func Formats() []string { return []string{"auto", "f32", "f16", "bf16", "q8", "q4"} }

func (l *loader) wantFormat(name string) {
	if name == "" || name == "auto" {
		l.auto = true
		return
	}
	for f := kernels.F32; f <= kernels.Q4; f++ {
		if f.String() == name {
			l.format = f
			return
		}
	}
	l.fail("format: %q, want one of %s", name, strings.Join(Formats(), ", "))
}

// CacheFormats returns the names that Options.CacheFormat takes.
func CacheFormats() []string { return []string{"f32", "f16", "q8"} }

func (l *loader) wantCacheFormat(name string) {
	if !slices.Contains(CacheFormats(), cmp.Or(name, "f32")) {
		l.fail("cache format: %q, want one of %s", name, strings.Join(CacheFormats(), ", "))
		return
	}
	l.cache = cacheFormat(name)
}

// cacheFormat returns the format of one of CacheFormats, or F32.
func cacheFormat(name string) kernels.Format {
	return map[string]kernels.Format{"f16": kernels.F16, "q8": kernels.Q8}[name]
}

// CacheBytes returns how many bytes the keys and values of a session take that has n positions, in
// whole pages of 64, in one of CacheFormats.
func (c Config) CacheBytes(format string, n int) int64 {
	dim, pages := c.Embd/c.Head, (n+kernels.Block-1)/kernels.Block
	key, value := kernels.KVRow(cacheFormat(format), dim, dim)
	return kernels.KVBytes(cacheFormat(format), c.Layer*c.Head*(key+value)*kernels.Block) *
		int64(pages)
}

// headFormat returns the format of wte and the head in a model whose linear layers have format f.
// They lose more by four bits than any other matrix, so Q4 keeps them in eight.
func headFormat(f kernels.Format) kernels.Format {
	if f == kernels.Q4 {
		return kernels.Q8
	}
	return f
}

// matrix returns the matrix of that name in the wanted format. If the file stores that format, the
// matrix is a view of the file; otherwise it is converted. Quantized matrices are not converted to
// another format.
func (l *loader) matrix(name string, layout kernels.Layout, in, out int) kernels.Matrix {
	if l.shares(name) {
		return l.shared(name, layout)
	}
	m := l.stored(name, layout, in, out)
	want := l.format
	if layout == kernels.OutIn {
		want = headFormat(want)
	}
	switch {
	case l.err != nil:
	case l.auto:
		l.seeFormat(m.Format, layout)
	case m.Format == want:
	case m.Blocks != nil:
		l.fail("%s: stored as %s, want %s: convert the checkpoint that it was made of", name,
			m.Format, want)
	default:
		converted, zeroed, err := kernels.ConvertChecked(l.team, want, &m)
		if err != nil {
			l.fail("%s: %w", name, err)
		}
		l.noteZeros(name, want, zeroed)
		m = converted
	}
	l.hold(name, m)
	return m
}

// seeFormat settles which format the stored matrices have. Where floats of several formats are
// mixed, as where an adapter is merged into some, it is F32: all of them give the bits of F32.
func (l *loader) seeFormat(f kernels.Format, layout kernels.Layout) {
	isFloat := func(f kernels.Format) bool { return f < kernels.Q8 }
	switch {
	case !l.seen && (isFloat(f) || layout == kernels.InOut):
		l.format, l.seen = f, true
	case l.seen && f != l.format && isFloat(f) && isFloat(l.format):
		l.format = kernels.F32
	case layout == kernels.InOut:
		l.format = f
	}
}

// noteZeros records how many weights that are not zero become zero in the format. F16 and BF16 may
// make one weight in a thousand zero; GPT-2's own have a few in a million.
func (l *loader) noteZeros(name string, format kernels.Format, z kernels.Zeroed) {
	of := func(n int, what string) {
		l.zeroed = append(l.zeroed, fmt.Sprintf("%d of the %s of %s", n, what, name))
	}
	switch {
	case format == kernels.Q8, format == kernels.Q4:
		if z.Blocks > 0 {
			of(z.Blocks, "blocks of 32")
		}
	case z.Weights*1000 > z.Of:
		l.zeroed = append(l.zeroed, fmt.Sprintf("%.2g %% of %s",
			100*float64(z.Weights)/float64(z.Of), name))
	case z.Rows > 0:
		of(z.Rows, "rows")
	case z.Blocks > 0:
		of(z.Blocks, "blocks of 32")
	}
}

// notes returns what users should know of the conversion, a sentence each.
func (l *loader) notes() []string {
	if len(l.zeroed) == 0 {
		return nil
	}
	const shown = 2
	some := strings.Join(l.zeroed[:min(shown, len(l.zeroed))], ", ")
	if more := len(l.zeroed) - shown; more > 0 {
		some += fmt.Sprintf(" and some of %d more tensors", more)
	}
	return []string{fmt.Sprintf("%v makes zeros of weights that are not zero: %s", l.format, some)}
}

// stored returns the matrix of that name as the file has it.
func (l *loader) stored(name string, layout kernels.Layout, in, out int) kernels.Matrix {
	if t, ok := l.tensors.Tensor(name); ok && t.DType == weights.U8 {
		return l.blocks(t, layout, in, out)
	}
	shape := []int{in, out}
	if layout == kernels.OutIn {
		shape = []int{out, in}
	}
	t := l.tensor(name, shape...)
	m := kernels.Matrix{Layout: layout, In: in, Out: out}
	if l.err != nil {
		return m
	}
	switch t.DType {
	case weights.F16:
		m.Format = kernels.F16
	case weights.BF16:
		m.Format = kernels.BF16
	}
	var err error
	switch {
	case l.dry:
	case t.DType == weights.F32, t.DType == weights.F64: // tensor lets only two other types through
		m.F32, err = t.Float32s()
	default:
		m.F16, err = t.Uint16s()
	}
	if err != nil {
		l.fail("%w", err)
	}
	return m
}

// blocks returns a quantized matrix. Its tensor is [tiles, bytes in a tile] of type U8; the size of
// a tile tells the format.
func (l *loader) blocks(t weights.Tensor, layout kernels.Layout, in, out int) kernels.Matrix {
	l.use(t)
	for _, f := range []kernels.Format{kernels.Q8, kernels.Q4} {
		if !slices.Equal(t.Shape, blocksShape(f, in, out)) {
			continue
		}
		if l.dry {
			return kernels.Matrix{Format: f, Layout: layout, In: in, Out: out}
		}
		data, err := t.Bytes()
		if err != nil {
			l.fail("%w", err)
			return kernels.Matrix{}
		}
		m, err := kernels.QuantMatrix(f, in, out, data)
		if err != nil {
			l.fail("%s: %w", t.Name, err)
		}
		m.Layout = layout
		return m
	}
	l.fail("%s: type U8 and shape %v, want %v for q8 or %v for q4", t.Name, t.Shape,
		blocksShape(kernels.Q8, in, out), blocksShape(kernels.Q4, in, out))
	return kernels.Matrix{}
}

// blocksShape returns the shape of the tensor that stores a quantized matrix.
func blocksShape(f kernels.Format, in, out int) []int {
	tile := kernels.QuantBytes(f, 1, 1)
	return []int{kernels.QuantBytes(f, in, out) / tile, tile}
}
