package schema

// Document: which keywords each draft of JSON Schema knows, where schemas stand in the text, and
// which one a $ref names.

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
)

// drafts is a set of drafts.
type drafts uint8

const (
	draft3 drafts = 1 << iota
	draft4
	draft6
	draft7
	draft2019
	draft2020
	undeclared // no $schema, or an unknown one: 2020-12, and what older drafts spell otherwise
)

const (
	before2019 = draft3 | draft4 | draft6 | draft7 // what stands beside $ref is ignored
	from7      = draft7 | from2019
	from6      = draft6 | from7
	from4      = draft4 | from6
	from2019   = draft2019 | draft2020 | undeclared
	from2020   = draft2020 | undeclared
	anyDraft   = before2019 | from2019
	openAPI    = 1 << 7 // no draft, but OpenAPI 3.0
)

var draftNames = map[drafts]string{draft3: "3", draft4: "4", draft6: "6", draft7: "7",
	draft2019: "2019-09", draft2020: "2020-12", undeclared: "2020-12"}

// declared are the drafts by their $schema, without an empty fragment.
var declared = map[string]drafts{
	"http://json-schema.org/draft-03/schema":       draft3,
	"http://json-schema.org/draft-04/schema":       draft4,
	"http://json-schema.org/draft-06/schema":       draft6,
	"http://json-schema.org/draft-07/schema":       draft7,
	"https://json-schema.org/draft/2019-09/schema": draft2019,
	"https://json-schema.org/draft/2020-12/schema": draft2020,
}

// parts says where a keyword has schemas.
type parts uint8

const (
	noParts   parts = iota
	onePart         // its value is one
	listParts       // those in its array
	someParts       // its value, or those in its array
	nameParts       // the values of its object
)

// A keyword is what drafts say of one.
type keyword struct {
	in       drafts
	parts    parts
	restrict bool // it restricts; where a draft does not know it, that is noted
}

// keywords are those that some draft knows, without annotations.
var keywords = map[string]keyword{
	"$ref":          {in: anyDraft},
	"$recursiveRef": {draft2019, noParts, true}, "$dynamicRef": {from2020, noParts, true},
	"$recursiveAnchor": {in: draft2019}, "$dynamicAnchor": {in: from2020},
	"$defs": {in: from2019, parts: nameParts}, "definitions": {in: anyDraft, parts: nameParts},
	"contentSchema": {in: from2019, parts: onePart},

	"type": {anyDraft, someParts, true}, "enum": {anyDraft, noParts, true},
	"const":   {from6, noParts, true},
	"extends": {draft3, someParts, true}, "disallow": {draft3, someParts, true},
	"allOf": {from4, listParts, true}, "anyOf": {from4, listParts, true},
	"oneOf": {from4, listParts, true}, "not": {from4, onePart, true},
	"if": {from7, onePart, true}, "then": {from7, onePart, false}, "else": {from7, onePart, false},

	"minimum": {anyDraft, noParts, true}, "exclusiveMinimum": {anyDraft, noParts, true},
	"maximum": {anyDraft, noParts, true}, "exclusiveMaximum": {anyDraft, noParts, true},
	"multipleOf": {from4, noParts, true}, "divisibleBy": {draft3, noParts, true},

	"minLength": {anyDraft, noParts, true}, "maxLength": {anyDraft, noParts, true},
	"pattern": {anyDraft, noParts, true}, "format": {anyDraft, noParts, true},

	"items": {anyDraft, someParts, true}, "prefixItems": {from2020, listParts, true},
	"additionalItems":  {before2019 | draft2019 | undeclared, onePart, false},
	"unevaluatedItems": {from2019, onePart, true},
	"contains":         {from6, onePart, true},
	"minContains":      {from2019, noParts, false}, "maxContains": {from2019, noParts, false},
	"minItems": {anyDraft, noParts, true}, "maxItems": {anyDraft, noParts, true},
	"uniqueItems": {anyDraft, noParts, true},

	"properties":            {anyDraft, nameParts, true},
	"patternProperties":     {anyDraft, nameParts, true},
	"additionalProperties":  {anyDraft, onePart, true},
	"unevaluatedProperties": {from2019, onePart, true},
	"propertyNames":         {from6, onePart, true},
	"required":              {anyDraft, noParts, true},
	"minProperties":         {from4, noParts, true}, "maxProperties": {from4, noParts, true},
	"nullable": {openAPI, noParts, true}, "discriminator": {openAPI, noParts, true},
	"dependencies":      {before2019 | undeclared, nameParts, true},
	"dependentRequired": {from2019, noParts, true}, "dependentSchemas": {from2019, nameParts, true},
}

// A scope is what holds for a schema: its draft, the URI that its references are relative to, and
// whether its $ref makes what stands beside it count for nothing.
type scope struct {
	draft drafts
	base  *url.URL
	alone bool
	fixed bool // no $schema counts
}

// A document is the text of a schema, with the schemas in it by their URIs.
type document struct {
	root   *jsonValue
	places map[string]*jsonValue
	// of each base, the schemas with a $dynamicAnchor by its name, and as "" one whose
	// $recursiveAnchor is true
	dynamic   map[*url.URL]map[string]*jsonValue
	leftovers bool // some schema has unevaluatedProperties or unevaluatedItems
}

// A way is the resources that led to a schema and had a dynamic anchor that none before them had,
// the innermost first. The others decide nothing: so ways are few.
type way struct {
	up   *way
	base *url.URL
}

// A reached is a schema, and the way to it.
type reached struct {
	v   *jsonValue
	way *way
}

// enter returns the way to a schema. Equal ways are one pointer.
func (c *compiler) enter(v *jsonValue) *way {
	if v.kind != '{' || len(c.document.dynamic) < 2 {
		return nil
	}
	base := c.scopeOf(v).base
	if c.document.dynamic[base] == nil {
		return c.way
	}
	decides := false
	for name := range c.document.dynamic[base] {
		decides = c.outermost(name) == nil || decides
	}
	if !decides {
		return c.way
	}
	next := way{c.way, base}
	if c.ways[next] == nil {
		c.ways[next] = &next
	}
	return c.ways[next]
}

// outermost returns the outermost schema on the way that has a dynamic anchor; nil if none has.
func (c *compiler) outermost(anchor string) (v *jsonValue) {
	for w := c.way; w != nil && c.charge(1); w = w.up {
		if outer := c.document.dynamic[w.base][anchor]; outer != nil {
			v = outer
		}
	}
	return v
}

// readDocument finds the schemas of a text. With fixed no $schema counts.
func readDocument(root *jsonValue, fixed bool, m *automaton.Meter) *document {
	d := &document{root: root, places: map[string]*jsonValue{"": root},
		dynamic: map[*url.URL]map[string]*jsonValue{}}
	survey(d, root, scope{draft: undeclared, base: &url.URL{}, fixed: fixed}, m)
	return d
}

// add places other schemas at their URIs. A draft that they do not say is that of the text.
func (d *document) add(refs map[string][]byte, fixed bool, m *automaton.Meter) error {
	draft := undeclared
	if d.root.scope != nil {
		draft = d.root.scope.draft
	}
	for _, uri := range slices.Sorted(maps.Keys(refs)) {
		base, err := url.Parse(uri)
		if err != nil || len(refs[uri]) > maxSchemaBytes {
			return fmt.Errorf("%s: want a URI, and %d bytes at most", quote.Short(uri, 80), maxSchemaBytes)
		}
		v, err := parseJSON(string(refs[uri]), m)
		if err != nil {
			return fmt.Errorf("%s: %w", quote.Short(uri, 80), err)
		}
		base.Fragment, base.RawFragment = "", ""
		if d.places[base.String()] == nil {
			d.places[base.String()] = v
		}
		survey(d, v, scope{draft: draft, base: base, fixed: fixed}, m)
	}
	return m.Failed()
}

// survey gives the schemas in a value their scopes, and places those with an $id or an anchor in d;
// of equal ones, the first. Without d no $id counts. What stands in keywords that the draft does
// not know is no schema.
func survey(d *document, v *jsonValue, in scope, m *automaton.Meter) {
	if v.kind != '{' || v.scope != nil || m.Charge(4+len(v.keys)/2) != nil {
		return
	}
	in.alone = in.draft&before2019 != 0 && v.member("$ref") != nil // as the draft around it says
	draft := declared[strings.TrimSuffix(v.member("$schema").string(), "#")]
	if draft != 0 && !in.alone && !in.fixed {
		in.draft = draft
		in.alone = v.up == nil && draft&before2019 != 0 && v.member("$ref") != nil
	}
	if d != nil {
		in.base = d.place(v, in)
	}
	v.scope = &in
	for i, key := range v.keys {
		k := keywords[key]
		if k.in&in.draft == 0 {
			continue
		}
		if d != nil && (key == "unevaluatedProperties" || key == "unevaluatedItems") {
			d.leftovers = true
		}
		switch item := v.items[i]; {
		case item.kind == '{' && (k.parts == onePart || k.parts == someParts):
			survey(d, item, in, m)
		case item.kind == '{' && k.parts == nameParts,
			item.kind == '[' && (k.parts == listParts || k.parts == someParts):
			for _, part := range item.items {
				survey(d, part, in, m)
			}
		}
	}
}

// place records a schema with an $id or an anchor, and returns the base of what is in it. Until
// draft 7 an $id that begins with # is an anchor, and beside $ref it is none.
func (d *document) place(v *jsonValue, in scope) *url.URL {
	base := in.base
	add := func(uri string) {
		if d.places[uri] == nil {
			d.places[uri] = v
		}
	}
	key := "$id"
	if in.draft&(draft3|draft4) != 0 {
		key = "id"
	}
	alone := in.draft&before2019 != 0 && v.member("$ref") != nil
	switch id := v.member(key).string(); {
	case id == "":
	case id[0] == '#':
		add(base.String() + id)
	case !alone:
		base = within(base, id)
		add(base.String())
	}
	if in.draft&from2019 == 0 {
		return base
	}
	if a := v.member("$anchor").string(); a != "" {
		add(base.String() + "#" + a)
	}
	if a := v.member("$dynamicAnchor").string(); a != "" && in.draft&from2020 != 0 {
		add(base.String() + "#" + a)
		d.anchor(base, a, v)
	}
	if a := v.member("$recursiveAnchor"); a != nil && a.kind == 't' && in.draft == draft2019 {
		d.anchor(base, "", v)
	}
	return base
}

// anchor records a dynamic anchor; of equal ones of a base, the first.
func (d *document) anchor(base *url.URL, name string, v *jsonValue) {
	if d.dynamic[base] == nil {
		d.dynamic[base] = map[string]*jsonValue{}
	}
	if d.dynamic[base][name] == nil {
		d.dynamic[base][name] = v
	}
}

// scopeOf returns the scope of a schema. One in an unknown keyword, which a reference found, has
// that of the schema around it.
func (c *compiler) scopeOf(v *jsonValue) scope {
	if v.scope == nil {
		for up := v.up; up != nil; up = up.up {
			if up.scope != nil {
				survey(nil, v, *up.scope, c.meter)
				break
			}
		}
	}
	if v.scope == nil { // the meter has failed, or v is no object
		return scope{draft: undeclared, base: &url.URL{}}
	}
	return *v.scope
}

// ignores reports whether a draft ignores a keyword of a schema. It notes those that restrict, and
// would in another draft, or elsewhere than beside $ref.
func (c *compiler) ignores(of scope, in *jsonValue, key string) bool {
	k, draft := keywords[key], of.draft
	what := ""
	switch {
	case of.alone && key != "$ref":
		what = "stands beside $ref"
	case k.in == openAPI && (c.options.OpenAPI || in.member(key).kind == 'f'):
		return true // typeOf and discriminate read them
	case k.in&draft == 0:
		what = "is not known"
	default:
		return false
	}
	if k.restrict && (draft != draft3 || key != "required") { // which the object around it reads
		c.note(fmt.Sprintf("%s: keyword %s %s in draft %s", in.at(), key, what, draftNames[draft]),
			"and restricts nothing")
	}
	return true
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

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// target returns the value that a $ref names: a URI of the document or of a schema in it that has an
// $id, with # and a JSON pointer, # and an anchor, or neither; nil if there is none.
func (c *compiler) target(v *jsonValue) *jsonValue {
	c.want(v, '"', "a string")
	target, err := c.find(v)
	if err != nil {
		c.fail(fmt.Errorf("%s: %s: %w", v.at(), quote.Short(v.text, 80), err))
	}
	return target
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
