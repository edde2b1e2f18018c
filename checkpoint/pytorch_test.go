package checkpoint_test

// PyTorch's files: settings that minGPT and nanoGPT leave open, and files that are refused.

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/tokenizer"
)

// TestMinGPT: its bare state dict with a config gives the same bits as these weights in another
// format.
func TestMinGPT(t *testing.T) {
	for path, same := range map[string]string{
		"testdata/mingpt":          formats + "/hf",
		"testdata/mingpt/model.pt": formats + "/hf",
		"testdata/mingpt-unbiased": formats + "/nanogpt-compiled-nobias",
	} {
		ids := []int{57, 7, 25, 4, 20}
		c, m := opened(t, path, checkpoint.Options{})
		_, other := opened(t, same, checkpoint.Options{})
		if c.Format() != "mingpt" {
			t.Errorf("%s: format %s", path, c.Format())
		}
		want := logits(t, other, ids)
		for i, row := range logits(t, m, ids) {
			if !slices.Equal(row, want[i]) {
				t.Fatalf("%s: other bits than %s", path, same)
			}
		}
	}
}

// TestMinGPTsOwnConfig: only the heads of the config that minGPT writes beside model.pt are needed.
func TestMinGPTsOwnConfig(t *testing.T) {
	b, err := os.ReadFile("testdata/mingpt/model.pt")
	if err != nil {
		t.Fatal(err)
	}
	for own, want := range map[string]string{
		`{"model_type":null,"n_layer":2,"n_head":4,"n_embd":32,"vocab_size":null}`: "",
		`{"model_type":"gpt-micro","n_layer":null,"n_head":null,"n_embd":null}`:    "",
		`{"model_type":"gpt-nano"}`: "config.json: model: n_head: 3 does not divide n_embd",
		`{"model_type":"gpt-huge"}`: `model: n_head: missing, and model_type: "\"gpt-huge\"" is none`,
		`{}`:                        "model: n_head: missing, and the tensors do not say it: give --n-head",
		`{"n_head":-4}`:             "model: n_head: -4, want 1 to",
	} {
		config := `{"system":{"work_dir":"./out"},"data":{"block_size":32},"model":` + own +
			`,"trainer":{"max_iters":null}}`
		c, err := checkpoint.OpenFS(folder.Memory{"model.pt": b, "config.json": []byte(config)}, "", checkpoint.Options{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", own, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", own, err)
			continue
		}
		defer c.Close()
		hf, err := checkpoint.Open("testdata/mingpt", checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer hf.Close()
		got, same := c.Config, hf.Config
		if got.Layer != same.Layer || got.Head != same.Head || got.Embd != same.Embd ||
			got.Positions != same.Positions || got.VocabSize != same.VocabSize ||
			got.Inner != same.Inner || got.Activation != same.Activation {
			t.Errorf("%s: %+v, want %+v", own, got, same)
		}
		if c.Format() != "mingpt" {
			t.Errorf("%s: format %s", own, c.Format())
		}
	}
}

// TestWhichGELU: nanoGPT's files do not say it, others do.
func TestWhichGELU(t *testing.T) {
	for _, c := range []struct {
		path, gelu string
		want       model.Activation
		notes      int
		err        string
	}{
		{"nanogpt", "", model.GELU, 1, ""},
		{"nanogpt", "erf", model.GELU, 0, ""},
		{"nanogpt", "tanh", model.GELUNew, 0, ""},
		{"nanogpt-compiled-nobias", "", model.GELU, 2, ""},
		{"bin-zip", "", model.GELUNew, 0, ""},
		{"bin-zip", "tanh", "", 0, "gelu: tanh, but this checkpoint (pytorch) says"},
		{"nanogpt", "exact", "", 0, `gelu: "exact", want tanh or erf`},
	} {
		ck, err := checkpoint.Open(filepath.Join(formats, c.path), checkpoint.Options{GELU: c.gelu})
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s, %q: %v, want %q", c.path, c.gelu, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		if ck.Config.Activation != c.want || len(ck.Notes) != c.notes {
			t.Errorf("%s, %q: %s, %q", c.path, c.gelu, ck.Config.Activation, ck.Notes)
		}
	}
}

// nanoGPT is the golden file, as a folder whose files may be changed.
func nanoGPT(t *testing.T) folder.Memory {
	t.Helper()
	b, err := os.ReadFile(formats + "/nanogpt/ckpt.pt")
	if err != nil {
		t.Fatal(err)
	}
	return folder.Memory{"ckpt.pt": b}
}

// TestModelArgs: the allowed arguments of nanoGPT. The file's pickle is changed in place.
func TestModelArgs(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"dropout", "dropour", `model_args: "dropour": nanoGPT has no such argument`},
		{"n_head", "n_hexd", `model_args: "n_hexd": nanoGPT has no such argument`},
		{"model_args", "model_argt", ""}, // a config by another name
		{"\x05\x00\x00\x00model", "\x05\x00\x00\x00xodel", ""},
	} {
		files := nanoGPT(t)
		b := files["ckpt.pt"]
		if !bytes.Contains(b, []byte(c.from)) {
			t.Fatalf("%q is not in the file", c.from)
		}
		files["ckpt.pt"] = bytes.Replace(b, []byte(c.from), []byte(c.to), 1)
		ck, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
		if err == nil {
			defer ck.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: %v, want %q", c.from, c.to, err, c.want)
		}
	}
}

// TestMeta: meta.pkl beside ckpt.pt is read when the checkpoint is opened.
func TestMeta(t *testing.T) {
	const a, b = "X\x01\x00\x00\x00a", "X\x01\x00\x00\x00b"
	stoi := func(items string) string { return "X\x04\x00\x00\x00stoi}(" + items + "u" }
	itos := func(items string) string { return "X\x04\x00\x00\x00itos}(" + items + "u" }
	for meta, want := range map[string]string{
		stoi(a+"K\x00"+b+"K\x01") + itos("K\x00"+a+"K\x01"+b): "",
		stoi(a+"K\x00"+b+"K\x02") + itos("K\x00"+a+"K\x02"+b): "", // a gap
		stoi(a+"K\x00"+b+"K\x01") + itos("K\x00"+b+"K\x01"+a): "stoi and itos disagree on id 0",
		stoi(a+"K\x00") + itos("K\x00"+a+"K\x01"+b):           "itos has 2 ids, but stoi 1",
		stoi(a + "K\x00"):                            "itos: missing, want a dict",
		itos("K\x00" + a):                            "stoi: missing, want a dict",
		stoi(a+"K\xff") + itos("K\xff"+a):            "256 ids, but the model's vocab_size is 64",
		stoi(a+b) + itos(b+a):                        "a string for a string, want ids of strings",
		stoi("cos\nsystem\nK\x00") + itos("K\x00"+a): "os.system, which is code",
	} {
		files := nanoGPT(t)
		files["meta.pkl"] = []byte("\x80\x02}(" + meta + "u.")
		c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
		if want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "meta.pkl: ") ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", meta, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", meta, err)
			continue
		}
		tok, err := c.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		if _, gaps, _ := c.Vocabulary(); len(gaps) != tok.Size()-2 {
			t.Errorf("%q: gaps %v", meta, gaps)
		}
		if text, err := tok.Decode([]int{0, tok.Size() - 1}); text != "ab" || err != nil {
			t.Errorf("%q: %q, %v", meta, text, err)
		}
	}
}

// TestLongerEntriesOfMeta: they are added tokens, and go along to a tokenizer.json. The tokenizer
// alone is there without n_head.
func TestLongerEntriesOfMeta(t *testing.T) {
	const meta = "\x80\x02}(X\x04\x00\x00\x00stoi}(U\x01aK\x00U\x05<UNK>K\x01U\x03catK\x02u" +
		"X\x04\x00\x00\x00itos}(K\x00U\x01aK\x01U\x05<UNK>K\x02U\x03catuu."
	files := nanoGPT(t)
	files["meta.pkl"] = []byte(meta)
	c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	again, err := tok.Files()
	if err != nil {
		t.Fatal(err)
	}
	back, err := tokenizer.Load(folder.Memory(again))
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile("testdata/mingpt/model.pt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"model.pt": state, "meta.pkl": []byte(meta)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	alone, err := checkpoint.OpenTokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range []*tokenizer.Tokenizer{tok, back, alone} {
		const text = "a<UNK>catacat"
		want := []int{0, 1, 2, 0, 2}
		if ids, err := tok.Encode(text); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%v, %v, want %v", ids, err, want)
		}
		if back, err := tok.Decode(want); err != nil || back != text {
			t.Errorf("%q, %v, want %q", back, err, text)
		}
	}
}

// TestNoConfig: only nanoGPT's file says its shape.
func TestNoConfig(t *testing.T) {
	b, err := os.ReadFile(formats + "/bin-zip/pytorch_model.bin")
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkpoint.OpenFS(folder.Memory{"pytorch_model.bin": b}, "", checkpoint.Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "and pytorch_model.bin "+
		"does not say n_head: put the model's config.json beside it, or give --n-head") {
		t.Errorf("%v", err)
	}
}

// FuzzNanoGPT: no bytes of ckpt.pt and meta.pkl cause a panic, and the result takes not much more
// memory than the files.
func FuzzNanoGPT(f *testing.F) {
	cases.NotShort(f)
	dir := f.TempDir()
	all, err := fixture.Hostiles("testdata/hostile.tar.gz", dir)
	if err != nil {
		f.Fatal(err)
	}
	meta, err := os.ReadFile(formats + "/nanogpt/meta.pkl")
	if err != nil {
		f.Fatal(err)
	}
	for _, h := range all {
		if b, err := os.ReadFile(filepath.Join(dir, h.Dir, "ckpt.pt")); err == nil {
			f.Add(b, meta)
			f.Add(b, []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, b, meta []byte) {
		files := folder.Memory{"ckpt.pt": b}
		if len(meta) > 0 {
			files["meta.pkl"] = meta
		}
		c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 600 {
				t.Errorf("not one plain line: %q", err)
			}
			return
		}
		defer c.Close()
		size := int64(0)
		for _, x := range c.Tensors.All() {
			made, err := x.Bytes()
			if err != nil {
				return
			}
			size += int64(len(made))
		}
		if size > 8*int64(len(b)) { // with the biases that the file leaves out
			t.Errorf("%d bytes of a file of %d", size, len(b))
		}
	})
}
