package rows

// zstd data, in bounded memory for any window size and any number of concurrent readers.

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A decoder allocates its whole window at once. For windows up to usualWindow, which zstd --long
// uses, each source has its own decoder. For windows up to largestWindow, which zstd --long=31 uses
// and which is the maximum, the process has one decoder, and its sources take turns.
const (
	usualWindow = 128 << 20

	// 2 GiB; usualWindow on systems with 32-bit addresses
	largestWindow = usualWindow << (^uint(0) >> 63 * 4)
)

// longDecoder holds the decoder of long windows while no source reads with it, nil before the first
// one. It belongs to the process because the memory does.
var longDecoder = func() chan *zstd.Decoder {
	turn := make(chan *zstd.Decoder, 1)
	turn <- nil
	return turn
}()

func newDecoder(r io.Reader, window uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
}

// zstdReader decompresses r, which begins with a frame.
func zstdReader(r *bufio.Reader) (io.Reader, error) {
	if zstdWindow(r) > usualWindow {
		return &longReader{from: r}, nil
	}
	return newDecoder(r, usualWindow)
}

// zstdWindow returns the window size of the first frame of r, or 0 if its header does not contain
// it.
func zstdWindow(r *bufio.Reader) uint64 {
	at := 0
	for n := 1; ; n++ { // no more bytes than it needs
		b, err := r.Peek(at + n)
		if err != nil {
			return 0
		}
		var h zstd.Header
		err = h.Decode(b[at:])
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
		case err != nil:
			return 0
		case h.Skippable && h.SkippableSize > 1<<10:
			return 0
		case h.Skippable:
			at, n = at+h.HeaderSize+int(h.SkippableSize), 0
		case h.SingleSegment:
			return h.FrameContentSize
		default:
			return h.WindowSize
		}
	}
}

// A longReader reads with longDecoder, from the first Read to the end, an error, or Close.
type longReader struct {
	from *bufio.Reader
	by   *zstd.Decoder
	err  error
}

func (l *longReader) Read(b []byte) (n int, err error) {
	if l.by == nil && l.err == nil {
		l.begin()
	}
	if l.err != nil {
		return 0, l.err
	}
	if n, err = l.by.Read(b); err != nil {
		l.err = err
		l.Close()
	}
	return n, err
}

// begin waits for the decoder.
func (l *longReader) begin() {
	l.by = <-longDecoder
	if l.by != nil {
		l.err = l.by.Reset(l.from)
	} else {
		l.by, l.err = newDecoder(l.from, largestWindow)
	}
	if l.err != nil {
		l.Close()
	}
}

// Close passes the decoder to the next reader.
func (l *longReader) Close() error {
	if l.by != nil {
		l.by.Reset(nil)
		longDecoder <- l.by
		l.by = nil
	}
	if l.err == nil {
		l.err = io.ErrClosedPipe
	}
	return nil
}
