package model_test

// Sessions as files: their bytes, and what damage does to them. What was saved continues with the same
// bits: TestTheSameBits in package decode.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// Sessions as files: what was saved continues with the same bits, on any kernel.

// digested is the digest of models in these tests.
func digested(digest string) func() (string, error) {
	return func() (string, error) { return digest, nil }
}

// saved returns the file of a session.
func saved(t testing.TB, s *model.Session) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func restore(m *model.Model, file []byte) (*model.Session, error) {
	return m.Restore(context.Background(), bytes.NewReader(file), int64(len(file)))
}

// damaged returns a copy of a file with some damage.
func damaged(r *rand.Rand, file []byte) []byte {
	b, header := slices.Clone(file), min(len(file), 1500)
	at := r.IntN(len(b))
	if r.IntN(2) == 0 {
		at = r.IntN(header)
	}
	n := 1 + r.IntN(min(200, len(b)-at))
	switch r.IntN(8) {
	case 0, 1:
		b[at] ^= 1 << r.IntN(8)
	case 2:
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		}
	case 3:
		b = b[:at]
	case 4:
		clear(b[at : at+n])
	case 5: // a block in the place of another
		copy(b[at:at+n], file[r.IntN(len(file)-n):])
	case 6:
		b = slices.Delete(b, at, at+n)
	case 7: // a digit of the header
		for range 1 + r.IntN(3) {
			if at := r.IntN(header); b[at] >= '0' && b[at] <= '9' {
				b[at] = byte('0' + r.IntN(10))
			}
		}
	}
	return b
}

// TestNoDamageChangesAToken restores damaged files, and continues what is left of them.
func TestNoDamageChangesAToken(t *testing.T) {
	shape := shapes["two panels"]
	config, file := fixture.Checkpoint(shape)
	r := rand.New(rand.NewPCG(73, 74))
	ids := tokens(r, 150, shape.Vocab)
	var refused, partly, whole int
	for _, cache := range model.CacheFormats() {
		m := testmodel.New(t, config, file, model.Options{CacheFormat: cache, Digest: digested("x")})
		s := m.NewSession()
		want := slices.Clone(eval(t, s, ids...))
		good := saved(t, s)
		for range cases.Sized(50, 2500) {
			bad := damaged(r, good)
			restored, err := restore(m, bad)
			var part *model.RestoreError
			switch {
			case err == nil:
				whole++ // the damage made the same bytes, or is in the spaces after the header
				if restored.Len() != len(ids) {
					t.Fatalf("%d tokens without an error", restored.Len())
				}
			case errors.Is(err, model.ErrNoSnapshot):
				if restored != nil {
					t.Fatal("a session of no snapshot")
				}
				refused++
				continue
			case !errors.As(err, &part) || part.Tokens != restored.Len():
				t.Fatalf("error %v, want a RestoreError with the tokens of the session, %d", err,
					restored.Len())
			case part.Tokens > 0:
				partly++
			}
			n := restored.Len()
			if !slices.Equal(restored.Tokens(), ids[:n]) {
				t.Fatalf("other tokens, error %v", err)
			}
			if n == len(ids) {
				sameBits(t, "all", restored.Logits(), want)
			} else {
				sameBits(t, "the rest evaluated", eval(t, restored, ids[n:]...), want)
			}
		}
		if m.CacheBytes() == 0 {
			t.Fatal("no session is left")
		}
	}
	if refused == 0 || partly == 0 || whole > refused+partly {
		t.Errorf("%d files refused, %d taken in part, %d whole", refused, partly, whole)
	}
}

// TestASnapshotIsTheSameOnEveryMachine: its bytes, in each cache format.
func TestASnapshotIsTheSameOnEveryMachine(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 80})
	for cache, want := range map[string]string{
		"f32": "7099a0efabd6b1a5a979c3215be246264f3d44af99dd397540603755eae8dfeb",
		"f16": "b54159c2cbe8dcae2972c4f826ec5a4a5ff5c6c766ed0ddc0017835a86017622",
		"q8":  "439bba7310d706033b5d256af66a9c2601eee05236a432d08c8d476799c8da4d",
	} {
		m := testmodel.New(t, config, file, model.Options{CacheFormat: cache, Digest: digested("x")})
		s := m.NewSession()
		eval(t, s, tokens(rand.New(rand.NewPCG(83, 84)), 70, 29)...)
		b := saved(t, s)
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want {
			t.Errorf("cache %s: SHA-256 %s, want %s", cache, got, want)
		}
		if restored, err := restore(m, b); err != nil || restored.Len() != 70 {
			t.Errorf("cache %s: %v", cache, err)
		}
	}
}

// A shrinking reader is a file that another program cuts while it is read.
type shrinking struct {
	io.ReaderAt
	reads int
}

func (s *shrinking) ReadAt(b []byte, at int64) (int, error) {
	if s.reads--; s.reads < 0 {
		return 0, io.EOF
	}
	return s.ReaderAt.ReadAt(b, at)
}

func TestAFileThatShrinksWhileItIsRead(t *testing.T) {
	shape := shapes["small and odd"]
	config, file := fixture.Checkpoint(shape)
	m := testmodel.New(t, config, file, model.Options{Digest: digested("x")})
	ids := tokens(rand.New(rand.NewPCG(75, 76)), 150, shape.Vocab)
	s := m.NewSession()
	want := slices.Clone(eval(t, s, ids...))
	b := saved(t, s)
	seen := map[int]bool{}
	for reads := range 20 {
		restored, err := m.Restore(context.Background(),
			&shrinking{bytes.NewReader(b), reads}, int64(len(b)))
		if err == nil {
			break
		}
		if errors.Is(err, model.ErrNoSnapshot) {
			continue
		}
		var part *model.RestoreError
		if !errors.As(err, &part) || part.Tokens != restored.Len() {
			t.Fatalf("%d reads: %v", reads, err)
		}
		seen[part.Tokens] = true
		sameBits(t, "the rest", eval(t, restored, ids[part.Tokens:]...), want)
	}
	if !seen[0] || !seen[64] || !seen[128] {
		t.Errorf("sessions of %v tokens, want 0, 64 and 128", seen)
	}
}

// BenchmarkRestore evaluates a prompt of 900 tokens with GPT-2's shape and random weights, saves
// the session to a file and restores it, in turns. It reports medians, and those of saving and
// restoring over the prompt's.
func BenchmarkRestore(b *testing.B) {
	o := fixture.Options{Vocab: 50257, Positions: 1024, Embd: 768, Head: 12, Layer: 12}
	config, file := fixture.Checkpoint(o)
	for _, cache := range model.CacheFormats() {
		b.Run("cache "+cache, func(b *testing.B) {
			m := testmodel.New(b, config, file, model.Options{CacheFormat: cache, Digest: digested("x")})
			ids := tokens(rand.New(rand.NewPCG(85, 86)), 900, o.Vocab)
			path := filepath.Join(b.TempDir(), "s")
			var prompt, save, restore []float64
			seconds := func(f func()) float64 {
				start := time.Now()
				f()
				return time.Since(start).Seconds()
			}
			for b.Loop() {
				s := m.NewSession()
				prompt = append(prompt, seconds(func() { eval(b, s, ids...) }))
				save = append(save, seconds(func() {
					f, err := os.Create(path)
					if err == nil {
						err = s.Save(context.Background(), f)
					}
					if err != nil {
						b.Fatal(err)
					}
					f.Close()
				}))
				restore = append(restore, seconds(func() { restoreFile(b, m, path).Release() }))
				s.Release()
			}
			median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
			b.ReportMetric(median(prompt), "prompt-s")
			b.ReportMetric(median(restore), "restore-s")
			b.ReportMetric(median(restore)/median(prompt), "restore/prompt")
			b.ReportMetric(median(save)/median(prompt), "save/prompt")
		})
	}
}

// restoreFile restores all of a file.
func restoreFile(b *testing.B, m *model.Model, path string) *model.Session {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		b.Fatal(err)
	}
	s, err := m.Restore(context.Background(), f, size)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
