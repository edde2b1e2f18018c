// Adapters that are merged into copies: variants of a model in one batch.

package checkpoint_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
)

// loras are three adapters of a base: one of every kind of weight, one of some that the first
// leaves or has too, and one that replaces whole tensors.
func loras(t *testing.T, base fixture.Options) (all []checkpoint.Adapter) {
	n, half := base.Embd, 0.5
	everything, some := newLora(4, 7, weights.F32), newLora(2, 2, weights.F16)
	for _, m := range modules(n, base.Vocab) {
		if m.name == "transformer.wpe" {
			m.in = cmp.Or(base.Positions, m.in)
		}
		everything.pair(m.name, 4, m.in, m.out)
	}
	some.pair("transformer.h.1.mlp.c_fc", 2, n, 4*n)
	some.pair("transformer.h.2.attn.c_attn", 2, n, 3*n)
	whole := newLora(1, 1, weights.F32)
	whole.config["modules_to_save"] = []string{"ln_f", "ln_1", "c_proj"}
	for _, name := range []string{"ln_f.weight", "ln_f.bias", "h.1.ln_1.weight", "h.1.ln_1.bias"} {
		whole.add(peft+"transformer."+name, n)
	}
	whole.add(peft+"transformer.h.0.attn.c_attn.bias", 3*n)
	whole.pair("transformer.h.2.mlp.c_proj", 1, 4*n, n)
	for i, l := range []*lora{everything, some, whole} {
		a := checkpoint.Adapter{Path: l.write(t)}
		if i == 1 {
			a.Scale = &half
		}
		all = append(all, a)
	}
	return all
}

// TestVariantsHaveTheBitsOfMergedModels: one Eval of texts of a model and of its variants gives
// each the bits of a model that was loaded with that adapter alone: logits of prompts and of tokens
// that follow, hidden states, traces, over several passes, in every number format.
func TestVariantsHaveTheBitsOfMergedModels(t *testing.T) {
	for i, x := range []struct{ format, cache string }{{"auto", ""}, {"f16", "f16"}, {"bf16", ""},
		{"q8", ""}, {"q4", ""}} {
		base := fixture.Options{Embd: 64, Head: 1, Vocab: 96, Positions: 400, Prefix: i%2 == 1,
			Untied: i == 2, DType: []weights.DType{weights.F32, weights.F16}[i/3%2]}
		dir, adapters := write(t, base, nil), loras(t, base)
		t.Run(x.format, func(t *testing.T) {
			o := model.Options{Threads: 2, Format: x.format, CacheFormat: x.cache}
			c, m := openedWith(t, dir, nil, o)
			models, alone := []*model.Model{m}, []*model.Model{m}
			for _, a := range adapters {
				with, err := c.With(a)
				if err != nil {
					t.Fatal(err)
				}
				v, err := m.Variant(t.Context(), with.Change)
				if err != nil {
					t.Fatal(err)
				}
				copied := model.BytesIn(x.format, with.Tensors, with.Change.Names)
				if all := model.BytesIn(x.format, with.Tensors, names(with)); copied <= 0 || copied >= all {
					t.Errorf("%s: copies of %d bytes of %d", a.Path, copied, all)
				}
				merged, same := openedWith(t, dir, []checkpoint.Adapter{a}, o)
				if a, _ := merged.Digest(); a != must(with.Digest()) {
					t.Errorf("digest %s, want that of the merged checkpoint, %s", must(with.Digest()), a)
				}
				if v.Format() != same.Format() {
					t.Errorf("format %s, want %s", v.Format(), same.Format())
				}
				models, alone = append(models, v), append(alone, same)
			}
			mixedEvals(t, models, alone)
		})
	}
}

// mixedEvals compares Evals of sessions of several models of one family with those of models alone.
func mixedEvals(t *testing.T, models, alone []*model.Model) {
	rng := rand.New(rand.NewPCG(1, 2))
	type text struct {
		of          int
		mixed, only *model.Session
	}
	var texts []text
	for i := range 11 {
		of := []int{0, 1, 2, 1, 3, 0, 3, 2, 2, 1, 0}[i]
		texts = append(texts, text{of, models[of].NewSession(), alone[of].NewSession()})
	}
	off := model.Edit{At: model.Point{Kind: model.Z, Layer: 1}, Head: model.AllHeads, Op: model.Scale,
		Values: []float32{0.5}}
	for step, rows := range []int{30, 1, 90, 1, 3} {
		var batch []model.Input
		seen, want := make([][]string, len(texts)), make([][]string, len(texts))
		for i, x := range texts {
			if (i+step)%5 == 4 && step != 0 {
				continue
			}
			in := model.Input{Session: x.mixed, VisitFrom: rng.IntN(rows),
				NoLogits: rng.IntN(4) == 0}
			for range rows - i%2*rows/2 {
				in.Tokens = append(in.Tokens, rng.IntN(96))
			}
			if in.VisitFrom = min(in.VisitFrom, len(in.Tokens)-1); step == 2 && i%4 == 1 {
				in.States = &model.States{Layer: 1 + i%3}
			} else if step == 4 && i%3 == 0 {
				in.Trace = &model.Trace{Edits: []model.Edit{off}}
			}
			if step == 4 && i%3 == 1 {
				in.Trace = &model.Trace{Points: []model.Point{{Kind: model.FinalNormalized},
					{Kind: model.Embed}, {Kind: model.MLPOut, Layer: 2}}}
			}
			watch := func(to *[]string) {
				*to = make([]string, 4*len(in.Tokens))
				in.Visit = func(r model.Row) { (*to)[r.Index] = fmt.Sprint(r.Logits, r.Hidden) }
				if in.Trace != nil && in.Trace.Points != nil {
					trace := *in.Trace
					trace.Read = func(r model.Reading) {
						(*to)[len(in.Tokens)*(1+int(r.At.Kind)%3)+r.Index] = fmt.Sprint(r.At, r.Data)
					}
					in.Trace = &trace
				}
			}
			watch(&seen[i])
			batch = append(batch, in)
			watch(&want[i])
			in.Session = x.only
			if err := alone[x.of].Eval(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		if err := models[step%len(models)].Eval(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		for i, x := range texts {
			if !slices.Equal(seen[i], want[i]) || !slices.Equal(x.mixed.Logits(), x.only.Logits()) {
				t.Errorf("step %d: text %d, of model %d, has other bits than alone", step, i, x.of)
			}
		}
	}
}

// TestWithAddsToAdaptersOfBefore: it is the checkpoint that has all of them, and a session of a variant
// is told from one of its model.
func TestWithAddsToAdaptersOfBefore(t *testing.T) {
	base := fixture.Options{Embd: 16, Head: 1, Vocab: 40}
	dir, adapters := write(t, base, nil), loras(t, base)
	c, m := openedWith(t, dir, adapters[:1], model.Options{Threads: 1})
	with, err := c.With(adapters[1])
	if err != nil {
		t.Fatal(err)
	}
	both, same := openedWith(t, dir, adapters[:2], model.Options{Threads: 1})
	if got, want := must(with.Digest()), must(both.Digest()); got != want || got == must(c.Digest()) {
		t.Errorf("digest %s, want %s", got, want)
	}
	if a, b := must(adapters[0].Digest()), must(adapters[1].Digest()); a == b {
		t.Errorf("two adapters have the digest %s", a)
	}
	v, err := m.Variant(t.Context(), with.Change)
	if err != nil {
		t.Fatal(err)
	}
	s := v.NewSession()
	if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: []int{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	if err := s.Save(t.Context(), &saved); err != nil {
		t.Fatal(err)
	}
	if _, err := same.Restore(t.Context(), bytes.NewReader(saved.Bytes()), int64(saved.Len())); err != nil {
		t.Error(err)
	}
	if _, err := m.Restore(t.Context(), bytes.NewReader(saved.Bytes()), int64(saved.Len())); err == nil {
		t.Error("the model restored a session of its variant")
	}
}

// TestAVariantEnds: what nothing refers to any more is freed, and a variant shares what it can.
func TestAVariantEnds(t *testing.T) {
	base := fixture.Options{Embd: 16, Head: 1, Vocab: 40, Untied: true}
	dir := write(t, base, nil)
	c, m := openedWith(t, dir, nil, model.Options{Threads: 1})
	with, err := c.With(loras(t, base)[1])
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.Variant(t.Context(), with.Change)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for i := range v.Params().H {
		for k, l := range v.Params().H[i].Linears() {
			if !l.Same(m.Params().H[i].Linears()[k]) {
				own[fmt.Sprint(i, k)] = true
			}
		}
	}
	if len(own) != 2 || !own["1 2"] || !own["2 0"] || &v.Params().WPE[0] != &m.Params().WPE[0] {
		t.Errorf("copies of the layers %v, want 1 2 (h.1.mlp.c_fc) and 2 0 (h.2.attn.c_attn)", own)
	}
	if _, err := v.Variant(t.Context(), with.Change); err == nil {
		t.Error("a variant of a variant")
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Eval(t.Context(), model.Input{Session: v.NewSession(), Tokens: []int{1}}); err != nil {
		t.Errorf("after the variant's Close: %v", err)
	}
	gone := weak.Make(v.Params())
	v = nil
	for i := 0; gone.Value() != nil; i++ {
		if runtime.GC(); i == 100 {
			t.Fatal("the copies are still there")
		}
	}
	m.Close()
	if _, err := c.With(checkpoint.Adapter{Path: t.TempDir()}); err == nil {
		t.Error("an adapter of an empty folder")
	}
}

// TestAdaptersThatCannotBeOneOfSeveral are refused by what is in the way.
func TestAdaptersThatCannotBeOneOfSeveral(t *testing.T) {
	base := fixture.Options{Embd: 16, Head: 1, Vocab: 40, Heads: true}
	c, _ := openedWith(t, write(t, base, nil), nil, model.Options{Threads: 1})
	grown := newLora(1, 1, weights.F32)
	grown.config["modules_to_save"] = []string{"wte", "lm_head"}
	grown.add(peft+"transformer.wte.weight", 42, 16)
	grown.add(peft+"lm_head.weight", 42, 16)
	classifier := newLora(1, 1, weights.F32)
	classifier.config["modules_to_save"] = []string{"score"}
	classifier.add(peft+"score.weight", 2, 16)
	for want, l := range map[string]*lora{
		"its vocabulary has 42 ids, want the model's 40": grown,
		"score.weight is no part of the decoder":         classifier,
	} {
		if _, err := c.With(checkpoint.Adapter{Path: l.write(t)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func names(c *checkpoint.Checkpoint) (all []string) {
	for _, t := range c.Tensors.All() {
		all = append(all, t.Name)
	}
	return all
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

func openedWith(
	t *testing.T, dir string, adapters []checkpoint.Adapter, o model.Options,
) (*checkpoint.Checkpoint, *model.Model) {
	t.Helper()
	c, err := checkpoint.Open(dir, checkpoint.Options{Adapters: adapters})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	o.Digest = c.Digest
	m, err := model.New(t.Context(), c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return c, m
}
