// Adapters that are refused: each in one line that names what is wrong.

package checkpoint_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
)

// TestAdaptersThatAreRefused: one line that names the tensor or the key.
func TestAdaptersThatAreRefused(t *testing.T) {
	cases.NotShort(t)
	dir := write(t, fixture.Options{}, nil)
	const module = "transformer.h.1.mlp.c_fc"
	good := func() *lora {
		l := newLora(2, 4, weights.F32)
		l.pair(module, 2, 15, 60)
		return l
	}
	type change = func(l *lora)
	rename := func(from, to string) change {
		return func(l *lora) {
			i := slices.IndexFunc(l.names, func(s string) bool { return strings.Contains(s, from) })
			x := l.data[l.names[i]]
			x.Name = strings.Replace(x.Name, from, to, 1)
			l.names[i], l.data[x.Name] = x.Name, x
		}
	}
	set := func(key string, value any) change { return func(l *lora) { l.config[key] = value } }
	add := func(name string, shape ...int) change { return func(l *lora) { l.add(name, shape...) } }
	put := func(at int, x float64) change {
		return func(l *lora) { copy(l.data[l.names[0]].Data[4*at:], encoded(weights.F32, []float64{x})) }
	}
	for what, c := range map[string]struct {
		change change
		want   string
	}{
		"another width":    {rename("mlp.c_fc.lora_B", "mlp.c_proj.lora_B"), "lora_B is missing"},
		"no A":             {func(l *lora) { l.names = l.names[1:] }, "its lora_A is missing"},
		"no B":             {func(l *lora) { l.names = l.names[:1] }, "its lora_B is missing"},
		"nothing":          {func(l *lora) { l.names = nil }, "no tensors, want lora_A and lora_B"},
		"a deeper base":    {func(l *lora) { l.pair("transformer.h.3.mlp.c_fc", 2, 15, 60) }, "has no h.3.mlp.c_fc.weight"},
		"a wider base":     {func(l *lora) { l.pair("transformer.h.0.mlp.c_fc", 2, 16, 64) }, "shape [2 16], want [2 15]"},
		"a longer base":    {func(l *lora) { l.pair("transformer.h.0.mlp.c_fc", 2, 15, 64) }, "shape [64 2], want [60 2]"},
		"Llama's":          {func(l *lora) { l.pair("model.layers.0.self_attn.q_proj", 2, 15, 15) }, "has no model.layers.0.self_attn.q_proj.weight"},
		"a norm":           {func(l *lora) { l.pair("transformer.ln_f", 2, 15, 15) }, "ln_f.weight has shape [15], want two"},
		"A with no rows":   {add(peft+"transformer.h.0.mlp.c_fc.lora_A.weight", 15), "shape [15], want [2 15]"},
		"another rank":     {set("r", 3), "lora_A.weight: rank 2, want 3"},
		"rank 0":           {set("r", 0), "r: 0, want a whole number, 1 or more"},
		"rank 2.5":         {set("r", 2.5), "r: 2.5, want a whole number"},
		"a rank in words":  {set("r", "two"), "r: want a number, found a string"},
		"pattern's rank":   {set("rank_pattern", map[string]any{"c_fc": -1}), "rank_pattern: -1"},
		"a bad pattern":    {set("alpha_pattern", map[string]any{"c_(fc": 1}), "alpha_pattern: c_(fc: not a regular"},
		"a look ahead":     {set("rank_pattern", map[string]any{"(?=h)c_fc": 1}), "(?=h)c_fc: not a regular"},
		"many repetitions": {set("rank_pattern", map[string]any{"a{1000}{1000}": 1}), "not a regular expression that is"},
		"patterns' kind":   {set("rank_pattern", []int{1}), "rank_pattern: "},
		"IA3":              {set("peft_type", "IA3"), "lora_alpha: 4: not supported with IA3"},
		"no kind":          {set("peft_type", nil), "peft_type: missing"},
		"DoRA":             {set("use_dora", true), "use_dora is true, but lora_magnitude_vector is there: false"},
		"DoRA's tensors":   {add(peft+module+".lora_magnitude_vector", 60), "use_dora is false, but lora_magnitude_vector is there: true"},
		"what may come":    {set("use_something", true), "use_something: true: not supported"},
		"what comes later": {set("some_config", map[string]int{"a": 1}), "some_config: "},
		"PiSSA":            {set("init_lora_weights", "pissa"), "init_lora_weights: "},
		"tokens": {func(l *lora) {
			l.add(peft+"transformer.wte.token_adapter.trainable_tokens_delta", 1, 15)
		}, "trainable_tokens_delta: adapter_config.json has no list of its ids"},
		"biases of B":       {set("lora_bias", true), "lora_bias is true, but lora_B.bias is there: false"},
		"names":             {set("base_model_name_or_path", "a\x1b[1mb"), "base_model_name_or_path: "},
		"saves":             {set("modules_to_save", "score"), "modules_to_save: want a list of strings"},
		"a large scale":     {set("lora_alpha", 1e300), "scale 5e+299, want a finite number"},
		"a large product":   {set("lora_alpha", 6.7e38), "more than float32 holds"},
		"NaN":               {put(3, math.NaN()), "lora_A.weight: a number that is not finite"},
		"infinity":          {put(29, math.Inf(1)), "lora_A.weight: a number that is not finite"},
		"a new whole":       {add(peft+"score.weight", 3, 15), "score.weight: the checkpoint"},
		"a whole of layers": {add(peft+"transformer.h.7.ln_1.weight", 15), "h.7.ln_1.weight: the checkpoint"},
		"a whole's shape":   {add(peft+"transformer.h.1.ln_1.weight", 16), "shape [16], want [15]"},
		"a whole twice": {func(l *lora) {
			l.add(peft+"transformer.ln_f.weight", 15)
			l.add(peft+"transformer.ln_f.base_layer.weight", 15)
		}, "there twice"},
		"halves twice":        {add(peft+module+".lora_A.default.weight", 2, 15), "there twice"},
		"an embedding's half": {rename("lora_A.weight", "lora_embedding_A"), "want lora_A and lora_B for a layer"},
		"no embedding": {func(l *lora) {
			l.add(peft+"transformer.h.0.mlp.c_fc.lora_embedding_A", 2, 15)
			l.add(peft+"transformer.h.0.mlp.c_fc.lora_embedding_B", 60, 2)
		}, "want lora_A and lora_B for a layer"},
		"an embedding as a layer": {func(l *lora) {
			l.add(peft+"transformer.wte.lora_A.weight", 2, 29)
			l.add(peft+"transformer.wte.lora_B.weight", 15, 2)
		}, "want lora_embedding_A and"},
	} {
		l := good()
		c.change(l)
		opened, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
		if err == nil { // what only the elements tell
			_, err = model.New(t.Context(), opened.Config, opened.Tensors, model.Options{Threads: 1})
			opened.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	for _, key := range []string{"lora_dropout", "megatron_core", "fan_in_fan_out", "later"} {
		l := good()
		l.config[key] = true
		if c, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}}); err != nil {
			t.Errorf("%s: %v, want it passed by", key, err)
		} else {
			c.Close()
		}
	}
}

// TestFilesOfAdaptersThatAreNotThere, or are other things.
func TestFilesOfAdaptersThatAreNotThere(t *testing.T) {
	dir := write(t, fixture.Options{}, nil)
	config := []byte(`{"peft_type": "LORA", "base_model_name_or_path": "gpt2"}`)
	infinite := math.Inf(1)
	for want, a := range map[string]checkpoint.Adapter{
		"no adapter_config.json in this directory": {Path: t.TempDir()},
		"no such file": {Path: filepath.Join(dir, "none")},
		"no adapter_model.safetensors or adapter_model.bin": {
			Path: filesIn(t, map[string][]byte{"adapter_config.json": config})},
		"adapter_model.safetensors: ": {Path: filesIn(t, map[string][]byte{
			"adapter_config.json": config, "adapter_model.safetensors": []byte("lies")})},
		"adapter_model.bin: not a file of torch.save": {Path: filesIn(t, map[string][]byte{
			"adapter_config.json": config, "adapter_model.bin": []byte("lies")})},
		"adapter_config.json: ":            {Path: filesIn(t, map[string][]byte{"adapter_config.json": []byte("{")})},
		"scale +Inf, want a finite number": {Path: dir, Scale: &infinite},
	} {
		_, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{a}})
		wantText(t, err, want)
	}
	run := t.TempDir()
	for _, step := range []string{"checkpoint-90", "checkpoint-500", "checkpoint-600"} {
		if err := os.Mkdir(filepath.Join(run, step), 0o777); err != nil {
			t.Fatal(err)
		}
		if step == "checkpoint-600" {
			continue
		}
		if err := os.WriteFile(filepath.Join(run, step, "adapter_config.json"), config, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: run}}})
	wantText(t, err, "no adapter_config.json in this directory, but in its checkpoint-500")
	// A folder with an adapter is no checkpoint, and says whose it is.
	_, err = checkpoint.Open(filesIn(t, map[string][]byte{"adapter_config.json": config,
		"adapter_model.safetensors": nil}), checkpoint.Options{})
	wantText(t, err, "no checkpoint in this directory, but an adapter, whose base model is gpt2")
	for base, path := range map[string]string{"a/b@v2": filesIn(t, map[string][]byte{
		"adapter_config.json": []byte(`{"peft_type": "LORA", "base_model_name_or_path": "a/b",
			"revision": "v2"}`)}), "gpt2": filesIn(t, map[string][]byte{
		"adapter_config.json": config}), "tinystories": adapters + "/plain/adapter_model.safetensors"} {
		if got, err := checkpoint.AdapterBase(path); got != base || err != nil {
			t.Errorf("base %q, %v; want %q", got, err, base)
		}
	}
}

// TestDamagedAdapters: files with other bytes, or cut short, give an error or an adapter of other
// numbers, and never a panic.
func TestDamagedAdapters(t *testing.T) {
	dir := write(t, fixture.Options{}, nil)
	l := newLora(2, 4, weights.F32)
	l.config["rank_pattern"] = map[string]int{"c_proj": 3}
	l.config["modules_to_save"] = []string{"score"}
	l.pair("transformer.h.0.attn.c_attn", 2, 15, 45)
	l.pair("transformer.wpe", 2, 23, 15)
	l.add(peft+"score.weight", 3, 15)
	folder := l.write(t)
	rng := rand.New(rand.NewPCG(8, 9))
	refused := 0
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		path := filepath.Join(folder, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			b := slices.Clone(whole)
			for range 1 + rng.IntN(3) {
				b[rng.IntN(min(len(b), 1500))] = byte(rng.IntN(128))
			}
			if rng.IntN(4) == 0 {
				b = b[:rng.IntN(len(b))]
			}
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			c, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: folder}}})
			if err != nil {
				refused++
				if strings.ContainsAny(err.Error(), "\x1b\x00") {
					t.Errorf("error %q, want one that can be printed", err)
				}
				continue
			}
			m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1})
			if err == nil {
				m.Close()
			}
			c.Close()
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 40 {
		t.Errorf("%d of 120 refused, want most", refused)
	}
}
