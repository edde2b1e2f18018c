package textzip

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/dev/cases"
	"picogpt/eval"
	"picogpt/kernels"
	"picogpt/model"
)

// sources are texts of people: words, markup, other scripts.
func sources(t *testing.T) (all []byte) {
	t.Helper()
	for _, name := range []string{
		"../../eval/testdata/story.txt", "../../eval/testdata/wiki.txt", "writer.go", "../../ARCHITECTURE.md",
		"../../CHANGELOG.md", "../../SPEED.md",
	} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for len(all) < 60_000 {
		all = append(all, all...)
	}
	return append(all, "Ein Märchen, 昔々あるところに, \U0001F600 \xff\xfe <|endoftext|>\r\n\x00"...)
}

// input returns a text of one of many kinds.
func input(random *rand.Rand, sources []byte) []byte {
	n := []int{random.IntN(3), random.IntN(40), random.IntN(400), random.IntN(5000)}[random.IntN(4)]
	text := make([]byte, n)
	kind := random.IntN(5)
	begin := random.IntN(len(sources))
	for i := range text {
		switch kind {
		case 0:
			text[i] = byte(random.Uint32())
		case 1:
			text[i] = "ab \n"[random.IntN(4)]
		case 2:
			text[i] = byte(begin)
		case 3:
			text[i] = sources[(begin+i)%len(sources)]
		case 4:
			text = utf8.AppendRune(text[:i], rune(random.IntN(0x3000)))[:n]
		}
	}
	return text
}

// Files and bare payloads: blocks of files may be zstd's.
func TestAnyTextComesBack(t *testing.T) {
	cases.NotShort(t)
	z := tiny(t, model.Options{Threads: 1})
	all := sources(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range cases.Of(24, 2000) {
		text := input(random, all)
		o := Options{Window: 1 + random.IntN(23), Streams: random.IntN(5)}
		o.Overlap = random.IntN(o.Window + 1)
		file := z.compress(text, o, random)
		got, err := z.decompress(file, ReadOptions{Limit: int64(len(text))})
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("case %d, %+v: %d bytes of %d, error %v", i, o, len(got), len(text), err)
		}
		if len(text) == 0 {
			continue
		}
		codec := z.codec(o)
		payload, err := codec.encode(t.Context(), text, math.MaxInt, func(float64) {})
		if err != nil || payload == nil {
			t.Fatalf("case %d: payload %v, error %v", i, payload, err)
		}
		got, err = codec.decode(t.Context(), payload, len(text), func(int) {})
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("case %d, %+v: payload: %q, want %q, error %v", i, o, got, text, err)
		}
	}
}

func TestATextOfTheModelTakesFewBytesAndComesBackFromManyStreams(t *testing.T) {
	cases.NotShort(t)
	z := tiny(t, model.Options{Threads: 2})
	for _, streams := range []int{1, cases.Of(2, 7)} {
		text := z.likely(min(streams-1, 1)*streams*4096+500, streams, 1)
		file := z.compress(text, Options{Streams: streams}, nil)
		i, err := Inspect(bytes.NewReader(file))
		if err != nil || i.Text != int64(len(text)) || i.Bytes != int64(len(file)) ||
			i.Streams != streams || i.Window != 23 || i.Overlap != 5 || i.Blocks["model"] != 1 {
			t.Errorf("inspected: %+v, error %v", i, err)
		}
		got, err := z.decompress(file, ReadOptions{})
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d streams: %d bytes, error %v", streams, len(got), err)
		}
	}
}

// The ideal code length is what package eval's log-probabilities give in the windows that the
// package comment defines, cut here by themselves.
func TestPayloadsHaveTheIdealLength(t *testing.T) {
	cases.NotShort(t)
	type trial struct {
		z    zipper
		text []byte
		o    Options
	}
	all := sources(t)
	z := tiny(t, model.Options{})
	trials := []trial{{z, z.likely(8692, 2, 1), Options{Streams: 2}},
		{z, all[:2000], Options{Streams: 1, Window: 16, Overlap: 3}}}
	if cases.Long {
		s := story(t, model.Options{})
		trials = append(trials, trial{s, all[:60_000], Options{}},
			trial{s, all[:51_000], Options{Streams: 3, Window: 100, Overlap: 1}},
			trial{z, z.likely(60_000, 8, 3), Options{}})
	}
	for i, c := range trials {
		k := c.z.codec(c.o)
		payload, err := k.encode(t.Context(), c.text, math.MaxInt, func(float64) {})
		if err != nil {
			t.Fatal(err)
		}
		streams := max(1, min(k.Streams, len(c.text)/4096))
		nats := 0.0
		for s := range streams {
			text := c.text[s*len(c.text)/streams : (s+1)*len(c.text)/streams]
			nats += idealNats(c.z, k.Window, k.Overlap, string(text))
		}
		ideal := nats / math.Ln2 / 8
		if excess := float64(len(payload)) - ideal; math.Abs(excess) > ideal*0.003 {
			t.Errorf("trial %d: payload of %d bytes, ideal %.1f", i, len(payload), ideal)
		}
	}
}

// idealNats is −Σ log p of a stream's tokens.
func idealNats(z zipper, window, overlap int, text string) (nats float64) {
	z.t.Helper()
	tok, err := z.c.Tokenizer()
	if err != nil {
		z.t.Fatal(err)
	}
	ids, err := tok.Encode(text)
	if err != nil {
		z.t.Fatal(err)
	}
	start, ok := z.m.Config().StartToken()
	if !ok {
		start = 256
	}
	context := []int{start}
	for len(ids) > 0 {
		n := min(len(ids), window+1-len(context))
		s, err := eval.ScoreOne(z.t.Context(), z.m, tok,
			eval.Request{Tokens: append(context, ids[:n]...)}, eval.ScoreOptions{})
		if err != nil || len(s.Tokens) != len(context)+n {
			z.t.Fatalf("%d tokens scored of %d: %v", len(s.Tokens), len(context)+n, err)
		}
		for _, token := range s.Tokens[len(context):] {
			nats -= token.LogProb
		}
		all := append(context, ids[:n]...)
		context, ids = append([]int{}, all[len(all)-overlap:]...), ids[n:]
	}
	return nats
}

// A reader evaluates token by token what a writer evaluates in windows, many or one at a time.
func TestPayloadsDoNotDependOnTheBatch(t *testing.T) {
	cases.NotShort(t)
	z := tiny(t, model.Options{})
	text := sources(t)[:8200]
	k := z.codec(Options{Streams: 2})
	want, err := k.encode(t.Context(), text, math.MaxInt, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	var streams [][]symbol
	for _, segment := range k.cut(text) {
		ids := make([]int, len(segment))
		for i, b := range segment {
			ids[i] = int(b)
		}
		symbols := make([]symbol, len(ids))
		for _, w := range k.windows(ids, symbols) {
			if err := k.evaluate(t.Context(), []window{w}); err != nil {
				t.Fatal(err)
			}
		}
		streams = append(streams, symbols)
	}
	if got := interleave(streams); !bytes.Equal(got, want) || len(streams) != 2 {
		t.Errorf("%d streams: %d bytes, want the same %d", len(streams), len(got), len(want))
	}
}

func TestFilesAreTheSameForEveryKernelThreadAndWrite(t *testing.T) {
	text := tiny(t, model.Options{}).likely(cases.Of(700, 70_000), 1, 4)
	random := rand.New(rand.NewPCG(5, 6))
	want := tiny(t, model.Options{Threads: 2}).compress(text, Options{}, nil)
	for i, kernel := range kernels.Variants() {
		z := tiny(t, model.Options{Kernel: kernel, Threads: 1 + 2*(i%2)})
		if !bytes.Equal(z.compress(text, Options{}, random), want) {
			t.Errorf("%s, %d threads: another file", kernel, z.m.Threads())
		}
	}
}

func TestFilesOfTheDemoAreTheSameForEveryKernel(t *testing.T) {
	cases.NotShort(t)
	text := sources(t)[:cases.Of(24, 3000)]
	var want []byte
	for _, kernel := range kernels.Variants() {
		z := story(t, model.Options{Kernel: kernel})
		file := z.compress(text, Options{}, nil)
		if want == nil {
			want = file
		}
		if !bytes.Equal(file, want) {
			t.Errorf("%s: another file", kernel)
		}
		if got, err := z.decompress(want, ReadOptions{}); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes of %d, error %v", kernel, len(got), len(text), err)
		}
	}
}

// Several groups, of which the last is shorter; blocks of all kinds.
func TestAllKindsOfBlocks(t *testing.T) {
	z := tiny(t, model.Options{})
	random := rand.New(rand.NewPCG(7, 8))
	noise := make([]byte, 2000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	same := bytes.Repeat([]byte("x"), segment)
	for kinds, text := range map[string][]byte{
		"map[stored:1]":        noise,
		"map[model:1 zstd:2]":  append(append(same, same...), z.likely(500, 1, 5)...),
		"map[stored:1 zstd:1]": append(same[:segment:segment], noise...),
		"map[]":                nil,
		"map[model:1]":         z.likely(100, 1, 6),
		"map[zstd:3]":          bytes.Repeat(same, 3),
	} {
		file := z.compress(text, Options{Streams: 1}, random)
		i, err := Inspect(bytes.NewReader(file))
		if err != nil || fmt.Sprint(i.Blocks) != kinds {
			t.Errorf("%+v, error %v, want %s", i, err, kinds)
		}
		last, calls := int64(0), 0
		got, err := z.decompress(file, ReadOptions{Progress: func(n int64) {
			if n < last {
				t.Errorf("%s: progress goes from %d to %d", kinds, last, n)
			}
			last, calls = n, calls+1
		}})
		if err != nil || !bytes.Equal(got, text) || last != int64(len(text)) ||
			calls == 0 && len(text) > 0 {
			t.Errorf("%s: %d bytes of %d, error %v, progress %d", kinds, len(got), len(text), err, last)
		}
	}
}

// What stands around payloads: at most 256 bytes for a file, and 32 for a block.
func TestFilesHaveLittleBesidesPayloads(t *testing.T) {
	z := tiny(t, model.Options{})
	empty := z.compress(nil, Options{Name: strings.Repeat("m", maxName)}, nil)
	if len(empty) > 256 {
		t.Errorf("an empty text takes %d bytes", len(empty))
	}
	if one := z.compress([]byte("x"), Options{Name: strings.Repeat("m", maxName)}, nil); len(one) >
		len(empty)+32+1 {
		t.Errorf("a byte takes %d bytes, no byte %d", len(one), len(empty))
	}
	if got, err := z.decompress(empty, ReadOptions{}); err != nil || len(got) > 0 {
		t.Errorf("%q, error %v", got, err)
	}
}

// 100 MB of one character take no time: blocks that zstd makes tiny do not go through the model.
func TestOneCharacterManyTimes(t *testing.T) {
	z := tiny(t, model.Options{})
	size := cases.Of(3_000_000, 100_000_000)
	var file bytes.Buffer
	w, err := NewWriter(t.Context(), &file, z.c, z.m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("a"), 100_000)
	for range size / len(part) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if file.Len() > 300+size/5000 {
		t.Errorf("%d bytes for %d", file.Len(), size)
	}
	r, err := NewReader(t.Context(), &file, z.c, z.m, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, r)
	want := crc32.NewIEEE()
	for range size / len(part) {
		want.Write(part)
	}
	if err != nil || n != int64(size) || sum.Sum32() != want.Sum32() {
		t.Errorf("%d bytes of %d, error %v", n, size, err)
	}
}

// A group is held, and not the text: the writer's and the reader's buffers do not grow.
func TestMemoryDoesNotGrowWithTheText(t *testing.T) {
	z := tiny(t, model.Options{})
	w, err := NewWriter(t.Context(), io.Discard, z.c, z.m, Options{Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	part := bytes.Repeat([]byte("b"), 10_000)
	for range 60 {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if cap(w.group) > 4*segment {
			t.Fatalf("the writer holds %d bytes of text, want %d", cap(w.group), 2*segment)
		}
	}
	if n := z.m.CacheBytes(); n != 0 {
		t.Errorf("caches: %d bytes are held between groups", n)
	}
}

// A text that costs the model more than it has bytes is not evaluated to its end.
func TestTheModelGivesUpOnNoise(t *testing.T) {
	z := tiny(t, model.Options{})
	random := rand.New(rand.NewPCG(9, 10))
	noise := make([]byte, 4000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	seen := []int64{0}
	w, err := NewWriter(t.Context(), io.Discard, z.c, z.m, Options{
		Progress: func(n int64) { seen = append(seen, n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(noise); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if evaluated := seen[len(seen)-2]; evaluated > 3600 || seen[len(seen)-1] != 4000 {
		t.Errorf("progress %v: %d bytes are evaluated of 4000", seen, evaluated)
	}
}
