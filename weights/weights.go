// Package weights turns checkpoint files into named, typed, checked tensors.
//
// Open finds the weights of a checkpoint: a safetensors file, a sharded checkpoint's index, or a
// directory that holds either. Files are mapped; nothing is read before it is used, and no tensor
// is copied. OpenFS does the same in any fs.FS, and FromBytes for a file in memory. Whatever the
// format, what comes out is a Tensors, and nothing above knows where it came from. Write makes
// safetensors files.
//
// Every file is taken to be hostile: Open reads only a header of bounded size,
// checks each claim in it against the file, and returns one line that names
// the file, the tensor, what was wanted and what was found. One limit remains:
// while a Tensors is open, its files must not be truncated by anyone. Touching a
// mapped page that no longer exists ends the process (SIGBUS), as in any
// program that maps files. Replace checkpoints by renaming, as WriteFile does.
package weights

import (
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"
)

// A Tensor is one named array of a checkpoint, row-major.
type Tensor struct {
	Name  string
	DType DType
	Shape []int  // empty for a scalar
	Data  []byte // little-endian elements; read-only, and valid until Tensors.Close

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

// Tensors are the open weights of one checkpoint, whatever the format and the number of their
// files. They do not change after Open and are safe for concurrent use until Close.
type Tensors struct {
	name     string
	tensors  []Tensor
	index    map[string]int // name -> position in tensors
	metadata map[string]string
	size     int64
	regions  []region
}

// A region is the bytes of one file, mapped or in memory.
type region struct {
	bytes   []byte
	release func() error // nil where there is nothing to unmap
}

// newTensors begins an empty set that stands for the file, or the index of files, of that name.
func newTensors(name string) *Tensors {
	return &Tensors{name: name, index: map[string]int{}, metadata: map[string]string{}}
}

// add takes the tensors of one file, each of which is in r, and the file's metadata. All formats
// end here.
func (t *Tensors) add(r region, tensors []Tensor, metadata map[string]string) error {
	for _, x := range tensors {
		if _, ok := t.index[x.Name]; ok {
			return fmt.Errorf("%s: also in another shard, want it once", x.Name)
		}
		t.index[x.Name] = len(t.tensors)
		t.tensors = append(t.tensors, x)
	}
	for k, v := range metadata {
		if _, ok := t.metadata[k]; !ok {
			t.metadata[k] = v
		}
	}
	t.regions = append(t.regions, r)
	t.size += int64(len(r.bytes))
	return nil
}

// Name returns the path of the file that was opened, or FromBytes's name: the file for messages
// about its tensors.
func (t *Tensors) Name() string { return t.name }

// All returns all tensors in file order, shards in the order of their names.
// The caller must not change the slice.
func (t *Tensors) All() []Tensor { return t.tensors }

// Tensor returns the tensor of that name, if there is one.
func (t *Tensors) Tensor(name string) (Tensor, bool) {
	i, ok := t.index[name]
	if !ok {
		return Tensor{}, false
	}
	return t.tensors[i], true
}

// Metadata returns the file's metadata (in safetensors __metadata__), never nil; of shards that
// disagree, the first one's.
func (t *Tensors) Metadata() map[string]string { return t.metadata }

// Size returns the bytes of all files together, headers included.
func (t *Tensors) Size() int64 { return t.size }

// Close unmaps the files. Every Data slice and every view made from one is
// invalid from then on: touching it ends the process.
func (t *Tensors) Close() error {
	var first error
	for _, r := range t.regions {
		if r.release == nil {
			continue
		}
		if err := r.release(); err != nil && first == nil {
			first = fmt.Errorf("%s: %w", t.name, err)
		}
	}
	t.regions, t.tensors, t.index = nil, nil, nil
	return first
}

// littleEndian says whether this machine's floats lie in memory as the file's do.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// aligned says whether b may be viewed as elements of the given size.
func aligned(b []byte, size uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%size == 0
}
