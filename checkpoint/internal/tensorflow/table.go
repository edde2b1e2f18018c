package tensorflow

// Tables of LevelDB, the form of a checkpoint's index: sorted keys with values, in blocks.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

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
