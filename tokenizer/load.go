// The tokenizer files of a checkpoint, but tokenizer.json and spiece.model, which have files of
// their own.

package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// ErrNone is the error of [Load], wrapped, for a folder without tokenizer files. It wraps
// fs.ErrNotExist.
var ErrNone = fmt.Errorf("no tokenizer files: %w", fs.ErrNotExist)

// Load returns the tokenizer of the files in fsys, such as os.DirFS(dir). If there are several kinds
// of files it takes the first of these, as Hugging Face's transformers does:
//
//   - tokenizer.json, which has everything;
//   - vocab.json with merges.txt, or encoder.json with vocab.bpe, as OpenAI named them: byte-level
//     BPE, in which the order of the merges decides, not the ids;
//   - vocab.txt: WordPiece;
//   - spiece.model, else tokenizer.model: Unigram or BPE, with sentencepiece's own semantics.
//
// For the last three, tokenizer_class of tokenizer_config.json may name another kind that is
// present (GPT2Tokenizer, BertTokenizer, T5Tokenizer). These files are read too: added_tokens.json,
// special tokens; of tokenizer_config.json added_tokens_decoder, add_prefix_space, do_lower_case,
// tokenize_chinese_chars and strip_accents; and the special tokens that it and
// special_tokens_map.json name. If none of the files is present the error is [ErrNone]; if only one
// of a pair is, it is another error.
//
// A file may have at most 32 MiB and 1,048,576 ids. An error names the file, and the byte or line.
func Load(fsys fs.FS) (*Tokenizer, error) {
	const name = folder.Tokenizer
	data, found, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	if found {
		t, err := parseTokenizerJSON(data)
		return t, inFile(fsys, name, err)
	}
	c, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	return loadOthers(fsys, c)
}

// A source is a set of files that hold a vocabulary.
type source struct {
	class string // a part of the name of transformers' class
	names []string
	load  func(fsys fs.FS, c *tokenizerConfig, names, texts []string) (*Tokenizer, error)
}

// loadOthers loads the files of the class that the files name, or the first that are present.
func loadOthers(fsys fs.FS, c *tokenizerConfig) (*Tokenizer, error) {
	list := []source{ // in the order of preference
		{"GPT2", []string{folder.Vocab, folder.Merges}, loadPair},
		{"GPT2", []string{folder.Encoder, folder.VocabBPE}, loadPair},
		{"Bert", []string{folder.VocabText}, loadWordPiece},
		{"T5", []string{folder.Pieces}, loadPieces},
		{"GPTSw3", []string{folder.Pieces}, loadPieces},
		{"GPTSw3", []string{folder.OtherPieces}, loadPieces},
	}
	named := slices.DeleteFunc(slices.Clone(list), func(s source) bool {
		return !strings.HasPrefix(c.class, s.class)
	})
	var half error
	for _, s := range append(named, list...) {
		texts := make([]string, len(s.names))
		there, missing := "", ""
		for i, name := range s.names {
			text, found, err := readFile(fsys, name)
			if err != nil {
				return nil, err
			}
			if texts[i] = text; found {
				there = name
			} else {
				missing = name
			}
		}
		switch {
		case there == "":
		case missing == "":
			return s.load(fsys, c, s.names, texts)
		case half == nil:
			half = fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both",
				folder.Path(fsys, missing), there)
		}
	}
	if half != nil {
		return nil, half
	}
	err := ErrNone
	if _, none := fs.Stat(fsys, "."); none != nil {
		err = folder.Cause(none)
	}
	return nil, fmt.Errorf("%s: %w", folder.Path(fsys, "."), err)
}

// loadPair loads vocab.json and merges.txt, or OpenAI's files with other names.
func loadPair(fsys fs.FS, c *tokenizerConfig, names, texts []string) (*Tokenizer, error) {
	r := strictjson.NewReader(texts[0])
	v, err := readVocab(names[0], r)
	if err = cmp.Or(err, r.End()); err != nil {
		return nil, inFile(fsys, names[0], err)
	}
	if err = inFile(fsys, names[1], v.parseMerges(texts[1])); err == nil {
		err = v.loadAdded(fsys, c)
	}
	if err == nil {
		err = inFile(fsys, configName, v.addNamed(c.special()))
	}
	if err != nil {
		return nil, err
	}
	return v.tokenizer(splitting{prefixSpace: c.flag("add_prefix_space", false)}), nil
}

// parseMerges reads a merges.txt.
func (v *vocabulary) parseMerges(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		if err := v.addPair(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// parseSpecial reads an added_tokens.json, an object of special token → id.
func (v *vocabulary) parseSpecial(text string) error {
	r := strictjson.NewReader(text)
	err := r.Object(func(text string) error {
		id, err := r.Natural(maxIDs - 1)
		if err != nil {
			return err
		}
		if err := v.addToken(specialToken(text, int(id))); err != nil {
			return r.Errorf("%v", err)
		}
		return nil
	})
	return cmp.Or(err, r.End())
}

// readFile reads a file, which must be valid UTF-8 unless it is sentencepiece's, and reports
// whether it exists.
func readFile(fsys fs.FS, name string) (data string, found bool, err error) {
	b, err := folder.Read(fsys, name, maxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, inFile(fsys, name, err)
	case !strings.HasSuffix(name, ".model") && !utf8.Valid(b):
		return "", false, fmt.Errorf("%s: not valid UTF-8", folder.Path(fsys, name))
	}
	return string(b), true, nil
}

// inFile names the file of an error.
func inFile(fsys fs.FS, name string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	return err
}

const configName = folder.TokenizerConfig

// A tokenizerConfig is what tokenizer_config.json and special_tokens_map.json, which transformers
// writes beside vocabularies, say about ids.
type tokenizerConfig struct {
	class string            // tokenizer_class
	flags map[string]bool   // do_lower_case and others
	names map[string]string // unk_token and others
	added []addedToken      // added_tokens_decoder, by id
}

// flag returns the value of a flag in the files, or otherwise if they have none.
func (c *tokenizerConfig) flag(name string, otherwise bool) bool {
	if value, given := c.flags[name]; given {
		return value
	}
	return otherwise
}

// special returns the special tokens that the files name, and the given others.
func (c *tokenizerConfig) special(others ...string) []string {
	return append(slices.Sorted(maps.Values(c.names)), others...)
}

// readConfig reads both files, if they exist.
func readConfig(fsys fs.FS) (*tokenizerConfig, error) {
	c := &tokenizerConfig{flags: map[string]bool{}, names: map[string]string{}}
	for _, name := range []string{folder.SpecialTokens, configName} {
		text, found, err := readFile(fsys, name)
		if err == nil && found {
			err = inFile(fsys, name, c.read(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *tokenizerConfig) read(text string) error {
	r := strictjson.NewReader(text)
	err := members(r, func(key string, value *strictjson.Reader) (err error) {
		switch key {
		case "add_prefix_space", "do_lower_case", "tokenize_chinese_chars", "strip_accents":
			c.flags[key], err = value.Bool()
		case "tokenizer_class":
			c.class, err = value.String()
		case "added_tokens_decoder":
			err = c.readAdded(value)
		case "additional_special_tokens":
		default:
			if strings.HasSuffix(key, "_token") {
				err = c.readName(key, value)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", quote.Plain(key, 60), err)
		}
		return err
	})
	return cmp.Or(err, r.End())
}

// readName reads the name of a special token: a string, or an object with its content.
func (c *tokenizerConfig) readName(key string, value *strictjson.Reader) (err error) {
	switch value.Kind() {
	case '"':
		c.names[key], err = value.String()
	case '{':
		err = members(value, func(member string, value *strictjson.Reader) (err error) {
			if member == "content" {
				c.names[key], err = value.String()
			}
			return err
		})
	}
	return err
}

// readAdded reads added_tokens_decoder, an object of id and token.
func (c *tokenizerConfig) readAdded(r *strictjson.Reader) error {
	err := members(r, func(key string, value *strictjson.Reader) error {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 || id >= maxIDs {
			return value.Errorf("%s, want an id from 0 to %d", quote.Short(key, 60), maxIDs-1)
		}
		token, err := readAddedMembers(value)
		token.id = id
		c.added = append(c.added, token)
		return err
	})
	slices.SortFunc(c.added, func(a, b addedToken) int { return cmp.Compare(a.id, b.id) })
	return err
}

// loadWordPiece loads vocab.txt. Settings that tokenizer_config.json does not have are those of
// transformers' BertTokenizer.
func loadWordPiece(fsys fs.FS, c *tokenizerConfig, names, texts []string) (*Tokenizer, error) {
	v, err := parseVocabText(texts[0])
	if err == nil {
		err = v.addNamed(c.special("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"))
	}
	if err != nil {
		return nil, inFile(fsys, names[0], err)
	}
	if err := v.loadAdded(fsys, c); err != nil {
		return nil, err
	}
	unknown := "[UNK]"
	if name, given := c.names["unk_token"]; given {
		unknown = name
	}
	lower := c.flag("do_lower_case", true)
	return newBert(v, bertNormalizer{clean: true, chinese: c.flag("tokenize_chinese_chars", true),
		accents: c.flag("strip_accents", lower), lower: lower}, v.ids.id(unknown)), nil
}

// newBert returns a tokenizer with BERT's pipeline.
func newBert(v *vocabulary, rules bertNormalizer, unknown uint32) *Tokenizer {
	table := newTokens(v.tokens)
	t := &Tokenizer{tokens: table, kind: kindWordPiece, normalizers: []normalizer{rules},
		splitters: []splitter{words{single: isBertPunctuation}},
		model:     newWordPiece(v, "##", unknown, 100),
		decoding:  decoding{table, []decodeStep{wordPieces("##", true)}}, start: -1, endOfText: -1}
	t.finish(v)
	return t
}

// parseVocabText reads a vocab.txt: one token on each line, whose number is its id. If a token
// stands on two lines the later one counts. An empty line is an id without a token.
func parseVocabText(text string) (*vocabulary, error) {
	v := &vocabulary{name: folder.VocabText, ids: map[string]uint32{}}
	for line := range strings.Lines(text) {
		token := strings.TrimRightFunc(line, unicode.IsSpace)
		if len(v.tokens) == maxIDs {
			return nil, fmt.Errorf("line %d: more than %d tokens", len(v.tokens)+1, maxIDs)
		}
		if len(token) > maxPiece {
			return nil, fmt.Errorf("line %d: a token of %d bytes, want at most %d", len(v.tokens)+1,
				len(token), maxPiece)
		}
		if before, twice := v.ids[token]; twice {
			v.tokens[before] = ""
		}
		if token != "" {
			v.ids[token] = uint32(len(v.tokens))
		}
		v.tokens = append(v.tokens, token)
	}
	if len(v.ids) == 0 {
		return nil, fmt.Errorf("no tokens")
	}
	return v, nil
}

// addNamed makes the named tokens of the vocabulary special.
func (v *vocabulary) addNamed(names []string) error {
	for _, name := range names {
		if id, ok := v.ids[name]; ok && !v.addedText[name] {
			if err := v.addToken(specialToken(name, int(id))); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadAdded adds the tokens of added_tokens.json and of added_tokens_decoder in
// tokenizer_config.json.
func (v *vocabulary) loadAdded(fsys fs.FS, c *tokenizerConfig) error {
	const name = folder.AddedTokens
	text, found, err := readFile(fsys, name)
	if err == nil && found {
		err = inFile(fsys, name, v.parseSpecial(text))
	}
	if err != nil {
		return err
	}
	for _, token := range c.added {
		if v.addedText[token.text] {
			continue
		}
		if err := v.addToken(token); err != nil {
			return inFile(fsys, folder.TokenizerConfig, fmt.Errorf("added_tokens_decoder: %w", err))
		}
	}
	return nil
}
