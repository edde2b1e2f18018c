package textzip

// Parts of a file, with their checks: the header, which says what the text was compressed with, and
// blocks.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"unicode/utf8"

	"picogpt/internal/engine"
)

// A Header says what a reader needs.
type Header struct {
	Arithmetic int    `json:"arithmetic"` // the version of the order of all operations
	Window     int    `json:"window"`     // tokens of context at most
	Overlap    int    `json:"overlap"`    // tokens that a window has in common with the one before
	Streams    int    `json:"streams"`    // of a group, at most
	Model      string `json:"model"`      // checkpoint.Checkpoint's Digest
	Tokenizer  string `json:"tokenizer"`  // its TokenizerDigest
	Format     string `json:"format"`     // number format of the weights
	Cache      string `json:"cache"`      // and of keys and values
	Name       string `json:"name"`       // of the model, for people
}

// Magic is what a file begins with.
const Magic = "GPTZ"

const (
	version = 1

	maxWindow  = 1 << 20
	maxStreams = 64
	maxName    = 64
)

// ErrFormat is wrapped by errors of files that are no .gptz files, or damaged ones.
var ErrFormat = errors.New("not a .gptz file, or a damaged one")

// damaged returns an error of a file that cannot be read.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrFormat)
}

func (h *Header) numbers() []*int {
	return []*int{&h.Arithmetic, &h.Window, &h.Overlap, &h.Streams}
}

func (h *Header) strings() []*string {
	return []*string{&h.Model, &h.Tokenizer, &h.Format, &h.Cache, &h.Name}
}

// bytes returns the header without its check.
func (h *Header) bytes() []byte {
	b := append([]byte(Magic), version)
	for _, n := range h.numbers() {
		b = binary.LittleEndian.AppendUint32(b, uint32(*n))
	}
	for _, s := range h.strings() {
		b = append(append(b, byte(len(*s))), *s...)
	}
	return b
}

// ReadHeader reads the header of a file, and no byte after it.
func ReadHeader(r io.Reader) (Header, error) {
	f := frames{r: r}
	return f.header()
}

// header reads the header and its check.
func (f *frames) header() (h Header, err error) {
	first, err := f.read(len(Magic) + 1)
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return h, err
	case err != nil || !bytes.HasPrefix(first, []byte(Magic)):
		return h, fmt.Errorf("no .gptz file: want one that begins with %q: %w", Magic, ErrFormat)
	case first[len(Magic)] != version:
		return h, fmt.Errorf("version %d of .gptz, want %d: another version of gpt reads it, or "+
			"the file is damaged: %w", first[len(Magic)], version, ErrFormat)
	}
	for _, n := range h.numbers() {
		b, err := f.read(4)
		if err != nil {
			return h, err
		}
		*n = int(min(binary.LittleEndian.Uint32(b), 1<<31-1))
	}
	for _, s := range h.strings() {
		n, err := f.read(1)
		if err != nil {
			return h, err
		}
		b, err := f.read(int(n[0]))
		if err != nil {
			return h, err
		}
		*s = string(b)
	}
	if err := f.check("the header"); err != nil {
		return h, err
	}
	return h, h.valid()
}

// valid returns an error for a header that no writer writes.
func (h *Header) valid() error {
	switch {
	case h.Window < 1 || h.Window > maxWindow:
		return damaged("window %d, want 1 to %d", h.Window, maxWindow)
	case h.Overlap < 1 || h.Overlap > h.Window:
		return damaged("overlap %d, want 1 to %d (the window)", h.Overlap, h.Window)
	case h.Streams < 1 || h.Streams > maxStreams:
		return damaged("streams %d, want 1 to %d", h.Streams, maxStreams)
	case len(h.Name) > maxName || !utf8.ValidString(h.Name):
		return damaged("the model's name: want at most %d bytes of UTF-8", maxName)
	}
	return nil
}

// A MismatchError says that a file wants another model, number format or version.
type MismatchError struct {
	Field       string // "model", "tokenizer", "format", "cache" or "arithmetic"
	Want, Found string // what the file wants, and what is there
	Header      Header // of the file
}

func (e *MismatchError) Error() string {
	switch e.Field {
	case "model":
		return fmt.Sprintf("model: the file wants %s (digest %s), found digest %s", e.Header.Name,
			e.Want, e.Found)
	case "arithmetic":
		return fmt.Sprintf("arithmetic version: the file wants %s, this program computes %s",
			e.Want, e.Found)
	}
	return fmt.Sprintf("%s: the file wants %s, found %s", e.Field, e.Want, e.Found)
}

// match returns an error for the first thing that the file wants otherwise than h has it.
func (h *Header) match(file Header) error {
	for _, f := range []struct{ field, want, found string }{
		{"arithmetic", fmt.Sprint(file.Arithmetic), fmt.Sprint(engine.Arithmetic)},
		{"model", file.Model, h.Model},
		{"tokenizer", file.Tokenizer, h.Tokenizer},
		{"format", file.Format, h.Format},
		{"cache", file.Cache, h.Cache},
	} {
		if f.want != f.found {
			return &MismatchError{f.field, f.want, f.found, file}
		}
	}
	return nil
}

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
