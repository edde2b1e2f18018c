// Tokenizer files beside a checkpoint.

package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// ErrNone is what [Load] returns, wrapped, for a directory without tokenizer files. It wraps
// fs.ErrNotExist.
var ErrNone = fmt.Errorf("no tokenizer files: %w", fs.ErrNotExist)

// Load returns the tokenizer of the directory dir, or of the directory that the file dir is in:
// from tokenizer.json if there is one, else from vocab.json and merges.txt. The order of the merges
// decides, not the ids. Without either the error is [ErrNone]; one of the pair without the other is
// another error.
//
// Beside vocab.json, the tokens of added_tokens.json are special ones, and add_prefix_space of
// tokenizer_config.json counts, as in Hugging Face's transformers; tokenizer.json speaks for
// itself.
//
// A file is read only up to 32 MiB, and has at most 1,048,576 ids. An error names the file, and the
// byte or line.
func Load(dir string) (*Tokenizer, error) {
	fsys, _, err := folder.Split(dir)
	if err != nil {
		return nil, err
	}
	return LoadFS(fsys)
}

// LoadFS is Load for the files in fsys.
func LoadFS(fsys fs.FS) (*Tokenizer, error) {
	const name = "tokenizer.json"
	data, found, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	if found {
		return parseTokenizerJSON(folder.Path(fsys, name), data)
	}
	return loadPair(fsys)
}

// loadPair loads vocab.json and merges.txt.
func loadPair(fsys fs.FS) (*Tokenizer, error) {
	const vocabName, mergesName, addedName = "vocab.json", "merges.txt", "added_tokens.json"
	path := func(name string) string { return folder.Path(fsys, name) }
	vocab, haveVocab, err := readFile(fsys, vocabName)
	if err != nil {
		return nil, err
	}
	merges, haveMerges, err := readFile(fsys, mergesName)
	switch {
	case err != nil:
		return nil, err
	case !haveVocab && !haveMerges:
		return nil, fmt.Errorf("%s: %w", path("."), ErrNone)
	case !haveMerges:
		return nil, fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both",
			path(mergesName), vocabName)
	case !haveVocab:
		return nil, fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both",
			path(vocabName), mergesName)
	}
	added, _, err := readFile(fsys, addedName)
	if err != nil {
		return nil, err
	}
	rules, err := configured(fsys, "tokenizer_config.json")
	if err != nil {
		return nil, err
	}
	v, err := parseVocab(vocab)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path(vocabName), err)
	}
	if err := v.parseMerges(merges); err != nil {
		return nil, fmt.Errorf("%s: %w", path(mergesName), err)
	}
	if added != "" {
		if err := v.parseSpecial(added); err != nil {
			return nil, fmt.Errorf("%s: %w", path(addedName), err)
		}
	}
	t, err := v.tokenizer(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path(addedName), err)
	}
	return t, nil
}

// parseVocab reads a vocab.json.
func parseVocab(text string) (*vocabulary, error) {
	r := strictjson.NewReader(text)
	v, err := readVocab("vocab.json", r)
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

// configured returns what a tokenizer_config.json, if there is one, says about ids.
func configured(fsys fs.FS, name string) (rules splitting, err error) {
	data, found, err := readFile(fsys, name)
	if err != nil || !found {
		return rules, err
	}
	r := strictjson.NewReader(data)
	err = r.Object(func(key string) error {
		value, err := r.Value()
		if err != nil || key != "add_prefix_space" || value.Text() == "null" {
			return err
		}
		if rules.prefixSpace, err = value.Bool(); err != nil {
			err = fmt.Errorf("add_prefix_space: %w", err)
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return rules, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	return rules, nil
}

// readFile reads a file of valid UTF-8, and reports whether there is one.
func readFile(fsys fs.FS, name string) (data string, found bool, err error) {
	b, err := folder.Read(fsys, name, maxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	case !utf8.Valid(b):
		return "", false, fmt.Errorf("%s: not valid UTF-8", folder.Path(fsys, name))
	}
	return string(b), true, nil
}
