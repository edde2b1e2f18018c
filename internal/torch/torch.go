// Package torch reads the files of PyTorch's torch.save: plain values, dicts of them, and tensors
// that refer to the file's storages. It reads the zip form (since PyTorch 1.6) and the older form.
// It executes no code: what is neither becomes an Object, which does nothing.
//
// The file is mapped. A storage is not touched before one of its tensors is read, so that an
// optimizer's state in the same file costs nothing. Of a file on another machine (folder.FarFile)
// only the pickles and the directory are read, and the elements of its tensors cannot be.
package torch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
)

// A File is an open file of torch.save.
type File struct {
	// Root is the saved object: the values of pickle.go, with *Tensors for tensors. Its classes that
	// are not PyTorch's tensors and storages are pickle.Objects.
	Root any

	file folder.Mapped
}

// Open opens and checks a file. Its errors do not name the file.
func Open(fsys fs.FS, name string) (*File, error) {
	file, err := folder.MapParts(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	start, err := file.Part(0, min(64, file.Size()))
	switch {
	case err != nil:
	case bytes.HasPrefix(start, []byte("PK")):
		err = f.readZip()
	case IsLegacy(start):
		err = f.readLegacy()
	default:
		err = errors.New("not a file of torch.save")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// Dict returns the saved object, which must be a dict.
func (f *File) Dict() (*Dict, error) {
	d, ok := f.Root.(*Dict)
	if !ok {
		return nil, fmt.Errorf("%s, want a dict of tensors", Kind(f.Root))
	}
	return d, nil
}

// Tensor returns the tensor of the saved dict that has this name.
func (f *File) Tensor(name string) (*Tensor, error) {
	d, err := f.Dict()
	if err != nil {
		return nil, err
	}
	v, ok := d.Get(name)
	if !ok {
		return nil, fmt.Errorf("%s: missing", name)
	}
	t, ok := v.(*Tensor)
	if !ok {
		return nil, fmt.Errorf("%s: %s, want a tensor", name, Kind(v))
	}
	return t, nil
}

// Size returns the bytes of the file.
func (f *File) Size() int64 { return f.file.Size() }

// Close unmaps the file. After it the data of its tensors is invalid.
func (f *File) Close() error { return f.file.Close() }

// legacyMagic is the first pickle of a file of the older form, after its protocol: a number.
const legacyMagic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

// IsLegacy reports whether a file with this beginning is of the older form. The protocol of its
// pickles does not matter; from 4 on they have frames.
func IsLegacy(head []byte) bool {
	const protocol, frame = 2, 9
	for _, before := range []int{protocol, protocol + frame} {
		if len(head) > before && head[0] == 0x80 &&
			bytes.HasPrefix(head[before:], []byte(legacyMagic)) {
			return true
		}
	}
	return false
}
