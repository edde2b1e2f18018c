// tokenizer_config.json and special_tokens_map.json, which transformers writes beside vocabularies.

package tokenizer

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A tokenizerConfig is the union of what both files say about ids.
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
	var names []string
	for _, name := range c.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return append(names, others...)
}

// readConfig reads both files, if they exist.
func readConfig(fsys fs.FS) (tokenizerConfig, error) {
	c := tokenizerConfig{flags: map[string]bool{}, names: map[string]string{}}
	for _, name := range []string{folder.SpecialTokens, folder.TokenizerConfig} {
		text, found, err := readFile(fsys, name)
		if err == nil && found {
			err = c.read(text)
			if err != nil {
				err = fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
			}
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *tokenizerConfig) read(text string) error {
	r := strictjson.NewReader(text)
	err := r.Object(func(key string) error {
		value, err := r.Value()
		if err != nil || value.Text() == "null" {
			return err
		}
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
	if err != nil {
		return err
	}
	return r.End()
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
