package strictjson

// Objects of known keys, read strictly: each key known, none missing, none null.

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"picogpt/internal/quote"
)

// A Field is a key of an object and what takes its value.
type Field struct {
	Key, Want string // Want is what the value is to be, for errors
	Read      func(r *Reader) error
	Optional  bool
}

// A fieldError is about a part of an object: it says where, and stands as it is.
type fieldError struct{ message string }

func (e *fieldError) Error() string { return e.message }

// ParseFields reads an object with these keys and no others.
func ParseFields(text string, fields []Field) error {
	r := NewReader(text)
	if err := ReadFields(r, fields); err != nil {
		return err
	}
	return r.End()
}

// ReadFields is ParseFields for an object that stands in another value.
func ReadFields(r *Reader, fields []Field) error {
	seen, unknown := map[string]bool{}, ""
	err := r.Object(func(key string) error {
		seen[key] = true
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
		if i < 0 {
			unknown = key
			_, err := r.Value()
			return err
		}
		value, err := r.Value()
		if err != nil {
			return err
		}
		return within(key, fields[i].Want, fields[i].Read(value))
	})
	if err != nil {
		return err
	}
	for _, f := range fields {
		if !seen[f.Key] && !f.Optional {
			return &fieldError{f.Key + ": missing"}
		}
	}
	if unknown != "" || seen[""] {
		return &fieldError{quote.Short(unknown, 40) + ": not one of its keys"}
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

// StringField is a string.
func StringField(key string, to *string) Field {
	return Field{Key: key, Want: "a string", Read: func(r *Reader) (err error) {
		*to, err = r.String()
		return err
	}}
}

// SeedField is a whole number of 64 bits.
func SeedField(key string, to *uint64) Field {
	return Field{Key: key, Want: "a whole number", Read: func(r *Reader) error {
		digits, err := r.Number()
		if err == nil {
			*to, err = strconv.ParseUint(digits, 10, 64)
		}
		return err
	}}
}

// NaturalField is a whole number of up to 31 bits.
func NaturalField(key string, to *int) Field {
	return Field{Key: key, Want: "a whole number", Read: func(r *Reader) error {
		n, err := r.Natural(math.MaxInt32)
		*to = int(n)
		return err
	}}
}

// ListField is an array; each element is read by what element gives for it.
func ListField[T any](
	key, want string, to *[]T, element func(r *Reader, to *T) error,
) Field {
	return Field{Key: key, Want: want, Read: func(r *Reader) error {
		*to = []T{}
		return r.Array(func(i int) error {
			var value T
			err := element(r, &value)
			*to = append(*to, value)
			if inner, ok := errors.AsType[*fieldError](err); ok {
				err = &fieldError{strconv.Itoa(i) + ": " + inner.message}
			}
			return err
		})
	}}
}

// IDsField is an array of ids.
func IDsField(key string, to *[]int) Field {
	return ListField(key, "an array of ids", to, func(r *Reader, to *int) error {
		id, err := r.Natural(math.MaxInt32)
		*to = int(id)
		return err
	})
}

// StringsField is an array of strings.
func StringsField(key string, to *[]string) Field {
	return ListField(key, "an array of strings", to, func(r *Reader, to *string) error {
		text, err := r.String()
		*to = text
		return err
	})
}

// TextsField is an object of strings that may be missing; then *to stays nil.
func TextsField(key string, to *map[string]string) Field {
	read := func(r *Reader) error {
		return r.Object(func(name string) error {
			text, err := r.String()
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[name] = text
			return err
		})
	}
	return Field{Key: key, Want: "an object of strings", Read: read, Optional: true}
}

// OptionalStringField is a string that may be missing; then *to stays nil.
func OptionalStringField(key string, to **string) Field {
	return Field{Key: key, Want: "a string", Read: func(r *Reader) error {
		text, err := r.String()
		*to = &text
		return err
	}, Optional: true}
}
