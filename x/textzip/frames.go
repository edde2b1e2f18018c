package textzip

// Blocks of a file, with their checks.

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The kinds of a block.
const (
	kindEnd byte = iota
	kindModel
	kindZstd
	kindStored
)

// segment is the most bytes of a segment, leastSegment the fewest of one of several.
const (
	segment      = 64 << 10
	leastSegment = 4 << 10
)

// A block is a group of the text as it stands in the file.
type block struct {
	kind    byte
	text    int    // its bytes
	crc     uint32 // CRC-32C of the text
	payload []byte
}

// A framer writes a file's parts with their checks.
type framer struct {
	w   io.Writer
	sum uint32 // of what was written
}

// write writes parts and their check.
func (f *framer) write(parts ...[]byte) error {
	for _, b := range parts {
		f.sum = crc32.Update(f.sum, castagnoli, b)
	}
	for _, b := range append(parts, binary.LittleEndian.AppendUint32(nil, f.sum)) {
		if _, err := f.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func (f *framer) block(b block) error {
	head := []byte{b.kind}
	for _, n := range []uint32{uint32(b.text), uint32(len(b.payload)), b.crc} {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	return f.write(head, b.payload)
}

// end writes the end of a file with so many bytes of text.
func (f *framer) end(text int64) error {
	return f.write(binary.LittleEndian.AppendUint64([]byte{kindEnd}, uint64(text)))
}

// frames reads a file's parts, and compares their checks.
type frames struct {
	r    io.Reader
	sum  uint32 // of what was read
	size int64  // bytes that were read

	streams int   // the header's
	count   int   // blocks that were read
	text    int64 // bytes of their text
}

// read reads n bytes. The end of the file is io.ErrUnexpectedEOF.
func (f *frames) read(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := io.ReadFull(f.r, b)
	f.size += int64(got)
	f.sum = crc32.Update(f.sum, castagnoli, b[:got])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &truncatedError{f.size}
	}
	return b, err
}

// A truncatedError says that a file ends before its end block.
type truncatedError struct{ size int64 }

func (e *truncatedError) Error() string {
	return damaged("the file ends too early, after %d bytes", e.size).Error()
}

func (e *truncatedError) Unwrap() []error { return []error{ErrFormat, io.ErrUnexpectedEOF} }

// check compares the check that stands next.
func (f *frames) check(what string) error {
	want := f.sum
	b, err := f.read(4)
	if err != nil {
		return err
	}
	if f.sum = want; binary.LittleEndian.Uint32(b) != want {
		return damaged("the check of %s is wrong", what)
	}
	return nil
}

// next returns the next block, or io.EOF after the end of a whole file.
func (f *frames) next() (b block, err error) {
	kind, err := f.read(1)
	if err != nil {
		return b, err
	}
	f.count++
	if b.kind = kind[0]; b.kind == kindEnd {
		return b, f.end()
	}
	head, err := f.read(12)
	if err != nil {
		return b, err
	}
	b.text = int(min(binary.LittleEndian.Uint32(head), 1<<31-1))
	size := int(min(binary.LittleEndian.Uint32(head[4:]), 1<<31-1))
	b.crc = binary.LittleEndian.Uint32(head[8:])
	if b.kind > kindStored || b.text < 1 || b.text > f.streams*segment || size > b.text ||
		b.kind == kindStored && size != b.text {
		return b, damaged("block %d: kind %d of %d bytes for %d", f.count, b.kind, size, b.text)
	}
	if b.payload, err = f.read(size); err != nil {
		return b, err
	}
	if err := f.check("block " + strconv.Itoa(f.count)); err != nil {
		return b, err
	}
	f.text += int64(b.text)
	return b, nil
}

// end reads the rest of an end block: io.EOF if the file is whole.
func (f *frames) end() error {
	total, err := f.read(8)
	if err != nil {
		return err
	}
	if err := f.check("the end"); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint64(total); n != uint64(f.text) {
		return damaged("the end: %d bytes of text, want the blocks' %d", n, f.text)
	}
	if _, err := io.ReadFull(f.r, make([]byte, 1)); err != io.EOF {
		if err == nil {
			err = damaged("bytes after the end")
		}
		return err
	}
	return io.EOF
}
