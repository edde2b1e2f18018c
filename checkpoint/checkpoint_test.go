package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// write makes a checkpoint with files beside it.
func write(t *testing.T, o fixture.Options, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := fixture.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// letters is a vocabulary of a to z with <|endoftext|> as id 26.
func letters() map[string]string {
	vocab := map[string]int{tokenizer.EndOfTextToken: 26}
	for i := range 26 {
		vocab[string(rune('a'+i))] = i
	}
	b, _ := json.Marshal(vocab)
	return map[string]string{"vocab.json": string(b), "merges.txt": ""}
}

func TestOpenDirectoryFileAndFS(t *testing.T) {
	dir := write(t, fixture.Options{}, letters())
	file := filepath.Join(dir, "model.safetensors")
	byPath := func(path string) func() (*checkpoint.Checkpoint, error) {
		return func() (*checkpoint.Checkpoint, error) { return checkpoint.Open(path, checkpoint.Options{}) }
	}
	for name, open := range map[string]func() (*checkpoint.Checkpoint, error){
		"directory": byPath(dir),
		"file":      byPath(file),
		"fs.FS": func() (*checkpoint.Checkpoint,
			error) {
			return checkpoint.OpenFS(os.DirFS(dir), "", checkpoint.Options{})
		},
	} {
		c, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{Threads: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tok, err := c.Tokenizer()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if ids, err := tok.Encode("cab"); err != nil || !slices.Equal(ids, []int{2, 0, 1}) {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if again, _ := c.Tokenizer(); again != tok {
			t.Errorf("%s: the tokenizer is read twice", name)
		}
		m.Close()
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDemoIsUsedInPlace(t *testing.T) {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wte, _ := c.Tensors.Tensor("wte.weight")
	whole := demo.Weights()
	inside := false
	for at := 0; at < len(whole) && !inside; at += 64 {
		inside = &whole[at] == &wte.Data[0]
	}
	if !inside {
		t.Error("wte.weight is not in the embedded bytes")
	}
	if tok, err := c.Tokenizer(); tok != tokenizer.GPT2() || err != nil {
		t.Errorf("tokenizer %p, %v; want GPT-2's", tok, err)
	}
	if id, ok := c.Config.StartToken(); id != 50256 || !ok ||
		!slices.Equal(c.Config.EndTokens(), []int{50256}) {
		t.Errorf("start %d, %t, end %v; want 50256", id, ok, c.Config.EndTokens())
	}
}

// TestStartAndEndTokens: the ids in the config count, otherwise the tokenizer's <|endoftext|>.
func TestStartAndEndTokens(t *testing.T) {
	none := map[string]any{"bos_token_id": nil, "eos_token_id": nil}
	for _, c := range []struct {
		about  string
		config map[string]any
		vocab  int
		files  map[string]string
		start  int // -1: none
		end    []int
	}{
		{"the config's", map[string]any{"bos_token_id": 3, "eos_token_id": []int{5, 7}}, 29,
			letters(), 3, []int{5, 7}},
		{"end tokens begin a text, too", map[string]any{"bos_token_id": nil,
			"eos_token_id": []int{5, 7}}, 29, letters(), 5, []int{5, 7}},
		{"ids outside the vocabulary are none",
			map[string]any{"bos_token_id": 50256, "eos_token_id": 50256}, 29, letters(), 26,
			[]int{26}},
		{"the tokenizer's", none, 29, letters(), 26, []int{26}},
		{"the config's start, the tokenizer's end",
			map[string]any{"bos_token_id": 3, "eos_token_id": nil}, 29, letters(), 3, []int{26}},
		{"the tokenizer's is beyond the model", none, 26, letters(), -1, nil},
		{"no tokenizer", none, 29, nil, -1, nil},
		{"a broken tokenizer", none, 29, map[string]string{"tokenizer.json": "{"}, -1, nil},
		{"GPT-2's stands in", none, 50257, nil, 50256, []int{50256}},
	} {
		dir := write(t, fixture.Options{Vocab: c.vocab, Config: c.config}, c.files)
		ck, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		defer ck.Close()
		start, ok := ck.Config.StartToken()
		if !ok {
			start = -1
		}
		if end := ck.Config.EndTokens(); start != c.start || !slices.Equal(end, c.end) {
			t.Errorf("%s: start %d, end %v; want %d, %v", c.about, start, end, c.start, c.end)
		}
	}
}

func TestWhoseTokenizer(t *testing.T) {
	const size = tokenizer.GPT2Size
	for _, c := range []struct {
		about string
		vocab int
		files map[string]string
		size  int
		want  string // of the error
	}{
		{"its own", 29, letters(), 27, ""},
		{"its own before GPT-2's", size, letters(), 27, ""},
		{"GPT-2's, whose ids fit", size, nil, size, ""},
		{"GPT-2's, with rows to spare", size + 47, nil, size, ""},
		{"none, as GPT-2's ids do not fit", size - 1, nil, 0,
			"no tokenizer files, and vocab_size 50256 is too small for GPT-2's 50257 ids"},
		{"a broken one", size, map[string]string{"tokenizer.json": "{"}, 0, "tokenizer.json: "},
		{"half of one", size, map[string]string{"vocab.json": "{}"}, 0, "merges.txt: no such file"},
	} {
		dir := write(t, fixture.Options{Vocab: c.vocab, Embd: 3, Head: 3, Layer: 1}, c.files)
		ck, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		defer ck.Close()
		tok, err := ck.Tokenizer()
		alone, errAlone := checkpoint.OpenTokenizer(dir)
		n, gaps, errIDs := ck.Vocabulary()
		for _, err := range []error{err, errAlone, errIDs} {
			if (err == nil) != (c.want == "") || err != nil &&
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.about, err, c.want)
			}
			if none := strings.HasPrefix(c.want, "no tokenizer"); errors.Is(err,
				checkpoint.ErrNoTokenizer) != none {
				t.Errorf("%s: %v is ErrNoTokenizer: %t", c.about, err, !none)
			}
		}
		if c.want == "" && (tok.Size() != c.size || alone.Size() != c.size || n != c.size ||
			!slices.Equal(gaps, tok.Gaps())) {
			t.Errorf("%s: sizes %d, %d, %d, gaps %v; want %d", c.about, tok.Size(), alone.Size(), n,
				gaps, c.size)
		}
	}
}

func TestATokenizerNeedsNoWeights(t *testing.T) {
	dir := write(t, fixture.Options{}, letters())
	for _, name := range []string{"model.safetensors", "config.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if tok, err := checkpoint.OpenTokenizer(dir); err != nil || tok.Size() != 27 {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"vocab.json", "merges.txt"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := checkpoint.OpenTokenizer(dir)
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(),
		filepath.Join(dir, "config.json")+": ") {
		t.Errorf("%v, want that there is no config.json", err)
	}
}

func TestPartsThatAreMissingAreNamed(t *testing.T) {
	empty := t.TempDir()
	noWeights := write(t, fixture.Options{}, nil)
	if err := os.Remove(filepath.Join(noWeights, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(empty, "none"): filepath.Join(empty, "none") + ": ",
		empty:                        empty + ": no checkpoint in this directory",
		noWeights:                    noWeights + ": no checkpoint in this directory",
	} {
		_, err := checkpoint.Open(path, checkpoint.Options{})
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// digests opens a checkpoint and returns the model's digest and the tokenizer's.
func digests(t *testing.T, dir string) [2]string {
	t.Helper()
	c, err := checkpoint.Open(dir, checkpoint.Options{})
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
