package checkpoint_test

// Files made to do harm: each is refused with one plain line or is loaded, as its verdict says,
// with little time and memory. cmd/gpt also runs them in processes.

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
	"picogpt/model"
)

// run does with a checkpoint what gpt logits does.
func run(t *testing.T, dir string) error {
	c, err := checkpoint.Open(dir)
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
