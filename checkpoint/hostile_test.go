// Files made to do harm: each is refused with one plain line or is loaded, as its verdict says,
// with little time and memory. cmd/gpt also runs them in processes.

package checkpoint_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
	"picogpt/internal/folder"
	"picogpt/model"
)

// run does with a checkpoint what gpt logits does.
func run(t *testing.T, dir string) error {
	c, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	return m.Eval(t.Context(), model.Input{Session: m.NewSession(), Tokens: []int{1, 2}})
}

func TestHostileFiles(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	all, err := fixture.Hostiles("testdata/hostile.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 212 {
		t.Errorf("%d files, want 212 at least", len(all))
	}
	for _, h := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stop := watchdog.Start(t, "%s", h.Dir)
		err := run(t, filepath.Join(dir, h.Dir))
		stop()
		runtime.ReadMemStats(&after)
		switch {
		case h.Must == "refuse" && err == nil:
			t.Errorf("%s: loads, want it refused: %s", h.Dir, h.Why)
		case h.Must == "load" && err != nil:
			t.Errorf("%s: %v", h.Dir, err)
		case err != nil && (len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\n\x1b")):
			t.Errorf("%s: not one plain line: %q", h.Dir, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: took %d bytes of memory", h.Dir, took)
		}
	}
}

// Damaged files give an error or a model, never a panic.

// damages is how often each file is damaged.
const damages = 60

// TestDamagedFiles flips a few bits of each golden file of a folder, mostly of its beginning.
func TestDamagedFiles(t *testing.T) {
	cases.NotShort(t)
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
	c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
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
