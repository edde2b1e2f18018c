package textzip

// Models and texts of the tests.

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights/demo"
)

// A zipper is a model with its checkpoint.
type zipper struct {
	t testing.TB
	c *checkpoint.Checkpoint
	m *model.Model
}

// tinyOptions are a model of bytes with 23 positions that is sure of itself.
func tinyOptions() fixture.Options { return fixture.Options{Vocab: 257, Seed: 31, Scale: 2} }

// tiny is a model whose tokens are bytes, so small that windows slide often and cost nothing.
func tiny(t testing.TB, o model.Options) zipper {
	t.Helper()
	dir := t.TempDir()
	if err := fixture.Write(dir, tinyOptions()); err != nil {
		t.Fatal(err)
	}
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return load(t, c, o)
}

// story is the demo.
func story(t testing.TB, o model.Options) zipper {
	t.Helper()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return load(t, c, o)
}

func load(t testing.TB, c *checkpoint.Checkpoint, o model.Options) zipper {
	t.Helper()
	m, err := model.New(t.Context(), c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return zipper{t, c, m}
}

// codec returns the codec of a writer with these options.
func (z zipper) codec(o Options) *codec {
	z.t.Helper()
	w, err := NewWriter(z.t.Context(), io.Discard, z.c, z.m, o)
	if err != nil {
		z.t.Fatal(err)
	}
	return w.codec
}

// compress writes the text in parts of a random length.
func (z zipper) compress(text []byte, o Options, parts *rand.Rand) []byte {
	z.t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(z.t.Context(), &file, z.c, z.m, o)
	if err != nil {
		z.t.Fatal(err)
	}
	for left := text; len(left) > 0; {
		n := len(left)
		if parts != nil {
			n = min(n, 1+parts.IntN(1+parts.IntN(100_000)))
		}
		if _, err := w.Write(left[:n]); err != nil {
			z.t.Fatal(err)
		}
		left = left[n:]
	}
	if err := w.Close(); err != nil {
		z.t.Fatal(err)
	}
	return file.Bytes()
}

// decompress returns the bytes that a file gives before its end or an error.
func (z zipper) decompress(file []byte, o ReadOptions) ([]byte, error) {
	r, err := NewReader(context.Background(), bytes.NewReader(file), z.c, z.m, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// drawn are the texts that likely has returned, by its arguments: all models of bytes are the same.
var drawn = map[[3]int][]byte{}

// likely returns n bytes in so many segments of a group, drawn by the probabilities that a model of
// bytes has in windows of 23 with an overlap of 5, without the end of a text.
func (z zipper) likely(n, segments int, seed uint64) (text []byte) {
	z.t.Helper()
	key := [3]int{n, segments, int(seed)}
	if text, ok := drawn[key]; ok {
		return bytes.Clone(text)
	}
	defer func() { drawn[key] = bytes.Clone(text) }()
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range segments {
		text = append(text, z.likelyStream((i+1)*n/segments-i*n/segments, random)...)
	}
	return text
}

func (z zipper) likelyStream(n int, random *rand.Rand) []byte {
	s := z.m.NewSession()
	defer func() { s.Release() }()
	ids := []int{256}
	for next := ids; len(ids) <= n; {
		if s.Len() == 23 {
			s.Release()
			s, next = z.m.NewSession(), ids[len(ids)-5:]
		}
		if err := z.m.Eval(z.t.Context(), model.Input{Session: s, Tokens: next}); err != nil {
			z.t.Fatal(err)
		}
		best, last := math.Inf(-1), 0
		for id, x := range s.Logits()[:256] {
			if x := float64(x) - math.Log(random.ExpFloat64()); x > best { // Gumbel's way
				best, last = x, id
			}
		}
		ids = append(ids, last)
		next = ids[len(ids)-1:]
	}
	text := make([]byte, n)
	for i, id := range ids[1:] {
		text[i] = byte(id)
	}
	return text
}
