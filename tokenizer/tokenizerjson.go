// tokenizer.json, the one-file form of Hugging Face's tokenizers library: byte-level BPE as GPT-2's, and nothing else.

package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parseTokenizerJSON builds a Tokenizer from a tokenizer.json. What would change ids in a way this package does not
// follow is refused by name; post-processing that adds nothing, decoders that are the inverse of the byte alphabet, and
// the cutting and padding of batches are accepted.
func parseTokenizerJSON(name, data string) (*Tokenizer, error) {
	top := &scanner{name: name, data: data}
	members, err := top.members()
	if err == nil {
		err = top.end()
	}
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		switch key {
		case "model", "added_tokens", "pre_tokenizer":
		case "version", "truncation", "padding":
			err = value.valid()
		case "normalizer":
			err = onlyType(value, key, "")
		case "post_processor", "decoder":
			err = onlyType(value, key, "ByteLevel")
		default:
			err = refuse(value, key)
		}
		if err != nil {
			return nil, err
		}
	}
	rules, err := preTokenizer(name, members["pre_tokenizer"])
	if err != nil {
		return nil, err
	}
	v, err := bpeModel(name, members["model"])
	if err != nil {
		return nil, err
	}
	if err := v.readAdded(members["added_tokens"]); err != nil {
		return nil, err
	}
	t, err := v.tokenizer(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// A component is a normalizer, pre-tokenizer, post-processor or decoder.
type component struct {
	Type           string
	Normalizers    []component
	PreTokenizers  []component `json:"pretokenizers"`
	AddPrefixSpace bool        `json:"add_prefix_space"`
	UseRegex       *bool       `json:"use_regex"`
	Pattern        struct{ String, Regex *string }
	Behavior       string
	Invert         bool
}

// onlyType refuses a component of another type than the one wanted. One that is not there, or a sequence of none, is
// none.
func onlyType(s *scanner, key, want string) error {
	if s.idle() {
		return nil
	}
	var c component
	if err := s.unmarshal(&c); err != nil {
		return err
	}
	if c.Type == want || c.Type == "Sequence" && key == "normalizer" && len(c.Normalizers) == 0 {
		return nil
	}
	if want == "" {
		return fmt.Errorf("%s: %s: type %s, want none", s.name, key, short(c.Type))
	}
	return fmt.Errorf("%s: %s: type %s, want %q or none", s.name, key, short(c.Type), want)
}

// refuse refuses a member that this package does not know, unless it switches something off.
func refuse(s *scanner, key string) error {
	if s.idle() {
		return nil
	}
	return fmt.Errorf("%s: %s: %s is not supported, want none", s.name, plain(key), plain(s.text()))
}

// preTokenizer reads the rules for splitting: ByteLevel, alone or after a Split with GPT-2's own pattern.
func preTokenizer(name string, s *scanner) (splitting, error) {
	fail := func(format string, args ...any) (splitting, error) {
		return splitting{}, fmt.Errorf("%s: pre_tokenizer: %s", name, fmt.Sprintf(format, args...))
	}
	if s.idle() {
		return fail("none, want \"ByteLevel\"")
	}
	var c component
	if err := s.unmarshal(&c); err != nil {
		return splitting{}, err
	}
	steps := c.steps(nil)
	last := len(steps) - 1
	for i, step := range steps {
		switch {
		case step.Type == "ByteLevel" && i == last:
		case step.Type == "Split" && i == 0 && last == 1:
			if p := step.Pattern.Regex; p == nil || *p != gpt2Pattern && *p != gpt2PatternShort {
				return fail("Split with the pattern %s, want GPT-2's, %s", quoted(step.Pattern.Regex, step.Pattern.String), gpt2Pattern)
			}
			if step.Behavior != "Isolated" || step.Invert {
				return fail("Split with behavior %s, invert %t, want \"Isolated\", false", short(step.Behavior), step.Invert)
			}
		default:
			return fail("step %d is %s, want \"ByteLevel\", alone or after a \"Split\"", i, short(step.Type))
		}
	}
	if last < 0 {
		return fail("no steps, want \"ByteLevel\"")
	}
	bytes := steps[last]
	regex := bytes.UseRegex == nil || *bytes.UseRegex
	if last == 1 && (regex || bytes.AddPrefixSpace) {
		return fail("ByteLevel after Split with use_regex %t, add_prefix_space %t, want false for both", regex, bytes.AddPrefixSpace)
	}
	return splitting{whole: !regex && last == 0, prefixSpace: bytes.AddPrefixSpace}, nil
}

// steps appends the component's steps to list, sequences flattened.
func (c *component) steps(list []component) []component {
	if c.Type != "Sequence" {
		return append(list, *c)
	}
	for i := range c.PreTokenizers {
		list = c.PreTokenizers[i].steps(list)
	}
	return list
}

// quoted quotes the first string that is there.
func quoted(texts ...*string) string {
	for _, text := range texts {
		if text != nil {
			return short(*text)
		}
	}
	return "none"
}

// bpeModel reads the member model.
func bpeModel(name string, s *scanner) (*vocabulary, error) {
	if s == nil {
		return nil, fmt.Errorf("%s: no model", name)
	}
	members, err := s.members()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		switch key {
		case "vocab", "merges":
		case "unk_token", "fuse_unk": // for bytes without a token, which Encode refuses
			err = value.valid()
		case "type":
			if value.text() != `"BPE"` {
				err = fmt.Errorf("%s: model.type: %s, want \"BPE\"", name, plain(value.text()))
			}
		default: // dropout, continuing_subword_prefix, end_of_word_suffix, byte_fallback, ignore_merges
			err = refuse(value, "model."+key)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"vocab", "merges"} {
		if members[key] == nil {
			return nil, fmt.Errorf("%s: no model.%s", name, key)
		}
	}
	v, err := readVocab("model.vocab", members["vocab"])
	if err != nil {
		return nil, err
	}
	return v, v.readMerges(members["merges"])
}

// readMerges reads an array of merges, each "left right" or ["left", "right"].
func (v *vocabulary) readMerges(s *scanner) error {
	err := s.array(func(i int) error {
		left, right, err := mergePair(s)
		if err != nil {
			return err
		}
		if err := v.addMerge(left, right); err != nil {
			return fmt.Errorf("%s: model.merges[%d]: %w", s.name, i, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.end()
}

func mergePair(s *scanner) (left, right string, err error) {
	if s.peek() != '[' {
		pair, err := s.str()
		if err != nil {
			return "", "", err
		}
		left, right, ok := strings.Cut(pair, " ")
		if !ok || strings.Contains(right, " ") {
			return "", "", s.errorf("%s: want two tokens with a space between", short(pair))
		}
		return left, right, nil
	}
	n := 0
	err = s.array(func(i int) error {
		token, err := s.str()
		left, right, n = right, token, i+1
		return err
	})
	if err == nil && n != 2 {
		err = s.errorf("a merge of %d tokens, want 2", n)
	}
	return left, right, err
}

// readAdded reads added_tokens. Tokens that are not special are found in any text, as Hugging Face does.
func (v *vocabulary) readAdded(s *scanner) error {
	if s.idle() {
		return nil
	}
	err := s.array(func(i int) error {
		element, err := s.value()
		if err != nil {
			return err
		}
		if err := v.readAddedToken(element); err != nil {
			return fmt.Errorf("%s: added_tokens[%d]: %w", s.name, i, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.end()
}

func (v *vocabulary) readAddedToken(s *scanner) error {
	var token struct {
		ID         *int
		Content    string
		Special    bool
		SingleWord bool `json:"single_word"`
		LStrip     bool
		RStrip     bool
	}
	if err := json.Unmarshal([]byte(s.text()), &token); err != nil {
		return err
	}
	if token.ID == nil || *token.ID < 0 || *token.ID >= maxIDs {
		return fmt.Errorf("no id from 0 to %d", maxIDs-1)
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"single_word", token.SingleWord}, {"lstrip", token.LStrip}, {"rstrip", token.RStrip}} {
		if flag.set {
			return fmt.Errorf("%s: %s is not supported, want false", short(token.Content), flag.name)
		}
	}
	return v.addToken(addedToken{text: token.Content, id: *token.ID, special: token.Special})
}
