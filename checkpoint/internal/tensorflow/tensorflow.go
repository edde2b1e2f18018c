// Package tensorflow reads the index of a TensorFlow checkpoint (V2, a "tensor bundle"): the names
// of the tensors, and the positions of their elements in the data files. It follows
// tensor_bundle.proto and LevelDB's table_format.md.
package tensorflow

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"picogpt/internal/protobuf"
	"picogpt/weights"
)

// A Bundle is the contents of an index.
type Bundle struct {
	Shards  int // data files
	Tensors []Entry
}

// An Entry describes a tensor and its position.
type Entry struct {
	Name         string
	DType        weights.DType // "" if weights.DType does not have the type
	Shape        []int         // all at least 1
	Shard        int           // of the data file
	Offset, Size int64         // in it, in bytes; both at least 0
}

// maxShards bounds the data files of a checkpoint.
const maxShards = 1024

// ParseIndex checks an index and returns its contents. The caller must check that the data files
// are long enough.
func ParseIndex(b []byte) (*Bundle, error) {
	bundle := &Bundle{}
	err := readTable(b, func(key string, value []byte) error {
		switch {
		case key == "":
			return bundle.header(value)
		case bundle.Shards == 0:
			return errors.New("no header before the tensors")
		}
		e := Entry{Name: key}
		if err := e.parse(value); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		if e.Shard >= bundle.Shards {
			return fmt.Errorf("%q: in data file %d of %d", key, e.Shard, bundle.Shards)
		}
		bundle.Tensors = append(bundle.Tensors, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(bundle.Tensors) == 0 {
		return nil, errors.New("lists no tensors")
	}
	return bundle, nil
}

// header reads a BundleHeaderProto.
func (b *Bundle) header(message []byte) error {
	return protobuf.Fields(message, func(number int, n uint64, _ []byte) error {
		switch number {
		case 1: // num_shards
			if n < 1 || n > maxShards {
				return fmt.Errorf("header: %d data files, want 1 to %d", n, maxShards)
			}
			b.Shards = int(n)
		case 2: // endianness
			if n != 0 {
				return errors.New("header: data in the other byte order, want little-endian")
			}
		}
		return nil
	})
}

// parse reads a BundleEntryProto.
func (e *Entry) parse(message []byte) error {
	err := protobuf.Fields(message, func(number int, n uint64, b []byte) error {
		switch number {
		case 1:
			e.DType = dtype(n)
		case 2:
			return e.shape(b)
		case 3:
			e.Shard = int(min(n, maxShards))
		case 4, 5:
			if n > math.MaxInt64 {
				return fmt.Errorf("offset or size %d, want at most %d", n, int64(math.MaxInt64))
			}
			if number == 4 {
				e.Offset = int64(n)
			} else {
				e.Size = int64(n)
			}
		case 7:
			return errors.New("a partitioned tensor, want one piece")
		}
		return nil
	})
	if err != nil || e.DType == "" {
		return err
	}
	elements := uint64(1)
	for _, d := range e.Shape {
		high, low := bits.Mul64(elements, uint64(d))
		if high != 0 || low > math.MaxInt/8 {
			return fmt.Errorf("shape %v has more elements than can be addressed", e.Shape)
		}
		elements = low
	}
	if want := int64(elements) * int64(e.DType.Size()); e.Size != want {
		return fmt.Errorf("%d bytes, want %d for %s %v", e.Size, want, e.DType, e.Shape)
	}
	return nil
}

// dtype returns the type for TensorFlow's number.
func dtype(n uint64) weights.DType {
	switch n {
	case 1:
		return weights.F32
	case 2:
		return weights.F64
	case 3:
		return weights.I32
	case 9:
		return weights.I64
	case 14:
		return weights.BF16
	case 19:
		return weights.F16
	}
	return ""
}

// shape reads a TensorShapeProto.
func (e *Entry) shape(message []byte) error {
	return protobuf.Fields(message, func(number int, n uint64, dim []byte) error {
		if number == 3 && n != 0 {
			return errors.New("a tensor of unknown rank")
		}
		if number != 2 {
			return nil
		}
		size := uint64(0)
		err := protobuf.Fields(dim, func(number int, n uint64, _ []byte) error {
			if number == 1 {
				size = n
			}
			return nil
		})
		if err == nil && (size < 1 || size > math.MaxInt/8) {
			err = fmt.Errorf("a dimension of %d, want at least 1", int64(size))
		}
		if e.Shape = append(e.Shape, int(size)); len(e.Shape) > 8 && err == nil {
			err = errors.New("more than 8 dimensions")
		}
		return err
	})
}
