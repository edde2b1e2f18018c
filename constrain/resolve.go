package constrain

// $ref: finding the value of the schema's text for a reference.

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the value for a reference within the document.
func (c *schemaCompiler) find(ref string) (*jsonValue, error) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, errors.New("only references within the schema are supported: # and what follows")
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, errors.New("the escapes are not valid")
	}
	if fragment == "" {
		return c.root, nil
	}
	if fragment[0] != '/' {
		if c.anchors == nil {
			c.anchors = map[string]*jsonValue{}
			c.findAnchors(c.root)
		}
		if v := c.anchors[fragment]; v != nil {
			return v, nil
		}
		return nil, errors.New("the schema has no such $anchor")
	}
	v := c.root
	for part := range strings.SplitSeq(fragment[1:], "/") {
		if err := c.meter.charge(4); err != nil {
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
		if next.member("$id") != nil && next.member("$id").kind == '"' {
			return nil, errors.New("it leads into a schema with an $id of its own")
		}
		v = next
	}
	return v, nil
}

// findAnchors records the schemas with an $anchor; of equal anchors, the first.
func (c *schemaCompiler) findAnchors(v *jsonValue) {
	c.meter.charge(4)
	if a := v.member("$anchor"); a != nil && a.kind == '"' && c.anchors[a.text] == nil {
		c.anchors[a.text] = v
	}
	for i, item := range v.items {
		if v.kind == '{' {
			switch v.keys[i] {
			case "enum", "const", "default", "examples":
				continue
			}
		}
		c.findAnchors(item)
	}
}
