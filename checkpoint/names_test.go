package checkpoint_test

// Names that begin with more than GPT-2's do, in safetensors: the same bits, or refused by name.

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/internal/folder"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/weights"
)

// renamed returns the fixture's checkpoint with other names and shapes.
func renamed(
	t *testing.T, o fixture.Options, change func(t weights.Tensor) []weights.Tensor,
) folder.Memory {
	return renamedWith(t, o, nil, change)
}

// renamedWith is renamed with metadata.
func renamedWith(
	t *testing.T, o fixture.Options, metadata map[string]string,
	change func(t weights.Tensor) []weights.Tensor,
) folder.Memory {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	tensors, err := weights.FromBytes("fixture", file)
	if err != nil {
		t.Fatal(err)
	}
	var all []weights.Tensor
	for _, x := range tensors.All() {
		all = append(all, change(x)...)
	}
	var b bytes.Buffer
	if err := weights.Write(&b, metadata, all); err != nil {
		t.Fatal(err)
	}
	return folder.Memory{"config.json": config, "model.safetensors": b.Bytes()}
}

// under returns a change of names: the decoder's begin with stack, other heads' with beside.
func under(stack, beside string) func(t weights.Tensor) []weights.Tensor {
	return func(t weights.Tensor) []weights.Tensor {
		first, _, _ := strings.Cut(t.Name, ".")
		if slices.Contains([]string{"wte", "wpe", "h", "ln_f"}, first) {
			t.Name = stack + t.Name
		} else {
			t.Name = beside + t.Name
		}
		return []weights.Tensor{t}
	}
}

func TestPrefixesGo(t *testing.T) {
	heads := []string{"score.weight", "v_head.summary.weight", "v_head.summary.bias",
		"multiple_choice_head.summary.weight"}
	o := fixture.Options{Heads: true, Masks: true, Untied: true}
	ids := []int{1, 5, 2, 2, 9}
	var want [][]float32
	for _, x := range []struct{ stack, beside, name string }{ // the first one is Hugging Face's own
		{"", "", "wte.weight"}, {"transformer.", "", "transformer.wte.weight"},
		{"_orig_mod.transformer.", "_orig_mod.", "transformer.wte.weight"},
		{"module.transformer.", "module.", "transformer.wte.weight"}, {"module.", "module.", "wte.weight"},
		{"model.transformer.", "model.", "transformer.wte.weight"}, {"gpt2.", "", "wte.weight"},
		{"a.b.c.transformer.", "a.b.c.", "transformer.wte.weight"},
		{"transformer._orig_mod.", "", "transformer.wte.weight"}, {"net.gpt.", "net.", "wte.weight"},
	} {
		c, err := checkpoint.OpenFS(renamed(t, o, under(x.stack, x.beside)), "", checkpoint.Options{})
		if err != nil {
			t.Errorf("%s: %v", x.stack, err)
			continue
		}
		defer c.Close()
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
		if err != nil {
			t.Errorf("%s: %v", x.stack, err)
			continue
		}
		defer m.Close()
		if _, ok := c.Tensors.Tensor(x.name); !ok || c.Format() != "safetensors" ||
			c.Rearranged() != (x.stack != "" && x.stack != "transformer.") ||
			!slices.Equal(c.Unused(), heads) {
			t.Errorf("%s: %s %t, format %s, unused %q", x.stack, x.name, ok, c.Format(), c.Unused())
		}
		if want == nil {
			want = logits(t, m, ids)
		}
		sameLogits(t, x.stack, logits(t, m, ids), want)
	}
}

// TestWhatNamesAreRefused: two models in one file, and one tensor by two names.
func TestWhatNamesAreRefused(t *testing.T) {
	twice := func(first, second string) func(t weights.Tensor) []weights.Tensor {
		return func(t weights.Tensor) []weights.Tensor {
			return append(under(first, "")(t), under(second, second)(t)...)
		}
	}
	for _, x := range []struct{ first, second, want string }{
		{"model.", "ref_model.", "two models, with model.wte.weight and ref_model.wte.weight, want one"},
		{"", "transformer.", "two models, with wte.weight and transformer.wte.weight, want one"},
		{"", "_orig_mod.", "wte.weight: there twice, as wte.weight and _orig_mod.wte.weight, want it once"},
	} {
		_, err := checkpoint.OpenFS(renamed(t, fixture.Options{}, twice(x.first, x.second)), "", checkpoint.Options{})
		if want := "model.safetensors: " + x.want; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	files := renamed(t, fixture.Options{Untied: true}, func(x weights.Tensor) []weights.Tensor {
		both := under("model.transformer.", "model.")(x)
		if x.Name == "lm_head.weight" {
			both = append(both, x)
		}
		return both
	})
	const want = "model.safetensors: lm_head.weight: there twice, as model.lm_head.weight and " +
		"lm_head.weight, want it once"
	if _, err := checkpoint.OpenFS(files, "", checkpoint.Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestLinearLayersOfNanoGPTInSafetensors: [out, in], as their shapes say; without a config.json
// only n_head is wanted.
func TestLinearLayersOfNanoGPTInSafetensors(t *testing.T) {
	ids := []int{1, 5, 2}
	plain := renamed(t, fixture.Options{}, under("", ""))
	turned := renamed(t, fixture.Options{}, func(x weights.Tensor) []weights.Tensor {
		if len(x.Shape) == 2 && strings.HasPrefix(x.Name, "h.") {
			x = x.Transposed()
		}
		return []weights.Tensor{x}
	})
	alone := folder.Memory{"model.safetensors": turned["model.safetensors"]}
	var want [][]float32
	for i, x := range []struct {
		files folder.Memory
		o     checkpoint.Options
	}{{plain, checkpoint.Options{}}, {turned, checkpoint.Options{}},
		{alone, checkpoint.Options{Heads: 3, GELU: "tanh"}}} {
		c, err := checkpoint.OpenFS(x.files, "", x.o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if i == 0 {
			want = logits(t, m, ids)
		}
		sameLogits(t, "turned", logits(t, m, ids), want)
	}
	if _, err := checkpoint.OpenFS(alone, "", checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("without n_head: %v", err)
	}
}

// TestATensorThatIsWrittenOnce: the embedding is found under the name of the head that it is tied to,
// and what safetensors' save_model left out is what its metadata says. The names are those that
// safetensors 0.7 writes of such modules.
func TestATensorThatIsWrittenOnce(t *testing.T) {
	embedding := func(name, stack, beside string) func(t weights.Tensor) []weights.Tensor {
		return func(t weights.Tensor) []weights.Tensor {
			if t.Name == "wte.weight" {
				t.Name = name
				return []weights.Tensor{t}
			}
			return under(stack, beside)(t)
		}
	}
	ids := []int{1, 5, 2, 2, 9}
	plain := renamed(t, fixture.Options{}, under("", ""))
	want := logitsOf(t, plain, ids)
	untied := map[string]any{"tie_word_embeddings": false}
	for _, x := range []struct {
		name, stack, beside string
		metadata            map[string]string
		config              map[string]any
		err                 string
	}{
		{"lm_head.weight", "transformer.", "", nil, nil, ""},
		{"lm_head.weight", "", "", nil, nil, ""},
		{"lm_head.decoder.weight", "transformer.", "", nil, nil, ""},
		{"model.lm_head.weight", "model.transformer.", "model.", nil, nil, ""},
		{"_orig_mod.lm_head.weight", "_orig_mod.transformer.", "_orig_mod.", nil, nil, ""},
		{"lm_head.weight", "transformer.", "",
			map[string]string{"transformer.wte.weight": "lm_head.weight", "format": "pt"}, nil, ""},
		{"head.weight", "transformer.", "",
			map[string]string{"transformer.wte.weight": "head.weight"}, nil, ""},
		{"base.wte.weight", "base.", "", map[string]string{"lm.transformer.wte.weight": "base.wte.weight",
			"lm.lm_head.weight": "base.wte.weight", "lm.transformer.ln_f.bias": "base.ln_f.bias"}, nil, ""},
		{"lm_head.weight", "transformer.", "", nil, untied,
			"lm_head.weight is there, but tie_word_embeddings is false"},
		{"head.weight", "transformer.", "", nil, nil, "wte.weight: missing"},
		{"head.weight", "transformer.", "", map[string]string{"transformer.wte.weight": "other.weight"},
			nil, "wte.weight: missing"},
	} {
		files := renamedWith(t, fixture.Options{Config: x.config}, x.metadata,
			embedding(x.name, x.stack, x.beside))
		if x.err == "" {
			sameLogits(t, x.name, logitsOf(t, files, ids), want)
			if x.metadata == nil {
				sameLogits(t, x.name+" in a .bin", logitsOf(t, pickled(t, files), ids), want)
			}
			continue
		}
		c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
		if err == nil {
			_, err = model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %v, want %s", x.name, err, x.err)
		}
	}
	// A layer that is there twice is written once.
	layer := func(t weights.Tensor) []weights.Tensor {
		if strings.HasPrefix(t.Name, "h.1.") {
			return nil
		}
		return []weights.Tensor{t}
	}
	again := func(t weights.Tensor) []weights.Tensor {
		both := layer(t)
		if rest, ok := strings.CutPrefix(t.Name, "h.0."); ok {
			t.Name = "h.1." + rest
			both = append(both, t)
		}
		return both
	}
	metadata := map[string]string{}
	for _, name := range []string{"ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias",
		"attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
		"mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"} {
		metadata["h.1."+name] = "h.0." + name
	}
	sameLogits(t, "a layer twice", logitsOf(t, renamedWith(t, fixture.Options{}, metadata, layer), ids),
		logitsOf(t, renamed(t, fixture.Options{}, again), ids))
}

// pickled returns a checkpoint in safetensors as torch.save writes its state dict.
func pickled(t *testing.T, files folder.Memory) folder.Memory {
	t.Helper()
	tensors, err := weights.FromBytes("fixture", files["model.safetensors"])
	if err != nil {
		t.Fatal(err)
	}
	var state torch.Members
	for _, x := range tensors.All() {
		state = append(state, torch.Member{Key: x.Name, Value: x})
	}
	var b bytes.Buffer
	if err := torch.Write(&b, state); err != nil {
		t.Fatal(err)
	}
	return folder.Memory{"config.json": files["config.json"], "pytorch_model.bin": b.Bytes()}
}

// logitsOf returns the logits of the checkpoint in files.
func logitsOf(t *testing.T, files folder.Memory, ids []int) [][]float32 {
	t.Helper()
	c, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return logits(t, m, ids)
}
