// tokenizer.json, the one-file form of Hugging Face's tokenizers library: byte-level BPE as
// GPT-2's, and nothing else.

package tokenizer

import (
	"errors"
	"fmt"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// parseTokenizerJSON builds a Tokenizer from a tokenizer.json. What would change ids in a way this
// package does not follow is refused by name; post-processing that adds nothing, decoders that are
// the inverse of the byte alphabet, and the cutting and padding of batches are accepted.
func parseTokenizerJSON(name, data string) (*Tokenizer, error) {
	t, err := readTokenizerJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func readTokenizerJSON(data string) (*Tokenizer, error) {
	var f tokenizerFile
	r := strictjson.NewReader(data)
	if err := r.Object(func(key string) error { return f.member(r, key) }); err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	rules, err := preTokenizer(f.preTokenizer)
	if err != nil {
		return nil, err
	}
	if err := f.complete(); err != nil {
		return nil, err
	}
	return f.vocab.tokenizer(rules)
}

// A tokenizerFile is what was read of a tokenizer.json.
type tokenizerFile struct {
	model               bool // is there
	vocab               *vocabulary
	merged              bool               // vocab has its merges
	merges              *strictjson.Reader // that came before the vocabulary
	added, preTokenizer *strictjson.Reader
}

// member reads a member of the whole.
func (f *tokenizerFile) member(r *strictjson.Reader, key string) error {
	if key == "model" { // large: it is read in place
		f.model = true
		return r.Object(func(key string) error { return f.modelMember(r, key) })
	}
	value, err := r.Value()
	if err != nil {
		return err
	}
	switch key {
	case "version", "truncation", "padding":
	case "added_tokens":
		f.added = value
	case "pre_tokenizer":
		f.preTokenizer = value
	case "normalizer":
		return onlyType(value, key, "")
	case "post_processor", "decoder":
		return onlyType(value, key, "ByteLevel")
	default:
		return refuse(value, key)
	}
	return nil
}

// modelMember reads a member of model.
func (f *tokenizerFile) modelMember(r *strictjson.Reader, key string) (err error) {
	switch {
	case key == "vocab":
		f.vocab, err = readVocab("model.vocab", r)
		return err
	case key == "merges" && f.vocab != nil:
		f.merged = true
		return f.vocab.readMerges(r)
	}
	value, err := r.Value()
	if err != nil {
		return err
	}
	switch key {
	case "merges":
		f.merges = value
	case "unk_token", "fuse_unk": // for bytes without a token, which Encode refuses
	case "type":
		if value.Text() != `"BPE"` {
			return fmt.Errorf("model.type: %s, want \"BPE\"", quote.Plain(value.Text(), 60))
		}
	default: // dropout, continuing_subword_prefix, end_of_word_suffix, byte_fallback, ignore_merges
		return refuse(value, "model."+key)
	}
	return nil
}

// complete adds to the vocabulary what could not be understood before it.
func (f *tokenizerFile) complete() error {
	switch {
	case !f.model:
		return errors.New("no model")
	case f.vocab == nil:
		return errors.New("no model.vocab")
	case f.merges != nil:
		if err := f.vocab.readMerges(f.merges); err != nil {
			return err
		}
	case !f.merged:
		return errors.New("no model.merges")
	}
	return f.vocab.readAdded(f.added)
}

// idle reports whether a value is one that switches a feature off, as is no value.
func idle(value *strictjson.Reader) bool {
	if value == nil {
		return true
	}
	switch value.Text() {
	case "null", "false", `""`, "0", "0.0", "[]", "{}":
		return true
	}
	return false
}

// refuse refuses a member that this package does not know, unless it switches something off.
func refuse(value *strictjson.Reader, key string) error {
	if idle(value) {
		return nil
	}
	return fmt.Errorf("%s: %s is not supported, want none", quote.Plain(key, 60),
		quote.Plain(value.Text(), 60))
}

// onlyType refuses a component of another type than the one wanted. One that is not there, or a
// sequence of none, is none.
func onlyType(value *strictjson.Reader, key, want string) error {
	if idle(value) {
		return nil
	}
	c, err := readComponent(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if c.kind == want || c.kind == "Sequence" && key == "normalizer" && len(c.steps) == 0 {
		return nil
	}
	if want == "" {
		return fmt.Errorf("%s: type %s, want none", key, quote.Short(c.kind, 60))
	}
	return fmt.Errorf("%s: type %s, want %q or none", key, quote.Short(c.kind, 60), want)
}

// preTokenizer reads the rules for splitting: ByteLevel, alone or after a Split with GPT-2's own
// pattern.
func preTokenizer(value *strictjson.Reader) (splitting, error) {
	fail := func(format string, args ...any) (splitting, error) {
		return splitting{}, fmt.Errorf("pre_tokenizer: %s", fmt.Sprintf(format, args...))
	}
	if idle(value) {
		return fail("none, want \"ByteLevel\"")
	}
	c, err := readComponent(value)
	if err != nil {
		return fail("%v", err)
	}
	steps := c.flat(nil)
	last := len(steps) - 1
	for i, step := range steps {
		switch {
		case step.kind == "ByteLevel" && i == last:
		case step.kind == "Split" && i == 0 && last == 1:
			if p := step.regex; p == nil || *p != gpt2Pattern && *p != gpt2PatternShort {
				return fail("Split with the pattern %s, want GPT-2's, %s",
					quoted(step.regex, step.literal), gpt2Pattern)
			}
			if step.behavior != "Isolated" || step.invert {
				return fail("Split with behavior %s, invert %t, want \"Isolated\", false",
					quote.Short(step.behavior, 60), step.invert)
			}
		default:
			return fail("step %d is %s, want \"ByteLevel\", alone or after a \"Split\"",
				i, quote.Short(step.kind, 60))
		}
	}
	if last < 0 {
		return fail("no steps, want \"ByteLevel\"")
	}
	bytes := steps[last]
	if last == 1 && (bytes.useRegex || bytes.addPrefixSpace) {
		return fail("ByteLevel after Split with use_regex %t, add_prefix_space %t, want false for both",
			bytes.useRegex, bytes.addPrefixSpace)
	}
	return splitting{whole: !bytes.useRegex && last == 0, prefixSpace: bytes.addPrefixSpace}, nil
}

// quoted quotes the first string that is there.
func quoted(texts ...*string) string {
	for _, text := range texts {
		if text != nil {
			return quote.Short(*text, 60)
		}
	}
	return "none"
}

// readMerges reads an array of merges, each "left right" or ["left", "right"].
func (v *vocabulary) readMerges(r *strictjson.Reader) error {
	return r.Array(func(i int) error {
		left, right, err := mergePair(r)
		if err != nil {
			return err
		}
		if err := v.addMerge(left, right); err != nil {
			return fmt.Errorf("model.merges[%d]: %w", i, err)
		}
		return nil
	})
}

func mergePair(r *strictjson.Reader) (left, right string, err error) {
	if r.Kind() != '[' {
		pair, err := r.String()
		if err != nil {
			return "", "", err
		}
		left, right, ok := strings.Cut(pair, " ")
		if !ok || strings.Contains(right, " ") {
			return "", "", r.Errorf("%s: want two tokens with a space between",
				quote.Short(pair, 60))
		}
		return left, right, nil
	}
	n := 0
	err = r.Array(func(i int) error {
		token, err := r.String()
		left, right, n = right, token, i+1
		return err
	})
	if err == nil && n != 2 {
		err = r.Errorf("a merge of %d tokens, want 2", n)
	}
	return left, right, err
}

// readAdded reads added_tokens. Tokens that are not special are found in any text, as Hugging Face
// does.
func (v *vocabulary) readAdded(r *strictjson.Reader) error {
	if idle(r) {
		return nil
	}
	return r.Array(func(i int) error {
		token, err := readAddedToken(r)
		if err == nil {
			err = v.addToken(token)
		}
		if err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		return nil
	})
}
