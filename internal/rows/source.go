package rows

// Sources: the lines of a file or of stdin, plain or compressed, of any number and length.

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"picogpt/internal/folder"
)

// longestLine bounds the bytes of a line that is held in memory.
const longestLine = 16 << 20

// ErrLongLine is the error for a longer line.
var ErrLongLine = fmt.Errorf("more than %d bytes", longestLine)

// A Source reads lines, and records what it has read.
type Source struct {
	Name string       // for messages
	Path string       // "-" for stdin, "" for another reader
	Size int64        // of the file; 0 if not known
	Read atomic.Int64 // bytes of the file up to the last line that was read
	Line int          // number of the last line, from 1; a caller that begins within a file sets it

	Bytes int64 // of the lines that were read, with their ends, after decompression

	file io.Closer   // closed by Close, if not nil
	long *longReader // closed by Close, if not nil
	in   *counter
	raw  *bufio.Reader // the bytes of the file
	r    *bufio.Reader // the same, decompressed

	quotes int       // of the last line
	digest hash.Hash // of all that was read
}

// NewSource returns a Source that reads from r. It does not close r.
func NewSource(name string, r io.Reader) *Source {
	s := &Source{Name: name, digest: sha256.New(), in: &counter{r: r}}
	s.raw = bufio.NewReaderSize(s.in, 1<<16)
	s.r = s.raw
	return s
}

// FromFile returns a Source that reads the open file, or stdin, whose path is "-" and which is not
// closed. It decompresses gzip and zstd.
func FromFile(path string, file *os.File) (*Source, error) {
	name := path
	if path == "-" {
		name = "stdin"
	}
	s := NewSource(name, file)
	s.Path = path
	if path != "-" {
		s.file = file
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		s.Size = info.Size()
	}
	return s, s.Decompress()
}

// Decompress continues with the decompressed data, if the data are gzip or zstd. After an error the
// source is closed.
func (s *Source) Decompress() error {
	z, err := decompressed(s.r)
	if err != nil {
		s.Close()
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if z != nil {
		s.r = bufio.NewReaderSize(z, 1<<16)
		s.long, _ = z.Reader.(*longReader)
	}
	return nil
}

// named returns an error with the path instead of the operation.
func named(path string, err error) error {
	return fmt.Errorf("%s: %w", cmp.Or(path, `""`), folder.Cause(err))
}

// Close closes the file, unless it is stdin, and the decompressor.
func (s *Source) Close() {
	if s.long != nil {
		s.long.Close()
	}
	if s.file != nil {
		s.file.Close()
	}
}

// Compressed reports whether Decompress found gzip or zstd.
func (s *Source) Compressed() bool { return s.r != s.raw }

// StartsWith reports whether the next bytes are prefix. It waits for no more bytes than it needs.
func (s *Source) StartsWith(prefix string) bool { return startsWith(s.r, prefix) }

// Rest returns a reader of the bytes after the lines that were read.
func (s *Source) Rest() io.Reader { return s.r }

// Text returns a reader of the whole source as one text, without a byte order mark, whose bytes are
// counted. It returns an error if the beginning is not text.
func (s *Source) Text() (io.Reader, error) {
	first, _ := s.r.Peek(s.r.Size())
	text, err := TrimMark(first)
	if err == nil {
		err = checkText(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	n, _ := s.r.Discard(len(first) - len(text))
	s.Bytes += int64(n)
	return s.r, nil
}

// Next reads a line with its end. It returns ErrLongLine for a line that is too long, which it
// skips, or io.EOF.
func (s *Source) Next() (line []byte, err error) {
	size, quotes := 0, 0
	for {
		part, err := s.r.ReadSlice('\n')
		quotes += bytes.Count(part, []byte{'"'})
		if size += len(part); size <= longestLine {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && size == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, named(s.Name, err)
		}
		s.quotes = quotes
		s.Read.Store(s.in.n - int64(s.raw.Buffered()))
		s.Bytes += int64(size)
		if s.Line++; size > longestLine {
			fmt.Fprintf(s.digest, "%d ", size) // its bytes are not held in memory
			return line, ErrLongLine
		}
		return line, nil
	}
}

// take adds a line to the digest and the counts.
func (s *Source) take(line []byte) {
	s.digest.Write(line)
	s.digest.Write([]byte{'\n'})
}

// sum returns the digest of all that was read.
func (s *Source) sum() string { return hex.EncodeToString(s.digest.Sum(nil)) }

// TrimEnd removes the end of a line.
func TrimEnd(line []byte) []byte {
	line, fed := bytes.CutSuffix(line, []byte("\n"))
	if fed {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line
}

// A counter counts the bytes that are read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// startsWith reports whether r begins with a prefix. It waits for no more bytes than it needs.
func startsWith(r *bufio.Reader, prefix string) bool {
	return common(r, prefix) == len(prefix)
}

// decompressed returns a reader of the decompressed data, or nil if the data are not compressed.
// Their first bytes tell their format.
func decompressed(r *bufio.Reader) (*inflater, error) {
	switch {
	case startsWith(r, "\xfd7zXZ\x00"):
		return nil, wantText("xz")
	case startsWith(r, "PK\x03\x04"):
		return nil, wantText("zip")
	case startsWith(r, "BZh"): // a digit follows
		if b, err := r.Peek(10); err == nil && string(b[4:]) == "1AY&SY" {
			return nil, wantText("bzip2")
		}
	case startsWith(r, "\x1f\x8b"):
		z, err := gzip.NewReader(r)
		return inflated(z, "gzip", err)
	case startsWith(r, "\x28\xb5\x2f\xfd"), // magic of a frame
		startsWith(r, "\x50\x2a\x4d\x18"): // magic of a skippable frame; pzstd writes one first
		z, err := zstdReader(r)
		return inflated(z, "zstd", err)
	}
	return nil, nil
}

func wantText(kind string) error { return fmt.Errorf("%s data, want text, gzip or zstd", kind) }

func inflated(z io.Reader, kind string, err error) (*inflater, error) {
	if err != nil {
		return nil, badData(kind, err)
	}
	return &inflater{z, kind}, nil
}

// An inflater adds the kind of data to errors of decompression.
type inflater struct {
	io.Reader
	kind string
}

func (z *inflater) Read(b []byte) (int, error) {
	n, err := z.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = badData(z.kind, err)
	}
	return n, err
}

func badData(kind string, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s data: cut off before their end", kind)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("zstd data: %w, want at most %d bytes, or %d from the first frame on",
			err, usualWindow, uint64(largestWindow))
	}
	return fmt.Errorf("%s data: %s", kind, strings.TrimPrefix(err.Error(), kind+": "))
}
