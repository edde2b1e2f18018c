// Which modules an adapter_config.json names: target_modules, exclude_modules, layers_to_transform,
// layers_pattern and modules_to_save, as PEFT's check_target_module_exists reads them; and whether
// the base has them.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/weights"
)

// targets say which modules of a model have products.
type targets struct {
	of, except names
	allLinear  bool             // every layer but the head
	layers     []int            // none: all
	layer      []*regexp.Regexp // whose group is a module's layer; the first match counts
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
		return !listed("transformer.wte transformer.wpe wte wpe lm_head", module) &&
			!(t.classifies && module == "score")
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

// hasTarget reports whether the config of an adapter names a module of the base, as its own layers
// are named.
func (m *merging) hasTarget(o *openAdapter) bool {
	prefix := ""
	if strings.HasPrefix(o.left[0], "transformer.") {
		prefix = "transformer."
	}
	return slices.ContainsFunc(m.base.All(), func(t weights.Tensor) bool {
		module := strings.TrimSuffix(strings.TrimPrefix(t.Name, m.prefix), ".weight")
		return len(t.Shape) == 2 && o.config.targets.has(prefix+module)
	})
}

const onlyLinear = "not supported: PEFT attaches it to nn.Linear alone, in GPT-2 lm_head and score"

// attaches refuses a config of one of these kinds that names another module of the base. OFT has
// embeddings too.
func (m *merging) attaches(o *openAdapter) {
	for _, t := range m.base.All() {
		module, ok := strings.CutSuffix(strings.TrimPrefix(t.Name, m.prefix), ".weight")
		named := o.config.targets.has(module) || o.config.targets.has("transformer."+module)
		is := m.layout(t.Name)
		linear := len(t.Shape) == 2 && (is == outIn || is == lookup && o.config.name == "OFT")
		if ok && named && !linear {
			failConfig("target_modules: %s of %s: %s", quote.Plain(module, 80), o.config.name, onlyLinear)
		}
	}
}

// moduleOrder returns where a module or its weight stands in the model.
func moduleOrder(name string) int {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "transformer."), ".weight")
	number, rest, _ := strings.Cut(strings.TrimPrefix(name, "h."), ".")
	if block, err := strconv.Atoi(number); err == nil {
		return 10*(block+1) + slices.Index([]string{"attn.c_attn", "attn.c_proj", "mlp.c_fc"}, rest)&3
	}
	if at := slices.Index([]string{"wte", "wpe"}, name); at >= 0 {
		return at
	}
	return math.MaxInt // a head
}
