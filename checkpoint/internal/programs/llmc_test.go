package programs

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// file makes a model whose numbers count up, and the counter where each array begins.
func file(version, positions, vocab, layers, heads, embd, padded int32) []byte {
	var b bytes.Buffer
	head := [256]int32{modelMagic, version, positions, vocab, layers, heads, embd, padded}
	binary.Write(&b, binary.LittleEndian, head)
	l, c := layers, embd
	n := padded*c + positions*c + l*(c+c+3*c*c+3*c+c*c+c+c+c+4*c*c+4*c+4*c*c+c) + 2*c
	for i := range n {
		if version == 3 {
			binary.Write(&b, binary.LittleEndian, float32(i))
		} else {
			binary.Write(&b, binary.LittleEndian, uint16(i))
		}
	}
	return b.Bytes()
}

func TestParse(t *testing.T) {
	m, err := ParseModel(file(3, 3, 5, 2, 1, 2, 8), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Tensors) != 4+2*12 {
		t.Errorf("%d tensors", len(m.Tensors))
	}
	// wte has 8·2 numbers, wpe 3·2, the first norms of 2 layers 2·2 and 2·2, then c_attn [6, 2].
	for name, want := range map[string][]float32{
		"wte.weight":             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		"wpe.weight":             {16, 17, 18, 19, 20, 21},
		"h.1.ln_1.weight":        {24, 25},
		"h.0.attn.c_attn.weight": {30, 32, 34, 36, 38, 40, 31, 33, 35, 37, 39, 41},
		"h.1.attn.c_attn.weight": {42, 44, 46, 48, 50, 52, 43, 45, 47, 49, 51, 53},
	} {
		found := false
		for _, x := range m.Tensors {
			if x.Name == name {
				found = true
				if got, err := x.Float32s(); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %v, %v; want %v", name, got, err, want)
				}
			}
		}
		if !found {
			t.Errorf("no %s", name)
		}
	}
	last := m.Tensors[len(m.Tensors)-1]
	if x, _ := last.Float32s(); last.Name != "ln_f.bias" || len(x) != 2 ||
		int(x[1]) != (len(file(3, 3, 5, 2, 1, 2, 8))-header)/4-1 {
		t.Errorf("%s %v is not the end of the file", last.Name, x)
	}
}

func TestMalformedModels(t *testing.T) {
	good := file(3, 3, 5, 2, 1, 2, 8)
	change := func(at int, n int32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[4*at:], uint32(n))
		return b
	}
	for want, b := range map[string][]byte{
		"1000 bytes, too short":                      good[:1000],
		"begins with":                                change(0, 7),
		"a debug state of llm.c":                     change(0, stateMagic),
		"a list of tokens of llm.c":                  change(0, tokenMagic),
		"version 1 of llm.c's models, which has no":  change(1, 1),
		"version 4 of llm.c's models, want 3":        change(1, 4),
		"max_seq_len: 0, want 1 to 1048576":          change(2, 0),
		"vocab_size: -5":                             change(3, -5),
		"num_layers: 2147483647":                     change(4, 1<<31-1),
		"channels: 70000, want 1 to 65536":           change(6, 70000),
		"padded_vocab_size: 4, want at least vocab_": change(7, 4),
		"bytes after the header, want":               good[:len(good)-1],
		"bytes after the header, want ":              append(bytes.Clone(good), 0),
	} {
		if _, err := ParseModel(b, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// tokens makes a list of tokens.
func tokens(version, n, end uint32, list ...string) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, [256]uint32{tokenMagic, version, n, end})
	for _, s := range list {
		b.WriteByte(byte(len(s)))
		b.WriteString(s)
	}
	return b.Bytes()
}

func TestTokens(t *testing.T) {
	list, end, err := Tokens(tokens(2, 3, 1, "a", "", "bc"))
	if err != nil || end != 1 || len(list) != 3 || string(list[2]) != "bc" {
		t.Errorf("%q, %d, %v", list, end, err)
	}
	if _, end, err := Tokens(tokens(1, 1, 0, "a")); end != -1 || err != nil {
		t.Errorf("version 1: end %d, %v", end, err)
	}
	for want, b := range map[string][]byte{
		"too short":                     tokens(2, 1, 0)[:99],
		"begins with":                   make([]byte, header),
		"version 3":                     tokens(3, 1, 0, "a"),
		"4294967295 tokens, but":        tokens(2, 1<<32-1, 0, "a"),
		"token 1: longer than the file": tokens(2, 2, 0, "a"),
		"token 0: longer than the file": tokens(2, 1, 0, "abc")[:header+2],
		"end-of-text token 3, want one": tokens(2, 1, 3, "a"),
		"1 bytes after the last token":  append(tokens(2, 1, 0, "a"), 0),
	} {
		if _, _, err := Tokens(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzParse: no bytes make the readers panic, and what opens can be read.
func FuzzParse(f *testing.F) {
	f.Add(file(3, 3, 5, 2, 1, 2, 8))
	f.Add(file(5, 1, 3, 1, 1, 2, 3))
	f.Add(tokens(2, 3, 1, "a", "", "bc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := ParseModel(b, nil); err == nil {
			for _, x := range m.Tensors {
				if data, err := x.Bytes(); err != nil || int64(len(data)) != x.Size() {
					t.Errorf("%s: %d bytes, %v", x.Name, len(data), err)
				}
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("error of two lines: %q", err)
		}
		if list, end, err := Tokens(b); err == nil && (end < -1 || end >= len(list)) {
			t.Errorf("end %d of %d tokens", end, len(list))
		}
	})
}
