// The templates of conversations, where Hugging Face's library looks for them.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A Template is a template of conversations, in Jinja.
type Template struct {
	File   string // that has it
	Source string
}

// mostTemplates bounds the files of additional templates, and mostTemplate the bytes of each.
const (
	mostTemplates = 64
	mostTemplate  = 1 << 20
)

// Template returns the template of that name, "default" for the one that conversations have without
// tools; nil if there is none. chat_template.jinja and additional_chat_templates outrank
// tokenizer_config.json, and that chat_template.json. A GGUF file has its own.
func (c *Checkpoint) Template(name string) (*Template, error) {
	all, err := c.templates()
	if err == nil && len(all) > 0 && all[name] == nil && name == defaultTemplate {
		err = fmt.Errorf("want one of its chat templates by name: %s",
			strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return all[name], err
}

// defaultTemplate is the name of the template of conversations without tools.
const defaultTemplate = "default"

// templates returns all templates by their names.
func (c *Checkpoint) templates() (map[string]*Template, error) {
	switch {
	case c.vocabulary == nil:
	case c.vocabulary.templates == nil: // the files beside it are another checkpoint's
		return nil, nil
	default:
		return c.vocabulary.templates()
	}
	all := map[string]*Template{}
	for _, file := range c.templateFiles() {
		data, err := folder.Read(c.words, file, mostTemplate)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(c.words, file), err)
		}
		of := defaultTemplate
		if file != folder.ChatTemplate {
			of = strings.TrimSuffix(path.Base(file), ".jinja")
		}
		all[of] = &Template{file, string(data)}
	}
	for _, from := range []string{folder.TokenizerConfig, folder.ChatTemplateJSON} {
		if len(all) > 0 {
			break
		}
		members, err := c.members(from)
		if err != nil {
			return nil, err
		}
		sources, err := namedTemplates(members["chat_template"])
		if err != nil {
			return nil, fmt.Errorf("%s: chat_template: %w", folder.Path(c.words, from), err)
		}
		for of, source := range sources {
			all[of] = &Template{from, source}
		}
	}
	return all, nil
}

// templateFiles returns the files that are templates, or may be.
func (c *Checkpoint) templateFiles() []string {
	names := []string{folder.ChatTemplate}
	entries, err := fs.ReadDir(c.words, folder.ChatTemplates)
	if err != nil {
		return names
	}
	for _, e := range entries[:min(len(entries), mostTemplates)] {
		if strings.HasSuffix(e.Name(), ".jinja") {
			names = append(names, path.Join(folder.ChatTemplates, e.Name()))
		}
	}
	return names
}

// members returns the members of a file that is an object of JSON, none if it is not there.
func (c *Checkpoint) members(name string) (map[string]json.RawMessage, error) {
	data, err := folder.Read(c.words, name, maxCompanion)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if err == nil {
		all, err = strictjson.Map(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(c.words, name), err)
	}
	return all, nil
}

// TemplateTokens returns the texts that templates call bos_token, eos_token and so on: those that
// tokenizer_config.json names, else special_tokens_map.json, else the model's own.
func (c *Checkpoint) TemplateTokens() (map[string]string, error) {
	tokens := map[string]string{}
	if t, err := c.Tokenizer(); err == nil {
		if id, ok := c.Config.StartToken(); ok {
			tokens["bos_token"], _ = t.Text(id)
		}
		if ids := c.Config.EndTokens(); len(ids) > 0 {
			tokens["eos_token"], _ = t.Text(ids[0])
		}
	}
	if c.vocabulary != nil {
		return tokens, nil
	}
	for _, file := range []string{folder.SpecialTokens, folder.TokenizerConfig} {
		members, err := c.members(file)
		if err != nil {
			return nil, err
		}
		for key, value := range members {
			var text string
			var token struct{ Content *string }
			switch {
			case !strings.HasSuffix(key, "_token"):
			case json.Unmarshal(value, &text) == nil && string(value) != "null":
				tokens[key] = text
			case json.Unmarshal(value, &token) == nil && token.Content != nil:
				tokens[key] = *token.Content
			}
		}
	}
	return tokens, nil
}

// namedTemplates reads the value of chat_template: a text, or a list of named ones.
func namedTemplates(value json.RawMessage) (map[string]string, error) {
	var text string
	var list []struct{ Name, Template *string }
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil, nil
	case json.Unmarshal(value, &text) == nil:
		return map[string]string{defaultTemplate: text}, nil
	case json.Unmarshal(value, &list) == nil && len(list) <= mostTemplates:
		all := map[string]string{}
		for i, one := range list {
			if one.Name == nil || one.Template == nil {
				return nil, fmt.Errorf("element %d: want a name and a template", i)
			}
			all[*one.Name] = *one.Template
		}
		return all, nil
	}
	return nil, fmt.Errorf("want a text, or at most %d named ones, found %s", mostTemplates,
		quote.Short(string(value), 40))
}
