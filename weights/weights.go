// Package weights turns checkpoint files into named, typed, checked tensors.
//
// Open maps a safetensors file, a sharded checkpoint's index, or a directory
// that holds either; nothing is read before it is used, and no tensor is
// copied. FromBytes does the same for bytes in memory, such as an embedded
// checkpoint. Write makes such files.
//
// Every file is taken to be hostile: Open reads only a header of bounded size,
// checks each claim in it against the file, and returns one line that names
// the file, the tensor, what was wanted and what was found. One limit remains:
// while a File is open, its file must not be truncated by anyone. Touching a
// mapped page that no longer exists ends the process (SIGBUS), as in any
// program that maps files. Replace checkpoints by renaming, as WriteFile does.
package weights

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/nlpodyssey/safetensors"

	"picogpt/internal/outfile"
)

// A Tensor is one named array of a checkpoint, row-major.
type Tensor struct {
	Name  string
	DType DType
	Shape []int  // empty for a scalar
	Data  []byte // little-endian elements; read-only, and valid until the File's Close

	// Stream is for Write only: where Data is nil, it writes the tensor's
	// bytes, so that a file can be written without holding it in memory.
	Stream func(w io.Writer) error
}

// Len returns the number of elements, the product of Shape.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// A File is an open checkpoint: one safetensors file or all shards of one.
// It does not change after Open and is safe for concurrent use until Close.
type File struct {
	name     string
	tensors  []Tensor
	index    map[string]int // name -> position in tensors
	metadata map[string]string
	size     int64
	regions  []region
}

// A region is the bytes of one safetensors file, mapped or in memory.
type region struct {
	bytes   []byte
	release func() error // nil where there is nothing to unmap
}

// FromBytes reads a safetensors file that is already in memory. The tensors'
// Data are parts of b, which must not change while they are in use. The name
// stands for the file in errors.
func FromBytes(name string, b []byte) (*File, error) {
	f := newFile(name)
	hdr, err := readHeader(memory(b), int64(len(b)), maxHeader)
	if err == nil {
		err = f.add(hdr, region{bytes: b})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func newFile(name string) *File {
	return &File{name: name, index: map[string]int{}, metadata: map[string]string{}}
}

// openFile maps one safetensors file whose header may take up to budget bytes.
// The header is checked by ordinary reads before anything is mapped or, where
// there is no mmap, before memory is taken for the rest.
func openFile(path string, budget int64) (*header, region, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return nil, region{}, err
	}
	defer file.Close()
	hdr, err := readHeader(file, size, budget)
	if err != nil {
		return nil, region{}, err
	}
	if size != int64(int(size)) {
		return nil, region{}, fmt.Errorf("%d bytes are more than this machine can address", size)
	}
	r, err := mapFile(file, int(size))
	if err != nil {
		return nil, region{}, fmt.Errorf("cannot map the file: %w", err)
	}
	return hdr, r, nil
}

// openRegular opens a regular file. Anything else is refused before it is
// opened: opening a named pipe would wait for a writer.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s, want a regular file", outfile.Kind(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, cause(err)
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, 0, cause(err)
	}
	return file, info.Size(), nil
}

// add takes the tensors of one region into f. The safetensors library reads
// the header once more, from the map: it owns the format, and what our rules
// let through must satisfy it too.
func (f *File) add(hdr *header, r region) error {
	st, err := safetensors.Deserialize(r.bytes)
	if err != nil {
		return fmt.Errorf("not a valid safetensors file: %w", err)
	}
	for _, e := range hdr.entries {
		view, ok := st.Tensor(e.name)
		if !ok || int64(view.DataLen()) != e.end-e.begin {
			return fmt.Errorf("%s: the file changed while it was opened", e.name)
		}
		if _, ok := f.index[e.name]; ok {
			return fmt.Errorf("%s: also in another shard, want it once", e.name)
		}
		data := view.Data()
		f.index[e.name] = len(f.tensors)
		f.tensors = append(f.tensors, Tensor{
			Name:  e.name,
			DType: e.dtype,
			Shape: e.shape,
			Data:  data[:len(data):len(data)],
		})
	}
	for k, v := range hdr.metadata {
		if _, ok := f.metadata[k]; !ok {
			f.metadata[k] = v
		}
	}
	f.regions = append(f.regions, r)
	f.size += int64(len(r.bytes))
	return nil
}

// Name returns the path that was opened, or FromBytes's name: the file for
// messages about its tensors.
func (f *File) Name() string { return f.name }

// Tensors returns all tensors in file order, shards in the order of their
// names. The caller must not change the slice.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor returns the tensor of that name, if there is one.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Metadata returns the file's __metadata__, never nil; of shards that
// disagree, the first one's.
func (f *File) Metadata() map[string]string { return f.metadata }

// Size returns the bytes of all files together, headers included.
func (f *File) Size() int64 { return f.size }

// Close unmaps the files. Every Data slice and every view made from one is
// invalid from then on: touching it ends the process.
func (f *File) Close() error {
	var first error
	for _, r := range f.regions {
		if r.release == nil {
			continue
		}
		if err := r.release(); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", f.name, err)
		}
	}
	f.regions, f.tensors, f.index = nil, nil, nil
	return first
}

// littleEndian says whether this machine's floats lie in memory as the file's do.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// aligned says whether b may be viewed as elements of the given size.
func aligned(b []byte, size uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%size == 0
}
