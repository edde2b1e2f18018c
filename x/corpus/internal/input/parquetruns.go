package input

// The encoded values of a page: runs, differences, strings with a common prefix. A few bytes can
// claim to be any number of values.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// values checks the n values of a page.
func (c *columnCheck) values(encoding format.Encoding, b []byte, n int64) error {
	kind := c.column.Type().Kind()
	if length := int64(c.column.Type().Length()); kind == parquet.FixedLenByteArray &&
		n*length > 4*largestPage {
		return broken("%d values of %d bytes", n, length)
	}
	if n == 0 {
		return nil
	}
	if len(b) == 0 {
		return broken("no bytes for %d values", n)
	}
	switch encoding {
	case format.Plain:
		if kind == parquet.ByteArray {
			return checkStrings(b, n)
		}
		return nil
	case format.ByteStreamSplit:
		return nil
	//lint:ignore SA1019 older writers have it
	case format.PlainDictionary, format.RLEDictionary:
		_, err := checkRuns(b[1:], int(b[0]), n, 0)
		return err
	case format.RLE:
		runs, _, err := prefixed(b)
		if err != nil {
			return err
		}
		_, err = checkRuns(runs, 1, n, 0)
		return err
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err := checkDelta(b, n)
		return err
	case format.DeltaByteArray:
		size, err := checkDelta(b, n)
		if err != nil {
			return err
		}
		if _, err = checkDelta(b[size:], n); err != nil {
			return err
		}
		return checkPrefixes(b, b[size:])
	}
	return fmt.Errorf("values in %v, which is not known", encoding)
}

// checkStrings checks that bytes are n strings, each after its length.
func checkStrings(b []byte, n int64) (err error) {
	found := int64(0)
	for ; len(b) > 0; found++ {
		if _, b, err = prefixed(b); err != nil {
			return err
		}
	}
	if found != n {
		return broken("a page of %d strings, want %d", found, n)
	}
	return nil
}

// mostFilled is the number of values that may fill the last runs of a page.
const mostFilled = 1024

// checkRuns checks that runs have n values of width bits, and counts those that equal level.
func checkRuns(b []byte, width int, n int64, level int) (equal int64, err error) {
	if width > 32 {
		return 0, broken("values of %d bits", width)
	}
	left := n
	for len(b) > 0 {
		head, size := binary.Uvarint(b)
		if size <= 0 {
			return 0, broken("a run without its length")
		}
		b = b[size:]
		if head>>1 > uint64(left+mostFilled) {
			return 0, broken("a run of %d values, want %d", head>>1, left)
		}
		count, length, packed := int64(head>>1), (width+7)/8, head&1 == 1
		if packed { // in groups of eight
			count, length = 8*count, int(count)*width
		}
		if count > left+mostFilled || length > len(b) {
			return 0, broken("a run of %d values and %d bytes, want %d values", count, length, left)
		}
		if known := min(count, max(left, 0)); packed {
			equal += countPacked(b, width, known, level)
		} else if length == 0 || int(b[0]) == level { // levels are at most 255
			equal += known
		}
		b, left = b[length:], left-count
	}
	if left > 0 {
		return 0, broken("runs of %d values, want %d", n-left, n)
	}
	return equal, nil
}

// countPacked counts the values of width bits, from the lowest on, that equal level.
func countPacked(b []byte, width int, n int64, level int) (equal int64) {
	for at := 0; n > 0; n-- {
		value := 0
		for bit := range width {
			value |= int(b[at/8]>>(at%8)&1) << bit
			at++
		}
		if value == level {
			equal++
		}
	}
	return equal
}

// checkDelta checks that delta-encoded integers are at most n, and returns their size in bytes.
func checkDelta(b []byte, n int64) (size int, err error) {
	w := thriftWalk{b: b} // its numbers have the same encoding
	var head [4]uint64
	for i := range head { // values of a block, its parts, number of values, first value
		if head[i], err = w.varint(); err != nil {
			return 0, broken("packed integers without their number")
		}
	}
	block, parts, total := head[0], head[1], head[2]
	if parts == 0 || block == 0 || block > 1<<20 || parts > block || total != uint64(n) {
		return 0, broken("%d integers packed in blocks of %d in %d parts, want %d", total, block, parts,
			n)
	}
	for left := int64(total) - 1; left > 0; {
		if _, err := w.varint(); err != nil {
			return 0, broken("packed integers that are cut off")
		}
		widths := w.b[:min(int(parts), len(w.b))]
		if err := w.skip(parts); err != nil {
			return 0, broken("packed integers that are cut off")
		}
		for _, width := range widths {
			if left <= 0 {
				break
			}
			if err := w.skip(min((block/parts*uint64(width)+7)/8, uint64(len(w.b)))); err != nil {
				return 0, err
			}
			left -= int64(block / parts)
		}
	}
	return len(b) - len(w.b), nil
}

// checkPrefixes checks the total size of strings that begin with a prefix of the string before
// them.
func checkPrefixes(prefixes, suffixes []byte) error {
	sum := int64(0)
	for _, b := range [][]byte{prefixes, suffixes} {
		var lengths []int32
		err := trusting(func() (err error) {
			lengths, err = new(delta.BinaryPackedEncoding).DecodeInt32(nil, b)
			return err
		})
		if err != nil {
			return err
		}
		for _, n := range lengths {
			if sum += int64(n); n < 0 || sum > largestPage {
				return broken("strings of more than %d bytes", largestPage)
			}
		}
	}
	return nil
}

// prefixed takes bytes after their length.
func prefixed(b []byte) (taken, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, broken("a page that ends within a number")
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > int64(len(b)) {
		return nil, nil, broken("%d bytes in %d", n, len(b))
	}
	return b[:n], b[n:], nil
}

// Decompressing a page of Parquet to at most the size that it claims.

// decompress returns the decompressed bytes, at most size of them.
func decompress(codec format.CompressionCodec, b []byte, size int) ([]byte, error) {
	switch codec {
	case format.Uncompressed:
		return b, nil
	case format.Snappy:
		if n, err := snappy.DecodedLen(b); err != nil || n > size {
			return nil, broken("snappy data of %d bytes, want %d", n, size)
		}
		b, err := snappy.Decode(nil, b)
		return b, named(codec, err)
	case format.Lz4Raw:
		to := make([]byte, size)
		n, err := lz4.UncompressBlock(b, to)
		return to[:max(n, 0)], named(codec, err)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, named(codec, err)
		}
		return inflate(codec, r, size)
	case format.Brotli:
		return inflate(codec, brotli.NewReader(bytes.NewReader(b)), size)
	case format.Zstd:
		r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, named(codec, err)
		}
		defer r.Close()
		return inflate(codec, r, size)
	}
	return nil, fmt.Errorf("pages compressed by %v, want SNAPPY, GZIP, ZSTD, BROTLI or LZ4_RAW", codec)
}

func inflate(codec format.CompressionCodec, r io.Reader, size int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(b) > size {
		return nil, broken("%v data of more than %d bytes", codec, size)
	}
	return b, named(codec, err)
}

func named(codec format.CompressionCodec, err error) error {
	if err == nil {
		return nil
	}
	return broken("%v data: %v", codec, err)
}
