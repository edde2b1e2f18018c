// Kinds of adapters, as PEFT 0.21 has them: what each makes of a weight.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/weights"
)

// A kind is what adapters of a peft_type change. ΔW below is [out, in], as PEFT has it.
type kind struct {
	prefix  string   // of the names of its tensors in a module
	parts   string   // what follows the prefix in them
	many    string   // what begins the names of others that all layers share
	targets []string // target_modules for GPT-2, where a config has none
	fields  string   // keys of its config that change the arithmetic, and are read
	passed  string   // keys that do not
	make    func(l *layer, all []*layer) (weight, bias *update, err error)
}

const loraPrefix, tokensDelta = "lora_", "trainable_tokens_delta"

// kinds returns the table: by peft_type.
func kinds() map[string]*kind {
	attention, down := []string{"c_attn"}, []string{"mlp.c_proj"}
	return map[string]*kind{
		"LORA": {prefix: loraPrefix, targets: attention, make: (*layer).lora,
			parts:  "A.weight B.weight B.bias embedding_A embedding_B magnitude_vector",
			fields: "use_dora lora_bias trainable_token_indices ensure_weight_tying"},
		"ADALORA": {prefix: loraPrefix, targets: attention, make: (*layer).adalora,
			parts: "A B E", fields: "init_r lora_alpha rank_pattern",
			passed: "r target_r tinit tfinal deltaT beta1 beta2 orth_reg_weight total_step lora_dropout " +
				"init_lora_weights qalora_group_size megatron_core"},
		"IA3": {prefix: "ia3_", targets: []string{"c_attn", "mlp.c_proj"}, make: (*layer).ia3,
			parts: "l", fields: "feedforward_modules", passed: "init_ia3_weights"},
		"LN_TUNING": {targets: []string{"ln_1", "ln_2", "ln_f"}},
		"TRAINABLE_TOKENS": {prefix: "trainable_tokens_", targets: []string{"wte"}, parts: "delta",
			fields: "token_indices", passed: "init_weights", make: (*layer).onlyTokens},
		"VERA": {prefix: "vera_", targets: attention, make: (*layer).vera,
			parts: "lambda_b lambda_d A B", fields: "r save_projection projection_prng_key",
			passed: "vera_dropout d_initial init_weights"},
		"PVERA": {prefix: "pvera_", targets: attention, make: (*layer).vera,
			parts: "lambda_b lambda_d A B", fields: "r save_projection projection_prng_key",
			passed: "pvera_dropout d_initial init_weights generator_seed"},
		"RANDLORA": {prefix: "randlora_", targets: attention, make: (*layer).randlora,
			parts: "lambda gamma A B", fields: "r randlora_alpha",
			passed: "randlora_dropout init_weights projection_prng_key save_projection sparse very_sparse"},
		"VBLORA": {prefix: "vblora_", targets: attention, make: (*layer).vblora,
			parts: "logits_A logits_B vector_bank logits_A_topk_weights logits_A_topk_indices " +
				"logits_B_topk_weights logits_B_topk_indices", fields: "r topk num_vectors vector_length",
			passed: "vblora_dropout init_logits_std init_vector_bank_bound save_only_topk_weights"},
		"GRALORA": {prefix: "gralora_", targets: attention, make: (*layer).gralora,
			parts:  "A B A_general.weight B_general.weight",
			fields: "r hybrid_r alpha gralora_k", passed: "gralora_dropout init_weights"},
		"HIRA": {prefix: "hira_", targets: attention, make: (*layer).hira,
			parts: "A B embedding_A embedding_B", fields: "r", passed: "hira_dropout init_weights"},
		"FOURIERFT": {prefix: "fourierft_", targets: down, make: (*layer).fourier, parts: "spectrum",
			fields: "n_frequency scaling random_loc_seed n_frequency_pattern", passed: "init_weights"},
		"WAVEFT": {prefix: "waveft_", targets: down, make: (*layer).wave, parts: "spectrum",
			fields: "n_frequency scaling random_loc_seed n_frequency_pattern wavelet_family use_idwt " +
				"proportional_parameters", passed: "init_weights"},
		"DEFT": {prefix: "deft_", targets: attention, make: (*layer).deft, parts: "P R",
			fields: "r alpha para decomposition_method", passed: "init_scale deft_dropout init_weights"},
		"UNILORA": {prefix: "unilora_", targets: attention, make: (*layer).unilora,
			parts:  "theta_d indices_A indices_B scales_A scales_B",
			fields: "r save_indices theta_d_length", passed: "proj_seed init_theta_d_bound init_weights " +
				"unilora_dropout"},
		"TINYLORA": {prefix: "tinylora_", targets: attention, make: (*layer).tinylora,
			parts: "A B P", many: "v.", fields: "r u weight_tying save_projection",
			passed: "tinylora_dropout projection_seed init_v_bound init_weights"},
		"PROMPT_TUNING": {fields: promptFields, passed: "prompt_tuning_init prompt_tuning_init_text " +
			"tokenizer_name_or_path tokenizer_kwargs"},
		"P_TUNING": {fields: promptFields, passed: "encoder_reparameterization_type " +
			"encoder_hidden_size encoder_num_layers encoder_dropout"},
		"PREFIX_TUNING": {fields: promptFields, passed: "encoder_hidden_size prefix_projection init_weights"},
		"CARTRIDGE":     {fields: promptFields, passed: "num_frozen_tokens"},
		"CPT": {fields: promptFields, passed: "cpt_token_ids cpt_mask cpt_tokens_type_mask " +
			"opt_weighted_loss_type opt_loss_decay_factor opt_projection_epsilon " +
			"opt_projection_format_epsilon tokenizer_name_or_path"},
	}
}

const promptFields = "num_virtual_tokens token_dim num_layers num_attention_heads " +
	"num_transformer_submodules"

// kindNamed returns the kind of a peft_type, or why there is none.
func kindNamed(name string) (*kind, error) {
	if name == "" {
		return nil, errors.New("peft_type: missing, want LORA or another of PEFT's")
	}
	if k := kinds()[name]; k != nil {
		return k, nil
	}
	why := "not known"
	const linear = "ADAMSS BEFT BOFT C3A DELORA GLORA HRA LILY LOHA LOKR MISS OFT PEANUT PSOFT ROAD SHIRA " +
		"SUPERTUNING"
	const depends = "XLORA POLY ADAPTION_PROMPT MULTITASK_PROMPT_TUNING SHADOW"
	switch {
	case slices.Contains(strings.Fields(linear), name):
		why = "not supported: PEFT attaches it to nn.Linear alone, in GPT-2 lm_head and score; its " +
			"merge_and_unload makes a checkpoint of it"
	case slices.Contains(strings.Fields(depends), name):
		why = "not supported: what it computes depends on the input, so that no merged weights have its " +
			"logits"
	case name == "OSF", name == "FROD":
		why = "not supported: PEFT's merge_and_unload makes a checkpoint of it"
	}
	return nil, fmt.Errorf("peft_type: %s: %s", quote.Plain(name, 40), why)
}

// shown is what notes call the kind.
func (c *adapterConfig) shown() string {
	switch {
	case c.name != "LORA":
		return c.name
	case c.isTrue("use_dora"):
		return "DoRA"
	}
	return "LoRA"
}

// virtual reports whether the adapter is virtual tokens.
func (c *adapterConfig) virtual() bool { return c.kind.fields == promptFields }

// passOther returns an error for a key that is none of the kind's, or that asks for what is not
// computed.
func (c *adapterConfig) passOther(key, value string) error {
	const common = "task_type auto_mapping peft_version inference_mode fan_in_fan_out bias runtime_config"
	if slices.Contains(strings.Fields(common), key) ||
		slices.Contains(strings.Fields(c.kind.passed), key) ||
		slices.Contains([]string{"false", "{}", "[]", `""`, "0", "0.0"}, value) {
		return nil
	}
	return fmt.Errorf("%s: %s: not supported with %s", quote.Plain(key, 40), quote.Plain(value, 40),
		c.name)
}

// isTrue reports whether one of the kind's keys is true.
func (c *adapterConfig) isTrue(key string) bool { return string(c.values[key]) == "true" }

// number returns one of the kind's keys, a number, or PEFT's default.
func (c *adapterConfig) number(key string, usual float64) (x float64, err error) {
	if value, ok := c.values[key]; !ok {
		return usual, nil
	} else if json.Unmarshal(value, &x) != nil {
		return 0, fmt.Errorf("adapter_config.json: %s: %s, want a number", key,
			quote.Plain(string(value), 40))
	}
	return x, nil
}

// whole returns one of the kind's keys, a whole number from least on, or PEFT's default.
func (c *adapterConfig) whole(key string, usual, least int) (int, error) {
	x, err := c.number(key, float64(usual))
	if err == nil && (x != math.Trunc(x) || x < float64(least) || x > math.MaxInt32) {
		err = fmt.Errorf("adapter_config.json: %s: %v, want a whole number, %d or more", key, x, least)
	}
	return int(x), err
}

// halves returns the parts A [rank, in] and B [out, rank] by their names.
func (l *layer) halves(a, b string, rank int) (as, bs []float32, err error) {
	if as, _, err = l.matrix(a, rank, l.in); err == nil {
		bs, _, err = l.matrix(b, l.out, rank)
	}
	return as, bs, err
}

// lora is LoRA: ΔW = s·B·A, s = α/r or α/√r (use_rslora). An embedding's A is [r, ids] and its B
// [width, r]. Hu and others, 2021, arXiv 2106.09685; PEFT's lora/layer.py.
//
// With lora_bias B has a bias, and the layer's is s times it more. With use_dora it is [dora].
func (l *layer) lora(_ []*layer) (weight, bias *update, err error) {
	a, b, other := "A.weight", "B.weight", "embedding_A"
	if l.layout == lookup {
		a, b, other = "embedding_A", "embedding_B", "A.weight"
	}
	shownA, shownB := strings.TrimSuffix(a, ".weight"), strings.TrimSuffix(b, ".weight")
	if t, ok := l.parts[other]; ok {
		return nil, nil, fmt.Errorf("%s: want lora_%s and lora_%s for %s", quote.Plain(t.Name, 80),
			shownA, shownB, map[bool]string{true: "an embedding", false: "a layer that is no embedding"}[l.layout == lookup])
	}
	rank := l.config.rankOf(l.module)
	if t, ok := l.parts[a]; ok && len(t.Shape) == 2 && t.Shape[0] != rank {
		return nil, nil, fmt.Errorf("%s: rank %d, want %d as adapter_config.json has it",
			quote.Plain(t.Name, 80), t.Shape[0], rank)
	}
	as, bs, err := l.halves(a, b, rank)
	if err != nil {
		return nil, nil, err
	}
	scale := l.scale * l.config.scaleOf(l.module)
	if weight, err = l.product(as, bs, rank, scale); err != nil {
		return nil, nil, err
	}
	t, biased := l.parts["B.bias"]
	if magnitude, ok := l.parts["magnitude_vector"]; ok != l.config.isTrue("use_dora") {
		return nil, nil, fmt.Errorf("%s: use_dora is %v, but lora_magnitude_vector is there: %v",
			quote.Plain(l.module, 80), !ok, ok)
	} else if ok {
		if err := l.dora(weight, magnitude); err != nil {
			return nil, nil, err
		}
	}
	if biased != l.config.isTrue("lora_bias") {
		return nil, nil, fmt.Errorf("%s: lora_bias is %v, but a bias of lora_B is there: %v",
			quote.Plain(l.module, 80), !biased, biased)
	} else if biased && l.config.isTrue("use_dora") {
		return nil, nil, errors.New("adapter_config.json: lora_bias: true: not with use_dora, as in PEFT")
	} else if !biased {
		return weight, nil, nil
	}
	x, _, err := l.matrix("B.bias", l.out)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", quote.Plain(t.Name, 80), err)
	}
	return weight, &update{needed: true, combine: func(at area, _, sum, _ []float32) {
		for i := range sum {
			sum[i] += float32(weight.scale * x[at.col+i])
		}
	}}, nil
}

// dora makes of LoRA's update that of DoRA: each output's weights are divided by their norm and
// multiplied by its magnitude, W + ΔW = m·(W + s·B·A)/‖W + s·B·A‖. Liu and others, 2024, arXiv
// 2402.09353, section 4.1; PEFT's lora/dora.py. Several add up as PEFT's forward has it: each adds
// what it changes of the base's weight, of an embedding of that so far.
func (l *layer) dora(u *update, t weights.Tensor) error {
	magnitude, err := floats(&t)
	if err != nil {
		return err
	}
	if len(t.Shape) != 1 || t.Shape[0] != l.out {
		return fmt.Errorf("%s: shape %v, want [%d]", quote.Plain(t.Name, 80), t.Shape, l.out)
	}
	gain, of := make([]float32, l.out), func(at area, i int) int { return at.col + i%at.width }
	if l.layout == outIn {
		of = func(at area, i int) int { return at.row + i/at.width }
	}
	u.prepare = func(u *update, c *change) error {
		norms := make([]float64, l.out)
		err := c.each(u, func(at area, base, product []float32) {
			for i, w := range base {
				x := float64(w) + float64(float32(u.scale*product[i]))
				norms[of(at, i)] += float64(x * x)
			}
		})
		for i, n := range norms {
			gain[i] = float32(float64(magnitude[i]) / math.Sqrt(n))
		}
		return err
	}
	u.combine = func(at area, base, sum, product []float32) {
		if l.layout == lookup {
			base = sum
		}
		for i, p := range product {
			g := gain[of(at, i)]
			sum[i] += float32((g-1)*base[i]) + float32(g*p)
		}
	}
	return nil
}

// adalora is AdaLoRA: ΔW = α/(r + 1e-5)·B·(E∘A), E [rank, 1], with r the rank at the beginning of the
// training. Zhang and others, 2023, arXiv 2303.10512; PEFT's adalora/layer.py and, for ranks that
// were pruned, resize_modules_by_rank_pattern.
func (l *layer) adalora(_ []*layer) (weight, bias *update, err error) {
	first, err := l.config.whole("init_r", 12, 1)
	if err != nil {
		return nil, nil, err
	}
	alpha, err := l.config.number("lora_alpha", 8)
	if err != nil {
		return nil, nil, err
	}
	rank, pruned := first, map[string][]bool{}
	if value, ok := l.config.values["rank_pattern"]; ok && json.Unmarshal(value, &pruned) != nil {
		return nil, nil, errors.New("adapter_config.json: rank_pattern: want names with lists of true and false")
	}
	for name, keep := range pruned {
		if strings.TrimSuffix(strings.TrimSuffix(name, ".default"), ".lora_E") == l.module {
			rank = 0
			for _, kept := range keep {
				if kept {
					rank++
				}
			}
		}
	}
	if rank == 0 {
		return &update{}, nil, nil
	}
	if alpha <= 0 {
		alpha = float64(rank)
	}
	a, b, err := l.halves("A", "B", rank)
	if err != nil {
		return nil, nil, err
	}
	e, _, err := l.matrix("E", rank, 1)
	if err != nil {
		return nil, nil, err
	}
	weight, err = l.product(rowsTimes(a, e), b, rank, l.scale*alpha/(float64(first)+1e-5))
	return weight, nil, err
}

// rowsTimes returns a matrix whose rows are multiplied by a number each.
func rowsTimes(x, by []float32) []float32 {
	y, width := make([]float32, len(x)), len(x)/len(by)
	for i, v := range x {
		y[i] = v * by[i/width]
	}
	return y
}

// ia3 is (IA)³: the outputs of a layer, with its bias, are multiplied by l [out, 1]; the inputs of
// one of feedforward_modules by l [1, in]. Liu and others, 2022, arXiv 2205.05638; PEFT's
// ia3/layer.py.
func (l *layer) ia3(_ []*layer) (weight, bias *update, err error) {
	feeds, value := names{list: []string{"mlp.c_proj"}}, l.config.values["feedforward_modules"]
	if value != nil {
		if feeds, err = parseNames(value); err != nil {
			return nil, nil, fmt.Errorf("adapter_config.json: feedforward_modules: %w", err)
		}
	}
	forward := feeds.pattern != nil && feeds.has(l.module) || slices.ContainsFunc(feeds.list,
		func(name string) bool { return strings.HasSuffix(l.module, name) }) // as PEFT has it: no dot
	shape := []int{l.out, 1}
	if forward {
		shape = []int{1, l.in}
	}
	x, _, err := l.matrix("l", shape...)
	if err != nil {
		return nil, nil, err
	}
	by := make([]float32, len(x))
	for i := range x {
		by[i] = float32(1 + l.scale*(float64(x[i])-1))
	}
	of := func(at area, i int) float32 { return by[at.col+i%at.width] }
	if rows := l.layout == outIn; rows != forward {
		of = func(at area, i int) float32 { return by[at.row+i/at.width] }
	}
	weight = &update{combine: func(at area, _, sum, _ []float32) {
		for i := range sum {
			sum[i] *= of(at, i)
		}
	}}
	if forward {
		return weight, nil, nil
	}
	return weight, &update{combine: func(at area, _, sum, _ []float32) {
		for i := range sum {
			sum[i] *= by[at.col+i]
		}
	}}, nil
}

// onlyTokens is trainable tokens: rows of an embedding that were trained, in the place of the base's,
// and of the head if it is the same matrix. PEFT's trainable_tokens/layer.py.
func (l *layer) onlyTokens(all []*layer) (weight, bias *update, err error) {
	weight, err = l.tokens(l.parts["delta"])
	if err == nil {
		weight.tied = strings.HasSuffix(l.module, "wte") && len(all) == 1
	}
	return weight, nil, err
}

// tokens returns the update that puts rows [n, width] in the place of those of the config's ids.
func (l *layer) tokens(t weights.Tensor) (*update, error) {
	value := l.config.values["token_indices"]
	if l.config.name == "LORA" {
		value = l.config.values["trainable_token_indices"]
		byName := map[string]json.RawMessage{}
		if json.Unmarshal(value, &byName) == nil {
			value = nil
			for name, ids := range byName {
				if (names{list: []string{name}}).has(l.module) {
					value = ids
				}
			}
		}
	}
	var ids []int
	if json.Unmarshal(value, &ids) != nil || ids == nil {
		return nil, fmt.Errorf("%s: adapter_config.json has no list of its ids", quote.Plain(t.Name, 80))
	}
	rows, width := l.in, l.out
	if l.layout == outIn {
		rows, width = l.out, l.in
	}
	if !slices.Equal(t.Shape, []int{len(ids), width}) {
		return nil, fmt.Errorf("%s: shape %v, want %v", quote.Plain(t.Name, 80), t.Shape,
			[]int{len(ids), width})
	}
	at := map[int]int{} // the last one counts
	for i, id := range ids {
		if id < 0 || id >= rows {
			return nil, fmt.Errorf("adapter_config.json: id %d of %s, want 0 to %d", id,
				quote.Plain(l.module, 80), rows-1)
		}
		at[id] = i
	}
	x, err := floats(&t)
	return &update{combine: func(a area, _, sum, _ []float32) {
		for row := range a.rows {
			if i, ok := at[a.row+row]; ok {
				copy(sum[row*a.width:(row+1)*a.width], x[i*width+a.col:])
			}
		}
	}}, err
}

// hira is HiRA: ΔW = W∘(B·A). Huang and others, 2025, "HiRA: Parameter-Efficient Hadamard High-Rank
// Adaptation"; PEFT's hira/layer.py.
func (l *layer) hira(_ []*layer) (weight, bias *update, err error) {
	usual, err := l.config.whole("r", 32, 1)
	if err != nil {
		return nil, nil, err
	}
	rank, a, b := int(of(l.config.ranks, l.module, float64(usual))), "A", "B"
	if l.layout == lookup {
		a, b = "embedding_A", "embedding_B"
	}
	as, bs, err := l.halves(a, b, rank)
	if err != nil {
		return nil, nil, err
	}
	if weight, err = l.product(as, bs, rank, l.scale); err != nil {
		return nil, nil, err
	}
	weight.combine = func(_ area, base, sum, product []float32) {
		for i, p := range product {
			sum[i] += float32(base[i] * p)
		}
	}
	return weight, nil, nil
}

// begin takes the virtual tokens of an adapter, which the model evaluates.
func (m *merging) begin(o *openAdapter, whole map[string]weights.Tensor) error {
	t, ok := whole["prompt_embeddings"]
	delete(whole, "prompt_embeddings")
	n, err := o.config.whole("num_virtual_tokens", 0, 1)
	if err != nil {
		return err
	}
	wte, there := m.base.Tensor(m.prefix + "wte.weight")
	switch {
	case !ok:
		return errors.New("no prompt_embeddings")
	case o.scale != 1:
		return fmt.Errorf("scale %v of virtual tokens, want none", o.scale)
	case !there || len(wte.Shape) != 2:
		return fmt.Errorf("the checkpoint %s has no %swte.weight", m.base.Name(), m.prefix)
	}
	width := wte.Shape[1]
	t.Name = model.VirtualEmbeddings
	if o.config.name == "PREFIX_TUNING" || o.config.name == "CARTRIDGE" {
		t.Name, width = model.VirtualKeysValues, 2*m.layers*width
	}
	for key, want := range map[string]int{"token_dim": wte.Shape[1], "num_layers": m.layers,
		"num_attention_heads": m.heads, "num_transformer_submodules": 1} {
		if x, err := o.config.whole(key, want, 1); err != nil || x != want {
			return errors.Join(err, fmt.Errorf("adapter_config.json: %s: %d, want %d", key, x, want))
		}
	}
	if !slices.Equal(t.Shape, []int{n, width}) {
		return fmt.Errorf("prompt_embeddings: shape %v, want %v", t.Shape, []int{n, width})
	}
	m.virtual = &t
	return nil
}
