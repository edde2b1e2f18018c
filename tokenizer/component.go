// The parts of a tokenizer.json: components and added tokens.

package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A component is a normalizer, pre-tokenizer, post-processor or decoder.
type component struct {
	kind    string                        // "type"
	steps   []component                   // of a Sequence
	members map[string]*strictjson.Reader // those that are not null
	regexes *int                          // bytes of all in the list that it stands in
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

// failed returns an error that names the component and the member.
func (c *component) failed(member string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", quote.Plain(c.kind, 60), member, err)
	}
	return err
}

// bool sets *to to the value of a member, if it is present.
func (c *component) bool(member string, to *bool) (err error) {
	if value := c.members[member]; value != nil {
		*to, err = value.Bool()
	}
	return c.failed(member, err)
}

// text sets *to to the value of a member, if it is present.
func (c *component) text(member string, to *string) (err error) {
	if value := c.members[member]; value != nil {
		*to, err = value.String()
	}
	return c.failed(member, err)
}

// character is text for a member whose value must be one character.
func (c *component) character(member string, to *string) error {
	if err := c.text(member, to); err != nil {
		return err
	}
	if utf8.RuneCountInString(*to) != 1 {
		return c.failed(member, fmt.Errorf("%s, want one character", quote.Short(*to, 60)))
	}
	return nil
}

// natural sets *to to the value of a member, if it is present.
func (c *component) natural(member string, to *int) error {
	value := c.members[member]
	if value == nil {
		return nil
	}
	n, err := value.Natural(math.MaxInt32)
	*to = int(n)
	return c.failed(member, err)
}

// pattern reads the member pattern: {"String": …} or {"Regex": …}.
func (c *component) pattern() (p pattern, err error) {
	value := c.members["pattern"]
	if value == nil {
		return nil, c.failed("pattern", fmt.Errorf("none, want a String or a Regex"))
	}
	err = members(value, func(key string, value *strictjson.Reader) error {
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
		err = fmt.Errorf("want a String or a Regex")
	}
	return p, c.failed("pattern", err)
}

// readAddedToken reads an element of added_tokens.
func readAddedToken(r *strictjson.Reader) (addedToken, error) {
	token, err := readAddedMembers(r)
	if err == nil && token.id < 0 {
		err = fmt.Errorf("no id from 0 to %d", maxIDs-1)
	}
	return token, err
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
