package input

// Rows of Parquet as JSON. A row is the values of its columns with repetition and definition
// levels, from which its lists and groups are rebuilt, as Dremel's paper describes.

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

// longestRow bounds the JSON of a row, as package rows bounds a line.
const longestRow = 16 << 20

// A field is a node of a schema: a column, or a group of fields.
type field struct {
	name     string
	repeated bool
	optional bool
	def, rep int     // its levels
	leaf     int     // index of its first column
	leaves   int     // how many columns it has
	fields   []field // of a group
	bare     bool    // a group that is replaced by its only field, such as those of lists
	logical  any     // of a column: the logical type of its values; nil if only their kind matters
}

// errLevels is the error for levels that do not match the schema.
var errLevels = errors.New("broken Parquet data: levels that do not fit the schema")

// A schemaReader makes fields from a file's schema, whose elements are in the order of a
// depth-first walk.
type schemaReader struct {
	elements []format.SchemaElement
	leaf     []*parquet.Column
}

// field returns the field of a column whose parent has those levels. With list set, its parent is a
// LIST or a MAP, and it is the repeated part.
func (r *schemaReader) field(c *parquet.Column, def, rep int, list bool) (f field, err error) {
	element := &r.elements[0]
	r.elements = r.elements[1:]
	f = field{name: c.Name(), repeated: c.Repeated(), optional: c.Optional(), def: def, rep: rep,
		leaf: len(r.leaf)}
	if f.repeated || f.optional {
		f.def++
	}
	if f.repeated {
		f.rep++
	}
	if f.logical = element.LogicalType.Value; f.logical == nil && c.Type().LogicalType() != nil {
		f.logical = c.Type().LogicalType().Value
	}
	if c.Leaf() {
		r.leaf = append(r.leaf, c)
		f.leaves = 1
		return f, checkLogical(f)
	}
	_, isList := f.logical.(*format.ListType)
	_, isMap := f.logical.(*format.MapType)
	seen := map[string]bool{}
	for _, child := range c.Columns() {
		sub, err := r.field(child, f.def, f.rep, isList)
		switch {
		case err != nil:
			return f, err
		case seen[sub.name]:
			return f, fmt.Errorf("column %s comes twice", quote.Plain(sub.name, 80))
		}
		seen[sub.name] = true
		f.fields = append(f.fields, sub)
	}
	f.leaves = len(r.leaf) - f.leaf
	if f.leaves == 0 {
		return f, fmt.Errorf("column %s: a group of no columns", quote.Plain(f.name, 80))
	}
	if len(f.fields) == 1 {
		only := f.fields[0]
		f.bare = (isList || isMap) && only.repeated ||
			list && f.repeated && f.name != "array" && !only.repeated
	}
	return f, nil
}

// append appends the JSON of a field in one instance of its parent. v holds the values of its
// columns.
func (f *field) append(b []byte, v [][]parquet.Value) ([]byte, error) {
	for _, values := range v {
		if len(values) == 0 {
			return b, errLevels
		}
	}
	if !f.repeated {
		return f.one(b, v)
	}
	if v[0][0].DefinitionLevel() < f.def {
		return append(b, "[]"...), nil
	}
	b = append(b, '[')
	item := make([][]parquet.Value, len(v))
	for first := true; len(v[0]) > 0; first = false {
		rest := make([][]parquet.Value, len(v))
		for i, values := range v {
			n := 1
			for n < len(values) && values[n].RepetitionLevel() > f.rep {
				n++
			}
			item[i], rest[i] = values[:min(n, len(values))], values[min(n, len(values)):]
			if len(item[i]) == 0 {
				return b, errLevels
			}
		}
		if !first {
			b = append(b, ',')
		}
		var err error
		if b, err = f.one(b, item); err != nil {
			return b, err
		}
		v = rest
	}
	for _, values := range v {
		if len(values) > 0 {
			return b, errLevels
		}
	}
	return append(b, ']'), nil
}

// one appends one instance.
func (f *field) one(b []byte, v [][]parquet.Value) (_ []byte, err error) {
	if len(b) > longestRow {
		return b, rows.ErrLongLine
	}
	switch first := v[0][0]; {
	case first.DefinitionLevel() < f.def:
		return append(b, "null"...), nil
	case len(f.fields) == 0:
		if len(v[0]) != 1 {
			return b, errLevels
		}
		value, err := f.value(first)
		if err != nil {
			return b, fmt.Errorf("column %s: %w", quote.Plain(f.name, 80), err)
		}
		return appendJSON(b, value)
	case f.bare:
		return f.fields[0].append(b, v)
	}
	for i := range f.fields {
		sub := &f.fields[i]
		if b, err = appendJSON(append(b, "{,"[min(i, 1)]), sub.name); err != nil {
			return b, err
		}
		if b, err = sub.append(append(b, ':'), v[sub.leaf-f.leaf:][:sub.leaves]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func appendJSON(b []byte, value any) ([]byte, error) {
	line, err := strictjson.Line(value)
	if err != nil {
		return b, err
	}
	return append(b, line[:len(line)-1]...), nil
}

// object returns a row for the values of each column. f is the root of the schema.
func (f *field) object(v [][]parquet.Value) (rows.Object, error) {
	o := make(rows.Object, 0, len(f.fields))
	size := 0
	for i := range f.fields {
		sub := &f.fields[i]
		b, err := sub.append(nil, v[sub.leaf:][:sub.leaves])
		if err != nil {
			return nil, err
		}
		if size += len(b); size > longestRow {
			return nil, rows.ErrLongLine
		}
		o = append(o, rows.Member{Key: sub.name, Value: b})
	}
	return o, nil
}
