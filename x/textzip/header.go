package textzip

// The header of a file: what its text was compressed with.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
