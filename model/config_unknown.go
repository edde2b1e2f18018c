// Keys of config.json that nobody here knows, so that they can be told.

package model

import (
	"encoding/json"
	"slices"
	"strings"

	"picogpt/internal/strictjson"
)

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
	for _, end := range []string{"_token_id", "_token_ids", "_token", "_tokens", "_pdrop", "dropout"} {
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
	return slices.ContainsFunc(refusals(), func(r refusal) bool {
		return key == r.name || strings.HasSuffix(r.name, "_") && strings.HasPrefix(key, r.name)
	})
}
