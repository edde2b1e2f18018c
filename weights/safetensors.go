// Safetensors files: a header (header.go) and the tensors' bytes, mapped or in memory.

package weights

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"

	"picogpt/internal/folder"
)

// FromBytes returns the tensors of a safetensors file that is already in memory. The tensors' Data
// are parts of b, which must not change while they are in use. Errors begin with name.
func FromBytes(name string, b []byte) (*Tensors, error) {
	t := newTensors(name)
	hdr, err := readHeader(bytes.NewReader(b), int64(len(b)), maxHeader)
	if err == nil {
		err = t.add(folder.Mapped{Bytes: b}, hdr.tensors(b), hdr.metadata)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// addSafetensors opens one safetensors file, whose header may take up to budget bytes, into t and
// returns the header's size.
func (t *Tensors) addSafetensors(fsys fs.FS, name string, budget int64) (int64, error) {
	var hdr *header
	file, err := folder.MapParts(fsys, name, func(r io.ReaderAt, size int64) (err error) {
		hdr, err = readHeader(r, size, budget)
		return err
	})
	if err != nil {
		return 0, err
	}
	tensors := hdr.far
	if !file.IsFar() {
		tensors = func() []Tensor { return hdr.tensors(file.Bytes) }
	}
	if err := t.add(file, tensors(), hdr.metadata); err != nil {
		file.Close()
		return 0, err
	}
	return hdr.size, nil
}

// far returns the tensors of a file on another machine.
func (h *header) far() []Tensor {
	all := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		all[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Fill: Far}
	}
	return all
}

// tensors returns the tensors of a file with these bytes. The header was checked against their
// number.
func (h *header) tensors(file []byte) []Tensor {
	data := file[8+h.size:]
	all := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		all[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape,
			Data: data[e.begin:e.end:e.end]}
	}
	return all
}
