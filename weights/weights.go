// Package weights turns checkpoint files into named, typed, checked tensors.
//
// Its types, in the order in which they are best read:
//
//   - [Tensors] are the open weights of one checkpoint, whatever the format. [Open] opens a
//     safetensors file, or the index of a sharded checkpoint. Files are mapped; nothing is read
//     before it is used, and no tensor is copied. [FromBytes] does the same for a file in memory. Package checkpoint finds the weights of a directory.
//   - [Tensor] is one of them: a name, a [DType], a shape and its bytes. [Write] and [WriteFile]
//     write a file of them.
//   - [Index] names the file of each tensor of a sharded checkpoint.
//   - [Source] is what readers of other formats pass to [New].
//   - [File] is a file that [FromReaders] reads in parts.
//
// Every file may be hostile: Open reads only a header of bounded size, checks every entry of it
// against the file, and returns a one-line error that names the file, the tensor, what was wanted
// and what was found. One limit remains: nobody may truncate the files while a Tensors is open.
// Touching a mapped page that no longer exists ends the process (SIGBUS), as in any program that
// maps files. Replace checkpoints by renaming, as WriteFile does.
package weights

import (
	"errors"
	"fmt"
	"sync"

	"picogpt/internal/folder"
)

// Tensors are the open weights of one checkpoint, in any format and any number of files. They do
// not change after Open and are safe for concurrent use until Close.
type Tensors struct {
	name     string
	tensors  []Tensor
	index    map[string]int // name -> position in tensors
	metadata map[string]string
	size     int64

	closing sync.Once
	closers []func() error
}

// A Source is what the reader of a checkpoint format has found.
type Source struct {
	Name     string // of the file, for messages
	Tensors  []Tensor
	Metadata map[string]string
	Size     int64        // bytes of all files
	Close    func() error // releases what the tensors are made of; may be nil
}

// New returns the tensors of a checkpoint in any format. It checks each: names are unique and
// printable, shapes are bounded, and Data has the size that type and shape ask for. After an error
// the caller still has to close the source.
func New(s Source) (*Tensors, error) {
	t := newTensors(s.Name)
	for _, x := range s.Tensors {
		if err := x.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if err := t.take(s.Tensors, s.Metadata, "there twice"); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	t.size = s.Size
	if s.Close != nil {
		t.closers = append(t.closers, s.Close)
	}
	return t, nil
}

// newTensors returns an empty set. name is that of the file, or of the index of files.
func newTensors(name string) *Tensors {
	return &Tensors{name: name, index: map[string]int{}, metadata: map[string]string{}}
}

// add adds the tensors of one safetensors file, and the file's metadata. The header was checked
// against the number of the file's bytes.
func (t *Tensors) add(file folder.Mapped, h *header) error {
	tensors := h.tensors(func(t *Tensor, e entry) {
		if file.IsFar() {
			t.Fill = Far
			return
		}
		t.Data = file.Bytes[8+h.size:][e.begin:e.end:e.end]
	})
	if err := t.take(tensors, h.metadata, "also in another shard"); err != nil {
		return err
	}
	t.closers = append(t.closers, file.Close)
	t.size += file.Size()
	return nil
}

// take adds the tensors, whose names must be new, and the metadata with new keys. twice says in an
// error where else a name is.
func (t *Tensors) take(tensors []Tensor, metadata map[string]string, twice string) error {
	for _, x := range tensors {
		if _, ok := t.index[x.Name]; ok {
			return fmt.Errorf("%s: %s, want it once", x.Name, twice)
		}
		t.index[x.Name] = len(t.tensors)
		t.tensors = append(t.tensors, x)
	}
	for k, v := range metadata {
		if _, ok := t.metadata[k]; !ok {
			t.metadata[k] = v
		}
	}
	return nil
}

// Name returns the path of the file that was opened, or FromBytes's name. Errors about its tensors
// begin with it.
func (t *Tensors) Name() string { return t.name }

// All returns all tensors in file order, shards in the order of their names. The caller must not
// change the slice.
func (t *Tensors) All() []Tensor { return t.tensors }

// Tensor returns the tensor of that name, and whether there is one.
func (t *Tensors) Tensor(name string) (Tensor, bool) {
	i, ok := t.index[name]
	if !ok {
		return Tensor{}, false
	}
	return t.tensors[i], true
}

// Metadata returns the file's metadata (in safetensors __metadata__), never nil. Of shards with
// different values for a key, the first one's value counts.
func (t *Tensors) Metadata() map[string]string { return t.metadata }

// Size returns the bytes of all files together, headers included.
func (t *Tensors) Size() int64 { return t.size }

// Close unmaps the files. After it every Data slice and every view of one is invalid: touching it
// ends the process. Tensors that are not closed stay mapped, because a slice of mapped memory does
// not keep them alive. A second Close, also at the same time, does nothing.
func (t *Tensors) Close() (err error) {
	t.closing.Do(func() {
		for _, release := range t.closers {
			err = errors.Join(err, release())
		}
		t.closers, t.tensors, t.index = nil, nil, nil
		if err != nil {
			err = fmt.Errorf("%s: %w", t.name, err)
		}
	})
	return err
}
