package model

// Keys of config.json that are no fields of a Config: those that ask for arithmetic other than
// GPT-2's, each with the reason for its refusal, and those that nobody here knows, which are told.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A refusal is a key that is refused unless its value changes nothing.
type refusal struct {
	name    string   // or the beginning of several names, if it ends with _
	neutral []string // the values that change nothing, as JSON
	why     string
}

// refusals returns the keys of Hugging Face's own configs and of forks of GPT-2 that keep its
// model_type. The files of such models have GPT-2's tensors, so that only the config tells that
// they compute something else.
func refusals() []refusal {
	var (
		no, yes  = []string{"false"}, []string{"true"}
		one      = []string{"1", "1.0"}
		zero     = []string{"0", "0.0", "false"}
		scale    = "no such scale is applied here"
		position = "positions are learned and absolute here"
		norms    = "each layer's LayerNorms stand before attention and MLP here"
		heads    = "each head has keys and values of its own here"
	)
	return []refusal{
		{"model_type", []string{`"gpt2"`}, "this is another architecture"},
		{"add_cross_attention", no, "there is no encoder to attend to"},
		{"is_encoder_decoder", no, "GPT-2 is a decoder"},
		{"pruned_heads", []string{"{}", "[]"}, "pruned heads are not supported"},
		{"quantization_config", nil,
			"these weights need their quantizer; use the unquantized checkpoint"},

		// Maximal update parametrization, and other factors.
		{"mup_", no, scale}, {"attn_mult", nil, scale}, {"use_mup", no, scale}, {"mup", no, scale},
		{"width_mult", one, scale}, {"output_mult", one, scale}, {"emb_mult", one, scale},
		{"embd_scale", one, scale}, {"emb_scale", one, scale}, {"scale_emb", one, scale},
		{"scale_embedding", no, scale}, {"scale_embeddings", no, scale},
		{"embedding_multiplier", one, scale}, {"embeddings_scale", one, scale},
		{"attention_multiplier", nil, scale}, {"attn_scale", nil, scale},
		{"attention_scale", nil, scale}, {"softmax_scale", nil, scale},
		{"scale_qk_dot_by_d", no, scale}, {"residual_multiplier", one, scale},
		{"residual_scale", one, scale}, {"scale_depth", nil, scale}, {"dim_model_base", nil, scale},
		{"logit_scale", one, scale}, {"logits_scaling", one, scale}, {"output_scale", one, scale},
		{"output_multiplier", one, scale}, {"attn_logit_softcapping", zero, scale},
		{"final_logit_softcapping", zero, scale}, {"logits_soft_cap", zero, scale},

		{"position_embedding_type", []string{`"absolute"`, `"learned"`, `"learned_absolute"`},
			position},
		{"alibi", no, position}, {"use_alibi", no, position}, {"rotary", no, position},
		{"use_rotary", no, position}, {"rotary_dim", zero, position},
		{"rotary_pct", zero, position},
		{"rotary_emb_fraction", zero, position}, {"rope_scaling", nil, position},
		{"use_rope", no, position}, {"relative_attention", no, position},

		{"attention_head_type", []string{`"multihead"`}, heads},
		{"multi_query", no, heads}, {"multi_query_attention", no, heads},
		{"n_head_kv", nil, heads}, {"n_kv_head", nil, heads}, {"num_kv_heads", nil, heads},
		{"num_key_value_heads", nil, heads},

		{"normalize_before", yes, norms}, {"do_layer_norm_before", yes, norms},
		{"pre_layer_norm", yes, norms}, {"prenorm", yes, norms}, {"post_layer_norm", no, norms},
		{"apply_residual_connection_post_layernorm", no, norms}, {"parallel_block", no, norms},
		{"use_parallel_residual", no, norms}, {"parallel_residual", no, norms},
		{"use_rms_norm", no, norms}, {"rms_norm", no, norms}, {"qk_layernorm", no, norms},
		{"qk_norm", no, norms}, {"use_qk_norm", no, norms}, {"embed_layer_norm", no, norms},
		{"normalization_type", []string{`"layernorm"`, `"layer_norm"`, `"LayerNorm"`}, norms},

		{"sliding_window", zero, "each token sees all before it here"},
		{"window_size", zero, "each token sees all before it here"},
		{"attention_layers", nil, "each token sees all before it here"},
		{"attention_types", nil, "each token sees all before it here"},
	}
}

// refuse returns an error that names the first key that asks for other arithmetic.
func (k configKeys) refuse() error {
	names := slices.Sorted(maps.Keys(k))
	for _, r := range refusals() {
		for _, name := range names {
			v, ok := k.get(name)
			if !ok || !r.covers(name) || slices.Contains(r.neutral, string(v)) ||
				k.allHeads(name, string(v)) {
				continue
			}
			want := "absent"
			if r.neutral != nil {
				want = r.neutral[0]
			}
			return fmt.Errorf("%s: %s, want %s: %s", quote.Plain(name, 40), show(v), want, r.why)
		}
	}
	return nil
}

// covers reports whether a key is of that name, or has that beginning.
func (r refusal) covers(key string) bool {
	return key == r.name || strings.HasSuffix(r.name, "_") && strings.HasPrefix(key, r.name)
}

// allHeads reports whether the key counts the heads that have keys and values of their own, and the
// value is the number of all heads.
func (k configKeys) allHeads(name, value string) bool {
	if !slices.Contains([]string{"n_head_kv", "n_kv_head", "num_kv_heads", "num_key_value_heads"},
		name) {
		return false
	}
	heads := DefaultConfig().Head
	if k.integer(&heads, "n_head", "num_attention_heads") != nil {
		return false
	}
	return value == fmt.Sprint(heads)
}

// UnknownKeys returns the keys of a config.json with "model_type": "gpt2" that neither ParseConfig
// nor Hugging Face's library knows, in their order, but for those that are null, false or empty.
// Of other JSON it returns none.
func UnknownKeys(b []byte) (names []string) {
	isGPT2 := false
	err := strictjson.Members(b, func(key string, value json.RawMessage) error {
		isGPT2 = isGPT2 || key == "model_type" && string(value) == `"gpt2"`
		if !isKnown(key) && !empty(value) {
			names = append(names, key)
		}
		return nil
	})
	if err != nil || !isGPT2 {
		return nil
	}
	return names
}

// isKnown reports whether a key is one that is read or refused, or that says nothing of the
// arithmetic: how the model was trained, what a program that loads it does, how texts are chosen.
func isKnown(key string) bool {
	for _, beginning := range []string{"_", "summary_", "output_", "tf_", "torch", "transformers",
		"unsloth_", "use_flash"} {
		if strings.HasPrefix(key, beginning) {
			return true
		}
	}
	for _, end := range []string{"_token_id", "_token_ids", "_token", "_tokens", "_pdrop",
		"dropout"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	switch key {
	case "vocab_size", "n_positions", "max_position_embeddings", "n_ctx", "n_embd", "hidden_size",
		"n_layer", "num_hidden_layers", "n_head", "num_attention_heads", "n_inner",
		"activation_function", "layer_norm_epsilon", "scale_attn_weights",
		"scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "tie_word_embeddings",
		"architectures":
		return true // what ParseConfig reads
	case "initializer_range", "dtype", "auto_map", "id2label", "label2id", "num_labels",
		"problem_type", "finetuning_task", "task_specific_params", "prefix", "tokenizer_class",
		"gradient_checkpointing", "return_dict", "is_decoder", "chunk_size_feed_forward",
		"cross_attention_hidden_size", "tie_encoder_decoder", "use_bfloat16", "xla_device",
		"attn_implementation", "loss_type", "n_special", "n_vocab", "vocab_file", "vocab_files",
		"adapters", "name_or_path", "model_name", "language", "custom_pipelines",
		"use_return_dict", "trust_remote_code", "generation_config":
		return true // what loads or trains it
	}
	if _, ok := choosing()[key]; ok || slices.Contains(harmless[:], key) {
		return true // how texts are chosen
	}
	return slices.ContainsFunc(refusals(), func(r refusal) bool { return r.covers(key) })
}
