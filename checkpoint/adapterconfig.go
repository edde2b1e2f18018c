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
	"regexp/syntax"
	"slices"
	"strconv"
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
	c := adapterConfig{rank: 8, alpha: 8, feeds: names{list: []string{"mlp.c_proj"}}, // PEFT's defaults
		values: map[string]json.RawMessage{}, patterns: map[string][]pattern{}}
	revision := ""
	var refused error // what the kind says is more
	err := strictjson.Members(text, func(key string, value json.RawMessage) (err error) {
		if key == "peft_type" && string(value) != "null" {
			if err = json.Unmarshal(value, &c.name); err != nil {
				err = errors.New("peft_type: want a string")
			}
		}
		return err
	})
	if err == nil {
		c.kind, err = kindNamed(c.name)
	}
	if err != nil {
		return c, err
	}
	isLoRA := c.name == "LORA"
	err = strictjson.Members(text, func(key string, value json.RawMessage) (err error) {
		if string(value) == "null" {
			return nil
		}
		switch {
		case key == "peft_type":
		case key == "base_model_name_or_path":
			err = json.Unmarshal(value, &c.base)
		case key == "revision":
			err = json.Unmarshal(value, &revision)
		case key == "id2label":
			c.labels = bytes.Clone(value)
		case key == "r" && isLoRA:
			err = json.Unmarshal(value, &c.rank)
		case key == "lora_alpha" && isLoRA:
			err = json.Unmarshal(value, &c.alpha)
		case key == "use_rslora" && isLoRA:
			err = json.Unmarshal(value, &c.root)
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
			err = fmt.Errorf("want a %s, found a %s", jsonKind(wrong.Type.Kind()), wrong.Value)
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
	for _, p := range c.patterns["rank_pattern"] {
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
	case key == "init_lora_weights":
		return checkInit(value)
	case !strings.HasPrefix(key, "use_") && !strings.HasSuffix(key, "_config"):
		c.unknown = append(c.unknown, key)
		return nil
	} // else what later versions of PEFT may add to LoRA
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

// Which modules an adapter_config.json names: target_modules, exclude_modules, layers_to_transform,
// layers_pattern and modules_to_save, as PEFT's check_target_module_exists reads them.

// targets say which modules of a model have products.
type targets struct {
	of, except names
	allLinear  bool             // every layer but the head
	layers     []int            // none: all
	layer      []*regexp.Regexp // whose first group is a module's layer; the first that matches counts
	saves      []string         // modules_to_save: whole tensors beside the stack
	parameters names            // target_parameters: weights whose products are [rows, columns]
	classifies bool             // task_type: SEQ_CLS, whose head is trained whole
}

// names are a list of modules, or a regular expression for whole names.
type names struct {
	list    []string
	pattern *regexp.Regexp // nil for a list
	ahead   []ahead        // what its beginning asks for
}

// An ahead is Python's (?=…) or (?!…) at the beginning of a regular expression, which Go's do not
// have.
type ahead struct {
	pattern *regexp.Regexp
	want    bool
}

// has reports whether a module is named.
func (n names) has(module string) bool {
	if n.pattern != nil {
		return n.pattern.MatchString(module) && !slices.ContainsFunc(n.ahead, func(a ahead) bool {
			return a.pattern.MatchString(module) != a.want
		})
	}
	return slices.ContainsFunc(n.list, func(name string) bool {
		return module == name || strings.HasSuffix(module, "."+name)
	})
}

// take reads one key, and reports whether it is one of these.
func (t *targets) take(key string, value json.RawMessage) (taken bool, err error) {
	const allLinear = `"all-linear"`
	switch key {
	case "target_modules":
		if t.allLinear = strings.EqualFold(string(value), allLinear); !t.allLinear {
			t.of, err = parseNames(value)
		}
	case "exclude_modules":
		t.except, err = parseNames(value)
	case "layers_to_transform":
		if parseList(value, &t.layers) != nil {
			err = errors.New("want a whole number or a list of them")
		}
	case "layers_pattern":
		err = t.takeLayerPatterns(value)
	case "modules_to_save":
		err = json.Unmarshal(value, &t.saves)
	case "target_parameters":
		err = json.Unmarshal(value, &t.parameters.list)
	case "task_type":
		t.classifies = string(value) == `"SEQ_CLS"`
		return false, nil
	default:
		return false, nil
	}
	return true, err
}

// parseNames reads a list of strings, or a string, which is a regular expression.
func parseNames(value json.RawMessage) (n names, err error) {
	if value[0] != '"' {
		return n, json.Unmarshal(value, &n.list)
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return n, err
	}
	rest := strings.TrimPrefix(text, "^")
	for strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?=") {
		end := outside(rest[3:], ')')
		if end < 0 || outside(rest[3+end+1:], '|') >= 0 || len(n.ahead) == 8 {
			break // pythons returns an error
		}
		a := ahead{want: rest[2] == '='}
		if a.pattern, err = pythons("^(?:", rest[3:3+end], ")"); err != nil {
			return n, err
		}
		n.ahead, rest = append(n.ahead, a), rest[3+end+1:]
	}
	n.pattern, err = pythons("^(?:", rest, ")$")
	return n, err
}

// outside returns the index of the first c in a regular expression that is in no group or class, or
// -1.
func outside(text string, c byte) int {
	depth, inClass := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case inClass:
			inClass = text[i] != ']'
		case text[i] == c && depth == 0:
			return i
		case text[i] == '[':
			inClass = true
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		}
	}
	return -1
}

// pythons compiles a regular expression of a config between others. Python's that Go does not have
// are errors, and so is what could take much memory.
func pythons(before, text, after string) (*regexp.Regexp, error) {
	const longest, repeated, program = 1000, 100, 500 // bytes, and instructions of repetitions
	fail := fmt.Errorf("%s: not a regular expression that is supported: want no (?=, \\1 or "+
		"many repetitions", quote.Plain(text, 40))
	if len(text) > longest || strings.Contains(text, "{") && len(text) > repeated {
		return nil, fail
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fail
	}
	code, err := syntax.Compile(tree.Simplify())
	if err != nil || strings.Contains(text, "{") && len(code.Inst) > program {
		return nil, fail
	}
	re, err := regexp.Compile(before + text + after)
	if err != nil {
		return nil, fail
	}
	return re, nil
}

// takeLayerPatterns reads what stands before a layer's number: a regular expression or a list.
func (t *targets) takeLayerPatterns(value json.RawMessage) error {
	var all []string
	if err := parseList(value, &all); err != nil {
		return err
	}
	if len(all) > 100 {
		return fmt.Errorf("%d patterns, want at most 100", len(all))
	}
	for _, text := range all {
		if text == "" {
			continue
		}
		re, err := pythons(`^(?:|.*?\.)(?:`, text, `)\.(?P<layer>\d+)\.`)
		if err != nil {
			return err
		}
		t.layer = append(t.layer, re)
	}
	return nil
}

// parseList reads a list, or one of its elements.
func parseList(value json.RawMessage, list any) error {
	if value[0] != '[' {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	return json.Unmarshal(value, list)
}

// check checks what the keys say together, and sets what PEFT does where they say nothing.
func (t *targets) check(usual []string) error {
	isText := t.allLinear || t.of.pattern != nil
	switch {
	case isText && len(t.layers) > 0:
		return errors.New("layers_to_transform: not with target_modules that is one string")
	case isText && len(t.layer) > 0:
		return errors.New("layers_pattern: not with target_modules that is one string")
	case len(t.layer) > 0 && len(t.layers) == 0:
		return errors.New("layers_pattern: not without layers_to_transform")
	}
	if len(t.layers) > 0 && len(t.layer) == 0 {
		t.layer = []*regexp.Regexp{regexp.MustCompile(`^.*?\.[^.]*\.(?P<layer>\d+)\.`)}
	}
	if !isText && t.of.list == nil {
		t.of.list = usual // PEFT's own choice for GPT-2
	}
	return nil
}

// has reports whether a module has a product.
func (t *targets) has(module string) bool {
	switch {
	case t.parameters.has(module + ".weight"):
		return true
	case t.except.has(module) || t.isSaved(module):
		return false
	case t.allLinear:
		return !slices.Contains([]string{"transformer.wte", "transformer.wpe", "wte", "wpe", "lm_head"},
			module) && !(t.classifies && module == "score")
	}
	return t.of.has(module) && (len(t.layers) == 0 || slices.Contains(t.of.list, module) ||
		t.isInLayers(module)) // a whole name says its layer itself
}

// isInLayers reports whether a module is in one of the layers.
func (t *targets) isInLayers(module string) bool {
	for _, re := range t.layer {
		if m := re.FindStringSubmatch(module); m != nil {
			n, err := strconv.Atoi(m[re.SubexpIndex("layer")])
			return err == nil && slices.Contains(t.layers, n)
		}
	}
	return false
}

// isSaved reports whether a module, or one that it is in, was trained whole.
func (t *targets) isSaved(module string) bool {
	return slices.ContainsFunc(t.saves, func(name string) bool {
		return strings.Contains("."+module+".", "."+name+".")
	})
}
