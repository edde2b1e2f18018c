package main

// Objects that gpt has written itself, read strictly: each key known, none missing, none null.

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"picogpt/internal/strictjson"
)

// A jsonField is a key of an object and what takes its value.
type jsonField struct {
	key, want string
	read      func(r *strictjson.Reader) error
	optional  bool
}

// A fieldError is about a part of an object: it says where, and stands as it is.
type fieldError struct{ message string }

func (e *fieldError) Error() string { return e.message }

// parseFields reads an object with these keys and no others.
func parseFields(text string, fields []jsonField) error {
	r := strictjson.NewReader(text)
	if err := readFields(r, fields); err != nil {
		return err
	}
	return r.End()
}

func readFields(r *strictjson.Reader, fields []jsonField) error {
	seen, unknown := map[string]bool{}, ""
	err := r.Object(func(key string) error {
		seen[key] = true
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.key == key })
		if i < 0 {
			unknown = key
			_, err := r.Value()
			return err
		}
		value, err := r.Value()
		if err != nil {
			return err
		}
		return within(key, fields[i].want, fields[i].read(value))
	})
	if err != nil {
		return err
	}
	for _, f := range fields {
		if !seen[f.key] && !f.optional {
			return &fieldError{f.key + ": missing"}
		}
	}
	if unknown != "" || seen[""] {
		return &fieldError{quoteShort(unknown) + ": not one of its keys"}
	}
	return nil
}

// within is an error of a value: it says where the value is, and what was wanted there.
func within(where, want string, err error) error {
	var inner *fieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return &fieldError{where + ": " + inner.message}
	}
	return &fieldError{where + ": want " + want}
}

func stringField(key string, to *string) jsonField {
	return jsonField{key: key, want: "a string", read: func(r *strictjson.Reader) (err error) {
		*to, err = r.String()
		return err
	}}
}

func seedField(key string, to *uint64) jsonField {
	return jsonField{key: key, want: "a whole number", read: func(r *strictjson.Reader) error {
		digits, err := r.Number()
		if err == nil {
			*to, err = strconv.ParseUint(digits, 10, 64)
		}
		return err
	}}
}

func naturalField(key string, to *int) jsonField {
	return jsonField{key: key, want: "a whole number", read: func(r *strictjson.Reader) error {
		n, err := r.Natural(math.MaxInt32)
		*to = int(n)
		return err
	}}
}

// listField is an array; each element is read by what element gives for it.
func listField[T any](
	key, want string, to *[]T, element func(r *strictjson.Reader, to *T) error,
) jsonField {
	return jsonField{key: key, want: want, read: func(r *strictjson.Reader) error {
		*to = []T{}
		return r.Array(func(i int) error {
			var value T
			err := element(r, &value)
			*to = append(*to, value)
			var inner *fieldError
			if errors.As(err, &inner) {
				err = &fieldError{strconv.Itoa(i) + ": " + inner.message}
			}
			return err
		})
	}}
}

func idsField(key string, to *[]int) jsonField {
	return listField(key, "an array of ids", to, func(r *strictjson.Reader, to *int) error {
		id, err := r.Natural(math.MaxInt32)
		*to = int(id)
		return err
	})
}

func stringsField(key string, to *[]string) jsonField {
	return listField(key, "an array of strings", to, func(r *strictjson.Reader, to *string) error {
		text, err := r.String()
		*to = text
		return err
	})
}

// textsField is what "files" holds; a file without texts has none.
func textsField(key string, to *optionTexts) jsonField {
	read := func(r *strictjson.Reader) error {
		return r.Object(func(name string) error {
			text, err := r.String()
			if *to == nil {
				*to = optionTexts{}
			}
			(*to)[name] = text
			return err
		})
	}
	return jsonField{key: key, want: "an object of strings", read: read, optional: true}
}

func formatsField(to *receiptFormats) jsonField {
	return jsonField{key: "formats", want: "an object", read: func(r *strictjson.Reader) error {
		return readFields(r, []jsonField{
			stringField("weights", &to.Weights), stringField("cache", &to.Cache),
		})
	}}
}

// digestField is the digest, nil in files of earlier versions.
func digestField(to **string) jsonField {
	return jsonField{key: "digest", want: "a string", read: func(r *strictjson.Reader) error {
		text, err := r.String()
		*to = &text
		return err
	}, optional: true}
}
