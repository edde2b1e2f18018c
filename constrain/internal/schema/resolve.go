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
	u = c.scopeOf(ref.up).base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	v := c.document.places[u.String()]
	switch {
	case v == nil:
		return nil, errors.New("only references within the schema are supported: # and what follows, " +
			"or an $id in it")
	case fragment == "":
		return v, nil
	case fragment[0] != '/':
		if v := c.document.places[u.String()+"#"+fragment]; v != nil {
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
