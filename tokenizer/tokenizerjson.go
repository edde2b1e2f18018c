// tokenizer.json, the one-file form of Hugging Face's tokenizers library, as its components. Its
// normalizers, pre-tokenizers and decoders are read in jsonparts.go, its models in jsonmodel.go.

package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// parseTokenizerJSON returns the Tokenizer of a tokenizer.json. Settings that would change ids and
// that this package does not support are refused by name. Post-processors add tokens only if a
// caller asks for them, which generation does not do, and truncation and padding are for batches.
func parseTokenizerJSON(data string) (*Tokenizer, error) {
	f := tokenizerFile{parts: map[string]*strictjson.Reader{}}
	r := strictjson.NewReader(data)
	err := r.Object(func(key string) error { return f.member(r, key) })
	if err = cmp.Or(err, r.End()); err != nil {
		return nil, err
	}
	if !f.model.found {
		return nil, errors.New("no model")
	}
	return f.tokenizer()
}

// A tokenizerFile holds what was read of a tokenizer.json.
type tokenizerFile struct {
	model modelFile
	parts map[string]*strictjson.Reader // the other members
}

// member reads a member of the whole file.
func (f *tokenizerFile) member(r *strictjson.Reader, key string) error {
	if key == "model" { // large: it is read in place
		f.model.found = true
		return r.Object(func(key string) error { return f.model.member(r, key) })
	}
	value, err := r.Value()
	if err != nil {
		return err
	}
	switch key {
	case "version", "truncation", "padding":
	case "added_tokens", "normalizer", "pre_tokenizer", "decoder":
		f.parts[key] = value
	case "post_processor":
		return checkPostProcessor(value)
	default:
		return refuse(value, key)
	}
	return nil
}

// tokenizer returns the Tokenizer with its pipeline.
func (f *tokenizerFile) tokenizer() (*Tokenizer, error) {
	t := &Tokenizer{start: -1, endOfText: -1}
	var err error
	t.normalizers, err = readParts(f.parts, "normalizer", (*component).normalizer)
	if err != nil {
		return nil, err
	}
	t.splitters, err = readParts(f.parts, "pre_tokenizer", (*component).splitter)
	if err != nil {
		return nil, err
	}
	for _, s := range t.splitters {
		m, ok := s.(metaspace)
		rewritten := len(t.normalizers) > 0 || len(t.splitters) > 1
		t.origins = t.origins || ok && m.scheme == first && rewritten
	}
	v, err := f.model.complete(f.parts["added_tokens"])
	if err != nil {
		return nil, err
	}
	if err := v.normalizeAdded(t.normalizers); err != nil {
		return nil, err
	}
	decoder := f.parts["decoder"]
	decoders, err := readSteps(decoder)
	if err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	given := decoder != nil && decoder.Text() != "null"
	other := func(c component) bool { return c.kind != "ByteLevel" }
	if f.readsBytes(t) && !slices.ContainsFunc(decoders, other) {
		return f.byteLevel(t, v), nil
	}
	steps, err := newDecoder(decoders, given)
	if err != nil {
		return nil, err
	}
	t.tokens = newTokens(v.tokens)
	t.decoding = decoding{t.tokens, steps}
	if err := f.model.build(t, v); err != nil {
		return nil, err
	}
	if unknown, known := v.ids[f.model.unknown]; f.spellsBytes(t) && known {
		t.missing, t.unknown = v.missing(), int(unknown)
	} else if f.spellsBytes(t) && f.model.unknown == "" {
		t.missing, t.unknown = v.missing(), -1
	}
	if t.kind == kindWordLevel && f.splitsCharacters(t) {
		t.kind = kindCharacters
	}
	t.finish(v)
	return t, nil
}

// normalizeAdded normalizes the added tokens that are found in the normalized text. A token that
// changes has the new text from then on, and the library no longer counts it as special when it
// decodes.
func (v *vocabulary) normalizeAdded(normalizers []normalizer) error {
	all := &bound{} // of all tokens together
	for i := range v.added {
		token := &v.added[i]
		if !token.normalized {
			continue
		}
		all.bytes += len(token.text)
		p, err := normalized(normalizers, passage{text: token.text, bound: all}, false)
		if err == nil && len(p.text) > maxAddedLen {
			err = fmt.Errorf("%d bytes, want at most %d", len(p.text), maxAddedLen)
		}
		if err != nil {
			return fmt.Errorf("added token %d, normalized: %w", token.id, err)
		}
		if p.text != token.text {
			token.text, token.special = p.text, false
			v.tokens[token.id] = p.text
		}
	}
	return nil
}

// readsBytes reports whether the model is BPE over only the bytes that ByteLevel spells: then it
// can read the bytes themselves.
func (f *tokenizerFile) readsBytes(t *Tokenizer) bool {
	spelled := func(n normalizer) bool { _, is := n.(*byteAlphabet); return is }
	last := len(t.splitters) - 1
	return f.model.plainBPE() && last >= 0 && slices.IndexFunc(t.splitters, isLevel) == last &&
		!slices.ContainsFunc(t.normalizers, spelled)
}

// spellsBytes reports whether the model is BPE over bytes that are spelled as characters.
func (f *tokenizerFile) spellsBytes(t *Tokenizer) bool {
	return f.model.kind == kindBPE && f.model.prefix == "" && f.model.suffix == "" &&
		!f.model.byteFallback && slices.ContainsFunc(t.splitters, isLevel)
}

func isLevel(s splitter) bool { _, is := s.(levelSplitter); return is }

// byteLevel returns a Tokenizer with a model of bytes, which is the whole pipeline if nothing else
// is needed.
func (f *tokenizerFile) byteLevel(t *Tokenizer, v *vocabulary) *Tokenizer {
	last := t.splitters[len(t.splitters)-1].(levelSplitter)
	last.alphabet = nil
	t.splitters[len(t.splitters)-1] = last
	rules, short := last.splitting, len(t.splitters) == 1
	if len(t.splitters) == 2 && rules == (splitting{whole: true}) {
		short = t.splitters[0] == patternSplitter{pattern: gpt2Pieces}
		rules = splitting{}
	}
	level, endOfText := v.byteLevel(rules)
	own := level.tokenizer(nil, endOfText)
	own.normalizers, own.splitters = t.normalizers, t.splitters
	if !short || len(t.normalizers) > 0 {
		own.level = nil
	}
	own.add(v.added)
	return own
}

// splitsCharacters reports whether a text is divided into its characters and joined again.
func (f *tokenizerFile) splitsCharacters(t *Tokenizer) bool {
	if len(t.splitters) != 1 || len(t.normalizers) > 0 || len(t.decoding.steps) > 0 {
		return false
	}
	s, ok := t.splitters[0].(patternSplitter)
	none := s.behavior == removed && s.invert // text between the matches, which is all of it
	return ok && (s == patternSplitter{pattern: everyCharacter} ||
		s.pattern == everywhere{} && !none)
}

// finish sets the added tokens of a pipeline, and the tokens that begin and end texts.
func (t *Tokenizer) finish(v *vocabulary) {
	for i := range v.added {
		token := &v.added[i]
		if t.kind == kindWordPiece {
			token.asked = false // such prompts are written with [CLS] and [MASK]
		}
	}
	find := func(text string) int {
		is := func(a addedToken) bool { return a.special && a.text == text }
		i := slices.IndexFunc(v.added, is)
		if i < 0 {
			return -1
		}
		return v.added[i].id
	}
	ends := []string{EndOfTextToken, "</s>"}
	if t.kind == kindWordPiece {
		t.start = find("[CLS]")
		ends = append(ends, "[SEP]")
	}
	for _, text := range ends {
		if t.endOfText < 0 {
			t.endOfText = find(text)
		}
	}
	t.add(v.added)
}

// idle reports whether a value switches a feature off or is absent.
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

// refuse returns an error for an unknown member, unless its value switches a feature off.
func refuse(value *strictjson.Reader, key string) error {
	if idle(value) {
		return nil
	}
	return fmt.Errorf("%s: %s is not supported, want none", quote.Plain(key, 60),
		quote.Plain(value.Text(), 60))
}

// readAdded reads added_tokens. As in Hugging Face's library, tokens that are not special are found
// in any text.
func (v *vocabulary) readAdded(r *strictjson.Reader) error {
	if idle(r) {
		return nil
	}
	return r.Array(func(i int) error {
		token, err := readAddedMembers(r)
		if err == nil && token.id < 0 {
			err = fmt.Errorf("no id from 0 to %d", maxIDs-1)
		}
		if err == nil {
			err = v.addToken(token)
		}
		if err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		return nil
	})
}

// A component is a normalizer, pre-tokenizer, post-processor or decoder.
type component struct {
	kind    string                        // "type"
	steps   []component                   // of a Sequence
	members map[string]*strictjson.Reader // those that are not null
	regexes *int                          // bytes of all in the list that it stands in
	err     error                         // the first of what was read of its members
}

// maxComponent bounds the bytes of a component. The largest, sentencepiece's rules, have less than
// 1 MB.
const maxComponent = 8 << 20

// maxSteps bounds the steps of a component: each may read the whole text.
const maxSteps = 1 << 10

// maxRegexes bounds the bytes of all regular expressions in a component: each of their sets of
// characters takes some kB, and some time.
const maxRegexes = 16 << 10

// readSteps reads a component as its steps.
func readSteps(r *strictjson.Reader) ([]component, error) {
	c, err := readComponent(r)
	list, regexes := c.flat(nil), 0
	for i := range list {
		list[i].regexes = &regexes
	}
	if err == nil && len(list) > maxSteps {
		err = fmt.Errorf("%d steps, want at most %d", len(list), maxSteps)
	}
	return list, err
}

// readComponent reads a component. Null gives a Sequence without steps.
func readComponent(r *strictjson.Reader) (component, error) {
	c := component{members: map[string]*strictjson.Reader{}}
	if r == nil || r.Text() == "null" {
		c.kind = "Sequence"
		return c, nil
	}
	if r.Left() > maxComponent {
		return c, r.Errorf("a value of %d bytes, want at most %d", r.Left(), maxComponent)
	}
	err := members(r, func(key string, value *strictjson.Reader) (err error) {
		switch key {
		case "type":
			c.kind, err = value.String()
		case "normalizers", "pretokenizers", "decoders", "processors":
			err = value.Array(func(int) error {
				part, err := value.Value()
				if err != nil {
					return err
				}
				step, err := readComponent(part)
				c.steps = append(c.steps, step)
				return err
			})
		default:
			c.members[key] = value
		}
		return err
	})
	return c, err
}

// members reads an object, and calls visit for each member that is not null.
func members(r *strictjson.Reader, visit func(key string, value *strictjson.Reader) error) error {
	return r.Object(func(key string) error {
		value, err := r.Value()
		if err != nil || value.Text() == "null" {
			return err
		}
		return visit(key, value)
	})
}

// flat appends the steps of the component, and of sequences inside it, to list.
func (c *component) flat(list []component) []component {
	if c.kind != "Sequence" {
		return append(list, *c)
	}
	for i := range c.steps {
		list = c.steps[i].flat(list)
	}
	return list
}

// fail keeps an error of a member, if it is the first.
func (c *component) fail(member string, err error) {
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("%s: %s: %w", quote.Plain(c.kind, 60), member, err)
	}
}

// readMember returns the value of a member, or otherwise if there is none.
func readMember[T any](
	c *component, member string, otherwise T, read func(*strictjson.Reader) (T, error),
) T {
	value := c.members[member]
	if value == nil {
		return otherwise
	}
	found, err := read(value)
	c.fail(member, err)
	return found
}

func (c *component) bool(member string, otherwise bool) bool {
	return readMember(c, member, otherwise, (*strictjson.Reader).Bool)
}

func (c *component) text(member, otherwise string) string {
	return readMember(c, member, otherwise, (*strictjson.Reader).String)
}

// character is text for a member whose value must be one character.
func (c *component) character(member, otherwise string) string {
	text := c.text(member, otherwise)
	if utf8.RuneCountInString(text) != 1 {
		c.fail(member, fmt.Errorf("%s, want one character", quote.Short(text, 60)))
	}
	return text
}

func (c *component) natural(member string) int {
	return int(readMember(c, member, 0, func(value *strictjson.Reader) (int64, error) {
		return value.Natural(math.MaxInt32)
	}))
}

// pattern reads the member pattern: {"String": …} or {"Regex": …}.
func (c *component) pattern() (p pattern) {
	value := c.members["pattern"]
	if value == nil {
		c.fail("pattern", errors.New("none, want a String or a Regex"))
		return nil
	}
	err := members(value, func(key string, value *strictjson.Reader) error {
		text, err := value.String()
		switch {
		case err != nil:
		case key == "String" && text != "":
			p = literal(text)
		case key == "String":
			p = everywhere{}
		case key == "Regex":
			if *c.regexes += len(text); *c.regexes > maxRegexes {
				return fmt.Errorf("more than %d bytes of regular expressions", maxRegexes)
			}
			p, err = newRegex(text)
		}
		return err
	})
	if err == nil && p == nil {
		err = errors.New("want a String or a Regex")
	}
	c.fail("pattern", err)
	return p
}

// readAddedMembers reads the members of an added token. The id is −1 if there is none.
func readAddedMembers(r *strictjson.Reader) (token addedToken, err error) {
	token.id = -1
	err = members(r, func(key string, value *strictjson.Reader) (err error) {
		switch key {
		case "id":
			var id int64
			id, err = value.Natural(maxIDs - 1)
			token.id = int(id)
		case "content":
			token.text, err = value.String()
		case "special":
			token.special, err = value.Bool()
			token.asked = token.special
		case "normalized":
			token.normalized, err = value.Bool()
		case "single_word":
			token.singleWord, err = value.Bool()
		case "lstrip":
			token.leftStrip, err = value.Bool()
		case "rstrip":
			token.rightStrip, err = value.Bool()
		}
		return err
	})
	return token, err
}
