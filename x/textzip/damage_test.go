package textzip

// Files that are damaged, made to harm, or meant for another model.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
)

// threeBlocks is a file of three small blocks, each of another kind, and its text.
func threeBlocks(t *testing.T, z zipper) (file, text []byte) {
	t.Helper()
	text = z.likely(600, 1, 9)
	k := z.codec(Options{Streams: 1})
	payload, err := k.encode(t.Context(), text[:400], math.MaxInt, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), io.Discard, z.c, z.m, Options{Streams: 1, Name: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	f := framer{w: &b}
	f.write(w.codec.Header.bytes())
	crc := func(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
	f.block(block{kindModel, 400, crc(text[:400]), payload})
	same := bytes.Repeat([]byte("-"), 300)
	f.block(block{kindZstd, 300, crc(same), w.zstd.EncodeAll(same, nil)})
	f.block(block{kindStored, 200, crc(text[400:]), text[400:]})
	f.end(900)
	return b.Bytes(), append(append(text[:400:400], same...), text[400:]...)
}

// refuse wants an error, and nothing but a beginning of the text before it.
func refuse(t *testing.T, z zipper, file, text []byte, what string, n int) {
	t.Helper()
	got, err := z.decompress(file, ReadOptions{})
	if err == nil {
		t.Errorf("%s %d: accepted", what, n)
	} else if !errors.Is(err, ErrFormat) {
		t.Errorf("%s %d: error %v", what, n, err)
	}
	if !bytes.HasPrefix(text, got) {
		t.Errorf("%s %d: wrong bytes", what, n)
	}
	if _, err := Inspect(bytes.NewReader(file)); !errors.Is(err, ErrFormat) {
		t.Errorf("%s %d: inspected, error %v", what, n, err)
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	file, text := threeBlocks(t, z)
	if got, err := z.decompress(file, ReadOptions{}); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes of %d, error %v", len(got), len(text), err)
	}
	step := cases.Of(23, 1)
	for n := 0; n < len(file); n += step {
		refuse(t, z, file[:n], text, "truncation", n)
	}
	refuse(t, z, file[:len(file)-1], text, "truncation", len(file)-1)
	refuse(t, z, append(file[:len(file):len(file)], 0), text, "a byte more", 1)
	refuse(t, z, append(file[:len(file):len(file)], file...), text, "twice", 2)
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	cases.NotShort(t)
	z := tiny(t, model.Options{Threads: 1})
	file, text := threeBlocks(t, z)
	step := cases.Of(101, 1)
	for n := 0; n < 8*len(file); n += step {
		file[n/8] ^= 1 << (n % 8)
		refuse(t, z, file, text, "bit", n)
		file[n/8] ^= 1 << (n % 8)
	}
}

// Bytes changed, removed, doubled, moved.
func TestDamagedFilesAreRefused(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	file, text := threeBlocks(t, z)
	random := rand.New(rand.NewPCG(10, 11))
	for i := range cases.Of(60, 20_000) {
		bad := bytes.Clone(file)
		at, n := random.IntN(len(file)), 1+random.IntN(40)
		end := min(len(file), at+n)
		switch random.IntN(4) {
		case 0:
			for j := at; j < end; j++ {
				bad[j] = byte(random.Uint32())
			}
		case 1:
			bad = append(bad[:at], file[end:]...)
		case 2:
			bad = append(bad[:end], file[at:]...)
		case 3:
			to := random.IntN(len(file))
			copy(bad[to:], file[at:end])
		}
		if bytes.Equal(bad, file) {
			continue
		}
		refuse(t, z, bad, text, "damage", i)
	}
}

// reframe returns a file whose checks are right and whose blocks were changed: what an attacker
// writes. change is called with each block.
func reframe(t *testing.T, file []byte, end int64, change func(i int, b *block)) []byte {
	t.Helper()
	in := frames{r: bytes.NewReader(file)}
	h, err := in.header()
	if err != nil {
		t.Fatal(err)
	}
	in.streams = h.Streams
	var out bytes.Buffer
	f := framer{w: &out}
	f.write(h.bytes())
	for i := 0; ; i++ {
		b, err := in.next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		change(i, &b)
		f.block(b)
	}
	f.end(end)
	return out.Bytes()
}

// With right checks of the file, the text's own check remains.
func TestForgedPayloadsGiveNoWrongByte(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	file, text := threeBlocks(t, z)
	random := rand.New(rand.NewPCG(12, 13))
	for i := range cases.Of(27, 3000) {
		bad := reframe(t, file, 900, func(j int, b *block) {
			if j != i%3 {
				return
			}
			switch p := b.payload; random.IntN(3) {
			case 0:
				p[random.IntN(len(p))] ^= byte(1 + random.IntN(255))
			case 1:
				b.payload = p[:random.IntN(len(p))]
			case 2:
				for k := range p {
					p[k] = byte(random.Uint32())
				}
			}
		})
		got, err := z.decompress(bad, ReadOptions{})
		if err == nil && !bytes.Equal(got, text) || err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("case %d: %d bytes, error %v", i, len(got), err)
		}
		if !bytes.HasPrefix(text, got) {
			t.Errorf("case %d: wrong bytes", i)
		}
	}
}

func TestBombsAreRefused(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	file, text := threeBlocks(t, z)
	for name, bad := range map[string][]byte{
		"a text longer than a group": reframe(t, file, 900, func(i int, b *block) {
			if i == 1 {
				b.text = segment + 1
			}
		}),
		"a text of 2 GB": reframe(t, file, 900, func(i int, b *block) { b.text = 1<<31 - 1 }),
		"zstd of more than it says": reframe(t, file, 700, func(i int, b *block) {
			if i == 1 {
				b.text = 100
			}
		}),
		"a text of another length":     reframe(t, file, 901, func(int, *block) {}),
		"an unknown kind":              reframe(t, file, 900, func(i int, b *block) { b.kind = 4 }),
		"a stored part with no length": reframe(t, file, 900, func(i int, b *block) { b.text = 0 }),
	} {
		got, err := z.decompress(bad, ReadOptions{})
		if !errors.Is(err, ErrFormat) || !bytes.HasPrefix(text, got) {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
	}
	// A payload of a few bytes may be long: certain tokens cost nothing.
	var limit *LimitError
	got, err := z.decompress(file, ReadOptions{Limit: 899})
	if !errors.As(err, &limit) || limit.Found != 900 || !bytes.HasPrefix(text, got) ||
		len(got) > 899 {
		t.Errorf("limit: %d bytes, error %v", len(got), err)
	}
	if got, err := z.decompress(file, ReadOptions{Limit: 900}); err != nil || len(got) != 900 {
		t.Errorf("limit: %d bytes, error %v", len(got), err)
	}
}

func TestHeadersThatNoWriterWrites(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	for want, change := range map[string]func(*Header){
		"window 0, want 1 to":                func(h *Header) { h.Window = 0 },
		"window 24, want at most 23":         func(h *Header) { h.Window = 24 },
		"overlap 24, want 1 to 23":           func(h *Header) { h.Overlap = 24 },
		"overlap 0, want 1 to 23":            func(h *Header) { h.Overlap = 0 },
		"streams 65, want 1 to 64":           func(h *Header) { h.Streams = 65 },
		"the model's name: want":             func(h *Header) { h.Name = "\xff" },
		"arithmetic version: the file wants": func(h *Header) { h.Arithmetic++ },
		"model: the file wants big (digest":  func(h *Header) { h.Model, h.Name = "0", "big" },
		"tokenizer: the file wants 0, found": func(h *Header) { h.Tokenizer = "0" },
		"format: the file wants q8, found f": func(h *Header) { h.Format = "q8" },
		"cache: the file wants f16, found f": func(h *Header) { h.Cache = "f16" },
	} {
		h := z.codec(Options{}).Header
		change(&h)
		var b bytes.Buffer
		f := framer{w: &b}
		f.write(h.bytes())
		f.end(0)
		_, err := z.decompress(b.Bytes(), ReadOptions{})
		var mismatch *MismatchError
		if err == nil || !strings.HasPrefix(err.Error(), want) ||
			errors.Is(err, ErrFormat) == errors.As(err, &mismatch) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for name, file := range map[string]string{"empty": "", "text": "Once upon a time", "GPT": "GPT",
		"version": "GPTZ\x02", "magic": "GPTZ"} {
		if _, err := ReadHeader(strings.NewReader(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	for want, o := range map[string]Options{
		"window: 24, want 1 to 23 (n_positions)":  {Window: 24},
		"window: -1, want 1 to 23 (n_positions)":  {Window: -1},
		"overlap: 6, want 1 to 5 (the window)":    {Window: 5, Overlap: 6},
		"overlap: -1, want 1 to 23 (the window)":  {Overlap: -1},
		"streams: 65, want 1 to 64":               {Streams: 65},
		"name: 65 bytes, want at most 64 of UTF-": {Name: strings.Repeat("x", 65)},
	} {
		_, err := NewWriter(t.Context(), io.Discard, z.c, z.m, o)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestTokenizersThatLoseBytesAreRefused(t *testing.T) {
	for kind, files := range map[string]map[string]string{
		"WordPiece":      {"vocab.txt": "[UNK]\n[CLS]\n[SEP]\na\nb\n"},
		"byte-level BPE": {"vocab.json": `{"a":0,"b":1}`, "merges.txt": "#version: 0.2\n"},
	} {
		dir := t.TempDir()
		if err := fixture.Write(dir, fixture.Options{}); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		c, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		z := load(t, c, model.Options{Threads: 1})
		_, err = NewWriter(t.Context(), io.Discard, z.c, z.m, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer: "+kind+", want byte-level BPE") {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}

// An end of the context, a writer that fails and a call after Close are errors of every later call.
func TestErrorsStay(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := NewWriter(ctx, io.Discard, z.c, z.m, Options{Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	w.Write([]byte("x"))
	if err := w.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	file := z.compress([]byte("Once"), Options{}, nil)
	r, err := NewReader(ctx, bytes.NewReader(file), z.c, z.m, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	r.Close()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want os.ErrClosed", err)
	}
	broken := errors.New("broken")
	if _, err := NewWriter(t.Context(), failing{broken}, z.c, z.m, Options{}); err != broken {
		t.Errorf("error %v, want the writer's", err)
	}
	var none context.Context
	if _, err := NewWriter(none, io.Discard, z.c, z.m, Options{}); err != model.ErrNoContext {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The numbers of a header stand where the package comment says.
func TestTheFormatIsAsItIsDescribed(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	file := z.compress([]byte("0123456789"), Options{Window: 20, Overlap: 3, Streams: 2}, nil)
	if !bytes.HasPrefix(file, []byte("GPTZ\x01\x01\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00"+
		"\x02\x00\x00\x00\x20")) {
		t.Errorf("begins with %q", file[:22])
	}
	const end = 1 + 8 + 4
	stored := file[len(file)-end-4-10-13:]
	table := crc32.MakeTable(crc32.Castagnoli)
	if stored[0] != 3 || binary.LittleEndian.Uint32(stored[1:]) != 10 ||
		binary.LittleEndian.Uint32(stored[5:]) != 10 || string(stored[13:23]) != "0123456789" ||
		binary.LittleEndian.Uint32(stored[9:]) != crc32.Checksum([]byte("0123456789"), table) {
		t.Errorf("block %q", stored)
	}
	if binary.LittleEndian.Uint64(file[len(file)-end+1:]) != 10 || file[len(file)-end] != 0 {
		t.Errorf("end %q", file[len(file)-end:])
	}
}
