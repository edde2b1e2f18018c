// Opening weights: safetensors files, an index of shards, and files that are read in parts.

package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"picogpt/internal/folder"
)

// Open opens the safetensors file of that name in fsys, or the *.safetensors.index.json with its
// shards. Files of a directory (os.DirFS) are mapped, those in memory, such as demo.FS has, are used in
// place, and others are read. checkpoint.Open finds the file of a directory, and opens other formats
// too.
func Open(fsys fs.FS, name string) (*Tensors, error) {
	if strings.HasSuffix(name, ".json") {
		return openIndex(fsys, name)
	}
	t := newTensors(folder.Path(fsys, name))
	if _, err := t.addSafetensors(fsys, name, maxHeader); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

// Dir returns the directory of the checkpoint at path: path itself, or the directory of the file.
// config.json and the tokenizer are there.
func Dir(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

// openIndex opens the shards that an index names, and checks that each listed tensor is in its
// shard.
func openIndex(fsys fs.FS, name string) (_ *Tensors, err error) {
	t := newTensors(folder.Path(fsys, name))
	index, err := ReadIndex(fsys, name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	budget := int64(maxHeader)
	holder := map[string]string{} // tensor -> the shard in which it was found
	for _, shard := range index.Shards() {
		from := len(t.tensors)
		size, err := t.addSafetensors(fsys, shard, budget)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(fsys, shard), err)
		}
		budget -= size
		for _, x := range t.tensors[from:] {
			holder[x.Name] = shard
		}
	}
	if err := index.Check(holder); err != nil {
		return nil, err
	}
	return t, nil
}

// FromBytes returns the tensors of a safetensors file that is already in memory. The tensors' Data
// are parts of b, which must not change while they are in use. Errors begin with name.
func FromBytes(name string, b []byte) (*Tensors, error) {
	t := newTensors(name)
	hdr, err := readHeader(bytes.NewReader(b), int64(len(b)), maxHeader)
	if err == nil {
		err = t.add(folder.Mapped{Bytes: b}, hdr)
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
	if err := t.add(file, hdr); err != nil {
		file.Close()
		return 0, err
	}
	return hdr.size, nil
}

// tensors returns the tensors of a file, whose elements set sets.
func (h *header) tensors(set func(t *Tensor, e entry)) []Tensor {
	all := make([]Tensor, len(h.entries))
	for i, e := range h.entries {
		all[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape}
		set(&all[i], e)
	}
	return all
}

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
			err = t.take(hdr.tensors(func(t *Tensor, e entry) {
				begin := 8 + hdr.size + e.begin
				t.Fill = func(dst []byte, from int64) error {
					n, err := f.ReadAt(dst, begin+from)
					if n == len(dst) {
						return nil
					}
					return err
				}
			}), hdr.metadata, "also in another shard")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		t.size += f.Size
	}
	return t, nil
}
