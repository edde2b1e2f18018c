package input

// Values of Parquet's columns as JSON.

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

// largestDecimal bounds the bytes and the digits of a decimal; other writers use at most 38.
const largestDecimal = 256

func checkLogical(f field) error {
	if l, ok := f.logical.(*format.DecimalType); ok && (l.Scale < 0 || l.Scale > largestDecimal) {
		return fmt.Errorf("column %s: a decimal with %d digits after the point, want at most %d",
			f.name, l.Scale, largestDecimal)
	}
	return nil
}

// value returns the JSON value for a value: numbers for numbers and decimals, with all their
// digits; text for times and UUIDs; strings for bytes that are UTF-8. Other bytes are {"base64":
// …}, or an error in a column of strings. Numbers that JSON cannot represent are "NaN", "Infinity"
// or "-Infinity".
func (f *field) value(v parquet.Value) (any, error) {
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean(), nil
	case parquet.Int32:
		if l, ok := f.logical.(*format.IntType); ok && !l.IsSigned {
			return v.Uint32(), nil
		}
		return f.integer(int64(v.Int32())), nil
	case parquet.Int64:
		if l, ok := f.logical.(*format.IntType); ok && !l.IsSigned {
			return v.Uint64(), nil
		}
		return f.integer(v.Int64()), nil
	case parquet.Int96: // nanoseconds of a day, and the day from 4713 BC on: an old type for times
		n := v.Int96()
		const epoch = 2440588
		day, ns := int64(n[2])-epoch, int64(uint64(n[1])<<32|uint64(n[0]))
		return clock(time.Unix(day*86400, ns), "2006-01-02T15:04:05.999999999"), nil
	case parquet.Float:
		if x := float64(v.Float()); x != x || math.IsInf(x, 0) {
			return number(x), nil
		}
		return v.Float(), nil
	case parquet.Double:
		return number(v.Double()), nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return f.bytes(v.ByteArray())
	}
	return nil, errors.New("a value of no kind that is known")
}

// integer returns the value of an integer, by its logical type.
func (f *field) integer(n int64) any {
	switch l := f.logical.(type) {
	case *format.DecimalType:
		return decimal(big.NewInt(n), int(l.Scale))
	case *format.DateType:
		return clock(time.Unix(n*86400, 0), "2006-01-02")
	case *format.TimeType:
		return clock(moment(n, l.Unit), "15:04:05.999999999")
	case *format.TimestampType:
		text := clock(moment(n, l.Unit), "2006-01-02T15:04:05.999999999")
		if l.IsAdjustedToUTC {
			text += "Z"
		}
		return text
	}
	return n
}

// bytes returns the value of bytes, by their logical type.
func (f *field) bytes(b []byte) (any, error) {
	if len(b) > longestRow {
		return nil, rows.ErrLongLine
	}
	text := false
	switch l := f.logical.(type) {
	case *format.DecimalType:
		if len(b) == 0 || len(b) > largestDecimal {
			return nil, fmt.Errorf("a decimal of %d bytes, want 1 to %d", len(b), largestDecimal)
		}
		n := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return decimal(n, int(l.Scale)), nil
	case *format.UUIDType:
		if len(b) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
		}
	case *format.Float16Type:
		if len(b) == 2 {
			return number(half(binary.LittleEndian.Uint16(b))), nil
		}
	case *format.StringType, *format.EnumType, *format.JsonType:
		text = true
	}
	switch {
	case utf8.Valid(b):
		return string(b), nil
	case text:
		return nil, errors.New("not UTF-8")
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}, nil
}

// number returns a number, or the name of a value that is not finite.
func number(x float64) any {
	switch {
	case x != x:
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return x
}

// half returns the float16 with these bits.
func half(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// decimal returns n with scale digits after the point.
func decimal(n *big.Int, scale int) json.Number {
	digits := n.String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if scale == 0 {
		return json.Number(sign + digits)
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	at := len(digits) - scale
	return json.Number(sign + digits[:at] + "." + digits[at:])
}

// moment returns the time n units after the beginning of 1970, or of a day.
func moment(n int64, unit format.TimeUnit) time.Time {
	second := int64(1e9)
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		second = 1e3
	case *format.MicroSeconds:
		second = 1e6
	}
	return time.Unix(n/second, n%second*(1e9/second))
}

func clock(t time.Time, layout string) string { return t.UTC().Format(layout) }

// Rows of Parquet as JSON. A row is the values of its columns with repetition and definition
// levels, from which its lists and groups are rebuilt, as Dremel's paper describes.

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
