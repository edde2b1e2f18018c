// Tokenizer files beside a checkpoint.

package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// ErrNone is what [Load] returns, wrapped, for a directory without tokenizer files. It wraps fs.ErrNotExist.
var ErrNone = fmt.Errorf("no tokenizer files: %w", fs.ErrNotExist)

// Load returns the tokenizer of the directory dir, or of the directory that the file dir is in: from tokenizer.json if
// there is one, else from vocab.json and merges.txt. The order of the merges decides, not the ids. Without either the
// error is [ErrNone]; one of the pair without the other is another error.
//
// Beside vocab.json, the tokens of added_tokens.json are special ones, and add_prefix_space of tokenizer_config.json
// counts, as in Hugging Face's transformers; tokenizer.json speaks for itself.
//
// A file is read only up to 32 MiB, and has at most 1,048,576 ids. An error names the file, and the byte or line.
func Load(dir string) (*Tokenizer, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	name := filepath.Join(dir, "tokenizer.json")
	data, found, err := readFile(name)
	if err != nil {
		return nil, err
	}
	if found {
		return parseTokenizerJSON(name, data)
	}
	return loadPair(dir)
}

// loadPair loads vocab.json and merges.txt.
func loadPair(dir string) (*Tokenizer, error) {
	vocabName, mergesName := filepath.Join(dir, "vocab.json"), filepath.Join(dir, "merges.txt")
	vocab, haveVocab, err := readFile(vocabName)
	if err != nil {
		return nil, err
	}
	merges, haveMerges, err := readFile(mergesName)
	switch {
	case err != nil:
		return nil, err
	case !haveVocab && !haveMerges:
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	case !haveMerges:
		return nil, fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both", mergesName, filepath.Base(vocabName))
	case !haveVocab:
		return nil, fmt.Errorf("%s: no such file, but %s is there: a tokenizer needs both", vocabName, filepath.Base(mergesName))
	}
	addedName := filepath.Join(dir, "added_tokens.json")
	added, _, err := readFile(addedName)
	if err != nil {
		return nil, err
	}
	rules, err := configured(filepath.Join(dir, "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	return parseVocabMerges(&scanner{name: vocabName, data: vocab}, mergesName, merges,
		&scanner{name: addedName, data: added}, rules)
}

// parseVocabMerges builds a Tokenizer from the three files; an empty added is none.
func parseVocabMerges(vocab *scanner, mergesName, merges string, added *scanner, rules splitting) (*Tokenizer, error) {
	v, err := readVocab(filepath.Base(vocab.name), vocab)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(merges) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#version") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("%s: line %d: %s, want two tokens with a space between", mergesName, number, short(line))
		}
		if err := v.addMerge(left, right); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", mergesName, number, err)
		}
	}
	if added.data != "" {
		if err := v.readSpecial(added); err != nil {
			return nil, err
		}
	}
	t, err := v.tokenizer(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", added.name, err)
	}
	return t, nil
}

// readSpecial reads an object of special token → id.
func (v *vocabulary) readSpecial(s *scanner) error {
	err := s.object(func(text string) error {
		id, err := s.natural(maxIDs)
		if err != nil {
			return err
		}
		if err := v.addToken(addedToken{text: text, id: id, special: true}); err != nil {
			return s.errorf("%v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.end()
}

// configured returns what a tokenizer_config.json, if there is one, says about ids.
func configured(name string) (rules splitting, err error) {
	data, found, err := readFile(name)
	if err != nil || !found {
		return rules, err
	}
	var config struct {
		AddPrefixSpace bool `json:"add_prefix_space"`
	}
	if err := json.Unmarshal([]byte(data), &config); err != nil {
		return rules, fmt.Errorf("%s: %w", name, err)
	}
	return splitting{prefixSpace: config.AddPrefixSpace}, nil
}

// readFile reads a file of valid UTF-8, and reports whether there is one.
func readFile(name string) (data string, found bool, err error) {
	info, err := os.Stat(name) // before opening it: a pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%s: not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(min(info.Size(), maxFileSize) + 1))
	n, err := io.Copy(&b, io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return "", false, err
	}
	if n > maxFileSize {
		return "", false, fmt.Errorf("%s: more than %d bytes, which no tokenizer needs", name, maxFileSize)
	}
	data = b.String()
	if !utf8.ValidString(data) {
		return "", false, fmt.Errorf("%s: not valid UTF-8", name)
	}
	return data, true, nil
}
