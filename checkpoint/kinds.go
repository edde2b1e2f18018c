// Kinds of adapters, as PEFT 0.21 has them: what each makes of a weight.

package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// A kind is what adapters of a peft_type change. ΔW below is [out, in], as PEFT has it.
type kind struct {
	// what the names of its tensors in a module begin with; "": the kind's name, in small letters
	prefix  string
	parts   string // what follows the prefix in them
	targets string // target_modules for GPT-2, where a config has none; "": c_attn
	fields  string // keys of its config that change the arithmetic, and are read
	// keys that do not, beside those of how training begins and of dropout
	passed string
	make   func(l *layer, all []*layer) (weight, bias *update) // it may call fail
}

const loraPrefix, tokensDelta = "lora_", "trainable_tokens_delta"

// kinds returns the table: by peft_type.
func kinds() map[string]*kind {
	projections := "r save_projection projection_prng_key"
	frequencies := "n_frequency scaling random_loc_seed n_frequency_pattern"
	return map[string]*kind{
		"LORA": {make: (*layer).lora,
			parts: "A.weight B.weight B.bias embedding_A embedding_B magnitude_vector",
			fields: "use_dora lora_bias trainable_token_indices rank_pattern alpha_pattern " +
				"init_lora_weights",
			passed: "lora_dropout ensure_weight_tying qalora_group_size megatron_core " +
				"megatron_config loftq_config eva_config corda_config lora_ga_config enable_lora " +
				"merge_weights unsloth_fixed"},
		"ADALORA": {prefix: loraPrefix, make: (*layer).adalora, parts: "A B E",
			fields: "init_r lora_alpha rank_pattern",
			passed: "r target_r tinit tfinal deltaT beta1 beta2 orth_reg_weight total_step " +
				"qalora_group_size megatron_core"},
		"IA3": {targets: "c_attn mlp.c_proj", make: (*layer).ia3, parts: "l",
			fields: "feedforward_modules"},
		"LN_TUNING": {targets: "ln_1 ln_2 ln_f"},
		"TRAINABLE_TOKENS": {targets: "wte", make: (*layer).onlyTokens, parts: "delta",
			fields: "token_indices"},
		"VERA": {make: (*layer).vera, parts: "lambda_b lambda_d A B", fields: projections,
			passed: "d_initial"},
		"PVERA": {make: (*layer).vera, parts: "lambda_b lambda_d A B", fields: projections,
			passed: "d_initial generator_seed"},
		"RANDLORA": {make: (*layer).randlora, parts: "lambda gamma A B", fields: "r randlora_alpha",
			passed: "projection_prng_key save_projection sparse very_sparse"},
		"VBLORA": {make: (*layer).vblora, parts: "logits_A logits_B vector_bank",
			fields: "r topk num_vectors vector_length"},
		"GRALORA": {make: (*layer).gralora, parts: "A B A_general.weight B_general.weight",
			fields: "r hybrid_r alpha gralora_k"},
		"HIRA": {make: (*layer).hira, parts: "A B embedding_A embedding_B", fields: "r",
			passed: "rank_pattern"},
		"FOURIERFT": {targets: "mlp.c_proj", make: (*layer).fourier, parts: "spectrum",
			fields: frequencies},
		"WAVEFT": {targets: "mlp.c_proj", make: (*layer).wave, parts: "spectrum",
			fields: frequencies + " wavelet_family use_idwt proportional_parameters"},
		"DEFT": {make: (*layer).deft, parts: "P R", fields: "r alpha para decomposition_method"},
		"TINYLORA": {make: (*layer).tinylora, parts: "A B P v.", fields: "r u weight_tying",
			passed: "save_projection projection_seed"},
		"FROD": {make: (*layer).frod, parts: "V. s_indices. s_size. lambda_l lambda_s_values",
			passed: "save_projection projection_prng_key sparse_rate regularization_alpha " +
				"progressbar runtime_offload_base_weight"},
		"UNILORA": {make: (*layer).unilora, fields: "r theta_d_length",
			parts:  "theta_d indices_A indices_B scales_A scales_B",
			passed: "save_indices proj_seed init_theta_d_bound"},
		"PROMPT_TUNING": {fields: promptFields, passed: "prompt_tuning_init " +
			"prompt_tuning_init_text tokenizer_name_or_path tokenizer_kwargs"},
		"P_TUNING": {fields: promptFields, passed: "encoder_reparameterization_type " +
			"encoder_hidden_size encoder_num_layers"},
		"PREFIX_TUNING": {fields: promptFields, passed: "encoder_hidden_size prefix_projection"},
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
	if k := cmp.Or(kinds()[name], linearKinds()[name]); k != nil {
		if k.make != nil {
			k.prefix = cmp.Or(k.prefix, strings.ToLower(name)+"_")
			k.targets = cmp.Or(k.targets, "c_attn")
		}
		return k, nil
	}
	why := "not known"
	const linear = "ADAMSS BEFT GLORA LILY PEANUT PSOFT SUPERTUNING"
	const depends = "XLORA POLY ADAPTION_PROMPT MULTITASK_PROMPT_TUNING SHADOW"
	switch {
	case listed(linear, name):
		why = onlyLinear + "; its merge_and_unload makes a checkpoint of it"
	case listed(depends, name):
		why = "not supported: what it computes depends on the input, so that no merged weights " +
			"have its logits"
	}
	return nil, fmt.Errorf("peft_type: %s: %s", quote.Plain(name, 40), why)
}

// A failure is what a panic of fail carries to caught.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func failConfig(format string, args ...any) { fail(folder.AdapterConfig+": "+format, args...) }

// caught is deferred where what a kind makes may fail.
func caught(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}

// lora is LoRA: ΔW = s·B·A, s = α/r or α/√r (use_rslora). An embedding's A is [r, ids] and its B
// [width, r]. Hu and others, 2021, arXiv 2106.09685; PEFT's lora/layer.py.
//
// With lora_bias B has a bias, and the layer's is s times it more. With use_dora it is [layer.dora].
func (l *layer) lora(_ []*layer) (weight, bias *update) {
	a, other, want := "A.weight", "embedding_A", "lora_A and lora_B for a layer that is no embedding"
	if l.layout == lookup {
		a, other, want = other, a, "lora_embedding_A and lora_embedding_B for an embedding"
	}
	if t, ok := l.parts[other]; ok {
		fail("%s: want %s", quote.Plain(t.Name, 80), want)
	}
	rank := l.config.rankOf(l.module)
	if t, ok := l.parts[a]; ok && len(t.Shape) == 2 && t.Shape[0] != rank {
		fail("%s: rank %d, want %d as adapter_config.json has it", quote.Plain(t.Name, 80),
			t.Shape[0], rank)
	}
	as, bs := l.halves("A.weight", "B.weight", rank)
	own := l.config.scaleOf(l.module)
	weight = l.product(as, bs, rank, l.scale*own)
	weight.by, weight.own = float32(l.scale), float32(own)
	has := func(key, part string) bool {
		_, there := l.parts[part]
		if there != l.config.isTrue(key) {
			fail("%s: %s is %v, but lora_%s is there: %v", quote.Plain(l.module, 80), key, !there,
				part, there)
		}
		return there
	}
	dora, biased := has("use_dora", "magnitude_vector"), has("lora_bias", "B.bias")
	switch {
	case dora && biased:
		failConfig("lora_bias: true: not with use_dora, as in PEFT")
	case dora:
		l.dora(weight)
	case biased:
		x, _ := l.matrix("B.bias", l.out)
		bias = &update{needed: true, combine: func(_ area, _, sum, _ []float32) {
			for i := range sum {
				sum[i] += float32(weight.scale * x[i])
			}
		}}
	}
	return weight, bias
}

// dora makes of LoRA's update that of DoRA: each output's weights are divided by their norm and
// multiplied by its magnitude, W + ΔW = m·(W + s·B·A)/‖W + s·B·A‖. Liu and others, 2024, arXiv
// 2402.09353, section 4.1; PEFT's lora/dora.py. Several add up as PEFT's forward has it: each adds
// what it changes of the base's weight, of an embedding of that so far.
func (l *layer) dora(u *update) {
	magnitude, _ := l.matrix("magnitude_vector", l.out)
	gain := make([]float32, l.out)
	u.prepare = func(u *update, c *change) error {
		norms := make([]float64, l.out)
		err := c.each(u, func(at area, base, product []float32) {
			for i, w := range base {
				x := float64(w) + float64(product[i])
				norms[l.output(at, i)] += float64(x * x)
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
			g := gain[l.output(at, i)]
			sum[i] += float32((g-1)*base[i]) + float32(g*p)
		}
	}
}

// adalora is AdaLoRA: ΔW = α/(r + 1e-5)·B·(E∘A), E [rank, 1], with r the rank at the beginning of the
// training. Zhang and others, 2023, arXiv 2303.10512; PEFT's adalora/layer.py and, for ranks that
// were pruned, resize_modules_by_rank_pattern.
func (l *layer) adalora(_ []*layer) (weight, bias *update) {
	first, alpha := l.config.whole("init_r", 12, 1), l.config.number("lora_alpha", 8)
	rank, pruned := first, map[string][]bool{}
	if value, ok := l.config.values["rank_pattern"]; ok && json.Unmarshal(value, &pruned) != nil {
		failConfig("rank_pattern: want names with lists of true and false")
	}
	for name, keep := range pruned {
		if strings.TrimSuffix(strings.TrimSuffix(name, ".default"), ".lora_E") == l.module {
			rank = len(slices.DeleteFunc(keep, func(kept bool) bool { return !kept }))
		}
	}
	if rank == 0 {
		return &update{}, nil
	}
	if alpha <= 0 {
		alpha = float64(rank)
	}
	a, b := l.halves("A", "B", rank)
	e, _ := l.matrix("E", rank, 1)
	return l.product(rowsTimes(a, e), b, rank, l.scale*alpha/(float64(first)+1e-5)), nil
}

// ia3 is (IA)³: the outputs of a layer, with its bias, are multiplied by l [out, 1]; the inputs of
// one of feedforward_modules by l [1, in]. Liu and others, 2022, arXiv 2205.05638; PEFT's
// ia3/layer.py.
func (l *layer) ia3(_ []*layer) (weight, bias *update) {
	feeds := l.config.feeds
	// a name without a dot before it, as PEFT has it
	forward := feeds.pattern != nil && feeds.has(l.module) || slices.ContainsFunc(feeds.list,
		func(name string) bool { return strings.HasSuffix(l.module, name) })
	shape, of := []int{l.out, 1}, l.output
	if forward {
		shape, of = []int{1, l.in}, l.input
	}
	x, _ := l.matrix("l", shape...)
	by := make([]float32, len(x))
	for i := range x {
		by[i] = float32(1 + float64(l.scale*(float64(x[i])-1)))
	}
	times := func(of func(at area, i int) int) *update {
		return &update{combine: func(at area, _, sum, _ []float32) {
			for i := range sum {
				sum[i] *= by[of(at, i)]
			}
		}}
	}
	if weight = times(of); !forward {
		bias = times(func(_ area, i int) int { return i })
	}
	return weight, bias
}

// onlyTokens is trainable tokens: rows of an embedding that were trained, in the place of the base's,
// and of the head if it is the same matrix. PEFT's trainable_tokens/layer.py.
func (l *layer) onlyTokens(all []*layer) (weight, bias *update) {
	weight = l.tokens("delta")
	weight.tied = strings.HasSuffix(l.module, "wte") && len(all) == 1
	return weight, nil
}

// tokens returns the update that puts rows [n, width] in the place of those of the config's ids.
func (l *layer) tokens(part string) *update {
	value, ids := l.config.values["token_indices"], []int(nil)
	if l.config.name == "LORA" {
		value = l.config.values["trainable_token_indices"]
		byName := map[string]json.RawMessage{}
		if json.Unmarshal(value, &byName) == nil {
			for name, ids := range byName {
				if (names{list: []string{name}}).has(l.module) {
					value = ids
				}
			}
		}
	}
	if json.Unmarshal(value, &ids) != nil || ids == nil {
		fail("%s: adapter_config.json has no list of its ids", quote.Plain(l.parts[part].Name, 80))
	}
	rows, width := l.in, l.out
	if l.layout == outIn {
		rows, width = l.out, l.in
	}
	x, _ := l.matrix(part, len(ids), width)
	at := map[int]int{} // the last one counts
	for i, id := range ids {
		if id < 0 || id >= rows {
			failConfig("id %d of %s, want 0 to %d", id, quote.Plain(l.module, 80), rows-1)
		}
		at[id] = i
	}
	return &update{combine: func(a area, _, sum, _ []float32) {
		for row := range a.rows {
			if i, ok := at[a.row+row]; ok {
				copy(sum[row*a.width:(row+1)*a.width], x[i*width:])
			}
		}
	}}
}

// hira is HiRA: ΔW = W∘(B·A). Huang and others, 2025, "HiRA: Parameter-Efficient Hadamard High-Rank
// Adaptation"; PEFT's hira/layer.py, whose dispatch_default takes r, whatever rank_pattern says.
func (l *layer) hira(_ []*layer) (weight, bias *update) {
	rank := l.config.whole("r", 32, 1)
	a, b := l.halves("A", "B", rank)
	weight = l.product(a, b, rank, l.scale)
	weight.combine = func(_ area, base, sum, product []float32) {
		for i, p := range product {
			sum[i] += float32(base[i] * p)
		}
	}
	return weight, nil
}

// gralora is GraLoRA: ΔW in k·k blocks, each a product of its own: of the inputs of block n and the
// outputs of block m A[n, :, m·r/k:]·B[m, n·r/k:, :], times α/(r + hybrid_r), and with hybrid_r a LoRA
// of that rank beside them. Jung and others, 2025, arXiv 2505.20355; PEFT's gralora/layer.py.
func (l *layer) gralora(_ []*layer) (weight, bias *update) {
	r, hybrid := l.config.whole("r", 32, 1), l.config.whole("hybrid_r", 0, 0)
	k := l.config.whole("gralora_k", 2, 1)
	if l.in%k != 0 || l.out%k != 0 || r%k != 0 {
		failConfig("gralora_k: %d, want a divisor of %d, %d and r %d", k, l.in, l.out, r)
	}
	l.bound("gralora_k", k, 32)
	in, out, part, rank := l.in/k, l.out/k, r/k, k*r+hybrid
	as, _ := l.matrix("A", k, in, r)
	bs, _ := l.matrix("B", k, r, out)
	var ga, gb []float32
	if hybrid > 0 {
		ga, gb = l.halves("A_general.weight", "B_general.weight", hybrid)
	}
	a, b := make([]float32, rank*l.in), make([]float32, l.out*rank)
	for row := range k * r {
		n, m, j := row/r, row%r/part, row%part // inputs of block n, outputs of block m
		for i := range in {
			a[row*l.in+n*in+i] = as[(n*in+i)*r+m*part+j]
		}
		for i := range out {
			b[(m*out+i)*rank+row] = bs[(m*r+n*part+j)*out+i]
		}
	}
	copy(a[k*r*l.in:], ga)
	for i, x := range gb {
		b[i/hybrid*rank+k*r+i%hybrid] = x
	}
	return l.product(a, b, rank, l.scale*l.config.number("alpha", 64)/float64(r+hybrid)), nil
}

// deft is DEFT: ΔW = P·(s·R − max(P, 0)ᵀ·W), s = α/r or 1; without R for para (PaRa). With qr it is
// Q·(s·R − Qᵀ·W), with P = Q·T. PEFT's deft/layer.py.
func (l *layer) deft(_ []*layer) (weight, bias *update) {
	rank := min(l.config.whole("r", 8, 1), l.out)
	scale := l.config.number("alpha", float64(rank)) / float64(rank)
	p, _ := l.matrix("P", l.out, rank)
	taken := slices.Clone(p)
	if l.config.only("decomposition_method", "relu", "qr") == "qr" {
		q, _ := orthonormal(widened(transposed(p, l.out, rank)), rank, l.out)
		p = transposed(rounded(q), rank, l.out)
		taken = p
	} else {
		for i, x := range p {
			taken[i] = max(x, 0)
		}
	}
	r := make([]float32, rank*l.in)
	if !l.config.isTrue("para") {
		r, _ = l.matrix("R", rank, l.in)
	}
	return &update{prepare: func(u *update, c *change) error {
		inner := make([]float64, rank*l.in)
		for i, x := range r {
			inner[i] = scale * float64(x)
		}
		err := c.each(&update{}, func(at area, base, _ []float32) {
			for n, w := range base {
				i, o := l.input(at, n), l.output(at, n)
				for k := range rank {
					inner[k*l.in+i] -= float64(float64(taken[o*rank+k]) * float64(w))
				}
			}
		})
		if err == nil {
			*u = *l.product(rounded(inner), p, rank, l.scale)
		}
		return err
	}}, nil
}
