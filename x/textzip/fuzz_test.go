package textzip

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"picogpt/model"
)

// FuzzReader takes its bytes as a file, and as the payload of a block whose checks are right, but
// for the text's.
func FuzzReader(f *testing.F) {
	z := tiny(f, model.Options{Threads: 1})
	h := z.codec(Options{}).Header
	f.Add(z.compress([]byte("0123456789"), Options{}, nil), kindStored, uint16(10))
	f.Add([]byte("\x80\x00"), kindModel, uint16(5000))
	f.Add(bytes.Repeat([]byte{7}, 300), kindModel, uint16(300))
	f.Add([]byte("\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00a"), kindZstd, uint16(10))
	f.Fuzz(func(t *testing.T, b []byte, kind byte, size uint16) {
		if _, err := Inspect(bytes.NewReader(b)); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("inspected: %v", err)
		}
		var file bytes.Buffer
		out := framer{w: &file}
		out.write(h.bytes())
		wrong := ^crc32.Checksum(b, castagnoli)
		out.block(block{kind, int(size), wrong, b})
		out.end(int64(size))
		got, err := z.decompress(file.Bytes(), ReadOptions{})
		if len(got) > 0 && crc32.Checksum(got, castagnoli) != wrong ||
			err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes, error %v", len(got), err)
		}
	})
}

// FuzzText compresses any bytes, in any windows.
func FuzzText(f *testing.F) {
	z := tiny(f, model.Options{Threads: 1})
	f.Add([]byte("Once upon a time"), uint8(22), uint8(4), uint8(7))
	f.Add([]byte{0xff, 0}, uint8(0), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, window, overlap, streams uint8) {
		if text = text[:min(len(text), 400)]; len(text) == 0 {
			return // no block
		}
		o := Options{Window: 1 + int(window)%23, Streams: 1 + int(streams)%maxStreams}
		o.Overlap = 1 + int(overlap)%o.Window
		k := zipper{t, z.c, z.m}.codec(o)
		payload, err := k.encode(t.Context(), text, math.MaxInt, func(float64) {})
		if err != nil || payload == nil {
			t.Fatalf("payload %v, error %v", payload, err)
		}
		got, err := k.decode(t.Context(), payload, len(text), func(int) {})
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%+v: %q, want %q, error %v", o, got, text, err)
		}
	})
}
