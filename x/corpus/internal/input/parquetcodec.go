package input

// Decompressing a page of Parquet to at most the size that it claims.

import (
	"bytes"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

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
