// vocab.txt, the vocabulary of BERT's tokenizer: one token on each line; the line's number is its
// id.

package tokenizer

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"picogpt/internal/folder"
)

// loadWordPiece loads vocab.txt. Settings that tokenizer_config.json does not have are those of
// transformers' BertTokenizer.
func loadWordPiece(fsys fs.FS, texts []string) (*Tokenizer, error) {
	c, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	v, err := parseVocabText(texts[0])
	if err == nil {
		err = v.addNamed(c.special("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, folder.VocabText), err)
	}
	if err := v.loadAdded(fsys, &c); err != nil {
		return nil, err
	}
	unknown := "[UNK]"
	if name, given := c.names["unk_token"]; given {
		unknown = name
	}
	return newBert(v, bertNormalizer{clean: true, chinese: c.flag("tokenize_chinese_chars", true),
		accents: c.flag("strip_accents", c.flag("do_lower_case", true)),
		lower:   c.flag("do_lower_case", true)}, v.id(unknown)), nil
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

// parseVocabText reads a vocab.txt. If a token stands on two lines the later one counts. An empty
// line is an id without a token.
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
		id, ok := v.ids[name]
		if !ok || v.addedText[name] {
			continue
		}
		if err := v.addToken(addedToken{text: name, id: int(id), special: true,
			asked: true}); err != nil {
			return err
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
		if err = v.parseSpecial(text); err != nil {
			err = fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
		}
	}
	if err != nil {
		return err
	}
	for _, token := range c.added {
		if v.addedText[token.text] {
			continue
		}
		if err := v.addToken(token); err != nil {
			return fmt.Errorf("%s: added_tokens_decoder: %w",
				folder.Path(fsys, folder.TokenizerConfig), err)
		}
	}
	return nil
}
