package gguf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse: no bytes make the reader panic, errors stay on one line, and what is read can be used.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../checkpoint/testdata/formats/gguf/*.gguf")
	if err != nil || len(files) == 0 {
		f.Fatal("no golden files", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 3000)])
	}
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(b)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of two lines: %q", err)
			}
			return
		}
		total := 0
		for _, x := range file.Tensors {
			total += len(x.Data)
			if w := x.Elements(); w.Size() < 1<<22 {
				if data, err := w.Bytes(); err != nil || int64(len(data)) != w.Size() {
					t.Errorf("%s: %d bytes, %v; want %d", x.Name, len(data), err, w.Size())
				}
			}
		}
		if total > len(b) {
			t.Errorf("tensors of %d bytes in a file of %d", total, len(b))
		}
		for key := range file.Pairs {
			file.Uint(key)
			file.Float(key)
			file.Bool(key)
			file.Text(key)
			file.Texts(key)
			file.Uints(key)
		}
		file.Raw("")
	})
}

// small returns a file with a value of each kind and a tensor of each type.
func small(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	put := func(parts ...any) { raw(&b, parts...) }
	types := []Type{F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4NL,
		IQ4XS}
	put("GGUF", uint32(3), uint64(len(types)), uint64(15))
	for i, v := range []any{uint8(1), int8(-1), uint16(2), int16(-2), uint32(3), int32(-3), float32(4),
		true, text("five"), []any{uint32(kindString), uint64(2), text("a"), text("bc")}, uint64(6),
		int64(-6), float64(7)} {
		put(text(string(rune('a'+i))), uint32(i), v)
	}
	put(text("general.alignment"), uint32(kindU32), uint32(64))
	put(text("ints"), uint32(kindArray), uint32(kindI32), uint64(3), int32(1), int32(2), int32(3))
	at := 0
	for _, x := range types {
		put(text(x.String()), uint32(2), uint64(256), uint64(2), uint32(x), uint64(at))
		n, err := x.size([]int{2, 256})
		if err != nil {
			t.Fatal(err)
		}
		at += (int(n) + 63) &^ 63
	}
	put(make([]byte, -b.Len()&63), bytes.Repeat([]byte{0x3c, 0x51, 0x17}, at/3+1)[:at])
	return b.Bytes()
}

// TestUnknownKinds: their numbers have 32 bits, also where int has no more.
func TestUnknownKinds(t *testing.T) {
	for _, k := range []kind{13, 1 << 31, 1<<32 - 1} {
		if k.size() != 0 || !strings.HasPrefix(k.String(), "type ") {
			t.Errorf("%d bytes of %v", k.size(), k)
		}
	}
}
