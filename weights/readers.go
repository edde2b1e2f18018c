// Safetensors files that are read in parts, such as files on another machine.

package weights

import (
	"errors"
	"fmt"
	"io"
)

// A File is a file that is read in parts.
type File struct {
	io.ReaderAt
	Name string // for messages
	Size int64  // bytes
}

// FromReaders returns the tensors of safetensors files: one file, or the shards of a checkpoint. It
// reads only their headers; Tensor.Fill reads elements. It checks them as Open checks files.
func FromReaders(files ...File) (*Tensors, error) {
	if len(files) == 0 {
		return nil, errors.New("no files, want one or more")
	}
	t, budget := newTensors(files[0].Name), int64(maxHeader)
	for _, f := range files {
		hdr, err := readHeader(f, f.Size, budget)
		if err == nil {
			budget -= hdr.size
			err = t.take(hdr.distant(f), hdr.metadata)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		t.size += f.Size
	}
	return t, nil
}

// distant returns the tensors of a file whose elements are read only when they are needed.
func (h *header) distant(file io.ReaderAt) []Tensor {
	all := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		begin := 8 + h.size + e.begin
		all[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape,
			Fill: func(dst []byte, from int64) error {
				n, err := file.ReadAt(dst, begin+from)
				if n == len(dst) {
					return nil
				}
				return err
			}}
	}
	return all
}
