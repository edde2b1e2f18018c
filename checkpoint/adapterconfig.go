// The adapter_config.json of PEFT: which low-rank products are added to which weights, how strongly,
// and what else an adapter of other kinds would compute.

package checkpoint

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

// An adapterConfig is what an adapter_config.json says of an adapter.
type adapterConfig struct {
	base  string // the model that it was trained on, NAME or NAME@REVISION, "" if none is said
	rank  float64
	alpha float64
	root  bool // use_rslora: the scale is α/√r

	patterns map[string][]pattern // by their keys; the first that matches counts
	feeds    names                // feedforward_modules
	targets  targets

	labels  json.RawMessage // id2label, which names the outputs of a head; nil: none
	unknown []string        // keys that PEFT does not write, with a value

	name   string // peft_type
	kind   *kind
	values map[string]json.RawMessage // the kind's own keys
}

// A pattern gives the modules whose name ends with a match of a regular expression a value.
type pattern struct {
	name  *regexp.Regexp
	value float64
}

// AdapterBase returns the name of the model that the adapter at path was trained on, with
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

// parseAdapterConfig reads an adapter_config.json. A key that asks for other arithmetic than the
// kind's is an error that names it.
func parseAdapterConfig(text []byte) (adapterConfig, error) {
	// PEFT's defaults
	c := adapterConfig{rank: 8, alpha: 8, feeds: names{list: []string{"mlp.c_proj"}},
		values: map[string]json.RawMessage{}, patterns: map[string][]pattern{}}
	revision := ""
	var refused error // what the kind says is more
	all, err := strictjson.Map(text)
	if v := all["peft_type"]; err == nil && v != nil && json.Unmarshal(v, &c.name) != nil {
		err = errors.New("peft_type: want a string")
	}
	if err == nil {
		c.kind, err = kindNamed(c.name)
	}
	if err != nil {
		return c, err
	}
	values := map[string]any{"base_model_name_or_path": &c.base, "revision": &revision}
	if c.name == "LORA" {
		values["r"], values["lora_alpha"], values["use_rslora"] = &c.rank, &c.alpha, &c.root
	}
	err = strictjson.Members(text, func(key string, value json.RawMessage) (err error) {
		if string(value) == "null" {
			return nil
		}
		switch {
		case key == "peft_type":
		case values[key] != nil:
			err = json.Unmarshal(value, values[key])
		case key == "id2label":
			c.labels = bytes.Clone(value)
		case listed(c.kind.fields, key):
			switch {
			case strings.HasSuffix(key, "_pattern") && c.name != "ADALORA":
				c.patterns[key], err = parsePatterns(value)
			case key == "feedforward_modules":
				c.feeds, err = parseNames(value)
			default:
				c.values[key] = bytes.Clone(value)
			}
		default:
			var taken bool
			if taken, err = c.targets.take(key, value); !taken && err == nil {
				refused = cmp.Or(refused, c.pass(key, string(value)))
			}
		}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			kind := map[reflect.Kind]string{reflect.Bool: "bool", reflect.Float64: "number",
				reflect.Slice: "list of strings", reflect.String: "string"}[wrong.Type.Kind()]
			err = fmt.Errorf("want a %s, found a %s", kind, wrong.Value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		return err
	})
	if err != nil {
		return c, err
	}
	if c.base != "" && revision != "" && revision != "main" {
		c.base += "@" + revision
	}
	return c, cmp.Or(refused, c.check(), c.targets.check(strings.Fields(c.kind.targets)))
}

// check checks values that the types allow.
func (c *adapterConfig) check() error {
	if !isRank(c.rank) {
		return fmt.Errorf("r: %v, want a whole number, 1 or more", c.rank)
	}
	for _, p := range c.patterns["rank_pattern"] {
		if !isRank(p.value) {
			return fmt.Errorf("rank_pattern: %v, want whole numbers, 1 or more", p.value)
		}
	}
	if err := checkInit(cmp.Or(string(c.values["init_lora_weights"]), "true")); err != nil {
		return err
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
func (c *adapterConfig) rankOf(module string) int {
	return int(of(c.patterns["rank_pattern"], module, c.rank))
}

// scaleOf returns what a module's product is multiplied by: α/r, or α/√r with rank stabilization.
func (c *adapterConfig) scaleOf(module string) float64 {
	r, alpha := float64(c.rankOf(module)), of(c.patterns["alpha_pattern"], module, c.alpha)
	if c.root {
		return alpha / math.Sqrt(r)
	}
	return alpha / r
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

// isTrue reports whether one of the kind's keys is true.
func (c *adapterConfig) isTrue(key string) bool { return string(c.values[key]) == "true" }

// only returns one of the kind's keys, a name, or PEFT's default, the first. It refuses others.
func (c *adapterConfig) only(key string, names ...string) string {
	value := cmp.Or(strings.Trim(string(c.values[key]), `"`), names[0])
	if !slices.Contains(names, value) {
		failConfig("%s: %s: not supported, want %s: PEFT's merge_and_unload makes a checkpoint "+
			"of it", key, quote.Plain(value, 40), strings.Join(names, " or "))
	}
	return value
}

// number returns one of the kind's keys, a number, or PEFT's default.
func (c *adapterConfig) number(key string, usual float64) float64 {
	value, ok := c.values[key]
	if ok && json.Unmarshal(value, &usual) != nil {
		failConfig("%s: %s, want a number", key, quote.Plain(string(value), 40))
	}
	return usual
}

// whole returns one of the kind's keys, a whole number from least on, or PEFT's default.
func (c *adapterConfig) whole(key string, usual, least int) int {
	x := c.number(key, float64(usual))
	if x != math.Trunc(x) || x < float64(least) || x > math.MaxInt32 {
		failConfig("%s: %v, want a whole number, %d or more", key, x, least)
	}
	return int(x)
}

// listed reports whether a list of words has one.
func listed(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// pass returns an error for a key that is none of the kind's, or that asks for what is not computed.
// PEFT writes all keys, most of them null, false or empty. Others say how the adapter was trained,
// and those of LoRA that are not known are kept for a note.
func (c *adapterConfig) pass(key, value string) error {
	const common = "task_type auto_mapping peft_version inference_mode fan_in_fan_out bias " +
		"runtime_config"
	if slices.Contains([]string{"false", "{}", "[]", `""`}, value) ||
		listed(common, key) || listed(c.kind.passed, key) {
		return nil
	}
	why := "not supported"
	switch {
	case c.name != "LORA":
		if strings.HasPrefix(key, "init_") || strings.HasSuffix(key, "_dropout") ||
			value == "0" || value == "0.0" {
			return nil
		}
		why = "not supported with " + c.name
	case key == "layer_replication":
		why = "not supported: PEFT's merge_and_unload makes a checkpoint of it"
	case strings.HasPrefix(key, "alora_invocation_"):
		why = "aLoRA begins within a text: no merged weights have its logits"
	case !strings.HasPrefix(key, "use_") && !strings.HasSuffix(key, "_config"):
		c.unknown = append(c.unknown, key)
		return nil
	} // else what later versions of PEFT may add to LoRA
	return fmt.Errorf("%s: %s: %s", quote.Plain(key, 40), quote.Plain(value, 40), why)
}

// checkInit refuses ways to begin a training that change the base's weights.
func checkInit(value string) error {
	name := strings.ToLower(strings.Trim(value, `"`))
	changed := []string{"pissa", "olora", "corda", "loftq", "lora_ga"}
	why := "not a way to begin that is known"
	switch {
	case listed("true false gaussian eva orthogonal mica", name):
		return nil
	case slices.ContainsFunc(changed, func(s string) bool { return strings.HasPrefix(name, s) }):
		// they begin with a part of the base's weights, and take it away there
		why = "the training also changed the base's weights, which are not in the adapter: " +
			"convert it with PEFT's path_initial_model_for_weight_conversion"
	}
	return fmt.Errorf("init_lora_weights: %s: %s", quote.Plain(value, 40), why)
}
