package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
)

// digests opens a checkpoint and returns the model's digest and the tokenizer's.
func digests(t *testing.T, dir string) [2]string {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	model, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := c.TokenizerDigest()
	if err != nil {
		t.Fatal(err)
	}
	return [2]string{model, tokenizer}
}

func TestDigestsTellCheckpointsApart(t *testing.T) {
	o := fixture.Options{Vocab: 27}
	dir := write(t, o, letters())
	want := digests(t, dir)
	if len(want[0]) != 32 || len(want[1]) != 32 {
		t.Errorf("%q, want 32 digits each", want)
	}
	o.Shards = 3
	if got := digests(t, write(t, o, letters())); got != want {
		t.Errorf("in three files: %q, want %q", got, want)
	}
	o.Shards = 0

	path := filepath.Join(dir, "model.safetensors")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{want[0]: true}
	for _, at := range []int{len(file) - 1, len(file) - 4, len(file) / 2, len(file) - 4*27*15} {
		changed := append([]byte{}, file...)
		changed[at] ^= 1 // one bit of one weight
		if err := os.WriteFile(path, changed, 0o666); err != nil {
			t.Fatal(err)
		}
		got := digests(t, dir)
		if seen[got[0]] || got[1] != want[1] {
			t.Errorf("with another bit at %d: %q", at, got)
		}
		seen[got[0]] = true
	}
	o.Config = map[string]any{"activation_function": "relu"}
	if got := digests(t, write(t, o, letters())); got[0] == want[0] {
		t.Error("another config has the same digest")
	}
	o.Config = nil
	other := letters()
	other["merges.txt"] = "a b\n"
	other["vocab.json"] = `{"ab":26,` + other["vocab.json"][1:]
	if got := digests(t, write(t, fixture.Options{Vocab: 27}, other)); got[1] == want[1] {
		t.Error("other merges have the same digest")
	}
	if got := digests(t, write(t, o, nil)); got[1] != "none" {
		t.Errorf("without a tokenizer: %q", got)
	}
}
