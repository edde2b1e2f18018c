package schema

// $ref: finding the value of the schema's text for a reference.

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"picogpt/internal/quote"
)

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// resolve returns the schema of a $ref: a URI of the document or of a schema in it that has an $id,
// with # and a JSON pointer, # and an anchor, or neither.
func (c *compiler) resolve(v *jsonValue) (*schema, error) {
	if v.kind != '"' {
		return nil, v.want("a string")
	}
	target, err := c.find(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", v.at(), quote.Short(v.text, 80), err)
	}
	return c.schemaOf(target)
}

// find returns the value for a reference within the document.
func (c *compiler) find(ref *jsonValue) (*jsonValue, error) {
	u, err := url.Parse(ref.text)
	if err != nil {
		return nil, errors.New("it is no URI with valid escapes")
	}
	if c.places == nil {
		c.places = map[string]*jsonValue{"": c.root}
		c.findPlaces(c.root, &url.URL{})
	}
	base, err := c.base(ref.up)
	if err != nil {
		return nil, err
	}
	u = base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	v := c.places[u.String()]
	switch {
	case v == nil:
		return nil, errors.New("only references within the schema are supported: # and what follows, " +
			"or an $id in it")
	case fragment == "":
		return v, nil
	case fragment[0] != '/':
		if v := c.places[u.String()+"#"+fragment]; v != nil {
			return v, nil
		}
		return nil, errors.New("the schema has no such $anchor")
	}
	for part := range strings.SplitSeq(fragment[1:], "/") {
		if err := c.meter.Charge(4); err != nil {
			return nil, err
		}
		part = pointerUnescape.Replace(part)
		var next *jsonValue
		switch v.kind {
		case '{':
			next = v.member(part)
		case '[':
			if i, err := strconv.ParseUint(part, 10, 31); err == nil && int(i) < len(v.items) {
				next = v.items[i]
			}
		}
		if next == nil {
			return nil, errors.New("the schema has nothing there")
		}
		v = next
	}
	return v, nil
}

// id returns the $id of a schema, which was id in draft 4.
func (c *compiler) id(v *jsonValue) string {
	id := v.member("$id")
	if of := c.root.member("$schema"); id == nil && of != nil && strings.Contains(of.text, "draft-04") {
		id = v.member("id")
	}
	if id == nil || id.kind != '"' {
		return ""
	}
	return id.text
}

// base returns the URI that references in a value are relative to.
func (c *compiler) base(v *jsonValue) (*url.URL, error) {
	base := &url.URL{}
	var ids []string
	for ; v != nil; v = v.up {
		if err := c.meter.Charge(2); err != nil {
			return nil, err
		}
		if id := c.id(v); id != "" && id[0] != '#' {
			ids = append(ids, id)
		}
	}
	for i := len(ids) - 1; i >= 0; i-- {
		base = within(base, ids[i])
	}
	return base, nil
}

// within returns the URI of an $id under a base, without its fragment.
func within(base *url.URL, id string) *url.URL {
	u, err := url.Parse(id)
	if err != nil {
		return base
	}
	u = base.ResolveReference(u)
	u.Fragment, u.RawFragment = "", ""
	return u
}

// findPlaces records the schemas with an $id or an $anchor; of equal ones, the first. Until draft 7
// an $id that begins with # was an anchor.
func (c *compiler) findPlaces(v *jsonValue, base *url.URL) {
	c.meter.Charge(4)
	place := func(uri string) {
		if c.places[uri] == nil || uri == "" {
			c.places[uri] = v
		}
	}
	switch id := c.id(v); {
	case id == "":
	case id[0] == '#':
		place(base.String() + id)
	default:
		base = within(base, id)
		place(base.String())
	}
	if a := v.member("$anchor"); a != nil && a.kind == '"' {
		place(base.String() + "#" + a.text)
	}
	for i, item := range v.items {
		if v.kind == '{' {
			switch v.keys[i] {
			case "enum", "const", "default", "examples":
				continue
			}
		}
		c.findPlaces(item, base)
	}
}
