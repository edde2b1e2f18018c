// Package textzip compresses text with a model: the likelier a model thinks the next token, the
// fewer bits it takes. Any bytes can be compressed, and come back as they were.
//
//	c, err := checkpoint.Open("models/gpt2", checkpoint.Options{})
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
//	w, err := textzip.NewWriter(ctx, file, c, m, textzip.Options{})
//	io.Copy(w, text)
//	err = w.Close()
//	r, err := textzip.NewReader(ctx, file, c, m, textzip.ReadOptions{})
//	io.Copy(out, r)
//
// A reader needs the same checkpoint in the same number format, which the file names, and finds the
// same probabilities to the last bit: on any processor and GPU, with any threads and kernels. They
// are used as whole numbers ("frequencies"), from which a range coder (Martin, 1979) writes
// −log₂(probability) bits for each token.
//
// Its types, in the order to read them:
//
//   - [Writer] compresses, with [Options]; [Reader] brings the text back, within [ReadOptions].
//   - [Header] is what a file says of itself; [Info] is what Inspect finds without a model.
//   - [MismatchError] says what of the model is other than the file's, [LimitError] which limit of a
//     reader a file is above.
//
// # Groups and streams
//
// The text is cut into groups of Options.Streams × 64 KiB; the last may be shorter. A group is cut
// into as many segments of equal length, or fewer where they would be under 4 KiB. Each is a
// stream: it is tokenized by itself, and begins with the token that begins texts. The streams of a
// group are evaluated side by side, which is what makes reading fast: a step for 8 streams takes
// little longer than one for a single stream. When a stream fills its window, the next window
// begins with the last Options.Overlap tokens. One range coder takes the first token of each
// stream, then the second of each, and so on. A group is a block of the file; where zstd makes it
// smaller it is zstd's, and where nothing does it is stored.
//
// # Format
//
// Numbers are little endian. A string is a byte of its length, then its bytes.
//
//	header	"GPTZ", the format's version (1 byte), arithmetic version, window, overlap, streams
//		(4 bytes each), digests of the model and of the tokenizer, number formats of the
//		weights and of the cache, the model's name (5 strings), check
//	block	kind (1 byte: 1 model, 2 zstd, 3 stored), bytes of the text, bytes of the payload,
//		CRC-32C of the text (4 bytes each), payload, check
//	end	kind 0, bytes of the whole text (8 bytes), check
//
// A check is the CRC-32C of all of the file before it, other checks left out. So blocks that are
// damaged, missing or in another order are found before anything is evaluated.
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
