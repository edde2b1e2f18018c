// Safetensors files: a header (header.go) and the tensors' bytes, mapped or in memory.

package weights

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"picogpt/internal/folder"
)

// FromBytes reads a safetensors file that is already in memory. The tensors'
// Data are parts of b, which must not change while they are in use. The name
// stands for the file in errors.
func FromBytes(name string, b []byte) (*Tensors, error) {
	t := newTensors(name)
	hdr, err := readHeader(memory(b), int64(len(b)), maxHeader)
	if err == nil {
		err = t.add(region{bytes: b}, hdr.tensors(b), hdr.metadata)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// addSafetensors opens one safetensors file, whose header may take up to budget bytes, into t and
// returns the header's size.
func (t *Tensors) addSafetensors(fsys fs.FS, name string, budget int64) (int64, error) {
	hdr, r, err := openSafetensors(fsys, name, budget)
	if err != nil {
		return 0, err
	}
	if err := t.add(r, hdr.tensors(r.bytes), hdr.metadata); err != nil {
		if r.release != nil {
			r.release()
		}
		return 0, err
	}
	return hdr.size, nil
}

// openSafetensors maps a file or, where it cannot be mapped, reads it. The header is checked by
// ordinary reads before anything is mapped or, where there is no mmap, before memory is taken for
// the rest.
func openSafetensors(fsys fs.FS, name string, budget int64) (*header, region, error) {
	file, size, err := folder.Open(fsys, name)
	if err != nil {
		return nil, region{}, err
	}
	defer file.Close()
	onDisk, ok := file.(*os.File)
	if !ok {
		b, err := contents(file)
		if err != nil {
			return nil, region{}, err
		}
		hdr, err := readHeader(memory(b), int64(len(b)), budget)
		return hdr, region{bytes: b}, err
	}
	hdr, err := readHeader(onDisk, size, budget)
	if err != nil {
		return nil, region{}, err
	}
	if size != int64(int(size)) {
		return nil, region{}, fmt.Errorf("%d bytes are more than this machine can address", size)
	}
	r, err := mapFile(onDisk, int(size))
	if err != nil {
		return nil, region{}, fmt.Errorf("cannot map the file: %w", err)
	}
	return hdr, r, nil
}

// contents returns the bytes of a file that is not on disk: in place if they are in memory.
func contents(file fs.File) ([]byte, error) {
	if m, ok := file.(*folder.MemoryFile); ok {
		return m.Bytes, nil
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, folder.Cause(err)
	}
	return b, nil
}

// tensors returns the tensors of a file of these bytes, which are as many as the header was checked
// against.
func (h *header) tensors(file []byte) []Tensor {
	data := file[8+h.size:]
	all := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		all[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape,
			Data: data[e.begin:e.end:e.end]}
	}
	return all
}
