package checkpoint_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/internal/torch"
	"picogpt/weights"
)

// nanoArgs returns what nanoGPT says of its model.
func nanoArgs() torch.Member {
	return torch.Member{Key: "model_args", Value: torch.Members{{Key: "n_layer", Value: 3},
		{Key: "n_head", Value: 3}, {Key: "n_embd", Value: 15}, {Key: "block_size", Value: 23},
		{Key: "bias", Value: true}, {Key: "vocab_size", Value: 64}, {Key: "dropout", Value: 0}}}
}

// nanoCheckpoint returns a ckpt.pt of nanoGPT's of 64 ids, trained on a data set of that name, with
// more members.
func nanoCheckpoint(t *testing.T, dataset any, more ...torch.Member) []byte {
	t.Helper()
	_, file := fixture.Checkpoint(fixture.Options{Vocab: 64})
	tensors, err := weights.FromBytes("fixture", file)
	if err != nil {
		t.Fatal(err)
	}
	var state torch.Members
	for _, x := range tensors.All() {
		if len(x.Shape) == 2 && strings.HasPrefix(x.Name, "h.") {
			x = x.Transposed()
		}
		state = append(state, torch.Member{Key: "_orig_mod.transformer." + x.Name, Value: x})
	}
	var b bytes.Buffer
	err = torch.Write(&b, append(torch.Members{{Key: "model", Value: state},
		{Key: "config", Value: torch.Members{{Key: "dataset", Value: dataset}}}}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMetaWhereNanoGPTHasIt: the characters of out/ckpt.pt are those of data/NAME/meta.pkl, where
// the checkpoint says NAME. A name that leads elsewhere is not followed.
func TestMetaWhereNanoGPTHasIt(t *testing.T) {
	meta, err := os.ReadFile(filepath.Join("testdata", "formats", "nanogpt", "meta.pkl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dataset   any
		out, meta string // of the files
		more      string // another file
		ok        bool
	}{
		{"shakespeare_char", "out", "out/meta.pkl", "", true},
		{"shakespeare_char", "out-shakespeare-char", "data/shakespeare_char/meta.pkl", "", true},
		{"tiny.chars-2", "runs/one", "data/tiny.chars-2/meta.pkl", "", true},
		{"shakespeare_char", "out", "data/other/meta.pkl", "", false},
		{"shakespeare_char", "a/b/c", "data/shakespeare_char/meta.pkl", "", false},
		{"../secret", "out", "secret/meta.pkl", "", false},
		{"x/../../secret", "out", "secret/meta.pkl", "", false},
		{"..", "out", "meta.pkl", "", false},
		{".", "out", "data/meta.pkl", "", false},
		{"", "out", "data/meta.pkl", "", false},
		{`x\y`, "out", "data/x/y/meta.pkl", "", false},
		{strings.Repeat("x", 5000), "out", "data/x/meta.pkl", "", false},
		{3, "out", "data/3/meta.pkl", "", false},
		{"chars", "out", "data/chars/meta.pkl", "out/special_tokens_map.json", false},
	} {
		dir := t.TempDir()
		for name, data := range map[string][]byte{c.out + "/ckpt.pt": nanoCheckpoint(t, c.dataset, nanoArgs()),
			c.meta: meta, c.more: []byte("{}")} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if name == "" {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ck, err := checkpoint.Open(filepath.Join(dir, filepath.FromSlash(c.out)), checkpoint.Options{})
		if err != nil {
			t.Errorf("%v in %s: %v", c.dataset, c.out, err)
			continue
		}
		defer ck.Close()
		tok, err := ck.Tokenizer()
		if (err == nil && tok.Kind() == "characters") != c.ok ||
			err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) && c.more == "" {
			t.Errorf("%v in %s: %v, want %t", c.dataset, c.out, err, c.ok)
		}
		only, err := checkpoint.OpenTokenizer(filepath.Join(dir, filepath.FromSlash(c.out), "ckpt.pt"))
		if c.ok && (err != nil || only.Kind() != tok.Kind()) {
			t.Errorf("%v in %s: the tokenizer alone: %v", c.dataset, c.out, err)
		}
	}
}

// TestMetaOfATrainingWithoutArguments: the data set says the characters also where nothing in the
// file says the shape of the model.
func TestMetaOfATrainingWithoutArguments(t *testing.T) {
	meta, err := os.ReadFile(filepath.Join("testdata", "formats", "nanogpt", "meta.pkl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = errors.Join(os.MkdirAll(filepath.Join(dir, "data", "chars"), 0o700),
		os.Mkdir(filepath.Join(dir, "out"), 0o700),
		os.WriteFile(filepath.Join(dir, "data", "chars", "meta.pkl"), meta, 0o600),
		os.WriteFile(filepath.Join(dir, "out", "ckpt.pt"), nanoCheckpoint(t, "chars"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(filepath.Join(dir, "out"), checkpoint.Options{Heads: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if tok, err := c.Tokenizer(); err != nil || tok.Kind() != "characters" {
		t.Errorf("%v, want characters", err)
	}
}
