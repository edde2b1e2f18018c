package serve

// Fields of a request: which values each accepts, and the errors for others.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/serve/internal/openapi"
)

// A field reads the value of one field, which is not null. The error of read says which value it
// wants, and schema says so in /openapi.json. Null counts as absent, unless the field must be there.
type field struct {
	read   func(*strictjson.Reader) error
	schema func() openapi.Schema
	must   bool
}

// as returns a field that reads what a schema accepts.
func as(schema func() openapi.Schema, read func(*strictjson.Reader) error) field {
	return field{read: read, schema: schema}
}

// listed returns the schema of a list of at most so many values of a field.
func listed(most int, one func() field) func() openapi.Schema {
	return func() openapi.Schema { return openapi.AtMost(most, one().schema()) }
}

// among returns a field of a text that is one of some words, as what reads the text checks.
func among(f field, words ...string) field {
	return as(func() openapi.Schema { return openapi.Words(words) }, f.read)
}

// must returns a field without which a request is refused.
func must(f field) field {
	f.must = true
	return f
}

// schemaOf returns the schema of an object that is read by a table of fields.
func schemaOf(fields map[string]field) openapi.Schema {
	members, required := map[string]openapi.Schema{}, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		if members[name] = f.schema(); f.must {
			required = append(required, name)
		} else {
			members[name] = openapi.Nullable(members[name])
		}
	}
	return openapi.Object(members, required)
}

// Limits of the unknown fields of a request.
const (
	mostUnknown = 1000 // members of an object
	keptUnknown = 64   // how many of them the answer names
	mostName    = 256  // bytes of a name in the answer
)

// readFields reads an object by a table of fields. It returns the names of those that the table
// lacks, at most keptUnknown; one of decisives is an error at the end. An explicit null counts as
// an absent field. within is the path of the object, with a point at its end, or "".
func readFields(within, body string, fields map[string]field) (ignored []string, err error) {
	r, unknown := strictjson.NewReader(body), 0
	var asked *apiError // of the first that is decisive
	err = r.Object(func(name string) error {
		one, known := fields[name]
		switch {
		case !known:
			if unknown++; unknown > mostUnknown {
				return errorf(400, "", "the body: want at most %d members of an object that this "+
					"server does not know, found more", mostUnknown)
			}
			ignored = noted(ignored, name)
			wrong, err := decides(r, within+name, body)
			if asked == nil {
				asked = wrong
			}
			return err
		case r.Kind() == 'n':
			_, err := r.Raw()
			return err
		}
		err := one.read(r)
		if known, ok := err.(*apiError); err == nil || ok && known.code != "" {
			return err
		}
		return fieldf(name, "%v", err)
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, asBody(err)
	}
	if asked != nil {
		return ignored, asked
	}
	return ignored, nil
}

// noted appends the name of an unknown field: a copy, so that the body is not kept in memory.
func noted(names []string, name string) []string {
	if len(names) == keptUnknown {
		return names
	}
	if len(name) > mostName {
		return append(names, name[:mostName]+"…") // headers leave it out, because of the …
	}
	return append(names, strings.Clone(name))
}

// asBody returns an error of a field as it is, and others as errors of the body.
func asBody(err error) error {
	if e, ok := err.(*apiError); ok {
		return e
	}
	return errorf(400, "", "the body: %v", err)
}

// text reads a string.
func text(to *string) field { return as(openapi.String, reads(to, ownString)) }

// ownString reads a string into memory of its own; as a part of the body it would keep all of that.
func ownString(r *strictjson.Reader) (string, error) {
	s, err := r.String()
	return strings.Clone(s), err
}

// atMost reads a string of at most so many bytes.
func atMost(most int) func(*string) field {
	schema := func() openapi.Schema { return openapi.Text(0, most) }
	return func(to *string) field {
		return as(schema, reads(to, func(r *strictjson.Reader) (string, error) {
			s, err := r.String()
			if err == nil && len(s) > most {
				return "", r.Errorf("want at most %d bytes, found %d", most, len(s))
			}
			return strings.Clone(s), err
		}))
	}
}

// anyText reads a string and drops it.
var anyText = as(openapi.String, func(r *strictjson.Reader) error {
	_, err := r.String()
	return err
})

// anyList reads a list and drops it.
var anyList = as(func() openapi.Schema { return openapi.List(openapi.Any()) },
	func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			_, err := r.Raw()
			return err
		})
	})

// optional reads a value that may be absent.
func optional[T any](to **T, read func(*T) field) field {
	schema := func() openapi.Schema { return read(new(T)).schema() }
	return as(schema, func(r *strictjson.Reader) error {
		*to = new(T)
		return read(*to).read(r)
	})
}

// reads reads a value by a function that returns it.
func reads[T any](
	to *T, read func(*strictjson.Reader) (T, error),
) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) (err error) {
		*to, err = read(r)
		return err
	}
}

// noting returns a field that calls then once it is read.
func noting(f field, then func()) field {
	read := f.read
	f.read = func(r *strictjson.Reader) error {
		err := read(r)
		then()
		return err
	}
	return f
}

// yes reads true or false.
func yes(to *bool) field { return as(openapi.Bool, reads(to, (*strictjson.Reader).Bool)) }

// number reads a number from least to most.
func number(to *float64, least, most float64) field {
	schema := func() openapi.Schema { return openapi.Number(least, most) }
	return as(schema, reads(to, func(r *strictjson.Reader) (float64, error) {
		written, err := r.Number()
		if err != nil {
			return 0, err
		}
		x, err := strconv.ParseFloat(written, 64)
		if err != nil || !(x >= least && x <= most) {
			return 0, r.Errorf("want a number from %v to %v, found %s", least, most, short(written))
		}
		return x, nil
	}))
}

// whole reads a whole number from least to most, as wholeNumber does.
func whole(least, most int) func(*int) field {
	read := func(r *strictjson.Reader) (int, error) { return wholeNumber(r, least, most) }
	schema := func() openapi.Schema { return openapi.Whole(least, most) }
	return func(to *int) field { return as(schema, reads(to, read)) }
}

// wholeNumber reads a whole number from least to most. It accepts 16.0, as JavaScript does.
func wholeNumber(r *strictjson.Reader, least, most int) (int, error) {
	written, err := r.Number()
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(written, 64)
	if err != nil || x != math.Trunc(x) || !(x >= float64(least) && x <= float64(most)) {
		return 0, r.Errorf("want a whole number from %d to %d, found %s", least, most,
			short(written))
	}
	return int(x), nil
}

// anySeed reads a seed. It accepts 16.0 and 1e3, as whole does.
func anySeed(to *uint64) field {
	schema := func() openapi.Schema {
		return openapi.Whole(int64(math.MinInt64), uint64(math.MaxUint64))
	}
	return as(schema, func(r *strictjson.Reader) error {
		written, err := r.Number()
		if err != nil {
			return err
		}
		digits := written
		if strings.ContainsAny(written, ".eE") {
			if x, err := strconv.ParseFloat(written, 64); err == nil && x == math.Trunc(x) {
				digits = strconv.FormatFloat(x, 'f', 0, 64)
			}
		}
		if *to, err = option.ParseSeed(digits, 10); err != nil {
			return r.Errorf("want %s, found %s", option.WantSeed, short(written))
		}
		return nil
	})
}

// mostString bounds each string of a list, in bytes.
const mostString = 1024

// ids reads a list of at most so many ids below size.
func ids(to *[]int, size, most int) field {
	schema := func() openapi.Schema { return openapi.AtMost(most, openapi.Whole(0, size-1)) }
	return as(schema, func(r *strictjson.Reader) error {
		return r.Array(func(i int) error {
			if i == most {
				return r.Errorf("want at most %d ids, found more", most)
			}
			id, err := wholeNumber(r, 0, size-1)
			*to = append(*to, id)
			return err
		})
	})
}

// object reads an object by a table of its own. Unknown members are ignored, and noted with their
// path.
func object(name string, to *[]string, fields map[string]field) field {
	schema := func() openapi.Schema { return schemaOf(fields) }
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return wrong(r, "an object")
		}
		v, err := r.Raw()
		if err != nil {
			return err
		}
		ignored, err := readFields(name+".", v.Text(), fields)
		for _, inner := range ignored {
			*to = noted(*to, name+"."+inner)
		}
		return err
	})
}

// wrong reads a value of an unwanted kind, and returns an error that names both kinds.
func wrong(r *strictjson.Reader, want string) error {
	v, err := r.Raw()
	if err != nil {
		return err
	}
	return r.Errorf("want %s, found %s", want, kindOf(v.Text()))
}

// kindOf returns the kind of a value, for an error.
func kindOf(value string) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	}
	return short(value)
}

// short returns the beginning of a client's text, for an error.
func short(s string) string { return quote.Plain(s, 40) }

// header returns the names as the value of a header, without those that a header cannot have.
func header(names []string) string {
	var shown []string
	length := 0
	for _, name := range names {
		odd := func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }
		if strings.ContainsFunc(name, odd) {
			continue
		}
		if length += len(name); length > 1024 {
			break
		}
		shown = append(shown, name)
	}
	slices.Sort(shown)
	return strings.Join(slices.Compact(shown), ", ")
}

// stringList reads the strings of an option, none of them empty, or a single string where that is
// allowed. An empty list counts as absent.
func stringList(o *option.Option, to *[]string) field {
	most := cmp.Or(o.Field.Bytes, mostString)
	add := func(r *strictjson.Reader, place string, n ...any) error {
		s, err := ownString(r)
		switch {
		case err == nil && s == "":
			return r.Errorf(place+"want at least one byte, found none", n...)
		case len(s) > most:
			return r.Errorf(place+"want at most %d bytes, found %d", append(n, most, len(s))...)
		}
		*to = append(*to, s)
		return err
	}
	schema := func() openapi.Schema {
		one := openapi.Text(1, most)
		list := openapi.AtMost(o.Field.Most, one)
		if o.Field.Single {
			return openapi.Either(one, list)
		}
		return list
	}
	return as(schema, func(r *strictjson.Reader) (err error) {
		switch kind := r.Kind(); {
		case o.Field.Single && kind == '"':
			err = add(r, "")
		case o.Field.Single && kind != '[':
			return wrong(r, "a string or a list of strings")
		default:
			err = r.Array(func(i int) error {
				if i == o.Field.Most {
					return r.Errorf("want at most %d strings, found more", o.Field.Most)
				}
				return add(r, "string %d: ", i+1)
			})
		}
		if err != nil || o.Check == nil {
			return err
		}
		if wrong := o.Check(); wrong != "" {
			return r.Errorf("%s", strings.TrimPrefix(wrong, ": "))
		}
		return nil
	})
}

// biases reads an object of numbers by ids.
func biases(to option.Biases, bounds option.Range, vocabulary int) field {
	schema := func() openapi.Schema {
		return openapi.Schema{"type": "object",
			"description":          fmt.Sprintf("numbers by ids from 0 to %d", vocabulary-1),
			"propertyNames":        openapi.Schema{"pattern": "^(0|[1-9][0-9]*)$"},
			"additionalProperties": openapi.Number(bounds.From, bounds.To)}
	}
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return wrong(r, "an object")
		}
		return r.Object(func(name string) error {
			id, err := strconv.Atoi(name)
			if err != nil || id < 0 || id >= vocabulary || name != strconv.Itoa(id) {
				return r.Errorf("want ids from 0 to %d, found %s", vocabulary-1, short(name))
			}
			var x float64
			if err := number(&x, bounds.From, bounds.To).read(r); err != nil {
				return err
			}
			to.Add(id, x)
			return nil
		})
	})
}

// textBiases reads an object of numbers by texts, of which it may have so many.
func textBiases(to option.TextBiases, bounds option.Range, most int) field {
	schema := func() openapi.Schema {
		return openapi.Schema{"type": "object", "maxProperties": most,
			"propertyNames":        openapi.Text(1, mostString),
			"additionalProperties": openapi.Number(bounds.From, bounds.To)}
	}
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return wrong(r, "an object")
		}
		n := 0
		return r.Object(func(text string) error {
			var x float64
			if n++; n > most {
				return r.Errorf("want at most %d texts", most)
			}
			if text == "" || len(text) > mostString {
				return r.Errorf("want texts of 1 to %d bytes, found %d", mostString, len(text))
			}
			if err := number(&x, bounds.From, bounds.To).read(r); err != nil {
				return err
			}
			to.Add(strings.Clone(text), x)
			return nil
		})
	})
}

// word reads one of some words. true and false, where they are words, may be JSON's.
func word(to *string, words []string) field {
	schema := func() openapi.Schema {
		s := openapi.Words(words)
		if slices.Contains(words, "true") {
			return openapi.Either(s, openapi.Bool())
		}
		return s
	}
	return as(schema, func(r *strictjson.Reader) (err error) {
		if k := r.Kind(); k == 't' || k == 'f' {
			var is bool
			is, err = r.Bool()
			*to = strconv.FormatBool(is)
		} else {
			*to, err = ownString(r)
		}
		if err == nil && !slices.Contains(words, *to) {
			return r.Errorf("want %s, found %s", strings.Join(words, ", "), short(*to))
		}
		return err
	})
}

// written reads the value of an option that has a syntax of its own: a number, if it has bounds, or
// a text of at most so many bytes.
func written(to option.Value, bounds option.Range, most int) field {
	var x float64
	var text string
	value, isText := number(&x, bounds.From, bounds.To), bounds == option.Range{}
	if isText {
		value = atMost(most)(&text)
	}
	return as(value.schema, func(r *strictjson.Reader) error {
		if err := value.read(r); err != nil {
			return err
		}
		if !isText {
			text = strconv.FormatFloat(x, 'g', -1, 64)
		}
		if err := to.Set(text); err != nil {
			return r.Errorf("%s", strings.TrimPrefix(err.Error(), ": "))
		}
		return nil
	})
}
