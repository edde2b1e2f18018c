package checkpoint

// The adapter_config.json of PEFT: which low-rank products are added to which weights, how strongly,
// and what else an adapter of other kinds would compute.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// An adapterConfig is what an adapter_config.json says of a LoRA adapter.
type adapterConfig struct {
	base  string // the model that it was trained on, NAME or NAME@REVISION, "" if none is said
	rank  float64
	alpha float64
	root  bool // use_rslora: the scale is α/√r

	ranks, alphas []pattern // that differ, the first that matches counts
	targets       targets

	labels  json.RawMessage // id2label, which names the outputs of a head; nil: none
	unknown []string        // keys that PEFT does not write, with a value
}

// A pattern gives the modules whose name ends with a match of a regular expression a value.
type pattern struct {
	name  *regexp.Regexp
	value float64
}

// AdapterBase returns the name of the model that the LoRA adapter at path was trained on, with
// @REVISION if its adapter_config.json has one besides main, "" if it names none. path is the
// adapter's folder, or a file in it. The error is fs.ErrNotExist if there is no adapter.
func AdapterBase(path string) (string, error) {
	fsys, _, err := folder.Split(path)
	if err != nil {
		return "", err
	}
	c, err := readAdapterConfig(fsys)
	return c.base, err
}

// readAdapterConfig reads the config of the adapter in fsys. Errors name the file.
func readAdapterConfig(fsys fs.FS) (c adapterConfig, err error) {
	const most = 1 << 20
	text, err := folder.Read(fsys, folder.AdapterConfig, most)
	if err == nil {
		c, err = parseAdapterConfig(text)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", folder.Path(fsys, folder.AdapterConfig), err)
	}
	return c, err
}

// parseAdapterConfig reads an adapter_config.json. A key that asks for other arithmetic than LoRA's
// is an error that names it.
func parseAdapterConfig(text []byte) (adapterConfig, error) {
	c := adapterConfig{rank: 8, alpha: 8} // PEFT's defaults
	kind, revision := "", ""
	var refused error // the kind says more
	err := strictjson.Members(text, func(key string, value json.RawMessage) (err error) {
		if string(value) == "null" {
			return nil
		}
		switch key {
		case "peft_type":
			err = json.Unmarshal(value, &kind)
		case "base_model_name_or_path":
			err = json.Unmarshal(value, &c.base)
		case "revision":
			err = json.Unmarshal(value, &revision)
		case "r":
			err = json.Unmarshal(value, &c.rank)
		case "lora_alpha":
			err = json.Unmarshal(value, &c.alpha)
		case "use_rslora":
			err = json.Unmarshal(value, &c.root)
		case "rank_pattern":
			c.ranks, err = parsePatterns(value)
		case "alpha_pattern":
			c.alphas, err = parsePatterns(value)
		case "id2label":
			c.labels = bytes.Clone(value)
		default:
			var taken bool
			if taken, err = c.targets.take(key, value); !taken && err == nil {
				refused = cmp.Or(refused, c.pass(key, string(value)))
			}
		}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			err = fmt.Errorf("want a %s, found a %s", jsonKind(wrong.Type.Kind()), wrong.Value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		return err
	})
	switch {
	case err != nil:
		return c, err
	case kind == "":
		return c, errors.New("peft_type: missing, want LORA")
	case kind != "LORA":
		return c, fmt.Errorf("peft_type: %s, want LORA: adapters of other kinds are not supported",
			quote.Plain(kind, 40))
	}
	if c.base != "" && revision != "" && revision != "main" {
		c.base += "@" + revision
	}
	return c, cmp.Or(refused, c.check(), c.targets.check())
}

// jsonKind is what JSON calls a value of a Go type.
func jsonKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of strings"
	}
	return "string"
}

// check checks values that the types allow.
func (c *adapterConfig) check() error {
	if !isRank(c.rank) {
		return fmt.Errorf("r: %v, want a whole number, 1 or more", c.rank)
	}
	for _, p := range c.ranks {
		if !isRank(p.value) {
			return fmt.Errorf("rank_pattern: %v, want whole numbers, 1 or more", p.value)
		}
	}
	if len(c.base) > 1000 || strings.ContainsFunc(c.base, func(r rune) bool {
		return !unicode.IsPrint(r)
	}) {
		return fmt.Errorf("base_model_name_or_path: %s, want a name or a path",
			quote.Plain(c.base, 40))
	}
	return nil
}

func isRank(r float64) bool { return r >= 1 && r <= math.MaxInt32 && r == math.Trunc(r) }

// parsePatterns reads an object of regular expressions with a number each, in their order.
func parsePatterns(text []byte) (all []pattern, err error) {
	const most = 1000 // GPT-2's largest has 195 modules
	err = strictjson.Members(text, func(key string, value json.RawMessage) error {
		p := pattern{}
		if err := json.Unmarshal(value, &p.value); err != nil {
			return fmt.Errorf("%s: want a number", quote.Plain(key, 40))
		}
		// as PEFT matches them: at the end of a module's name, after a dot or at its start
		var err error
		if p.name, err = pythons(`^(?:.*\.)?(?:`, key, `)$`); err != nil {
			return err
		}
		if all = append(all, p); len(all) > most {
			return fmt.Errorf("more than %d patterns", most)
		}
		return nil
	})
	return all, err
}

// of returns the value of the first pattern that matches a module's name, or the usual value.
func of(patterns []pattern, module string, usual float64) float64 {
	for _, p := range patterns {
		if p.name.MatchString(module) {
			return p.value
		}
	}
	return usual
}

// rankOf returns the rank of a module's product.
func (c *adapterConfig) rankOf(module string) int { return int(of(c.ranks, module, c.rank)) }

// scaleOf returns what a module's product is multiplied by: α/r, or α/√r with rank stabilization.
func (c *adapterConfig) scaleOf(module string) float64 {
	r, alpha := of(c.ranks, module, c.rank), of(c.alphas, module, c.alpha)
	if c.root {
		return alpha / math.Sqrt(r)
	}
	return alpha / r
}

// pass returns an error for a key that changes the arithmetic. PEFT writes all keys, most of them
// null, false or empty. Others say how the adapter was trained, and those that are not known are
// kept for a note.
func (c *adapterConfig) pass(key, value string) error {
	if slices.Contains([]string{"false", "{}", "[]", `""`}, value) {
		return nil
	}
	why := "not supported"
	switch key {
	case "task_type", "auto_mapping", "peft_version", "inference_mode", "lora_dropout",
		"fan_in_fan_out", "bias", "qalora_group_size", "megatron_core", "megatron_config",
		"loftq_config", "eva_config", "corda_config", "lora_ga_config", "runtime_config",
		"enable_lora", "merge_weights", "unsloth_fixed":
		return nil
	case "use_dora":
		why = "DoRA, which also divides by the norms of columns, is not supported"
	case "trainable_token_indices":
		why = "embeddings of single tokens are not supported: merge the adapter with PEFT"
	case "lora_bias", "layer_replication", "target_parameters", "alora_invocation_tokens",
		"alora_invocation_string":
	case "ensure_weight_tying":
		why = "embeddings that are trained and tied are not supported: merge the adapter with PEFT"
	case "init_lora_weights":
		return checkInit(value)
	default:
		// what later versions of PEFT may add to LoRA
		if !strings.HasPrefix(key, "use_") && !strings.HasSuffix(key, "_config") {
			c.unknown = append(c.unknown, key)
			return nil
		}
	}
	return fmt.Errorf("%s: %s: %s", quote.Plain(key, 40), quote.Plain(value, 40), why)
}

// checkInit refuses ways to begin a training that change the base's weights.
func checkInit(value string) error {
	name := strings.ToLower(strings.Trim(value, `"`))
	kept := []string{"true", "gaussian", "eva", "orthogonal", "mica"}
	changed := []string{"pissa", "olora", "corda", "loftq", "lora_ga"}
	why := "not a way to begin that is known"
	switch {
	case slices.Contains(kept, name):
		return nil
	case slices.ContainsFunc(changed, func(s string) bool { return strings.HasPrefix(name, s) }):
		// they begin with a part of the base's weights, and take it away there
		why = "the training also changed the base's weights, which are not in the adapter: convert " +
			"it with PEFT's path_initial_model_for_weight_conversion"
	}
	return fmt.Errorf("init_lora_weights: %s: %s", quote.Plain(value, 40), why)
}
