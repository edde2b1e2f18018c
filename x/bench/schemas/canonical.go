package main

// Canonical text: no white space, the names of properties first and in their order, minimal
// escapes, numbers as described in package constrain's comment.

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A node is a value, with its members in the order of its text.
type node struct {
	raw   string // of scalars
	kind  byte
	keys  []string
	items []*node
}

func (n *node) member(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.items[i]
	}
	return nil
}

func parse(text []byte) (*node, error) {
	return read(jsontext.NewDecoder(bytes.NewReader(text)))
}

func read(d *jsontext.Decoder) (*node, error) {
	n := &node{kind: byte(d.PeekKind())}
	if n.kind != '{' && n.kind != '[' {
		v, err := d.ReadValue()
		n.raw = string(v)
		return n, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if n.kind == '{' {
			key, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key.String())
		}
		item, err := read(d)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.ReadToken()
	return n, err
}

// canonical returns the canonical text of an instance of a schema.
func canonical(schema, instance []byte) (string, error) {
	s, err := parse(schema)
	if err != nil {
		return "", err
	}
	v, err := parse(instance)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	write(&b, s, s, v)
	return b.String(), nil
}

func write(b *strings.Builder, root, s, v *node) {
	for range 10 {
		ref := s.member("$ref")
		if ref == nil || s.member("properties") != nil {
			break
		}
		s = follow(root, ref.raw)
	}
	switch v.kind {
	case '{':
		writeObject(b, root, s, v)
	case '[':
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			of := s.member("items")
			if prefix := s.member("prefixItems"); prefix != nil && i < len(prefix.items) {
				of = prefix.items[i]
			}
			write(b, root, of, item)
		}
		b.WriteByte(']')
	case '0':
		b.WriteString(number(v.raw))
	case '"':
		var text string
		json.Unmarshal([]byte(v.raw), &text)
		quoted, _ := jsontext.AppendQuote(nil, text)
		b.Write(quoted)
	default:
		b.WriteString(v.raw)
	}
}

func writeObject(b *strings.Builder, root, s, v *node) {
	properties := s.member("properties")
	var order []int
	if properties != nil {
		for _, key := range properties.keys {
			if i := slices.Index(v.keys, key); i >= 0 {
				order = append(order, i)
			}
		}
	}
	for i := range v.keys {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	b.WriteByte('{')
	for n, i := range order {
		if n > 0 {
			b.WriteByte(',')
		}
		quoted, _ := jsontext.AppendQuote(nil, v.keys[i])
		b.Write(quoted)
		b.WriteByte(':')
		of := properties.member(v.keys[i])
		if of == nil {
			of = s.member("additionalProperties")
		}
		write(b, root, of, v.items[i])
	}
	b.WriteByte('}')
}

// follow returns the value that a reference names, or nil.
func follow(root *node, raw string) *node {
	var ref string
	json.Unmarshal([]byte(raw), &ref)
	if ref == "#" {
		return root
	}
	at := root
	for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		if at != nil && at.kind == '[' {
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(at.items) {
				return nil
			}
			at = at.items[i]
			continue
		}
		at = at.member(part)
	}
	return at
}

// number returns whole numbers in digits and others as encoding/json writes them.
func number(raw string) string {
	r, ok := new(big.Rat).SetString(raw)
	if !ok {
		return raw
	}
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := strconv.ParseFloat(raw, 64)
	text, _ := json.Marshal(f)
	return string(text)
}
