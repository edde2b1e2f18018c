// LoRA adapters: float64 logits of merged weights, and adapters that are refused.

package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	"picogpt/weights/demo"
)

const adapters = "testdata/adapters"

// TestAdaptersAgreeWithFloat64: the demo's logits with each adapter, by NumPy in float64; expect.json
// says of what.
func TestAdaptersAgreeWithFloat64(t *testing.T) {
	text, err := os.ReadFile(adapters + "/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	var ids [][]int
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all["ids"], &ids); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "all-rslora-f16", "patterns", "classifier"} {
		var want map[string]json.RawMessage
		if err := json.Unmarshal(all[name], &want); err != nil {
			t.Fatal(err)
		}
		for _, scale := range []float64{1, 0.5} {
			var answers []struct {
				Top    []int
				Logits []float64
			}
			err := json.Unmarshal(want[fmt.Sprint("scale ", scale)], &answers)
			if err != nil || len(answers) != len(ids) {
				t.Fatalf("%s: %v", name, err)
			}
			m := adapted(t, checkpoint.Adapter{Path: filepath.Join(adapters, name), Scale: &scale})
			for i, answer := range answers {
				rows := logits(t, m, ids[i])
				row := rows[len(rows)-1]
				for j, id := range answer.Top {
					if off := math.Abs(float64(row[id]) - answer.Logits[j]); !(off <= 1e-5*answer.Logits[0]) {
						t.Errorf("%s times %v: logit %d is %v, want %v", name, scale, id, row[id],
							answer.Logits[j])
					}
				}
			}
		}
	}
}

// adapted returns a model of the demo with adapters.
func adapted(t *testing.T, with ...checkpoint.Adapter) *model.Model {
	t.Helper()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{Adapters: with})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// A lora is an adapter in the making.
type lora struct {
	config map[string]any
	rng    *rand.Rand
	dtype  weights.DType
	names  []string
	data   map[string]weights.Tensor
	values map[string][]float64
}

func newLora(rank int, alpha float64, dtype weights.DType) *lora {
	return &lora{
		config: map[string]any{"peft_type": "LORA", "r": rank, "lora_alpha": alpha,
			"target_modules": ".*"},
		rng: rand.New(rand.NewPCG(uint64(rank), 5)), dtype: dtype,
		data: map[string]weights.Tensor{}, values: map[string][]float64{},
	}
}

// add adds a tensor of random numbers.
func (l *lora) add(name string, shape ...int) {
	t := weights.Tensor{Name: name, DType: l.dtype, Shape: shape}
	exact := make([]float64, t.Len())
	for i := range exact {
		exact[i] = float64(l.rng.IntN(255)-127) / 128 // each format has it
	}
	t.Data = encoded(l.dtype, exact)
	l.names, l.data[name], l.values[name] = append(l.names, name), t, exact
}

// encoded returns numbers that the type has exactly.
func encoded(dtype weights.DType, x []float64) (b []byte) {
	for _, v := range x {
		switch bits := math.Float32bits(float32(v)); dtype {
		case weights.F64:
			b = append(b, le(math.Float64bits(v), 8)...)
		case weights.BF16:
			b = append(b, le(uint64(bits>>16), 2)...)
		case weights.F16:
			half := uint64(0)
			if v != 0 {
				half = uint64(bits>>31<<15 | (bits>>23&255-112)<<10 | bits>>13&1023)
			}
			b = append(b, le(half, 2)...)
		default:
			b = append(b, le(uint64(bits), 4)...)
		}
	}
	return b
}

func le(x uint64, n int) (b []byte) {
	for range n {
		b, x = append(b, byte(x)), x>>8
	}
	return b
}

// write writes the adapter into a new folder.
func (l *lora) write(t *testing.T) (dir string) {
	t.Helper()
	var all []weights.Tensor
	for _, name := range l.names {
		all = append(all, l.data[name])
	}
	var b bytes.Buffer
	if err := weights.Write(&b, map[string]string{"format": "pt"}, all); err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(l.config)
	return filesIn(t, map[string][]byte{"adapter_config.json": config,
		"adapter_model.safetensors": b.Bytes()})
}

func filesIn(t *testing.T, files map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const peft = "base_model.model."

// pair adds the halves for a module of that width.
func (l *lora) pair(module string, rank, in, out int) {
	a, b := ".lora_A.weight", ".lora_B.weight"
	if strings.HasSuffix(module, "wte") || strings.HasSuffix(module, "wpe") {
		a, b = ".lora_embedding_A", ".lora_embedding_B"
	}
	l.add(peft+module+a, rank, in)
	l.add(peft+module+b, out, rank)
}

// delta returns B·A of a module in float64, transposed where the base's tensor is [in, out].
func (l *lora) delta(module string, rank, in, out int, turned bool) []float64 {
	half := func(name string) []float64 {
		x, ok := l.values[peft+module+".lora_"+name+".weight"]
		if !ok {
			x = l.values[peft+module+".lora_embedding_"+name]
		}
		return x
	}
	a, b, d := half("A"), half("B"), make([]float64, in*out)
	for i := range out {
		for j := range in {
			at := i*in + j
			if turned {
				at = j*out + i
			}
			for k := range rank {
				d[at] += b[i*rank+k] * a[k*in+j]
			}
		}
	}
	return d
}

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

// TestABiasThatWasSavedTwice: with bias="all" PEFT writes that of a module of modules_to_save once
// more, by the name that it has inside of PEFT.
func TestABiasThatWasSavedTwice(t *testing.T) {
	dir := write(t, fixture.Options{}, nil)
	l := newLora(2, 4, weights.F32)
	l.pair("transformer.h.0.mlp.c_fc", 2, 15, 60)
	l.add(peft+"transformer.ln_f.bias", 15)
	bias := l.data[peft+"transformer.ln_f.bias"]
	again := bias
	again.Name = peft + "transformer.ln_f.modules_to_save.bias"
	l.names, l.data[again.Name] = append(l.names, again.Name), again
	c, _ := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
	got, _ := c.Tensors.Tensor("ln_f.bias")
	if same, err := got.Equal(weights.Tensor{DType: weights.F32, Shape: bias.Shape, Data: bias.Data}); !same {
		t.Errorf("ln_f.bias is not the adapter's: %v", err)
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

// TestTheFirstPatternThatMatches, at the end of a module's name, after a dot or at its start.
func TestTheFirstPatternThatMatches(t *testing.T) {
	dir := write(t, fixture.Options{Layer: 12}, nil)
	before, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	l := newLora(1, 2, weights.F32)
	ranks := map[string]int{"transformer.h.1.mlp.c_fc": 2, "transformer.h.11.mlp.c_fc": 3,
		"transformer.h.2.mlp.c_fc": 1, "transformer.h.1.attn.c_attn": 5}
	for _, name := range slices.Sorted(maps.Keys(ranks)) {
		out := 60
		if strings.HasSuffix(name, "c_attn") {
			out = 45
		}
		l.pair(name, ranks[name], 15, out)
	}
	folder := l.write(t)
	config := `{"peft_type": "LORA", "target_modules": ".*", "r": 1, "lora_alpha": 2, "rank_pattern": {"h.1.mlp.c_fc": 2,
		"fc": 9, "1.mlp.c_fc|.*1[01].mlp.*": 3, "transformer.h.1.attn.*": 5, "c_attn": 7},
		"alpha_pattern": {"h.[12].mlp.c_fc": 6}}`
	if err := os.WriteFile(folder+"/adapter_config.json", []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	c, _ := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: folder}}})
	for name, by := range map[string]float64{"transformer.h.1.mlp.c_fc": 6.0 / 2,
		"transformer.h.11.mlp.c_fc": 2.0 / 3, "transformer.h.2.mlp.c_fc": 6,
		"transformer.h.1.attn.c_attn": 2.0 / 5} {
		out := 60
		if strings.HasSuffix(name, "c_attn") {
			out = 45
		}
		sameAsFloat64(t, before.Tensors, c.Tensors, name, by, l.delta(name, ranks[name], 15, out, true))
	}
}

// TestTokensThatWereAddedBeforeTheTraining: the adapter has the embedding, the head and the
// tokenizer.
func TestTokensThatWereAddedBeforeTheTraining(t *testing.T) {
	dir := write(t, fixture.Options{Vocab: 27}, letters())
	l := newLora(2, 4, weights.F16)
	l.pair("transformer.h.0.attn.c_attn", 2, 15, 45)
	l.add(peft+"transformer.wte.weight", 29, 15)
	l.data[peft+"lm_head.weight"] = l.data[peft+"transformer.wte.weight"]
	alone := l.write(t)
	_, err := checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: alone}}})
	wantText(t, err, "29 rows of wte.weight, but 27 of lm_head.weight")

	head := l.data[peft+"lm_head.weight"]
	head.Name = peft + "lm_head.weight"
	l.names, l.data[head.Name] = append(l.names, head.Name), head
	folder := l.write(t)
	with := checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: folder}}}
	c, _ := opened(t, dir, with)
	tok, err := c.Tokenizer()
	if err != nil || tok.Size() != 27 || c.Config.VocabSize != 29 || !c.Config.TieWordEmbeddings {
		t.Errorf("%+v, %v, want 29 rows and the base's tokenizer", c.Config, err)
	}
	vocab := strings.Replace(letters()["vocab.json"], `"a":0`, `"a":0,"ab":27,"bc":28`, 1)
	for name, text := range map[string]string{"vocab.json": vocab, "merges.txt": "a b\nb c\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, m := opened(t, dir, with)
	if tok, err = c.Tokenizer(); err != nil || tok.Size() != 29 {
		t.Fatalf("%v, want the adapter's tokenizer", err)
	}
	v, err := c.Convert("safetensors")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "merged")
	if err := v.Write(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
	whole, again := opened(t, to, checkpoint.Options{})
	if tok, err = whole.Tokenizer(); err != nil || tok.Size() != 29 {
		t.Errorf("written: %v, want the adapter's tokenizer", err)
	}
	for i, row := range logits(t, again, []int{3, 28, 27}) {
		if !slices.Equal(row, logits(t, m, []int{3, 28, 27})[i]) {
			t.Errorf("row %d: other bits when written", i)
		}
	}
	one, err := c.TokenizerDigest()
	two, err2 := whole.TokenizerDigest()
	if err != nil || err2 != nil || one != two {
		t.Errorf("tokenizer digests %s and %s, %v, %v", one, two, err, err2)
	}
}

// TestWeightsOfSeveralFormatsHaveTheBitsOfF32, and are called so: a merged weight is F32, others are
// as the base has them.
func TestWeightsOfSeveralFormatsHaveTheBitsOfF32(t *testing.T) {
	dir := write(t, fixture.Options{DType: weights.BF16}, nil)
	for _, module := range []string{"transformer.h.1.attn.c_attn", "transformer.wte"} {
		l := newLora(2, 4, weights.F32)
		if module == "transformer.wte" {
			l.pair(module, 2, 29, 15)
		} else {
			l.pair(module, 2, 15, 45)
		}
		c, m := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
		want, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Format: "f32"})
		if err != nil {
			t.Fatal(err)
		}
		defer want.Close()
		if m.Format() != "f32" || m.Bytes() >= want.Bytes() {
			t.Errorf("%s: format %s, %d bytes; want f32 of less than %d bytes", module, m.Format(),
				m.Bytes(), want.Bytes())
		}
		for i, row := range logits(t, m, []int{3, 28, 27, 2}) {
			if !slices.Equal(row, logits(t, want, []int{3, 28, 27, 2})[i]) {
				t.Errorf("%s: row %d has other bits", module, i)
			}
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
