package rows

// zstd data, in bounded memory whatever windows they ask for and however many are read side by side.

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A decoder has a window of memory, all of which it takes at once. Up to usualWindow, which is what
// zstd --long makes, each source has one of its own. Up to largestWindow, which is what zstd
// --long=31 makes and no option exceeds, the process has one, and its sources take turns.
const (
	usualWindow = 128 << 20

	// 2 GiB, but for addresses of 32 bits
	largestWindow = usualWindow << (^uint(0) >> 63 * 4)
)

// longDecoder has the decoder of long windows while nobody reads by it, nil before the first one. It
// belongs to the process because the memory does.
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

// zstdWindow is the window that the first frame of r asks for, 0 if its header does not tell.
func zstdWindow(r *bufio.Reader) uint64 {
	at := 0
	for n := 1; ; n++ { // no more bytes than tell
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

// A longReader decompresses by longDecoder, from the first Read to the end, an error, or Close.
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

// begin waits for its turn.
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

// Close gives the decoder to the next one.
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
