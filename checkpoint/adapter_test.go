// LoRA adapters: float64 logits of merged weights.

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
