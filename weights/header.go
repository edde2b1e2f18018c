// The header of a safetensors file: the rules that it must keep before anything in it is trusted,
// and the errors that name a broken rule.

package weights

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

const (
	// maxHeader bounds the headers of one checkpoint, all shards together, and so the time and
	// memory that a hostile one can cost. GPT-2 XL's has 60 kB.
	maxHeader = 1 << 20
	maxName   = 512 // bytes in a tensor's name
	maxRank   = 16  // dimensions of a tensor
)

type header struct {
	entries  []entry // in file order
	metadata map[string]string
	size     int64 // bytes of JSON
}

type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int64 // in the data, which follows the header
}

// readHeader reads and checks the header of a file of the given size. It
// allocates in proportion to the header, which may take up to budget bytes.
func readHeader(r io.ReaderAt, size, budget int64) (*header, error) {
	var first [8]byte
	if size < int64(len(first)) {
		return nil, fmt.Errorf("%d bytes, too short for a safetensors file", size)
	}
	if _, err := r.ReadAt(first[:], 0); err != nil {
		return nil, folder.Cause(err)
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > uint64(size-8) {
		if what := foreign(r, size); what != "" {
			return nil, fmt.Errorf("not a safetensors file, but %s", what)
		}
		return nil, fmt.Errorf("header of %d bytes, but only %d follow: "+
			"truncated, or not a safetensors file", n, size-8)
	}
	if n > uint64(budget) {
		return nil, fmt.Errorf("header of %d bytes, want at most %d", n, budget)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(n)), text); err != nil {
		return nil, folder.Cause(err)
	}
	hdr, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	hdr.size = int64(n)
	return hdr, hdr.checkOffsets(size - 8 - int64(n))
}

// foreign recognizes files of other formats that people take for safetensors. Read as a header's
// length, the first eight bytes of each are far too large. An old pickle's \x80\x02 may be a valid
// length (640 begins so), so the caller checks the length first.
func foreign(r io.ReaderAt, size int64) string {
	start := make([]byte, min(size, 32))
	if _, err := r.ReadAt(start, 0); err != nil {
		return ""
	}
	for _, f := range []struct{ magic, what string }{
		{"PK\x03\x04", "a zip archive (PyTorch's .bin, .pt or .pth?): convert it to safetensors"},
		{"\x80\x02", "a pickle (old PyTorch?): convert it to safetensors"},
		{"GGUF", "a GGUF file: get the model's safetensors"},
		{"version https://git-lfs", "a Git LFS pointer: fetch the file itself with git lfs pull"},
		{"\x89HDF", "an HDF5 file (TensorFlow?): get the model's safetensors"},
		{"<!DOCTYPE", "a web page: the download went wrong"},
		{"<html", "a web page: the download went wrong"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return f.what
		}
	}
	return ""
}

func parseHeader(text []byte) (*header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("header begins with %s, want {", quote.Short(string(text), 12))
	}
	if !utf8.Valid(text) {
		return nil, errors.New("header is not valid UTF-8")
	}
	hdr := &header{metadata: map[string]string{}}
	err := strictjson.ReadObject(text, func(r *strictjson.Reader, name string) error {
		if name == "__metadata__" {
			return parseMetadata(hdr.metadata, r)
		}
		if err := checkName(name); err != nil {
			return err
		}
		e := entry{name: name}
		if err := e.parse(r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		hdr.entries = append(hdr.entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return hdr, nil
}

func parseMetadata(dst map[string]string, r *strictjson.Reader) error {
	return r.Object(func(key string) (err error) {
		if dst[key], err = r.String(); err != nil {
			err = fmt.Errorf("__metadata__: %s: %w", quote.Short(key, 40), err)
		}
		return err
	})
}

// checkName refuses names that do not fit on one line of an error message.
func checkName(name string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	switch {
	case name == "":
		return errors.New("a tensor has an empty name")
	case len(name) > maxName:
		return fmt.Errorf("tensor %s: name of %d bytes, want at most %d", quote.Short(name, 40),
			len(name), maxName)
	case strings.ContainsFunc(name, odd):
		return fmt.Errorf("tensor %s: unprintable character in its name", quote.Short(name, 40))
	}
	return nil
}

// parse reads {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}.
func (e *entry) parse(r *strictjson.Reader) error {
	seen := 0
	err := r.Object(func(key string) (err error) {
		seen++
		switch key {
		case "dtype":
			var s string
			if s, err = r.String(); err == nil && DType(s).Size() == 0 {
				err = fmt.Errorf("%s is not a type that files have here: weights are F32, F16, "+
					"BF16 or F64", quote.Short(s, 20))
			}
			e.dtype = DType(s)
		case "shape":
			var dims []int64
			if dims, err = numbers(r); err == nil {
				e.shape, err = asShape(dims)
			}
		case "data_offsets":
			var o []int64
			if o, err = numbers(r); err == nil && len(o) != 2 {
				err = fmt.Errorf("%d numbers, want 2", len(o))
			}
			if err == nil {
				e.begin, e.end = o[0], o[1]
			}
		default:
			return fmt.Errorf("unknown key %s, want dtype, shape and data_offsets",
				quote.Short(key, 20))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err == nil && seen != 3 { // there are no duplicates and no unknown keys, so one is missing
		err = errors.New("want dtype, shape and data_offsets, found fewer")
	}
	return err
}

// numbers reads an array of plain non-negative integers: no null, no 1.0.
func numbers(r *strictjson.Reader) (all []int64, err error) {
	err = r.Array(func(int) error {
		n, err := r.Natural(math.MaxInt64)
		all = append(all, n)
		return err
	})
	return all, err
}

// asShape checks that the dimensions' product fits an int, so that no later computation with them
// can overflow. Zeros are left out of that product: a tensor without elements must not hide an
// absurd dimension.
func asShape(dims []int64) ([]int, error) {
	if len(dims) > maxRank {
		return nil, fmt.Errorf("%d dimensions, want at most %d", len(dims), maxRank)
	}
	shape := make([]int, len(dims))
	product := int64(1)
	for i, d := range dims {
		if d < 0 || d > 0 && product > math.MaxInt/8/d { // 8 bytes are the widest element
			return nil, fmt.Errorf("%v has more elements than can be addressed", dims)
		}
		product *= max(d, 1)
		shape[i] = int(d)
	}
	return shape, nil
}

// checkOffsets puts the entries in file order and checks that they cover the data exactly, without
// overlap or hole, and that each is as long as its shape and type say.
func (h *header) checkOffsets(size int64) error {
	slices.SortStableFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, e := range h.entries {
		want := int64(Tensor{Shape: e.shape}.Len()) * int64(e.dtype.Size())
		switch {
		case e.end < e.begin || e.end-e.begin != want:
			return fmt.Errorf("%s: data_offsets [%d %d], want %d bytes for %s %v", e.name, e.begin,
				e.end, want, e.dtype, e.shape)
		case e.end > size:
			return fmt.Errorf("%s: data ends at byte %d, but the file has %d bytes of data: "+
				"truncated?", e.name, e.end, size)
		case e.begin != at:
			return fmt.Errorf("%s: data begins at byte %d, want %d, the end of the tensor before "+
				"it", e.name, e.begin, at)
		}
		at = e.end
	}
	if at != size {
		return fmt.Errorf("the tensors end at byte %d, but the file has %d bytes of data", at, size)
	}
	return nil
}
