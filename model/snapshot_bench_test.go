package model_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// BenchmarkRestore evaluates a prompt of 900 tokens with GPT-2's shape and random weights, saves the
// session to a file and restores it, in turns. It reports medians, and those of saving and restoring
// over the prompt's.
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
