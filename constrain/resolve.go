package constrain

// $ref: from a fragment to the value of the schema's text that it names.

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the value that a reference within the document names.
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
		if v := anchor(c.root, fragment); v != nil {
			return v, nil
		}
		return nil, errors.New("the schema has no such $anchor")
	}
	v := c.root
	for _, part := range strings.Split(fragment[1:], "/") {
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

// anchor returns the schema with an $anchor, or nil.
func anchor(v *jsonValue, name string) *jsonValue {
	if a := v.member("$anchor"); a != nil && a.kind == '"' && a.text == name {
		return v
	}
	for i, item := range v.items {
		if v.kind == '{' {
			switch v.keys[i] {
			case "enum", "const", "default", "examples":
				continue
			}
		}
		if found := anchor(item, name); found != nil {
			return found
		}
	}
	return nil
}
