// What is merged, element by element, and in which order.

package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/weights"
)

// TestWhatIsMerged: every element of every kind of weight, in every number format of the base and of
// the adapter, with ranks and widths across the kernels' tiles.
func TestWhatIsMerged(t *testing.T) {
	for i, rank := range []int{1, 3, 4, 16, 33} {
		dtypes := []weights.DType{weights.F32, weights.F16, weights.BF16}
		base := fixture.Options{Embd: 15 + 6*i, DType: dtypes[i%3], Prefix: i%2 == 1, Vocab: 40 + i,
			Untied: i == 3}
		n, alpha, scale := base.Embd, 7.0, 0.75
		dir := write(t, base, nil)
		l := newLora(rank, alpha, append(dtypes, weights.F64)[(i+1)%4])
		for _, m := range modules(n, base.Vocab) {
			l.pair(m.name, rank, m.in, m.out)
		}
		if i == 2 {
			l.config["use_rslora"] = true
		}
		with := checkpoint.Adapter{Path: l.write(t), Scale: &scale}
		before, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		c, m := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{with}})
		logits(t, m, []int{1, 2, 3})
		by := scale * alpha / float64(rank)
		if i == 2 {
			by = scale * alpha / math.Sqrt(float64(rank))
		}
		for _, x := range modules(n, base.Vocab) {
			turned := !strings.HasPrefix(x.name, "lm_head")
			sameAsFloat64(t, before.Tensors, c.Tensors, x.name, by,
				l.delta(x.name, rank, x.in, x.out, turned))
		}
		mapped := 0
		for _, x := range c.Tensors.All() { // what has no product stays as it is
			if x.Data != nil {
				mapped++
			}
		}
		if all := len(before.Tensors.All()); mapped < all-7 || mapped > all-6 {
			t.Errorf("%d of %d tensors are the base's own, want all but those with a product", mapped, all)
		}
	}
}

type module struct {
	name    string
	in, out int
}

// modules are all of a model that may have a product: GPT-2's names, as PEFT writes them.
func modules(n, vocab int) []module {
	return []module{
		{"transformer.wte", vocab, n}, {"transformer.wpe", 23, n},
		{"transformer.h.0.attn.c_attn", n, 3 * n}, {"transformer.h.1.attn.c_proj", n, n},
		{"transformer.h.1.mlp.c_fc", n, 4 * n}, {"transformer.h.2.mlp.c_proj", 4 * n, n},
		{"lm_head", n, vocab},
	}
}

// sameAsFloat64 compares a merged tensor with base + by·delta.
func sameAsFloat64(
	t *testing.T, before, after *weights.Tensors, module string, by float64, delta []float64,
) {
	t.Helper()
	find := func(of *weights.Tensors, name string) []float32 {
		for _, name := range []string{name, strings.TrimPrefix(name, "transformer."),
			"transformer.wte.weight", "wte.weight"} {
			if x, ok := of.Tensor(name); ok {
				floats, err := x.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				return floats
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	was, is := find(before, module+".weight"), find(after, module+".weight")
	if len(is) != len(delta) || len(was) != len(delta) {
		t.Fatalf("%s: %d numbers, want %d", module, len(is), len(delta))
	}
	for i, d := range delta {
		want := float64(was[i]) + by*d
		if off := math.Abs(float64(is[i]) - want); !(off <= 2e-6*(1+math.Abs(want))) {
			t.Fatalf("%s: number %d is %v, want %v", module, i, is[i], want)
		}
	}
}

// TestPartsOfAMergedTensor: any part has the bits of the whole, from mapped and from made weights.
func TestPartsOfAMergedTensor(t *testing.T) {
	for _, dir := range []string{"gguf/q8_0.gguf", "nanogpt", "hf"} {
		path := filepath.Join(formats, dir)
		c, err := checkpoint.Open(path, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := c.Config.Embd
		c.Close()
		l := newLora(5, 3, weights.F32)
		l.pair("transformer.h.1.mlp.c_fc", 5, n, 4*n)
		o := checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}}
		if c, err = checkpoint.Open(path, o); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x, ok := c.Tensors.Tensor("h.1.mlp.c_fc.weight")
		if !ok {
			x, _ = c.Tensors.Tensor("transformer.h.1.mlp.c_fc.weight")
		}
		whole, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			from := rng.IntN(len(whole)/4 + 1)
			to := from + rng.IntN(len(whole)/4-from+1)
			part := make([]byte, 4*(to-from))
			if err := x.Fill(part, int64(4*from)); err != nil || !bytes.Equal(part, whole[4*from:4*to]) {
				t.Fatalf("%s: elements %d to %d: other bits, %v", dir, from, to, err)
			}
		}
	}
}

// TestSeveralAdaptersAddUp: two products, and a tensor that one of them replaces.
func TestSeveralAdaptersAddUp(t *testing.T) {
	dir := write(t, fixture.Options{}, nil)
	const module = "transformer.h.1.mlp.c_fc"
	first, second := newLora(2, 4, weights.F32), newLora(3, 9, weights.F16)
	first.pair(module, 2, 15, 60)
	second.pair(module, 3, 15, 60)
	second.config["bias"] = "lora_only"
	second.add(peft+module+".bias", 60)
	half := 0.5
	with := []checkpoint.Adapter{{Path: first.write(t)}, {Path: second.write(t), Scale: &half}}
	before, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	c, _ := opened(t, dir, checkpoint.Options{Adapters: with})
	sum := first.delta(module, 2, 15, 60, true)
	for i, d := range second.delta(module, 3, 15, 60, true) {
		sum[i] = 2*sum[i] + 1.5*d
	}
	sameAsFloat64(t, before.Tensors, c.Tensors, module, 1, sum)
	bias, _ := c.Tensors.Tensor("h.1.mlp.c_fc.bias")
	x, err := bias.Float32s()
	if err != nil || float64(x[7]) != second.values[peft+module+".bias"][7] {
		t.Errorf("bias %v, %v: the scale is of the product only", x, err)
	}
	with = append(with, with[1])
	_, err = checkpoint.Open(dir, checkpoint.Options{Adapters: with})
	wantText(t, err, "h.1.mlp.c_fc.bias: ", "replaces that tensor too")
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, part)
		}
	}
}

// TestAnAdapterOfTheEmbeddingIsNoneOfTheHead: PEFT multiplies with the base's head then. What is
// written keeps the two apart.
func TestAnAdapterOfTheEmbeddingIsNoneOfTheHead(t *testing.T) {
	dir := write(t, fixture.Options{Vocab: 27}, letters())
	l := newLora(2, 4, weights.F32)
	l.pair("transformer.wte", 2, 27, 15)
	c, m := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
	was, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	head, _ := c.Tensors.Tensor("lm_head.weight")
	embedding, _ := was.Tensors.Tensor("wte.weight")
	if same, err := head.Equal(embedding); err != nil || !same || c.Config.TieWordEmbeddings ||
		!was.Config.TieWordEmbeddings {
		t.Errorf("a head that is the base's embedding: %t, %v", same, err)
	}
	want := logits(t, m, []int{3, 1, 4})
	v, err := c.Convert("safetensors")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "merged")
	if err := v.Write(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
	_, again := opened(t, to, checkpoint.Options{})
	for i, row := range logits(t, again, []int{3, 1, 4}) {
		if !slices.Equal(row, want[i]) {
			t.Errorf("row %d: other bits when written", i)
		}
	}
	if first, second := digests(t, to), digestOf(t, c); first[0] != second {
		t.Errorf("digests %s and %s, want equal ones: the same tensors", first[0], second)
	}
}

// TestAdaptersOfABaseWithoutAnOutputHead: the embedding stands in for none. A classifier stays one.
func TestAdaptersOfABaseWithoutAnOutputHead(t *testing.T) {
	dir := write(t, fixture.Options{Prefix: true, Heads: true,
		Config: map[string]any{"tie_word_embeddings": false}}, nil)
	open := func(l *lora) (*checkpoint.Checkpoint, error) {
		return checkpoint.Open(dir, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
	}
	of := newLora(2, 4, weights.F32)
	of.pair("transformer.wte", 2, 29, 15)
	of.pair("transformer.h.0.attn.c_attn", 2, 15, 45)
	c, err := open(of)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.Tensors.Tensor("lm_head.weight"); ok {
		t.Error("an output head of the embedding")
	}
	if _, err := c.Head(); err != nil {
		t.Error(err)
	}
	m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	of.pair("lm_head", 2, 15, 29)
	_, err = open(of)
	wantText(t, err, "lm_head.lora_A.weight", "has no lm_head.weight")

	whole := newLora(2, 4, weights.F32)
	whole.config["modules_to_save"] = []string{"lm_head"}
	whole.add(peft+"lm_head.weight", 29, 15)
	if c, err = open(whole); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m, err = model.New(t.Context(), c.Config, c.Tensors, model.Options{}); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	logits(t, m, []int{1, 2})
}

func digestOf(t *testing.T, c *checkpoint.Checkpoint) string {
	t.Helper()
	d, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDigestsTellAdaptersAndScalesApart, and not the format of the adapter's file.
func TestDigestsTellAdaptersAndScalesApart(t *testing.T) {
	dir := write(t, fixture.Options{}, nil)
	l := newLora(2, 4, weights.F32)
	l.pair("transformer.h.0.attn.c_attn", 2, 15, 45)
	st := l.write(t)
	var state torch.Members
	for _, name := range l.names {
		state = append(state, torch.Member{Key: name, Value: l.data[name]})
	}
	var b bytes.Buffer
	if err := torch.Write(&b, state); err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(l.config)
	bin := filesIn(t, map[string][]byte{"adapter_config.json": config, "adapter_model.bin": b.Bytes()})
	digest := func(with ...checkpoint.Adapter) string {
		c, err := checkpoint.Open(dir, checkpoint.Options{Adapters: with})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return digestOf(t, c)
	}
	zero, half := 0.0, 0.5
	a := checkpoint.Adapter{Path: st}
	if got, want := digest(checkpoint.Adapter{Path: bin}), digest(a); got != want {
		t.Errorf("%s from adapter_model.bin, want %s", got, want)
	}
	seen := map[string]string{}
	for what, with := range map[string][]checkpoint.Adapter{"base": nil, "once": {a},
		"twice": {a, a}, "half": {{Path: st, Scale: &half}}} {
		d := digest(with...)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same digest", what, other)
		}
		seen[d] = what
	}
	if is := seen[digest(checkpoint.Adapter{Path: st, Scale: &zero})]; is != "base" {
		t.Errorf("zero times it is %q, want the base's float32 weights", is)
	}
}

// TestChangesAreOfTheBase: by the norms of the elements before and after, of Options.Adapters and of
// With, after one adapter and after two.
func TestChangesAreOfTheBase(t *testing.T) {
	dir, adapters := write(t, fixture.Options{}, nil), []checkpoint.Adapter(nil)
	before, _ := opened(t, dir, checkpoint.Options{})
	for _, modules := range [][]string{{"h.0.mlp.c_fc"}, {"h.0.mlp.c_fc", "h.2.mlp.c_fc"}} {
		l := newLora(2, 4, weights.F32)
		for _, m := range modules {
			l.pair("transformer."+m, 2, 15, 60)
		}
		adapters = append(adapters, checkpoint.Adapter{Path: l.write(t)})
		c, _ := opened(t, dir, checkpoint.Options{Adapters: adapters})
		got, err := c.Changes()
		if err != nil || len(got) != len(modules) || got[0].By < got[len(got)-1].By || len(c.Adapters) != len(adapters) {
			t.Fatalf("%+v, %v, want those of %q, the most first", got, err, modules)
		}
		for _, change := range got {
			square, of := 0.0, 0.0
			after := float64s(t, c.Tensors, change.Name)
			for i, x := range float64s(t, before.Tensors, change.Name) {
				square, of = square+(after[i]-x)*(after[i]-x), of+x*x
			}
			if want := math.Sqrt(square / of); !(math.Abs(change.By-want) <= 1e-6*want) {
				t.Errorf("%s by %v, want %v", change.Name, change.By, want)
			}
		}
		v, _ := opened(t, dir, checkpoint.Options{})
		for _, a := range adapters {
			if v, err = v.With(a); err != nil {
				t.Fatal(err)
			}
			defer v.Close()
		}
		if with, err := v.Changes(); !slices.Equal(with, got) {
			t.Errorf("with %+v, %v, want %+v", with, err, got)
		}
	}
}
