package checkpoint_test

// Every format against float64 logits of the same weights, by PyTorch.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights"
)

const formats = "testdata/formats"

// A golden is one file of testdata/formats, and what it computes.
type golden struct {
	Path      string
	Logits    string // their name in expect.safetensors, less #K
	Config    model.Config
	Sequences [][]int
	Greedy    []int // the prompt [1 2] and what follows
	Largest   float64
}

// goldens returns those of expect.json and the texts with ids.
func goldens(t *testing.T) (all []golden, texts []textWithIDs) {
	t.Helper()
	b, err := os.ReadFile(formats + "/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var expect struct {
		Files []golden
		Texts []textWithIDs
	}
	if err := json.Unmarshal(b, &expect); err != nil {
		t.Fatal(err)
	}
	return expect.Files, expect.Texts
}

type textWithIDs struct {
	Text string
	IDs  []int
}

// opened opens a checkpoint and a model of it, until the test ends.
func opened(
	t *testing.T, path string, o checkpoint.Options,
) (*checkpoint.Checkpoint, *model.Model) {
	t.Helper()
	c, err := checkpoint.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 2})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(func() { m.Close() })
	return c, m
}

// logits returns the logits after each token.
func logits(t *testing.T, m *model.Model, ids []int) (all [][]float32) {
	t.Helper()
	all = make([][]float32, len(ids))
	err := m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: ids,
		Visit: func(r model.Row) { all[r.Index] = slices.Clone(r.Logits) }})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryFormatAgreesWithFloat64(t *testing.T) {
	expect, err := weights.Open(os.DirFS(formats), "expect.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer expect.Close()
	all, _ := goldens(t)
	for _, g := range all {
		path := filepath.Join(formats, g.Path)
		t.Run(g.Logits, func(t *testing.T) {
			o := checkpoint.Options{}
			want := g.Config
			if strings.HasSuffix(g.Logits, " tanh") {
				o.GELU, want.Activation = "tanh", model.GELUNew
			}
			c, m := opened(t, path, o)
			if c.Config.VocabSize != want.VocabSize || c.Config.Inner != want.Inner ||
				c.Config.Activation != want.Activation ||
				float32(c.Config.LayerNormEpsilon) != float32(want.LayerNormEpsilon) {
				t.Errorf("config %+v, want %+v", c.Config, want)
			}
			start, end := 63, []int{63}
			if strings.HasPrefix(g.Path, "nanogpt") { // whose files name none, and characters neither
				start, end = -1, nil
			}
			id, ok := c.Config.StartToken()
			if ok != (start >= 0) || ok && id != start || !slices.Equal(c.Config.EndTokens(), end) {
				t.Errorf("start %d, %t, end %v; want %d", id, ok, c.Config.EndTokens(), start)
			}
			for k, ids := range g.Sequences {
				name := fmt.Sprintf("%s#%d", g.Logits, k)
				answer, ok := expect.Tensor(name)
				if !ok {
					t.Fatal("no logits " + name)
				}
				compare(t, name, logits(t, m, ids), answer, g.Largest)
			}
			rows := logits(t, m, g.Greedy)
			for i, next := range g.Greedy[2:] { // the first two are the prompt
				row := rows[i+1]
				if best := slices.Index(row, slices.Max(row)); best != next {
					t.Fatalf("after %v: %d, want %d", g.Greedy[:i+2], best, next)
				}
			}
		})
	}
}

// compare holds the last rows of got to an answer, which has as many.
func compare(t *testing.T, name string, got [][]float32, answer weights.Tensor, largest float64) {
	t.Helper()
	want, err := answer.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	vocab := len(got[0])
	rows := len(want) / vocab
	for i, row := range got[len(got)-rows:] {
		for j, x := range row {
			if off := math.Abs(float64(x) - float64(want[i*vocab+j])); !(off <= 2e-5*largest) {
				t.Fatalf("%s: logit %d of row %d is %v, want %v", name, j, i, x, want[i*vocab+j])
			}
		}
	}
}

// TestTheSameNumbersGiveTheSameBits: files with the same weights in float32.
func TestTheSameNumbersGiveTheSameBits(t *testing.T) {
	for _, same := range [][]string{
		{"llmc/model.bin", "gguf/f32.gguf", "tf"},
		{"hf", "bin-zip", "nanogpt"},
		{"bin-legacy-f16", "bin-sharded-f16", "bin-views-f16"},
	} {
		ids := []int{57, 7, 25, 4, 20}
		_, first := opened(t, filepath.Join(formats, same[0]), checkpoint.Options{})
		want := logits(t, first, ids)
		for _, path := range same[1:] {
			o := checkpoint.Options{}
			if path == "nanogpt" {
				o.GELU = "tanh" // as in the others
			}
			_, m := opened(t, filepath.Join(formats, path), o)
			for i, row := range logits(t, m, ids) {
				if !slices.Equal(row, want[i]) {
					t.Errorf("%s: other bits than %s", path, same[0])
				}
			}
		}
	}
}

// TestCharactersBesideNanoGPT: meta.pkl is the vocabulary.
func TestCharactersBesideNanoGPT(t *testing.T) {
	for _, path := range []string{"nanogpt", "nanogpt/ckpt.pt"} {
		c, err := checkpoint.Open(filepath.Join(formats, path), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		tok, err := c.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		alone, err := checkpoint.OpenTokenizer(filepath.Join(formats, path))
		if err != nil || alone.Size() != tok.Size() {
			t.Errorf("the tokenizer alone: %v", err)
		}
		if digest, err := c.TokenizerDigest(); len(digest) != 32 || err != nil {
			t.Errorf("digest %q, %v", digest, err)
		}
		const text = "w-N(I"
		want := []int{57, 7, 25, 4, 20}
		if ids, err := tok.Encode(text); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q: %v, %v; want %v", text, ids, err, want)
		}
		if back, err := tok.Decode(want); err != nil || back != text {
			t.Errorf("%v: %q, %v; want %q", want, back, err, text)
		}
	}
}

// TestVocabulariesInsideFormats: those of GGUF and TensorFlow encode and decode, that of llm.c
// decodes only.
func TestVocabulariesInsideFormats(t *testing.T) {
	_, texts := goldens(t)
	for _, path := range []string{"gguf/f32.gguf", "gguf/kquants.gguf", "tf", "llmc/model.bin"} {
		c, err := checkpoint.Open(filepath.Join(formats, path), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		tok, err := c.Tokenizer()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		alone, err := checkpoint.OpenTokenizer(filepath.Join(formats, path))
		if err != nil || alone.Size() != tok.Size() {
			t.Errorf("%s: the tokenizer alone: %v", path, err)
		}
		if digest, err := c.TokenizerDigest(); len(digest) != 32 || err != nil {
			t.Errorf("%s: digest %q, %v", path, digest, err)
		}
		for _, text := range texts {
			ids, err := tok.Encode(text.Text)
			if strings.HasPrefix(path, "llmc") {
				if err == nil {
					t.Errorf("%s: text was encoded without merges", path)
				}
			} else if err != nil || !slices.Equal(ids, text.IDs) {
				t.Errorf("%s: %q: %v, %v; want %v", path, text.Text, ids, err, text.IDs)
			}
			if back, err := tok.Decode(text.IDs); err != nil || back != text.Text {
				t.Errorf("%s: %v: %q, %v; want %q", path, text.IDs, back, err, text.Text)
			}
		}
	}
}

// TestPathsOfOtherMachines: what TensorFlow's list of checkpoints names elsewhere is not followed,
// but the index beside it can be opened.
func TestPathsOfOtherMachines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tf")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(formats, "tf"))); err != nil {
		t.Fatal(err)
	}
	list := "model_checkpoint_path: \"/content/models/124M/model.ckpt\"\n"
	if err := os.WriteFile(filepath.Join(dir, "checkpoint"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "checkpoint") + `: model_checkpoint_path: ` +
		`"/content/models/124M/model.ckpt", want the plain name of a file beside it: ` +
		`open the .index file itself`
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	opened(t, filepath.Join(dir, "model.ckpt.index"), checkpoint.Options{})
}
