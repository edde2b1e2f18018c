// Package gguf reads and writes GGUF files, versions 2 and 3: metadata and named tensors, whose
// elements are floats or blocks of a few bits each. It follows ggml's specification (docs/gguf.md)
// and does not depend on an architecture.
//
// Files may be hostile: each count, length and offset is compared with the size of the file before
// it is used, in arithmetic that cannot overflow.
package gguf

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/internal/quote"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32

	maxHeader  = 64 << 20 // bytes before the data; a vocabulary of 250,000 has 10 MB
	maxPairs   = 1 << 16
	maxTensors = 1 << 16
	maxName    = 64 // bytes, as in ggml
	maxRank    = 4  // as in ggml
)

// ErrShort is the error of ParseBeginning, wrapped, where the header goes on after the bytes.
var ErrShort = errors.New("the header is cut short")

// A File holds the contents of a GGUF file. Its slices are parts of the bytes that were given to
// Parse.
type File struct {
	Version uint32
	Pairs   map[string]Value
	Tensors []Tensor
}

// A Tensor is one array of a file, row-major.
type Tensor struct {
	Name  string
	Type  Type
	Shape []int  // the slowest dimension first; in the file it is the last
	Data  []byte // nil beyond the bytes given to ParseBeginning
}

// Parse checks a file and returns its contents.
func Parse(b []byte) (*File, error) { return ParseBeginning(b, int64(len(b))) }

// ParseBeginning is Parse for the first bytes of a file of that size. They must have the whole
// header.
func ParseBeginning(b []byte, size int64) (*File, error) {
	version, err := checkStart(b)
	if err != nil {
		return nil, err
	}
	r := &reader{data: b, size: int(min(size, maxHeader)), at: len(magic) + 4}
	tensors, pairs := r.count("tensors", maxTensors), r.count("metadata pairs", maxPairs)
	if r.err != nil {
		return nil, r.fail(size)
	}
	f := &File{Version: version, Pairs: map[string]Value{}}
	for i := range pairs {
		if r.pair(f.Pairs); r.err != nil {
			return nil, fmt.Errorf("metadata pair %d: %w", i, r.fail(size))
		}
	}
	alignment, err := f.alignment()
	if err != nil {
		return nil, err
	}
	if n, ok, err := f.Uint("split.count"); err != nil {
		return nil, err
	} else if ok && n > 1 {
		return nil, fmt.Errorf("split.count: %d, want 1: join the files with "+
			"llama-gguf-split --merge", n)
	}
	infos := make([]info, 0, min(tensors, len(b)/minInfo))
	for i := range tensors {
		if infos = append(infos, r.info()); r.err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, r.fail(size))
		}
	}
	f.Tensors, err = locate(infos, b, size, (int64(r.at)+alignment-1)&^(alignment-1), alignment)
	return f, err
}

// checkStart returns the version of a file. It returns an error for versions that Parse does not
// read.
func checkStart(b []byte) (uint32, error) {
	text := string(b[:min(len(b), 32)])
	if !strings.HasPrefix(text, magic) {
		return 0, fmt.Errorf("begins with %s, want %q", quote.Short(text[:min(len(text), 12)], 12),
			magic)
	}
	r := reader{data: b, size: len(b), at: len(magic)}
	switch version := r.u32(); {
	case r.err != nil:
		return 0, r.err
	case version == 2, version == 3:
		return version, nil
	case version == 1:
		return 0, errors.New("version 1, whose lengths have 32 bits: want 2 or 3")
	case version&0xffff == 0:
		return 0, fmt.Errorf("version %d in the other byte order: want a little-endian file",
			bits.ReverseBytes32(version))
	default:
		return 0, fmt.Errorf("version %d, want 2 or 3", version)
	}
}

// alignment returns the number of which all offsets are multiples.
func (f *File) alignment() (int64, error) {
	const key = "general.alignment"
	v, ok := f.Pairs[key]
	if !ok {
		return defaultAlignment, nil
	}
	if v.kind != kindU32 {
		return 0, fmt.Errorf("%s: type %s, want u32", key, v.kind)
	}
	n, _ := v.integer(0)
	if n == 0 || n&(n-1) != 0 {
		return 0, fmt.Errorf("%s: %d, want a power of two", key, n)
	}
	return int64(n), nil
}

// An info is the header's description of a tensor.
type info struct {
	name   string
	shape  []int
	kind   Type
	offset uint64
}

// minInfo is the smallest size of an info: a name of one byte, rank, a dimension, type, offset.
const minInfo = 8 + 1 + 4 + 8 + 4 + 8

func (r *reader) info() (t info) {
	name := r.text("name")
	if r.err != nil {
		return t
	}
	if r.err = checkName(name); r.err != nil {
		return t
	}
	t.name = strings.Clone(name)
	rank := r.u32()
	if r.err == nil && (rank < 1 || rank > maxRank) {
		r.err = fmt.Errorf("%s: %d dimensions, want 1 to %d", t.name, rank, maxRank)
	}
	if r.err != nil {
		return t
	}
	t.shape = make([]int, rank)
	elements := uint64(1)
	for i := range rank {
		d := r.u64()
		high, low := bits.Mul64(elements, d)
		if r.err == nil && (d == 0 || high != 0 || low > maxElements) {
			r.err = fmt.Errorf("%s: dimension %d is %d, want at least 1 and all together at most "+
				"%d", t.name, i, d, uint64(maxElements))
		}
		if r.err != nil {
			return t
		}
		elements = low
		t.shape[int(rank-1-i)] = int(d)
	}
	t.kind, t.offset = Type(r.u32()), r.u64()
	return t
}

// locate checks the offsets of the tensors: they follow one another, each at the next multiple of
// alignment after begin, the beginning of the data, as ggml requires. b is the beginning of the file,
// all the number of its bytes.
func locate(infos []info, b []byte, all, begin, alignment int64) ([]Tensor, error) {
	tensors, seen := make([]Tensor, len(infos)), map[string]bool{}
	at := int64(0) // in the data
	room := max(0, all-begin)
	for i, t := range infos {
		if seen[t.name] {
			return nil, fmt.Errorf("%s: there twice, want it once", t.name)
		}
		seen[t.name] = true
		size, err := t.kind.size(t.shape)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if t.offset != uint64(at) {
			return nil, fmt.Errorf("%s: offset %d, want %d, the next multiple of %d", t.name,
				t.offset, at, alignment)
		}
		if at > room || size > room-at {
			return nil, fmt.Errorf("%s: %d bytes at byte %d of the data, but the file has %d "+
				"bytes of data: truncated?", t.name, size, at, room)
		}
		tensors[i] = Tensor{Name: t.name, Type: t.kind, Shape: t.shape}
		if from := begin + at; from+size <= int64(len(b)) {
			tensors[i].Data = b[from : from+size : from+size]
		}
		at = (at + size + alignment - 1) &^ (alignment - 1)
	}
	return tensors, nil
}

// checkName refuses names that do not fit on one line of an error message.
func checkName(name string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	switch {
	case name == "":
		return errors.New("an empty name")
	case len(name) > maxName:
		return fmt.Errorf("%s: name of %d bytes, want at most %d", quote.Short(name, 40), len(name),
			maxName)
	case strings.ContainsFunc(name, odd):
		return fmt.Errorf("%s: unprintable character in the name", quote.Short(name, maxName))
	}
	return nil
}
