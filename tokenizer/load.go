// The tokenizer files of a checkpoint.

package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// ErrNone is the error of [Load], wrapped, for a directory without tokenizer files. It wraps
// fs.ErrNotExist.
var ErrNone = fmt.Errorf("no tokenizer files: %w", fs.ErrNotExist)

// Load returns the tokenizer of the directory dir, or of the directory of the file dir. If there
// are several kinds of files it takes the first of these, as Hugging Face's transformers does:
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
func Load(dir string) (*Tokenizer, error) {
	fsys, _, err := folder.Split(dir)
	if err != nil {
		return nil, err
	}
	return LoadFS(fsys)
}

// LoadFS is Load for the files in fsys.
func LoadFS(fsys fs.FS) (*Tokenizer, error) {
	const name = folder.Tokenizer
	data, found, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	if found {
		return parseTokenizerJSON(folder.Path(fsys, name), data)
	}
	c, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	return loadOthers(fsys, c.class)
}

// A source is a set of files that hold a vocabulary.
type source struct {
	class string // a part of the name of transformers' class
	files []string
	load  func(fsys fs.FS, texts []string) (*Tokenizer, error)
}

// sources returns all sources, in the order of preference.
func sources() []source {
	return []source{
		{"GPT2", []string{folder.Vocab, folder.Merges}, loadPair},
		{"GPT2", []string{folder.Encoder, folder.VocabBPE}, loadPair},
		{"Bert", []string{folder.VocabText}, loadWordPiece},
		{"T5", []string{folder.Pieces}, loadPieces(folder.Pieces)},
		{"GPTSw3", []string{folder.Pieces}, loadPieces(folder.Pieces)},
		{"GPTSw3", []string{folder.OtherPieces}, loadPieces(folder.OtherPieces)},
	}
}

// loadOthers loads the files of the named class, or the first that are present.
func loadOthers(fsys fs.FS, class string) (*Tokenizer, error) {
	list := sources()
	slices.SortStableFunc(list, func(a, b source) int {
		named := func(s source) int {
			if strings.HasPrefix(class, s.class) {
				return 0
			}
			return 1
		}
		return named(a) - named(b)
	})
	var half error
	for _, s := range list {
		texts := make([]string, len(s.files))
		there, missing := "", ""
		for i, name := range s.files {
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
			return s.load(fsys, texts)
		case half == nil:
			half = fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both",
				folder.Path(fsys, missing), there)
		}
	}
	if half != nil {
		return nil, half
	}
	return nil, fmt.Errorf("%s: %w", folder.Path(fsys, "."), ErrNone)
}

// loadPair loads vocab.json and merges.txt, or OpenAI's files with other names.
func loadPair(fsys fs.FS, texts []string) (*Tokenizer, error) {
	c, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	names := []string{folder.Vocab, folder.Merges}
	if _, found, _ := readFile(fsys, names[0]); !found {
		names = []string{folder.Encoder, folder.VocabBPE}
	}
	v, err := parseVocab(texts[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, names[0]), err)
	}
	v.name = names[0]
	if err := v.parseMerges(texts[1]); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, names[1]), err)
	}
	if err := v.loadAdded(fsys, &c); err != nil {
		return nil, err
	}
	if err := v.addNamed(c.special()); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, folder.TokenizerConfig), err)
	}
	return v.tokenizer(splitting{prefixSpace: c.flag("add_prefix_space", false)}), nil
}

// parseVocab reads a vocab.json.
func parseVocab(text string) (*vocabulary, error) {
	r := strictjson.NewReader(text)
	v, err := readVocab(folder.Vocab, r)
	if err != nil {
		return nil, err
	}
	return v, r.End()
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
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("line %d: %s, want two tokens with a space between", number,
				quote.Short(line, 60))
		}
		if err := v.addMerge(left, right); err != nil {
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
		if err := v.addToken(addedToken{text: text, id: int(id), special: true, asked: true}); err != nil {
			return r.Errorf("%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.End()
}

// readFile reads a file, which must be valid UTF-8 unless it is sentencepiece's, and reports whether
// it exists.
func readFile(fsys fs.FS, name string) (data string, found bool, err error) {
	b, err := folder.Read(fsys, name, maxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	case name != folder.Pieces && name != folder.OtherPieces && !utf8.Valid(b):
		return "", false, fmt.Errorf("%s: not valid UTF-8", folder.Path(fsys, name))
	}
	return string(b), true, nil
}
