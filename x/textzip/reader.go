package textzip

// Reader: a .gptz file in, text out.

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"picogpt/checkpoint"
	"picogpt/model"
)

// ReadOptions say how a file is read. The zero value reads any file.
type ReadOptions struct {
	Limit    int64            // bytes of text at most; 0 is no limit
	Progress func(text int64) // if not nil, called with the bytes of text that are decompressed
}

// A LimitError says that a text is longer than ReadOptions.Limit.
type LimitError struct{ Limit, Found int64 } // Found is what the file says so far

func (e *LimitError) Error() string {
	return fmt.Sprintf("the text has at least %d bytes, want at most %d", e.Found, e.Limit)
}

// A Reader decompresses a file. It holds a group of the text and the caches of its streams. One
// goroutine may use it.
type Reader struct {
	ctx      context.Context
	codec    *codec
	in       frames
	limit    int64
	progress func(int64)
	zstd     *zstd.Decoder
	left     []byte // of the text: not read yet
	err      error  // of an earlier call
}

// NewReader reads the header of a file from r. m is a model of the checkpoint c. If the file wants
// another model, format or version, the error is a *MismatchError. The end of the text is io.EOF;
// a file that is damaged, ends too early, or continues after its end gives an error that wraps
// ErrFormat. A group is checked before the first of its bytes is read. After ctx ends, Read returns
// its error.
func NewReader(
	ctx context.Context, r io.Reader, c *checkpoint.Checkpoint, m *model.Model, o ReadOptions,
) (*Reader, error) {
	if ctx == nil {
		return nil, model.ErrNoContext
	}
	k, err := newCodec(c, m)
	if err != nil {
		return nil, err
	}
	z := &Reader{ctx: ctx, codec: k, in: frames{r: r}, limit: o.Limit, progress: o.Progress}
	h, err := z.in.header()
	if err == nil {
		err = k.match(h)
	}
	if most := m.Config().Positions; err == nil && h.Window > most {
		err = damaged("window %d, want at most %d (n_positions)", h.Window, most)
	}
	if err != nil {
		return nil, err
	}
	k.Header, z.in.streams = h, h.Streams
	if z.progress == nil {
		z.progress = func(int64) {}
	}
	return z, nil
}

// Read reads text.
func (z *Reader) Read(b []byte) (n int, err error) {
	for len(z.left) == 0 && z.err == nil && len(b) > 0 {
		z.left, z.err = z.group()
	}
	if len(z.left) == 0 {
		return 0, z.err
	}
	n = copy(b, z.left)
	z.left = z.left[n:]
	return n, nil
}

// Close ends reading. It does not close the reader below.
func (z *Reader) Close() error {
	z.left, z.err = nil, os.ErrClosed
	if z.zstd != nil {
		z.zstd.Close()
	}
	return nil
}

// group returns the text of the next block.
func (z *Reader) group() (text []byte, err error) {
	if err := z.ctx.Err(); err != nil {
		return nil, err
	}
	before := z.in.text
	b, err := z.in.next()
	if err != nil {
		return nil, err
	}
	if z.limit > 0 && z.in.text > z.limit {
		return nil, &LimitError{z.limit, z.in.text}
	}
	switch b.kind {
	case kindModel:
		text, err = z.codec.decode(z.ctx, b.payload, b.text, func(n int) {
			z.progress(before + int64(n))
		})
	case kindZstd:
		text, err = z.unpack(b)
	default:
		text = b.payload
	}
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(text, castagnoli) != b.crc {
		return nil, damaged("block %d: the text's check is wrong", z.in.count)
	}
	z.progress(z.in.text)
	return text, nil
}

// unpack returns the text of a block of zstd.
func (z *Reader) unpack(b block) ([]byte, error) {
	if z.zstd == nil {
		var err error
		z.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(maxStreams*segment))
		if err != nil {
			return nil, err
		}
	}
	text, err := z.zstd.DecodeAll(b.payload, make([]byte, 0, b.text))
	if err != nil || len(text) != b.text {
		return nil, damaged("block %d: not the %d bytes of zstd that it should be", z.in.count,
			b.text)
	}
	return text, nil
}

// Info is what a file says of itself.
type Info struct {
	Header
	Text   int64          `json:"text"`   // bytes
	Bytes  int64          `json:"bytes"`  // of the file
	Blocks map[string]int `json:"blocks"` // how many: by model, zstd and stored
}

// Inspect reads a whole file and compares its checks, all but those of texts: it needs no model.
func Inspect(r io.Reader) (Info, error) {
	f := frames{r: r}
	h, err := f.header()
	i := Info{Header: h, Blocks: map[string]int{}}
	f.streams = h.Streams
	for err == nil {
		var b block
		if b, err = f.next(); err == nil {
			i.Blocks[[...]string{kindModel: "model", kindZstd: "zstd", kindStored: "stored"}[b.kind]]++
		}
	}
	i.Text, i.Bytes = f.text, f.size
	if err != io.EOF {
		return i, err
	}
	return i, nil
}
