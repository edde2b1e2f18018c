package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// text is a string as files have it.
type text string

// raw appends parts of a file.
func raw(b *bytes.Buffer, parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case text:
			raw(b, uint64(len(p)), string(p))
		case []any:
			raw(b, p...)
		default:
			binary.Write(b, binary.LittleEndian, p)
		}
	}
}

func TestValuesOfEveryKind(t *testing.T) {
	f, err := Parse(small(t))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]uint64{"a": 1, "c": 2, "e": 3, "k": 6} {
		if n, ok, err := f.Uint(key); n != want || !ok || err != nil {
			t.Errorf("%s: %d, %t, %v; want %d", key, n, ok, err, want)
		}
	}
	for _, key := range []string{"b", "d", "f", "g", "h", "i", "j", "l", "m", "ints"} {
		if _, _, err := f.Uint(key); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s is no integer of at least 0: %v", key, err)
		}
	}
	if x, ok, err := f.Float("g"); x != 4 || !ok || err != nil {
		t.Error(x, ok, err)
	}
	if yes, ok, err := f.Bool("h"); !yes || !ok || err != nil {
		t.Error(yes, ok, err)
	}
	if s, ok, err := f.Text("i"); s != "five" || !ok || err != nil {
		t.Error(s, ok, err)
	}
	if list, err := f.Texts("j"); !slices.Equal(list, []string{"a", "bc"}) || err != nil {
		t.Error(list, err)
	}
	if list, err := f.Uints("ints"); !slices.Equal(list, []int{1, 2, 3}) || err != nil {
		t.Error(list, err)
	}
	for _, read := range []func(key string) error{
		func(key string) error { _, _, err := f.Float(key); return err },
		func(key string) error { _, _, err := f.Bool(key); return err },
		func(key string) error { _, _, err := f.Text(key); return err },
		func(key string) error { _, err := f.Texts(key); return err },
		func(key string) error { _, err := f.Uints(key); return err },
	} {
		if err := read("e"); err == nil || !strings.HasPrefix(err.Error(), "e: a u32, want ") {
			t.Error(err)
		}
		if err := read("absent"); err != nil {
			t.Error(err)
		}
	}
	if len(f.Tensors) != 15 || !slices.Equal(f.Tensors[3].Shape, []int{2, 256}) {
		t.Errorf("%d tensors, shape %v", len(f.Tensors), f.Tensors[3].Shape)
	}
}

// TestMalformedFiles changes one thing of a valid file.
func TestMalformedFiles(t *testing.T) {
	pair := func(parts ...any) []byte {
		var b bytes.Buffer
		raw(&b, "GGUF", uint32(3), uint64(0), uint64(1))
		raw(&b, parts...)
		return append(b.Bytes(), make([]byte, 100)...)
	}
	tensor := func(parts ...any) []byte {
		var b bytes.Buffer
		raw(&b, "GGUF", uint32(3), uint64(1), uint64(0))
		raw(&b, parts...)
		return append(b.Bytes(), make([]byte, 200)...)
	}
	const huge = math.MaxUint64
	for want, file := range map[string][]byte{
		`begins with "GGUX`:                      []byte("GGUX\x03\x00\x00\x00"),
		"version 1, whose lengths":               []byte("GGUF\x01\x00\x00\x00"),
		"version 3 in the other byte order":      []byte("GGUF\x00\x00\x00\x03"),
		"version 4, want 2 or 3":                 []byte("GGUF\x04\x00\x00\x00"),
		"8 bytes wanted, but only 0 follow":      []byte("GGUF\x03\x00\x00\x00"),
		"key: 18446744073709551615 bytes wanted": pair(uint64(huge)),
		`key "a\n": want`:                        pair(text("a\n")),
		"unknown type 13 of a value":             pair(text("a"), uint32(13)),
		"an array of arrays":                     pair(text("a"), uint32(9), uint32(9), uint64(1)),
		"an array of 18446744073709551615, but":  pair(text("a"), uint32(9), uint32(0), uint64(huge)),
		"800 bytes wanted, but only 100 follow":  pair(text("a"), uint32(9), uint32(10), uint64(100)),
		"a bool of 2":                            pair(text("a"), uint32(7), uint8(2)),
		"general.alignment: 48, want a power of two": pair(text("general.alignment"), uint32(4),
			uint32(48)),
		"general.alignment: type u64, want u32": pair(text("general.alignment"), uint32(10),
			uint64(32)),
		"split.count: 3, want 1":       pair(text("split.count"), uint32(2), uint16(3)),
		"an empty name":                tensor(text("")),
		"unprintable character":        tensor(text("\x1b")),
		"x: 5 dimensions, want 1 to 4": tensor(text("x"), uint32(5)),
		"x: dimension 0 is 0":          tensor(text("x"), uint32(1), uint64(0)),
		"x: dimension 1 is 4294967296": tensor(text("x"), uint32(2), uint64(1<<32),
			uint64(1<<32)),
		"x: type IQ2_XXS, want": tensor(text("x"), uint32(1), uint64(32), uint32(16), uint64(0)),
		"x: rows of 33, want whole blocks of 32": tensor(text("x"), uint32(1), uint64(33), uint32(2),
			uint64(0)),
		"x: offset 32, want 0": tensor(text("x"), uint32(1), uint64(4), uint32(0), uint64(32)),
		"x: 4000 bytes at byte 0 of the data": tensor(text("x"), uint32(1), uint64(1000), uint32(0),
			uint64(0)),
	} {
		if _, err := Parse(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A beginning of a file is parsed as the file, or says that it is too short: never otherwise.
func TestParseBeginning(t *testing.T) {
	for _, name := range []string{"mixed", "kquants"} {
		b, err := os.ReadFile("../../checkpoint/testdata/formats/gguf/" + name + ".gguf")
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		enough := 0
		for n := range len(b) {
			f, err := ParseBeginning(b[:n], int64(len(b)))
			if err == nil {
				if len(f.Tensors) != len(whole.Tensors) || len(f.Pairs) != len(whole.Pairs) {
					t.Fatalf("%s: %d bytes are parsed otherwise", name, n)
				}
				enough++
			} else if n >= 8 && !errors.Is(err, ErrShort) || enough > 0 {
				t.Fatalf("%s: %d bytes: %v", name, n, err)
			}
			if enough > 100 {
				break
			}
		}
		if enough == 0 {
			t.Errorf("%s: no beginning is parsed", name)
		}
	}
}
