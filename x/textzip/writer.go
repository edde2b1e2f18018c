package textzip

// Writer: text in, a .gptz file out.

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"picogpt/checkpoint"
	"picogpt/model"
)

// Options say how a text is compressed. The zero value is good for most.
type Options struct {
	Window  int    // tokens of context at most; 0 is the model's n_positions
	Overlap int    // tokens that a window repeats of the one before; 0 is a quarter of Window
	Streams int    // of a group, which a reader evaluates side by side; 0 is 8, at most 64
	Name    string // of the model, for people: at most 64 bytes of UTF-8

	Progress func(text int64) // if not nil, called with the bytes of text that are compressed
}

const usualStreams = 8

// A Writer compresses what is written to it. It holds a group of the text, and the caches of a few
// windows. One goroutine may use it.
type Writer struct {
	ctx      context.Context
	codec    *codec
	out      framer
	progress func(int64)
	group    []byte
	text     int64 // bytes of the groups that are written
	zstd     *zstd.Encoder
	err      error // of an earlier call; os.ErrClosed after Close
}

// NewWriter writes the header of a file to w, and returns a Writer whose Close writes the file's
// end. m is a model of the checkpoint c. The file depends on the text, the model, its number
// formats and the options, and on nothing else: neither on the sizes of writes nor on the machine.
// After ctx ends, writes return its error.
func NewWriter(
	ctx context.Context, w io.Writer, c *checkpoint.Checkpoint, m *model.Model, o Options,
) (*Writer, error) {
	if ctx == nil {
		return nil, model.ErrNoContext
	}
	k, err := newCodec(c, m)
	if err != nil {
		return nil, err
	}
	most := min(m.Config().Positions, maxWindow)
	k.Window = cmp.Or(o.Window, most)
	k.Overlap = cmp.Or(o.Overlap, max(1, k.Window/4))
	k.Streams = cmp.Or(o.Streams, usualStreams)
	k.Name = cmp.Or(o.Name, "a model")
	switch {
	case k.Window < 1 || k.Window > most:
		return nil, fmt.Errorf("window: %d, want 1 to %d (n_positions)", k.Window, most)
	case k.Overlap < 1 || k.Overlap > k.Window:
		return nil, fmt.Errorf("overlap: %d, want 1 to %d (the window)", k.Overlap, k.Window)
	case k.Streams < 1 || k.Streams > maxStreams:
		return nil, fmt.Errorf("streams: %d, want 1 to %d", k.Streams, maxStreams)
	case len(k.Name) > maxName || !utf8.ValidString(k.Name):
		return nil, fmt.Errorf("name: %d bytes, want at most %d of UTF-8", len(k.Name), maxName)
	}
	z := &Writer{ctx: ctx, codec: k, out: framer{w: w}, progress: o.Progress}
	if z.progress == nil {
		z.progress = func(int64) {}
	}
	z.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return nil, err
	}
	return z, z.out.write(k.Header.bytes())
}

// Write takes the next bytes of the text. A group that is full is compressed and written.
func (z *Writer) Write(b []byte) (n int, err error) {
	for z.err == nil && len(b) > 0 {
		m := min(len(b), z.codec.Streams*segment-len(z.group))
		z.group = append(z.group, b[:m]...)
		n, b = n+m, b[m:]
		if len(z.group) == z.codec.Streams*segment {
			z.err = z.flush()
		}
	}
	return n, z.err
}

// Close compresses the rest and writes the file's end. It does not close the writer below.
func (z *Writer) Close() error {
	if z.err == nil && len(z.group) > 0 {
		z.err = z.flush()
	}
	if z.err == nil {
		z.err = z.out.end(z.text)
	}
	if z.err != nil {
		return z.err
	}
	z.err = os.ErrClosed
	return nil
}

// flush writes the group as a block.
func (z *Writer) flush() error {
	if err := z.ctx.Err(); err != nil {
		return err
	}
	b, err := z.block()
	if err == nil {
		err = z.out.block(b)
	}
	z.text += int64(len(z.group))
	z.group = z.group[:0]
	z.progress(z.text)
	return err
}

// plain is how many times smaller zstd must make a group that is left to it at once: the model
// would take long for a few bytes.
const plain = 100

// block compresses the group, in the way that takes the fewest bytes.
func (z *Writer) block() (block, error) {
	b := block{kindStored, len(z.group), crc32.Checksum(z.group, castagnoli), z.group}
	packed := z.zstd.EncodeAll(z.group, nil)
	if len(packed) < len(b.payload) {
		b.kind, b.payload = kindZstd, packed
	}
	if len(packed)*plain <= len(z.group) {
		return b, nil
	}
	payload, err := z.codec.encode(z.ctx, z.group, len(b.payload), func(share float64) {
		z.progress(z.text + int64(share*float64(len(z.group))))
	})
	if err == nil && payload != nil && len(payload) < len(b.payload) {
		b.kind, b.payload = kindModel, payload
	}
	return b, err
}
