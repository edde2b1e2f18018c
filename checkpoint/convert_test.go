package checkpoint_test

// Conversions: the same bits of logits after any conversions, and errors for checkpoints that would
// give others.

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights/demo"
)

// converted writes a checkpoint in another format and returns where it is.
func converted(t *testing.T, c *checkpoint.Checkpoint, m *model.Model, to string) string {
	t.Helper()
	v, err := c.Convert(to)
	if err != nil {
		t.Fatalf("%s to %s: %v", c.Tensors.Name(), to, err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := v.Write(t.Context(), out, m); err != nil {
		t.Fatalf("%s to %s: %v", c.Tensors.Name(), to, err)
	}
	return out
}

// tanh is how a checkpoint that Convert has written for nanoGPT is opened.
func tanh(to string) (o checkpoint.Options) {
	if to == "nanogpt" {
		o.GELU = "tanh"
	}
	return o
}

func sameLogits(t *testing.T, about string, got, want [][]float32) {
	t.Helper()
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: other bits after token %d", about, i)
		}
	}
}

// TestConvertedCheckpointsGiveTheSameBits converts each format to each other one, and the results
// to each again.
func TestConvertedCheckpointsGiveTheSameBits(t *testing.T) {
	cases.NotShort(t)
	ids := []int{57, 7, 25, 4, 20, 63, 0}
	for from, targets := range map[string][]string{
		"hf": checkpoint.Targets(), "tf": checkpoint.Targets(), "bin-bf16": checkpoint.Targets(),
		"llmc/model.bin": checkpoint.Targets(), "llmc/model_bf16.bin": checkpoint.Targets(),
		"gguf/f16.gguf": checkpoint.Targets(), "gguf/q4_0.gguf": checkpoint.Targets(),
		"bin-views-f16":   {"safetensors"}, // which keeps score.weight
		"gguf/mixed.gguf": {"safetensors", "gguf"}, "gguf/kquants.gguf": {"safetensors", "gguf"},
		"nanogpt": {"safetensors", "nanogpt"},
	} {
		c, m := opened(t, filepath.Join(formats, from), checkpoint.Options{})
		want := logits(t, m, ids)
		for _, to := range targets {
			o := tanh(to)
			if from == "nanogpt" {
				o = checkpoint.Options{}
			}
			again, second := opened(t, converted(t, c, m, to), o)
			sameLogits(t, from+" to "+to, logits(t, second, ids), want)
			if again.Format() != to || second.Format() != m.Format() {
				t.Errorf("%s to %s: format %s, numbers %s, want %s", from, to, again.Format(),
					second.Format(), m.Format())
			}
			for _, back := range targets {
				o := tanh(back)
				if from == "nanogpt" {
					o = checkpoint.Options{}
				}
				_, third := opened(t, converted(t, again, second, back), o)
				sameLogits(t, from+" to "+to+" to "+back, logits(t, third, ids), want)
			}
		}
	}
}

// TestConvertedVocabulariesSayTheSame: also if the source format has the vocabulary inside the
// file.
func TestConvertedVocabulariesSayTheSame(t *testing.T) {
	_, texts := goldens(t)
	for _, from := range []string{"hf", "tf", "gguf/f32.gguf"} {
		c, m := opened(t, filepath.Join(formats, from), checkpoint.Options{})
		for _, to := range checkpoint.Targets() {
			again, err := checkpoint.Open(converted(t, c, m, to), tanh(to))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			tok, err := again.Tokenizer()
			if err != nil {
				t.Fatalf("%s to %s: %v", from, to, err)
			}
			if tok.Size() != 64 || !slices.Equal(again.Config.EndTokens(), []int{63}) {
				t.Errorf("%s to %s: %d tokens, end %v", from, to, tok.Size(),
					again.Config.EndTokens())
			}
			for _, text := range texts {
				if ids, err := tok.Encode(text.Text); err != nil || !slices.Equal(ids, text.IDs) {
					t.Errorf("%s to %s: %q: %v, %v; want %v", from, to, text.Text, ids, err, text.IDs)
				}
			}
		}
	}
}

// TestTheCharactersOfNanoGPTGoAlong: meta.pkl to nanoGPT, a tokenizer.json to Hugging Face.
func TestTheCharactersOfNanoGPTGoAlong(t *testing.T) {
	c, m := opened(t, filepath.Join(formats, "nanogpt"), checkpoint.Options{})
	want, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"safetensors", "nanogpt"} {
		tok, err := checkpoint.OpenTokenizer(converted(t, c, m, to))
		if err != nil {
			t.Errorf("%s: %v", to, err)
			continue
		}
		ids, err := tok.Encode("w-N(I")
		if wantIDs, _ := want.Encode("w-N(I"); err != nil || !slices.Equal(ids, wantIDs) {
			t.Errorf("%s: %v, %v; want %v", to, ids, err, wantIDs)
		}
	}
}

// TestOtherTokenizersGoAlong: their files are copied unchanged; a GGUF file cannot contain them,
// and they may lie beside it.
func TestOtherTokenizersGoAlong(t *testing.T) {
	words := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nant\n##s\n"
	dir := write(t, fixture.Options{Config: map[string]any{"layer_norm_epsilon": 1e-5,
		"activation_function": "gelu_new"}}, map[string]string{"vocab.txt": words})
	c, m := opened(t, dir, checkpoint.Options{})
	for _, to := range []string{"safetensors", "nanogpt"} {
		b, err := os.ReadFile(filepath.Join(converted(t, c, m, to), "vocab.txt"))
		if string(b) != words || err != nil {
			t.Errorf("%s: %q, %v", to, b, err)
		}
	}
	if v, err := c.Convert("gguf"); err != nil || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "only byte-level BPE") {
		t.Errorf("gguf: notes %q, %v", v.Notes, err)
	}
	gguf := converted(t, c, m, "gguf")
	if err := os.WriteFile(filepath.Join(filepath.Dir(gguf), "vocab.txt"), []byte(words),
		0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := checkpoint.OpenTokenizer(gguf)
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := tok.Encode("the ants"); err != nil || !slices.Equal(ids, []int{5, 6, 7}) {
		t.Errorf("vocab.txt beside a gguf: %v, %v", ids, err)
	}
}

// TestWithoutATokenizerIDsWork: the list of llm.c has no merges, and a folder may have none at all.
func TestWithoutATokenizerIDsWork(t *testing.T) {
	c, m := opened(t, filepath.Join(formats, "llmc/model.bin"), checkpoint.Options{})
	v, err := c.Convert("gguf")
	if err != nil || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "works on ids") {
		t.Errorf("notes %q, %v", v.Notes, err)
	}
	if tok, err := checkpoint.OpenTokenizer(converted(t, c, m, "gguf")); err == nil {
		t.Errorf("a tokenizer of %d tokens", tok.Size())
	}
}

func TestWhatAFormatCannotSayIsRefused(t *testing.T) {
	for _, r := range []struct {
		to     string
		config map[string]any
		inner  int
		want   string // "" where it can
	}{
		{"gguf", nil, 0, ""},
		{"gguf", map[string]any{"activation_function": "gelu_fast"}, 0, ""},
		{"gguf", nil, 37, ""},
		{"gguf", map[string]any{"layer_norm_epsilon": 1e-6}, 0, ""},
		{"gguf", map[string]any{"activation_function": "gelu"}, 0,
			"activation_function: gelu, but a file of GGUF cannot say it and means gelu_new"},
		{"gguf", map[string]any{"activation_function": "relu"}, 0, "activation_function: relu, but"},
		{"gguf", map[string]any{"scale_attn_weights": false}, 0, "scale_attn_weights: false, but"},
		{"gguf", map[string]any{"scale_attn_by_inverse_layer_idx": true}, 0,
			"scale_attn_by_inverse_layer_idx: true, but"},
		{"nanogpt", nil, 0, ""},
		{"nanogpt", map[string]any{"activation_function": "gelu"}, 0, ""},
		{"nanogpt", map[string]any{"activation_function": "relu"}, 0, "activation_function: relu, but"},
		{"nanogpt", map[string]any{"layer_norm_epsilon": 1e-6}, 0, "layer_norm_epsilon: 1e-06, but"},
		{"nanogpt", nil, 37, "n_inner: 37, but a file of nanoGPT cannot say it and means 60"},
		{"nanogpt", map[string]any{"scale_attn_by_inverse_layer_idx": true}, 0,
			"scale_attn_by_inverse_layer_idx: true, but"},
		{"safetensors", map[string]any{"activation_function": "relu",
			"scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true}, 37, ""},
		{"onnx", nil, 0, `format "onnx", want one of [safetensors gguf nanogpt]`},
	} {
		config := map[string]any{"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
		for k, v := range r.config {
			config[k] = v
		}
		dir := write(t, fixture.Options{Inner: r.inner, Config: config}, letters())
		c, m := opened(t, dir, checkpoint.Options{})
		_, err := c.Convert(r.to)
		switch {
		case r.want == "" && err == nil:
			o := tanh(r.to)
			if c.Config.Activation == model.GELU {
				o.GELU = ""
			}
			_, again := opened(t, converted(t, c, m, r.to), o)
			ids := []int{3, 1, 4, 1, 5}
			sameLogits(t, r.to, logits(t, again, ids), logits(t, m, ids))
		case r.want == "" || err == nil || !strings.Contains(err.Error(), r.want):
			t.Errorf("to %s with %v: error %v, want %q", r.to, r.config, err, r.want)
		}
	}
}

// TestOneMatrixForBoth: nanoGPT's head is the embedding.
func TestOneMatrixForBoth(t *testing.T) {
	dir := write(t, fixture.Options{Untied: true, Config: map[string]any{
		"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}}, nil)
	c, m := opened(t, dir, checkpoint.Options{})
	want := filepath.Join(dir, "model.safetensors") + ": lm_head.weight: differs from wte.weight"
	if _, err := c.Convert("nanogpt"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	tied, _ := opened(t, write(t, fixture.Options{Config: map[string]any{
		"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}}, nil), checkpoint.Options{})
	v, err := tied.Convert("nanogpt")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.WriteWeights(t.Context(), &bytes.Buffer{}, m); err == nil {
		t.Error("the model of another checkpoint was written without its head")
	}
	_, again := opened(t, converted(t, c, m, "gguf"), checkpoint.Options{})
	ids := []int{3, 1, 4, 1, 5}
	sameLogits(t, "gguf", logits(t, again, ids), logits(t, m, ids))
}

// TestOurOwnBlocksStay: q8 is for this program.
func TestOurOwnBlocksStay(t *testing.T) {
	c, _ := opened(t, filepath.Join(formats, "hf"), checkpoint.Options{})
	q8, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Format: "q8"})
	if err != nil {
		t.Fatal(err)
	}
	defer q8.Close()
	quantized, m := opened(t, converted(t, c, q8, "safetensors"), checkpoint.Options{})
	if m.Format() != "q8" {
		t.Errorf("format %s", m.Format())
	}
	for _, to := range []string{"gguf", "nanogpt"} {
		if _, err := quantized.Convert(to); err == nil || !strings.Contains(err.Error(),
			"quantized in a layout that only this project reads") {
			t.Errorf("%s: error %v", to, err)
		}
		v, err := c.Convert(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.WriteWeights(t.Context(), &bytes.Buffer{}, q8); err == nil {
			t.Errorf("%s: q8 was written", to)
		}
	}
}

// TestConfigFile: the source's own if there is one, otherwise one that Hugging Face's libraries
// read.
func TestConfigFile(t *testing.T) {
	c, m := opened(t, filepath.Join(formats, "hf"), checkpoint.Options{})
	got, err := os.ReadFile(filepath.Join(converted(t, c, m, "safetensors"), "config.json"))
	if want, _ := os.ReadFile(formats + "/hf/config.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	c, m = opened(t, filepath.Join(formats, "gguf/kquants.gguf"), checkpoint.Options{})
	got, err = os.ReadFile(filepath.Join(converted(t, c, m, "safetensors"), "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(got, &values); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"n_ctx": 8.0, "n_positions": 8.0, "n_inner": 256.0,
		"model_type": "gpt2", "eos_token_id": 63.0, "bos_token_id": 63.0, "layer_norm_epsilon": 1e-5,
		"tie_word_embeddings": false, "activation_function": "gelu_new"} {
		if values[key] != want {
			t.Errorf("%s: %v, want %v", key, values[key], want)
		}
	}
}

// TestTheNumberFormatOfTheSourceIsNotSaid: Hugging Face's libraries would round to it.
func TestTheNumberFormatOfTheSourceIsNotSaid(t *testing.T) {
	cases.NotShort(t)
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v, err := c.Convert("safetensors")
	if err != nil || v.Files[0].Name != "config.json" {
		t.Fatal(err)
	}
	short := string(v.Files[0].Data)
	if !strings.Contains(string(demo.Config()), `"torch_dtype"`) ||
		strings.Contains(short, "torch_dtype") || !strings.Contains(short, `"n_ctx": 256`) {
		t.Errorf("%s", short)
	}
	if got, err := model.ParseConfig(v.Files[0].Data); err != nil || !reflect.DeepEqual(got, c.Config) {
		t.Errorf("%+v, %v; want %+v", got, err, c.Config)
	}
}

// TestTheSameBytesEachTime: the files depend only on the checkpoint.
func TestTheSameBytesEachTime(t *testing.T) {
	c, m := opened(t, filepath.Join(formats, "tf"), checkpoint.Options{})
	for _, to := range checkpoint.Targets() {
		var all [2]bytes.Buffer
		for i := range all {
			v, err := c.Convert(to)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range v.Files {
				all[i].Write(f.Data)
			}
			if err := v.WriteWeights(t.Context(), &all[i], m); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all[0].Bytes(), all[1].Bytes()) {
			t.Errorf("%s: other bytes the second time", to)
		}
	}
}

// TestOtherHeadsAreCarried: safetensors keeps each tensor that the decoder does not use, under its
// name and with its bytes; other formats refuse.
func TestOtherHeadsAreCarried(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{Heads: true, Masks: true, Untied: true}); err != nil {
		t.Fatal(err)
	}
	want := []string{"score.weight", "v_head.summary.weight", "v_head.summary.bias",
		"multiple_choice_head.summary.weight"}
	c, _ := opened(t, dir, checkpoint.Options{})
	if got := c.Unused(); !slices.Equal(got, want) {
		t.Fatalf("unused %v, want %v", got, want)
	}
	for _, to := range []string{"gguf", "nanogpt"} {
		if _, err := c.Convert(to); err == nil ||
			!strings.Contains(err.Error(), "score.weight: no part of the decoder, and a file of ") {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, format := range []string{"auto", "f16", "q8"} {
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		back, again := opened(t, converted(t, c, m, "safetensors"), checkpoint.Options{})
		for _, name := range want {
			a, _ := c.Tensors.Tensor(name)
			b, _ := back.Tensors.Tensor(name)
			if same, err := a.Equal(b); !same || err != nil {
				t.Errorf("%s: %v %v, want %v %v; %v", name, b.DType, b.Shape, a.DType, a.Shape, err)
			}
		}
		ids := []int{1, 5, 2}
		sameLogits(t, format, logits(t, again, ids), logits(t, m, ids))
	}
}
