// Writing safetensors files.

package weights

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
)

// dataAlign is the alignment of the data in a written file: a multiple of a cache line, and so of
// every element's size.
const dataAlign = 64

// Write writes a safetensors file: the same arguments give the same bytes. Tensors with wider
// elements come first and keep their order otherwise, so that each is aligned and can be mapped in
// place. Elements that Fill makes are held in parts only.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int { return b.DType.Size() - a.DType.Size() })
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return err
		}
	}
	head, err := Header(metadata, tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the elements. Fill makes some of them at a time.
func (t Tensor) Write(w io.Writer) error {
	if t.Data != nil || t.Fill == nil {
		_, err := w.Write(t.Data)
		return err
	}
	var buffer []byte
	borders := t.pieces()
	for i, from := range borders[:len(borders)-1] {
		n := int(borders[i+1] - from)
		buffer = slices.Grow(buffer[:0], n)[:n]
		if err := t.Fill(buffer, from); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes a safetensors file whole or not at all. It writes a temporary file in the same
// folder and renames it, so that a reader that has an old file mapped keeps that. A file at path is
// replaced. If the context ends before, there is no new file.
func WriteFile(
	ctx context.Context, path string, metadata map[string]string, tensors []Tensor,
) error {
	if ctx == nil {
		return fmt.Errorf("%s: context: nil, want one, such as context.Background()", path)
	}
	return outfile.WriteFile(ctx, path, outfile.Options{Force: true}, func(w io.Writer) error {
		return Write(w, metadata, tensors)
	})
}

// Header returns what a safetensors file begins with: the header with its length before it and
// spaces after it. The elements of the tensors follow it, in their order, without gaps.
func Header(metadata map[string]string, tensors []Tensor) ([]byte, error) {
	b := make([]byte, 8, 4096) // the length, set below
	b = append(b, '{')
	if len(metadata) > 0 {
		b = append(b, `"__metadata__":{`...)
		for i, k := range slices.Sorted(maps.Keys(metadata)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(appendString(b, k), ':'), metadata[k])
		}
		b = append(b, '}')
	}
	at, seen := int64(0), map[string]bool{"__metadata__": true}
	for _, t := range tensors {
		if err := t.checkShape(); err != nil {
			return nil, err
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("%s: name used twice", t.Name)
		}
		seen[t.Name] = true
		if len(b) > 9 {
			b = append(b, ',')
		}
		shape, _ := json.Marshal(append([]int{}, t.Shape...)) // [] for a scalar, not null
		b = append(appendString(b, t.Name), ':')
		b = fmt.Appendf(b, `{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, t.DType, shape, at,
			at+t.Size())
		at += t.Size()
	}
	b = append(b, '}')
	for len(b)%dataAlign != 0 {
		b = append(b, ' ')
	}
	if len(b)-8 > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, want at most %d", len(b)-8, maxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b, nil
}

// check applies the rules that Open has for files to a tensor.
func (t Tensor) check() error {
	err := t.checkShape()
	if err == nil && (t.Data != nil || t.Fill == nil) && int64(len(t.Data)) != t.Size() {
		err = fmt.Errorf("%s: %d bytes of data, want %d for %s %v", t.Name, len(t.Data), t.Size(),
			t.DType, t.Shape)
	}
	return err
}

// checkShape checks what a header says of a tensor.
func (t Tensor) checkShape() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if t.DType.Size() == 0 {
		return fmt.Errorf("%s: unknown type %q", t.Name, t.DType)
	}
	dims := make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		dims[i] = int64(d)
	}
	if _, err := asShape(dims); err != nil {
		return fmt.Errorf("%s: shape: %w", t.Name, err)
	}
	return nil
}

// appendString appends a JSON string. It does not escape <, > and &.
func appendString(b []byte, s string) []byte {
	line, _ := strictjson.Line(s) // a string always has JSON
	return append(b, line[:len(line)-1]...)
}
