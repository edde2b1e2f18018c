package serve

// Unknown fields in a request that lacks a required field.

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A need is a requirement that a request has at least one of several fields.
type need struct {
	fields []string
	given  bool
}

// needs returns a need of fields of a table, and makes the table note when one is read.
func needs(table map[string]field, fields ...string) *need {
	n := &need{fields: fields}
	for _, name := range fields {
		read := table[name]
		table[name] = func(r *strictjson.Reader) error {
			n.given = true
			return read(r)
		}
	}
	return n
}

// check refuses a request without any of the required fields if it has unknown ones: one of those
// is most likely a required field, misspelt. Otherwise unknown fields count as absent, but for what
// readFields says of them.
func (n *need) check(err error, unknown []string, table map[string]field) error {
	var ofOne *apiError
	if err != nil && (!errors.As(err, &ofOne) || !slices.Contains(unknown, ofOne.param)) {
		return err
	}
	if n.given || len(unknown) == 0 || ofOne != nil && strings.Contains(ofOne.param, ".") {
		return err
	}
	name, near := unknown[0], nearest(unknown[0], table, n.fields)
	for _, other := range unknown {
		if found := nearest(other, table, n.fields); slices.Contains(n.fields, found) {
			name, near = other, found
			break
		}
	}
	meant := ""
	if near != "" {
		meant = " (did you mean " + near + "?)"
	}
	e := fieldf(name, "")
	e.message = quote.Plain(name, 80) + ": this server does not know the field" + meant +
		", and the request has no " + strings.Join(n.fields, " or ")
	return e
}

// nearest returns the field that is most similar to a misspelt name; "" if none is similar. Of
// several it returns a required one, or else the first by name.
func nearest(name string, table map[string]field, needed []string) (near string) {
	const longest = 40 // bytes of the longest name that is compared
	if len(name) > longest {
		return ""
	}
	least := longest
	for _, field := range slices.Concat(needed, slices.Sorted(maps.Keys(table))) {
		edits := levenshtein.ComputeDistance(strings.ToLower(name), field)
		if edits <= (len(field)+2)/3 && edits < least {
			near, least = field, edits
		}
	}
	return near
}
