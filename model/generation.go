package model

// Reading generation_config.json: which ids begin and end the texts that are made, and how the
// others are chosen.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A Generation is what a generation_config.json says of the texts that are made. Of the ids that
// begin and end them it outranks config.json. The zero value is that of a checkpoint without the
// file.
type Generation struct {
	BOSTokenID  *int  // nil: config.json's
	EOSTokenIDs []int // nil: config.json's; empty: no id ends a text

	// Sampling has the fields that say how tokens are chosen, as JSON, unless they say what
	// transformers does without them. They are read where texts are made, and are wrong only there.
	Sampling map[string]json.RawMessage `json:"-"`
}

// ParseGeneration reads a generation_config.json for a model of that vocabulary. As in Hugging
// Face's library, a file without eos_token_id, or with null, says that no id ends a text. Ids
// outside the vocabulary are left out: they can never be sampled. Errors begin with the key.
//
// others are the fields that ask for another choice of tokens and are not in Sampling, with their
// values where these are short: nothing here obeys them. Fields with the values that the library
// takes without the file, and those that only say how it computes, are none of them.
func ParseGeneration(b []byte, vocabulary int) (g Generation, others []string, err error) {
	if len(b) > maxConfig {
		return g, nil, fmt.Errorf("%d bytes, want at most %d", len(b), maxConfig)
	}
	keys := configKeys{}
	known := choosing()
	g.Sampling = map[string]json.RawMessage{}
	err = strictjson.Members(quoteNonNumbers(b), func(key string, value json.RawMessage) error {
		keys[key] = value
		neutral, ok := known[key]
		switch {
		case slices.Contains(harmless[:], key), sameNumber(string(value), neutral),
			is(value, "null", "[]"):
		case slices.Contains(taken[:], key):
			g.Sampling[key] = value
		case !empty(value):
			others = append(others, said(key, value, ok))
		}
		return nil
	})
	if err != nil {
		return g, nil, err
	}
	for _, name := range []string{"bos_token_id", "eos_token_id"} {
		if keys[name] == nil { // here, unlike in config.json, it means none
			keys[name] = json.RawMessage("null")
		}
	}
	bos, eos, err := keys.tokens(vocabulary)
	if err != nil {
		return g, nil, err
	}
	g.BOSTokenID, g.EOSTokenIDs = bos, append([]int{}, eos...)
	return g, others, nil
}

// quoteNonNumbers returns JSON with NaN, Infinity and -Infinity as strings: Python writes and reads
// them, as in a sequence_bias that bans a token, and JSON does not have them.
func quoteNonNumbers(b []byte) []byte {
	tokens := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|NaN|-?Infinity`)
	return tokens.ReplaceAllFunc(b, func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return fmt.Appendf(nil, "%q", token)
	})
}

// taken are the fields that options have: those of Generation.Sampling.
var taken = [...]string{
	"do_sample", "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff",
	"eta_cutoff", "repetition_penalty", "no_repeat_ngram_size", "suppress_tokens",
	"begin_suppress_tokens", "bad_words_ids", "min_new_tokens", "max_new_tokens",
}

// LegacyGeneration returns the fields of a config.json that ask for another choice of tokens, as
// ParseGeneration does. Hugging Face's library reads them where there is no generation_config.json.
func LegacyGeneration(config []byte) (others []string) {
	known := choosing()
	strictjson.Members(config, func(key string, value json.RawMessage) error {
		neutral, ok := known[key]
		if ok && !empty(value) && !sameNumber(string(value), neutral) {
			others = append(others, said(key, value, true))
		}
		return nil
	})
	return others
}

// choosing returns the fields of transformers' GenerationConfig (5.24) that say which tokens
// follow, each with the number that changes nothing, "" if there is none.
func choosing() map[string]string {
	return map[string]string{
		"max_length": "20", "max_new_tokens": "", "min_length": "0", "min_new_tokens": "0",
		"early_stopping": "", "max_time": "", "stop_strings": "", "do_sample": "", "num_beams": "1",
		"use_mtp": "", "temperature": "1", "top_k": "50", "top_p": "1", "min_p": "0", "top_h": "1",
		"typical_p": "1", "epsilon_cutoff": "0", "eta_cutoff": "0", "repetition_penalty": "1",
		"encoder_repetition_penalty": "1", "length_penalty": "1", "no_repeat_ngram_size": "0",
		"encoder_no_repeat_ngram_size": "0", "bad_words_ids": "", "renormalize_logits": "",
		"forced_bos_token_id": "", "forced_eos_token_id": "", "remove_invalid_values": "",
		"exponential_decay_length_penalty": "", "suppress_tokens": "",
		"begin_suppress_tokens": "", "forced_decoder_ids": "", "sequence_bias": "",
		"token_healing": "", "guidance_scale": "1", "watermarking_config": "",
		"num_return_sequences": "1", "penalty_alpha": "0", "dola_layers": "",
		"diversity_penalty": "0", "num_beam_groups": "1", "constraints": "", "force_words_ids": "",
	}
}

// harmless are the fields that change no token: ids that are read, and how the library computes,
// guesses and answers.
var harmless = [...]string{
	"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id",
	"transformers_version", "_from_model_config", "_commit_hash", "_original_object_hash",
	"use_cache", "cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size",
	"low_memory", "compile_config", "disable_compile", "continuous_batching_config",
	"output_attentions", "output_hidden_states", "output_scores", "output_logits",
	"return_dict_in_generate", "is_assistant", "num_assistant_tokens",
	"num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_early_exit",
	"assistant_lookbehind", "assistant_ensemble_weight", "target_lookbehind", "speculation_type",
	"prompt_lookup_num_tokens", "max_matching_ngram_size", "return_legacy_cache",
}

// empty reports whether a value says nothing: null, false, or an empty text, list or object.
func empty(value json.RawMessage) bool { return is(value, "null", "false", `""`, "[]", "{}") }

// is reports whether a value is one of these, without white space.
func is(value json.RawMessage, texts ...string) bool {
	return slices.Contains(texts, strings.Join(strings.Fields(string(value)), ""))
}

func sameNumber(value, neutral string) bool {
	x, err := strconv.ParseFloat(value, 64)
	y, none := strconv.ParseFloat(neutral, 64)
	return err == nil && none == nil && x == y
}

// said returns a field as it is told: with its value if that is short, and whether it is known.
func said(key string, value json.RawMessage, known bool) string {
	const most = 20 // bytes of a value
	s := quote.Plain(key, 40)
	if len(value) <= most {
		s += " " + show(value)
	}
	if !known {
		s += " (unknown)"
	}
	return s
}
