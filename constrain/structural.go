package constrain

// Structural tags: parts as xgrammar spells them in JSON, and vLLM takes them.

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// mostTags bounds the bytes of a structural tag.
const mostTags = 4 << 20

// StructuralTag returns the constraint of a structural tag: a [Part] in JSON, {"type":
// "structural_tag", "format": FORMAT}, where a FORMAT is one of
//
//	{"type": "const_string", "value": STRING}                              a Literal
//	{"type": "any_text", "excludes": [STRING]}                             Free
//	{"type": "regex", "pattern": STRING}                                   a Pattern
//	{"type": "grammar", "grammar": STRING}                                 Rules
//	{"type": "json_schema", "json_schema": SCHEMA, "any_order": BOOL}      a Schema
//	{"type": "sequence", "elements": [FORMAT]}                             a Sequence
//	{"type": "or", "elements": [FORMAT]}                                   OneOf
//	{"type": "optional", "content": FORMAT}                                a Repeat
//	{"type": "star", "content": FORMAT}
//	{"type": "plus", "content": FORMAT}
//	{"type": "repeat", "min": NUMBER, "max": NUMBER, "content": FORMAT}
//	{"type": "tag", "begin": STRING, "content": FORMAT, "end": STRING or [STRING]}
//	{"type": "triggered_tags", "triggers": [STRING], "tags": [TAG], "excludes": [STRING],
//	 "at_least_one": BOOL, "stop_after_first": BOOL}                       Tags
//	{"type": "tags_with_separator", "tags": [TAG], "separator": STRING,
//	 "at_least_one": BOOL, "stop_after_first": BOOL}                       a Repeat
//
// or in vLLM's older spelling {"type": "structural_tag", "triggers": [STRING], "structures":
// [{"begin": STRING, "schema": SCHEMA, "end": STRING}]}. A key or a type that is not listed is an
// error, which names it.
func StructuralTag(v *Vocabulary, text []byte) (*Constraint, error) {
	return Compiler{Vocabulary: v}.StructuralTag(context.Background(), text)
}

// StructuralTag is the function StructuralTag under a context.
func (c Compiler) StructuralTag(ctx context.Context, text []byte) (*Constraint, error) {
	if len(text) > mostTags {
		return nil, fmt.Errorf("structural tag: %d bytes, want %d at most", len(text), mostTags)
	}
	d := &tagReader{schemas: c.Schemas}
	part := d.whole(strictjson.NewReader(string(text)))
	if d.err != nil {
		return nil, fmt.Errorf("structural tag: %w", d.err)
	}
	return c.Compose(ctx, part)
}

// A tagReader reads the parts of a structural tag. After the first error it reads nothing.
type tagReader struct {
	schemas SchemaOptions
	depth   int
	err     error
}

func (d *tagReader) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// tagFields are the values of an object that were not taken yet.
type tagFields struct {
	d      *tagReader
	of     *strictjson.Reader
	kind   string
	values map[string]*strictjson.Reader
}

// object reads an object, and refuses the keys that read does not take. kind is its type, unless it
// has one.
func (d *tagReader) object(r *strictjson.Reader, kind string, read func(m *tagFields)) {
	m := &tagFields{d: d, of: r, kind: kind, values: map[string]*strictjson.Reader{}}
	var keys []string
	d.fail(r.Object(func(key string) (err error) {
		keys = append(keys, key)
		m.values[key], err = r.Raw()
		return err
	}))
	if d.err != nil {
		return
	}
	if kind == "" || m.values["type"] != nil {
		m.kind = m.text("type")
	}
	read(m)
	for _, key := range keys {
		if value := m.values[key]; value != nil && value.Kind() != 'n' {
			d.fail(value.Errorf("%s of %s is not followed", quote.Plain(key, 40), quote.Plain(m.kind, 40)))
		}
	}
}

// take returns what read makes of the value of a key. It need not be there, or be null, unless it is
// wanted.
func take[T any](
	m *tagFields, key string, wanted bool, read func(*strictjson.Reader) (T, error),
) (of T) {
	value, err := m.values[key], error(nil)
	delete(m.values, key)
	switch {
	case m.d.err != nil:
	case value != nil && (wanted || value.Kind() != 'n'):
		of, err = read(value)
		m.d.fail(err)
	case wanted:
		m.d.fail(m.of.Errorf("want %s in this %s, found none", key, quote.Plain(m.kind, 40)))
	}
	return of
}

func (m *tagFields) text(key string) string {
	return strings.Clone(take(m, key, true, (*strictjson.Reader).String))
}

func (m *tagFields) yes(key string) bool { return take(m, key, false, (*strictjson.Reader).Bool) }

// texts reads strings, or one.
func (m *tagFields) texts(key string, wanted bool) []string {
	return take(m, key, wanted, func(r *strictjson.Reader) (texts []string, err error) {
		add := func(int) error {
			text, err := r.String()
			texts = append(texts, strings.Clone(text))
			return err
		}
		if r.Kind() == '"' {
			err = add(0)
		} else {
			err = r.Array(add)
		}
		return texts, err
	})
}

func (m *tagFields) schema(key string) Schema {
	return take(m, key, true, func(r *strictjson.Reader) (Schema, error) {
		return Schema{[]byte(r.Text()), m.d.schemas}, nil
	})
}

// part reads the part of a key.
func (m *tagFields) part(key string) Part {
	return take(m, key, true, func(r *strictjson.Reader) (Part, error) { return m.d.format(r), nil })
}

// list reads a list of objects.
func (m *tagFields) list(key string, read func(r *strictjson.Reader)) {
	take(m, key, true, func(r *strictjson.Reader) (none struct{}, err error) {
		return none, r.Array(func(int) error {
			value, err := r.Raw()
			if err == nil {
				read(value)
				err = m.d.err
			}
			return err
		})
	})
}

func (m *tagFields) parts(key string) (list []Part) {
	m.list(key, func(r *strictjson.Reader) { list = append(list, m.d.format(r)) })
	return list
}

// tags reads a list of tags, or of the older structures.
func (m *tagFields) tags(key string) (tags []Tag) {
	m.list(key, func(r *strictjson.Reader) {
		m.d.object(r, "tag", func(m *tagFields) {
			if key == "structures" {
				tags = append(tags, Tag{m.text("begin"), m.schema("schema"), m.texts("end", true)})
			} else if t, ok := m.format().(Tag); ok || m.d.err != nil {
				tags = append(tags, t)
			} else {
				m.d.fail(r.Errorf("want a tag, found a %s", m.kind))
			}
		})
	})
	return tags
}

// whole reads a structural tag.
func (d *tagReader) whole(r *strictjson.Reader) (p Part) {
	d.object(r, "structural_tag", func(m *tagFields) {
		switch {
		case m.kind != "structural_tag":
			d.fail(r.Errorf("want the type structural_tag, found %s", quote.Plain(m.kind, 40)))
		case m.values["structures"] != nil:
			p = Tags{Triggers: m.texts("triggers", true), Tags: m.tags("structures")}
		default:
			p = m.part("format")
		}
	})
	d.fail(r.End())
	return p
}

// format reads a part.
func (d *tagReader) format(r *strictjson.Reader) (p Part) {
	if d.depth++; d.depth > mostDeep {
		d.fail(r.Errorf("more than %d formats in formats", mostDeep))
	}
	d.object(r, "", func(m *tagFields) { p = m.format() })
	d.depth--
	return p
}

// format is the part of a format's members.
func (m *tagFields) format() Part {
	switch m.kind {
	case "const_string":
		return Literal(m.text("value"))
	case "any_text":
		return Free{m.texts("excludes", false)}
	case "regex":
		return Pattern(m.text("pattern"))
	case "grammar":
		return Rules(m.text("grammar"))
	case "json_schema":
		s := m.schema("json_schema")
		s.Options.AnyOrder = m.yes("any_order") || s.Options.AnyOrder
		if m.values["style"] != nil {
			if style := m.text("style"); style != "json" {
				m.d.fail(m.of.Errorf("style %s of json_schema is not followed", quote.Plain(style, 40)))
			}
		}
		return s
	case "sequence":
		return Sequence(m.parts("elements"))
	case "or":
		return OneOf(m.parts("elements"))
	case "optional", "star", "plus":
		times := map[string][2]int{"optional": {0, 1}, "star": {0, -1}, "plus": {1, -1}}[m.kind]
		return Repeat{Part: m.part("content"), Min: times[0], Max: times[1]}
	case "repeat":
		return Repeat{Part: m.part("content"), Min: m.number("min"), Max: m.number("max")}
	case "tag":
		return Tag{m.text("begin"), m.part("content"), m.texts("end", true)}
	case "triggered_tags":
		return Tags{m.texts("triggers", true), m.tags("tags"), m.texts("excludes", false),
			m.yes("at_least_one"), m.yes("stop_after_first")}
	case "tags_with_separator":
		one, r := OneOf{}, Repeat{Max: -1, Between: Literal(m.text("separator"))}
		for _, tag := range m.tags("tags") {
			one = append(one, tag)
		}
		if r.Part = one; m.yes("at_least_one") {
			r.Min = 1
		}
		if m.yes("stop_after_first") {
			r.Max = 1
		}
		return r
	}
	m.d.fail(m.of.Errorf("a format of type %s is not followed", quote.Plain(m.kind, 40)))
	return nil
}

func (m *tagFields) number(key string) int {
	return take(m, key, true, func(r *strictjson.Reader) (n int, err error) {
		digits, err := r.Number()
		if err == nil {
			if n, err = strconv.Atoi(digits); err != nil {
				err = r.Errorf("want a whole number, found %s", quote.Short(digits, 24))
			}
		}
		return n, err
	})
}
