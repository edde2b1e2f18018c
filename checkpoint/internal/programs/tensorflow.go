// Package programs reads files of other programs: TensorFlow's and llm.c's.
package programs

// The index of a TensorFlow checkpoint (V2, a "tensor bundle"): the names of the tensors, and the
// positions of their elements in the data files. It follows tensor_bundle.proto and LevelDB's
// table_format.md.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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
	return map[uint64]weights.DType{1: weights.F32, 2: weights.F64, 3: weights.I32, 9: weights.I64,
		14: weights.BF16, 19: weights.F16}[n]
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

// Tables of LevelDB, the form of a checkpoint's index: sorted keys with values, in blocks.

const (
	footer     = 48
	tableMagic = 0xdb4775248b80fb57
	trailer    = 5   // after each block: its compression, and its CRC
	maxKey     = 512 // bytes
	maxEntries = 1 << 16
)

// A handle is the position of a block, without its trailer.
type handle struct{ offset, size uint64 }

// readHandle reads a handle at the beginning of b.
func readHandle(b []byte) (h handle, rest []byte, ok bool) {
	offset, n := binary.Uvarint(b)
	if n <= 0 {
		return h, nil, false
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return h, nil, false
	}
	return handle{offset, size}, b[n+m:], true
}

// readTable calls f with each key of a table and its value, in the order of the keys, which are
// distinct. The value is a part of b.
func readTable(b []byte, f func(key string, value []byte) error) error {
	if len(b) < footer {
		return fmt.Errorf("%d bytes, too short for a checkpoint's index", len(b))
	}
	end := b[len(b)-footer:]
	if n := binary.LittleEndian.Uint64(end[footer-8:]); n != tableMagic {
		return fmt.Errorf("ends with %#x, want the number of LevelDB's tables, %#x: truncated?", n,
			uint64(tableMagic))
	}
	_, rest, ok := readHandle(end) // the block of filters
	index, _, ok2 := readHandle(rest)
	if !ok || !ok2 {
		return errors.New("footer: want two places of blocks")
	}
	body := b[:len(b)-footer]
	blocks, err := readBlock(body, index)
	if err != nil {
		return fmt.Errorf("index block: %w", err)
	}
	begin, previous, count := uint64(0), "", 0
	return readEntries(blocks, func(_ string, value []byte) error {
		h, _, ok := readHandle(value)
		if !ok || h.offset < begin {
			return errors.New("index block: want the places of blocks that follow one another")
		}
		block, err := readBlock(body, h)
		if err != nil {
			return fmt.Errorf("block at byte %d: %w", h.offset, err)
		}
		begin = h.offset + h.size + trailer
		return readEntries(block, func(key string, value []byte) error {
			if count++; count > maxEntries {
				return fmt.Errorf("more than %d keys", maxEntries)
			}
			if count > 1 && key <= previous {
				return fmt.Errorf("block at byte %d: keys out of order", h.offset)
			}
			previous = key
			return f(key, value)
		})
	})
}

// readBlock returns the bytes of a block, after checking its CRC.
func readBlock(b []byte, h handle) ([]byte, error) {
	if h.offset > uint64(len(b)) || h.size > uint64(len(b))-h.offset ||
		trailer > uint64(len(b))-h.offset-h.size {
		return nil, fmt.Errorf("%d bytes at byte %d, past the end of the file", h.size, h.offset)
	}
	block := b[h.offset : h.offset+h.size+1]
	want := binary.LittleEndian.Uint32(b[h.offset+h.size+1:])
	if got := mask(crc32.Checksum(block, crc32.MakeTable(crc32.Castagnoli))); got != want {
		return nil, fmt.Errorf("CRC %#08x, want %#08x: the file is damaged", got, want)
	}
	if kind := block[h.size]; kind != 0 {
		return nil, fmt.Errorf("compressed (kind %d), want none", kind)
	}
	return block[:h.size], nil
}

// mask returns the form in which LevelDB stores a CRC.
func mask(crc uint32) uint32 { return (crc>>15 | crc<<17) + 0xa282ead8 }

// readEntries calls f with the entries of a block. A key is stored as the number of bytes that it
// shares with the key before it, and the remaining bytes.
func readEntries(b []byte, f func(key string, value []byte) error) error {
	const broken = "block of %d bytes: %s"
	if len(b) < 4 {
		return fmt.Errorf(broken, len(b), "too short")
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if 4*restarts+4 > uint64(len(b)) {
		return fmt.Errorf(broken, len(b), "more restarts than it has room for")
	}
	b = b[:uint64(len(b))-4*restarts-4]
	var key []byte
	for len(b) > 0 {
		var lengths [3]uint64 // shared, of the rest, of the value
		for i := range lengths {
			n, size := binary.Uvarint(b)
			if size <= 0 || n > uint64(len(b)) && i > 0 {
				return fmt.Errorf(broken, len(b), "an entry's lengths are wrong")
			}
			lengths[i], b = n, b[size:]
		}
		shared, rest, value := lengths[0], lengths[1], lengths[2]
		if shared > uint64(len(key)) || rest+value > uint64(len(b)) || shared+rest > maxKey {
			return fmt.Errorf(broken, len(b), "an entry's lengths are wrong")
		}
		key = append(key[:shared], b[:rest]...)
		if err := f(string(key), b[rest:rest+value]); err != nil {
			return err
		}
		b = b[rest+value:]
	}
	return nil
}
