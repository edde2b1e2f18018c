// Kinds of adapters of nn.Linear: parts of what is merged, several of them, and what is refused.

package checkpoint_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/weights"
)

// evenHead writes a checkpoint whose head and embedding have 24 rows of 16.
func evenHead(t *testing.T) (dir string) {
	return write(t, fixture.Options{Embd: 16, Head: 2, Vocab: 24, Untied: true}, nil)
}

// TestPartsOfEveryKind: any part of a merged tensor has the bits of the whole, where rows or
// elements of a row are mixed too.
func TestPartsOfEveryKind(t *testing.T) {
	dir, all := unpackKinds(t)
	rng, tensors := rand.New(rand.NewPCG(3, 4)), 0
	for name, of := range all.Cases {
		if of.Base != "even" {
			continue
		}
		c, err := checkpoint.Open(filepath.Join(dir, "even"), checkpoint.Options{
			Adapters: []checkpoint.Adapter{{Path: filepath.Join(dir, name)}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Tensors.All() {
			if x.Fill == nil {
				continue
			}
			tensors++
			whole, err := x.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			for range 30 {
				from := rng.IntN(len(whole) / 4)
				to := from + rng.IntN(len(whole)/4-from+1)
				part := make([]byte, 4*(to-from))
				if err := x.Fill(part, int64(4*from)); err != nil || !bytes.Equal(part, whole[4*from:4*to]) {
					t.Fatalf("%s: %s: elements %d to %d: other bits, %v", name, x.Name, from, to, err)
				}
			}
		}
		c.Close()
	}
	if tensors < 23 {
		t.Errorf("%d tensors, want 23 or more", tensors)
	}
}

// TestRoAdAfterRoAd: groups of 4 and of 6 outputs, one with half of its strength, of a layer that
// has a bias, by the rotations' formula in float64.
func TestRoAdAfterRoAd(t *testing.T) {
	const labels, width = 12, 16
	base := newLora(1, 1, weights.F32)
	base.config = map[string]any{"peft_type": "ROAD", "modules_to_save": []string{"classifier"},
		"target_modules": []string{}}
	base.add("classifier.weight", labels, width)
	base.add("classifier.bias", labels)
	w, bias := base.values["classifier.weight"], base.values["classifier.bias"]
	half := 0.5
	with := []checkpoint.Adapter{{Path: base.write(t)}}
	for _, of := range []struct {
		group int
		scale *float64
	}{{4, nil}, {6, &half}} {
		l := newLora(of.group, 1, weights.F32)
		l.config = map[string]any{"peft_type": "ROAD", "variant": "road_2", "group_size": of.group,
			"target_modules": []string{"classifier"}}
		l.add(peft+"classifier.road_theta", labels)
		l.add(peft+"classifier.road_alpha", labels)
		theta, alpha := l.values[l.names[0]], l.values[l.names[1]]
		with = append(with, checkpoint.Adapter{Path: l.write(t), Scale: of.scale})
		turned := func(x []float64, width int) []float64 {
			y := slices.Clone(x)
			for i := range x {
				o, to, sign := i/width, i-of.group/2*width, 1.0
				if o%of.group < of.group/2 {
					to, sign = i+of.group/2*width, -1
				}
				sin, cos := math.Sincos(theta[o])
				y[i] = alpha[o] * (cos*x[i] + sign*sin*x[to])
				if of.scale != nil {
					y[i] = (x[i] + y[i]) / 2
				}
			}
			return y
		}
		w, bias = turned(w, width), turned(bias, 1)
	}
	c, err := checkpoint.Open(evenHead(t), checkpoint.Options{Adapters: with})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string][]float64{"classifier.weight": w, "classifier.bias": bias} {
		for i, x := range float64s(t, c.Tensors, name) {
			if !(math.Abs(x-want[i]) <= 2e-6) {
				t.Fatalf("%s: number %d is %v, want %v", name, i, x, want[i])
			}
		}
	}
}

// TestKindsOfLinearThatAreRefused: one line that names the module, the key or the tensor.
func TestKindsOfLinearThatAreRefused(t *testing.T) {
	dir := evenHead(t)
	type tensors = map[string][]int
	for _, c := range []struct {
		kind, want string
		config     map[string]any
		tensors    tensors
	}{
		{"LOKR", "h.0.attn.c_attn of LOKR: not supported: PEFT attaches it to nn.Linear alone, in GPT-2 " +
			"lm_head and score", map[string]any{"target_modules": []string{"c_attn"}},
			tensors{"transformer.h.0.attn.c_attn.lokr_w1": {4, 4}}},
		{"HRA", "wte of HRA: not supported: PEFT attaches it", map[string]any{
			"target_modules": []string{"lm_head", "wte"}}, tensors{"lm_head.hra_u": {16, 8}}},
		{"SHIRA", "of SHIRA: not supported: PEFT attaches it", map[string]any{
			"target_modules": "all-linear"}, tensors{"lm_head.shira_weight": {40}}},
		{"OFT", "ln_f of OFT: not supported: PEFT attaches it", map[string]any{
			"target_modules": []string{"ln_f"}}, tensors{"lm_head.oft_R.weight": {4, 6}}},
		{"LOKR", "shape [4 4], want [2 2]", map[string]any{"decompose_factor": 2},
			tensors{"lm_head.lokr_w1": {4, 4}, "lm_head.lokr_w2": {6, 4}}},
		{"LOKR", "its lokr_w2_a is missing", map[string]any{"r": 2},
			tensors{"lm_head.lokr_w1": {4, 4}, "lm_head.lokr_w2": {6, 4}}},
		{"LOHA", "hada_t1: unknown, want", nil, tensors{"lm_head.hada_t1": {2, 2, 1, 1}}},
		{"C3A", "block_size: 3, want a divisor of 16 for lm_head", map[string]any{"block_size": 3},
			tensors{"lm_head.c3a_kernel": {8, 5, 3}}},
		{"C3A", "block_size_pattern: 2.5, want whole numbers", map[string]any{
			"block_size_pattern": map[string]any{"lm_head": 2.5}}, tensors{"lm_head.c3a_kernel": {8, 4, 4}}},
		{"MISS", "mini_r: 7, want a divisor of 24", map[string]any{"init_weights": "mini", "mini_r": 7},
			tensors{"lm_head.miss_block": {64, 7}}},
		{"SHIRA", "r: 10, want at most 9 for lm_head", map[string]any{"r": 10},
			tensors{"lm_head.shira_weight": {400}}},
		{"SHIRA", "its shira_indices is missing", map[string]any{"r": 1},
			tensors{"lm_head.shira_weight": {40}}},
		{"HRA", "shape [16 8], want [16 3]", map[string]any{"r": 3}, tensors{"lm_head.hra_u": {16, 8}}},
		{"OFT", "oft_block_size: 4 and r: 4, want one of them",
			map[string]any{"r": 4, "oft_block_size": 4}, tensors{"lm_head.oft_R.weight": {4, 6}}},
		{"OFT", "num_cayley_neumann_terms: 33, want at most 32", map[string]any{"oft_block_size": 4,
			"num_cayley_neumann_terms": 33}, tensors{"lm_head.oft_R.weight": {4, 6}}},
		{"BOFT", "boft_block_size or boft_block_num: 5, want a divisor of 16",
			map[string]any{"boft_block_size": 5}, tensors{"lm_head.boft_R": {1, 4, 4, 4}}},
		{"BOFT", "shape [2 4 4 4], want [1 4 4 4]", map[string]any{"boft_n_butterfly_factor": 2},
			tensors{"lm_head.boft_R": {2, 4, 4, 4}, "lm_head.boft_s": {24, 1}}},
		{"ROAD", "group_size: 10, want an even divisor of 24", map[string]any{"group_size": 10},
			tensors{"lm_head.road_theta": {12}}},
		{"ROAD", `variant: "road_3", want road_1, road_2 or road_4`, map[string]any{"group_size": 4,
			"variant": "road_3"}, tensors{"lm_head.road_theta": {12}}},
		{"ROAD", "shape [12], want [24]", map[string]any{"group_size": 4, "variant": "road_2"},
			tensors{"lm_head.road_theta": {12}}},
	} {
		l := newLora(1, 1, weights.F32)
		l.config = map[string]any{"target_modules": []string{"lm_head"}}
		for key, value := range c.config {
			l.config[key] = value
		}
		l.config["peft_type"] = c.kind
		for name, shape := range c.tensors {
			l.add(peft+name, shape...)
		}
		_, err := checkpoint.Open(dir, checkpoint.Options{
			Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
		wantText(t, err, c.want)
	}
}

// TestPlacesOfSHiRA: also those that PEFT on Windows writes, in float32, and one that is none.
func TestPlacesOfSHiRA(t *testing.T) {
	dir := evenHead(t)
	before, _ := opened(t, dir, checkpoint.Options{})
	for _, dtype := range []weights.DType{weights.I32, weights.F32, weights.F16} {
		for _, last := range []int{15, 16, -1} {
			l := newLora(1, 1, weights.F32)
			l.config = map[string]any{"peft_type": "SHIRA", "r": 1, "target_modules": []string{"lm_head"}}
			l.add(peft+"lm_head.shira_weight", 40)
			places := make([]int, 80) // the first rows and columns, twice
			for i := range 40 {
				places[i], places[40+i] = i%20, i%20*5%16
			}
			places[79] = last
			l.add(peft+"lm_head.shira_indices", 2, 40)
			t32 := l.data[l.names[1]]
			t32.DType, t32.Data = dtype, nil
			for _, x := range places {
				if dtype == weights.I32 {
					t32.Data = append(t32.Data, le(uint64(uint32(x)), 4)...)
				} else {
					t32.Data = append(t32.Data, encoded(dtype, []float64{float64(x)})...)
				}
			}
			l.data[l.names[1]] = t32
			with := checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}}
			c, err := checkpoint.Open(dir, with)
			if last != 15 || dtype == weights.F16 {
				want := "shira_indices: "
				wantText(t, err, want, "want ")
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			want := float64s(t, before.Tensors, "lm_head.weight")
			for i, x := range l.values[l.names[0]] {
				want[places[i]*16+places[40+i]] += x
			}
			for i, x := range float64s(t, c.Tensors, "lm_head.weight") {
				if !(math.Abs(x-want[i]) <= 1e-6) {
					t.Fatalf("%s: number %d is %v, want %v", dtype, i, x, want[i])
				}
			}
			c.Close()
		}
	}
}

// TestTwoAdaptersOfTheHead: PEFT saves a copy of the base's head with each, which is one and the
// same.
func TestTwoAdaptersOfTheHead(t *testing.T) {
	dir := evenHead(t)
	before, m := opened(t, dir, checkpoint.Options{})
	head, _ := before.Tensors.Tensor("lm_head.weight")
	one := func(copied bool) checkpoint.Adapter {
		l := newLora(2, 4, weights.F32)
		l.pair("lm_head", 2, 16, 24)
		head.Name = peft + "lm_head.base_layer.weight"
		l.add(head.Name, 24, 16)
		if copied {
			l.data[head.Name] = head
		}
		return checkpoint.Adapter{Path: l.write(t)}
	}
	c, both := opened(t, dir, checkpoint.Options{Adapters: []checkpoint.Adapter{one(true), one(true)}})
	defer c.Close()
	if ids := []int{1, 2}; slices.Equal(logits(t, m, ids)[1], logits(t, both, ids)[1]) {
		t.Error("two adapters change nothing")
	}
	with := []checkpoint.Adapter{one(true), one(false)}
	_, err := checkpoint.Open(dir, checkpoint.Options{Adapters: with})
	wantText(t, err, "replaces that tensor too")
}
