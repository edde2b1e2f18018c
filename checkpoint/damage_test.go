package checkpoint_test

// Damaged files give an error or a model, never a panic.

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/model"
)

// damages is how often each file is damaged.
const damages = 60

// TestDamagedFiles flips a few bits of each golden file of a folder, mostly of its beginning.
func TestDamagedFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dir := range []string{"tf", "llmc", "gguf/f32.gguf", "gguf/f16.gguf", "gguf/q8_0.gguf",
		"gguf/q4_0.gguf", "gguf/mixed.gguf", "gguf/kquants.gguf"} {
		whole := folder.Memory{}
		paths, err := filepath.Glob(filepath.Join(formats, dir, "*"))
		if err != nil || strings.HasSuffix(dir, ".gguf") {
			paths = []string{filepath.Join(formats, dir)}
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "model_bf16.bin") {
				continue // model.bin is the one that is opened
			}
			if whole[filepath.Base(path)], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		for name := range whole {
			for range damages {
				damaged := folder.Memory{}
				for other, b := range whole {
					damaged[other] = b
				}
				b := append([]byte(nil), whole[name]...)
				for range 1 + rng.IntN(4) {
					at := rng.IntN(len(b))
					if rng.IntN(3) > 0 {
						at = rng.IntN(min(len(b), 3000))
					}
					b[at] ^= 1 << rng.IntN(8)
				}
				damaged[name] = b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]
				use(t, dir+"/"+name, damaged)
			}
		}
	}
}

// use opens a checkpoint, evaluates a token, encodes a text and converts, and stops at the first
// error.
func use(t *testing.T, about string, files folder.Memory) {
	t.Helper()
	check := func(err error) {
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error of several lines: %q", about, err)
		}
	}
	c, err := checkpoint.OpenFS(files)
	if check(err); err != nil {
		return
	}
	defer c.Close()
	if tok, err := c.Tokenizer(); err == nil {
		_, err = tok.Encode("an ant in the den")
		check(err)
	} else {
		check(err)
	}
	_, err = c.TokenizerDigest()
	check(err)
	for _, to := range checkpoint.Targets() {
		_, err := c.Convert(to)
		check(err)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{Threads: 1})
	if check(err); err != nil {
		return
	}
	defer m.Close()
	check(m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: []int{0}}))
}
