// The parts of a tokenizer.json as it writes them: components and added tokens.

package tokenizer

import (
	"fmt"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A component is a normalizer, pre-tokenizer, post-processor or decoder.
type component struct {
	kind           string      // "type"
	steps          []component // of a Sequence
	addPrefixSpace bool
	useRegex       bool    // true if the file does not say
	literal, regex *string // a Split's pattern: one of them
	behavior       string
	invert         bool
}

// maxComponent bounds a component in bytes: the largest of GPT-2's kind is under 1 KB.
const maxComponent = 64 << 10

// readComponent reads one. Members that are null count as absent.
func readComponent(r *strictjson.Reader) (component, error) {
	c := component{useRegex: true}
	if r.Left() > maxComponent {
		return c, r.Errorf("a value of %d bytes, want at most %d", r.Left(), maxComponent)
	}
	err := members(r, func(key string, value *strictjson.Reader) (err error) {
		switch key {
		case "type":
			c.kind, err = value.String()
		case "normalizers", "pretokenizers":
			err = value.Array(func(int) error {
				step, err := readComponent(value)
				c.steps = append(c.steps, step)
				return err
			})
		case "add_prefix_space":
			c.addPrefixSpace, err = value.Bool()
		case "use_regex":
			c.useRegex, err = value.Bool()
		case "pattern":
			err = c.readPattern(value)
		case "behavior":
			c.behavior, err = value.String()
		case "invert":
			c.invert, err = value.Bool()
		}
		return err
	})
	return c, err
}

// readPattern reads {"String": …} or {"Regex": …}.
func (c *component) readPattern(r *strictjson.Reader) error {
	return members(r, func(key string, value *strictjson.Reader) error {
		text, err := value.String()
		switch key {
		case "String":
			c.literal = &text
		case "Regex":
			c.regex = &text
		}
		return err
	})
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

// flat appends the component's steps to list, sequences in sequences too.
func (c *component) flat(list []component) []component {
	if c.kind != "Sequence" {
		return append(list, *c)
	}
	for i := range c.steps {
		list = c.steps[i].flat(list)
	}
	return list
}

// readAddedToken reads an element of added_tokens.
func readAddedToken(r *strictjson.Reader) (token addedToken, err error) {
	token.id = -1
	var unsupported string
	flag := func(value *strictjson.Reader, name string) error {
		set, err := value.Bool()
		if set {
			unsupported = name
		}
		return err
	}
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
		case "single_word", "lstrip", "rstrip":
			err = flag(value, key)
		}
		return err
	})
	switch {
	case err != nil:
	case unsupported != "":
		err = fmt.Errorf("%s: %s is not supported, want false", quote.Short(token.text, 60),
			unsupported)
	case token.id < 0:
		err = fmt.Errorf("no id from 0 to %d", maxIDs-1)
	}
	return token, err
}
