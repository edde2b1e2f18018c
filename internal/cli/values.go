package cli

// Values of flags.

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
	"time"

	"picogpt/internal/option"
)

// A Value is what a flag sets, from the text that was typed. Its error says what is wanted and what
// was found.
type Value interface{ Set(text string) error }

// newValue returns what sets *p, as Flags.Add has it.
func newValue(p any) Value {
	switch p := p.(type) {
	case Value:
		return p
	case encoding.TextUnmarshaler:
		return text{p}
	case *bool, **bool:
		return bind(p, "true or false", option.ParseBool)
	case *int, **int:
		return bind(p, "a whole number", option.ParseInt)
	case *uint64, **uint64:
		return bind(p, "a whole number, 0 or more",
			func(s string) (uint64, error) { return strconv.ParseUint(s, 0, 64) })
	case *float64, **float64:
		return bind(p, "a number", option.ParseFloat)
	case *string, **string, *[]string:
		return bind(p, "", func(s string) (string, error) { return s, nil })
	case *time.Duration:
		return bind(p, "a duration, such as 100ms or 5m", time.ParseDuration)
	}
	panic(fmt.Sprintf("cli: a flag of type %T", p))
}

// A scalar is a value of one word.
type scalar[T any] struct {
	p     any // a *T, **T or *[]T
	want  string
	parse func(string) (T, error)
}

// bind returns what sets *p, which is a T, a pointer to one, or a list that each adds to.
func bind[T any](p any, want string, parse func(string) (T, error)) Value {
	switch p := p.(type) {
	case *T:
		*p = *new(T)
	case **T:
		*p = nil
	case *[]T:
		*p = nil
	}
	return scalar[T]{p, want, parse}
}

func (v scalar[T]) Set(text string) error {
	x, err := v.parse(text)
	if err != nil {
		return fmt.Errorf("want %s, found %q", v.want, text)
	}
	option.Put(v.p, x)
	return nil
}

// A text is a value that reads itself.
type text struct{ encoding.TextUnmarshaler }

func (v text) Set(text string) error { return v.UnmarshalText([]byte(text)) }

// Commas returns a Value that takes texts or numbers with commas between them; \, is a comma in a
// text. Those that are given take the place of the default, and further ones are added.
func Commas[T string | int](p *[]T) Value { return &commas[T]{p: p} }

type commas[T string | int] struct {
	p     *[]T
	given bool
}

func (v *commas[T]) Set(text string) error {
	all := []T{}
	for _, part := range SplitCommas(text) {
		var x T
		if err := newValue(&x).Set(part); err != nil {
			return err
		}
		all = append(all, x)
	}
	if v.given {
		all = append(*v.p, all...)
	}
	*v.p, v.given = all, true
	return nil
}

// standard makes the values that were set the default.
func (v *commas[T]) standard() { v.given = false }

// SplitCommas returns what stands between the commas of a text. \, is no such comma. An empty part
// at the end is left out.
func SplitCommas(text string) (parts []string) {
	part := ""
	for text != "" {
		switch {
		case strings.HasPrefix(text, `\,`):
			part += ","
			text = text[1:]
		case text[0] == ',':
			parts, part = append(parts, part), ""
		default:
			part += text[:1]
		}
		text = text[1:]
	}
	if part != "" {
		parts = append(parts, part)
	}
	return parts
}
