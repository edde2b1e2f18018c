package model

// Number formats: matrices as stored, or converted on the way in.

import (
	"fmt"
	"strings"

	"picogpt/kernels"
	"picogpt/weights"
)

// headFormat returns the format of wte and the head in a model of that format: four bits would cost more there than anywhere
// else, so Q4 keeps them in eight.
func headFormat(f kernels.Format) kernels.Format {
	if f == kernels.Q4 {
		return kernels.Q8
	}
	return f
}

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

// matrix returns a matrix in its format, a view of the file where it is stored so.
func (l *loader) matrix(name string, layout kernels.Layout, in, out int, format kernels.Format) kernels.Matrix {
	shape := []int{in, out}
	if layout == kernels.OutIn {
		shape = []int{out, in}
	}
	t := l.tensor(name, shape...)
	if l.err != nil {
		return kernels.Matrix{}
	}
	m, err := stored(t, layout, in, out)
	if err != nil {
		l.fail("%w", err)
		return m
	}
	if l.auto {
		l.format = m.Format
		return m
	}
	if m.Format != format {
		l.fail("%s: stored as %s, cannot convert to %s", name, m.Format, format)
	}
	return m
}

// stored returns a tensor of floats as a matrix.
func stored(t weights.Tensor, layout kernels.Layout, in, out int) (kernels.Matrix, error) {
	m := kernels.Matrix{Layout: layout, In: in, Out: out}
	var err error
	switch t.DType {
	case weights.F32:
		m.F32, err = t.Float32s()
	case weights.F16:
		m.Format = kernels.F16
		m.F16, err = t.Uint16s()
	case weights.BF16:
		m.Format = kernels.BF16
		m.F16, err = t.Uint16s()
	default:
		err = fmt.Errorf("%s: type %s, want F32, F16 or BF16", t.Name, t.DType)
	}
	return m, err
}
