package main

// The details of the formats, checked by hand. The peers check the files as a whole: run lets each
// generate our own tokens first.

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

func TestAlphabetIsGPT2s(t *testing.T) {
	for b, want := range map[byte]rune{'A': 'A', '!': '!', ' ': 'Ġ', '\n': 'Ċ', 0: 'Ā', 0x7f: 'ġ',
		0xa0: 'ł', 0xa1: '¡', 0xad: 'Ń', 0xff: 'ÿ'} {
		if got := alphabet(b); got != want {
			t.Errorf("byte %#x: %c, want %c", b, got, want)
		}
	}
	seen := map[rune]bool{}
	for b := range 256 {
		seen[alphabet(byte(b))] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d letters, want 256", len(seen))
	}
}

func TestVocabularyHasNoTokenTwice(t *testing.T) {
	for _, n := range []int{7, 50257, 50304} {
		seen := map[string]bool{}
		for _, token := range vocabulary(n) {
			seen[token] = true
		}
		if len(seen) != n {
			t.Errorf("%d different tokens, want %d", len(seen), n)
		}
	}
}

// ramp is a block whose widest value is negative, and whose steps hit no multiple of a scale.
func ramp() (x [32]float32) {
	for i := range x {
		x[i] = float32(i)*0.37 - 8
	}
	return x
}

func TestQ8Blocks(t *testing.T) {
	x := ramp()
	block := appendQ8(nil, &x)
	if len(block) != 34 {
		t.Fatalf("%d bytes, want 34", len(block))
	}
	d := half(binary.LittleEndian.Uint16(block))
	if want := 8.0 / 127; math.Abs(d-want) > want/1024 {
		t.Errorf("scale %v, want %v", d, want)
	}
	for i, v := range x {
		if got := float64(int8(block[2+i])) * d; math.Abs(got-float64(v)) > 0.55*d+8.0/2048 {
			t.Errorf("value %d: %v, want %v", i, got, v)
		}
	}
}

func TestQ4Blocks(t *testing.T) {
	x := ramp()
	block := appendQ4(nil, &x)
	if len(block) != 18 {
		t.Fatalf("%d bytes, want 18", len(block))
	}
	d := half(binary.LittleEndian.Uint16(block))
	if d != 1 { // −8 is the widest: −8/−8
		t.Errorf("scale %v, want 1", d)
	}
	for i, v := range x {
		q := block[2+i%16] >> (i / 16 * 4) & 15
		if got := (float64(q) - 8) * d; math.Abs(got-float64(v)) > 0.5 {
			t.Errorf("value %d: %v, want %v", i, got, v)
		}
	}
	var zeros [32]float32
	if got := appendQ4(nil, &zeros); !bytes.Equal(got[2:], bytes.Repeat([]byte{0x88}, 16)) {
		t.Errorf("zeros: % x", got)
	}
}

// half widens a positive, normal float16.
func half(h uint16) float64 { return math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10)-15) }

// The examples are those of protobuf's own description of its encoding.
func TestProtobuf(t *testing.T) {
	var m message
	m.int(1, 150)
	m.text(2, "testing")
	m.message(3, func(m *message) { m.int(1, 150) })
	want := "\x08\x96\x01" + "\x12\x07testing" + "\x1a\x03\x08\x96\x01"
	if string(m) != want {
		t.Errorf("% x, want % x", m, want)
	}
	m = nil
	m.int(3, -1)
	m.float(2, 1)
	if want := "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" +
		"\x15\x00\x00\x80\x3f"; string(m) != want {
		t.Errorf("% x, want % x", m, want)
	}
}
