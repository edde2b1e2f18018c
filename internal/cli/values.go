package cli

// Values of flags.

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// newValue returns what sets *p.
func newValue(p any) pflag.Value {
	switch p := p.(type) {
	case pflag.Value:
		return p
	case encoding.TextUnmarshaler:
		return textValue{p}
	case *bool, **bool:
		return bind(p, "bool", strconv.ParseBool)
	case *int, **int:
		return bind(p, "int", func(s string) (int, error) {
			n, err := strconv.ParseInt(s, 0, strconv.IntSize)
			return int(n), err
		})
	case *uint64, **uint64:
		return bind(p, "uint64", func(s string) (uint64, error) { return strconv.ParseUint(s, 0, 64) })
	case *float64, **float64:
		return bind(p, "float64", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case *string, **string:
		return bind(p, "string", func(s string) (string, error) { return s, nil })
	case *time.Duration, **time.Duration:
		return bind(p, "duration", time.ParseDuration)
	case *[]string:
		return &list{p: p}
	}
	panic(fmt.Sprintf("cli: a flag of type %T", p))
}

// bind returns what sets *p, of type T or *T, to what parse makes of a text.
func bind[T any](p any, kind string, parse func(string) (T, error)) pflag.Value {
	if p, ok := p.(**T); ok {
		*p = nil
		return &optional[T]{p, scalar[T]{new(T), kind, parse}}
	}
	value := &scalar[T]{p.(*T), kind, parse}
	*value.p = *new(T)
	return value
}

// A scalar is a value of one word.
type scalar[T any] struct {
	p     *T
	kind  string
	parse func(string) (T, error)
}

func (v *scalar[T]) String() string { return fmt.Sprint(*v.p) }
func (v *scalar[T]) Type() string   { return v.kind }

func (v *scalar[T]) Set(text string) error {
	x, err := v.parse(text)
	if err == nil {
		*v.p = x
	}
	return err
}

// An optional is a value that is nil unless it is set.
type optional[T any] struct {
	p **T
	scalar[T]
}

func (v *optional[T]) Set(text string) error {
	err := v.scalar.Set(text)
	if err == nil {
		*v.p = v.scalar.p
	}
	return err
}

// A textValue is a value that reads itself.
type textValue struct{ p encoding.TextUnmarshaler }

func (v textValue) String() string        { return fmt.Sprint(v.p) }
func (v textValue) Type() string          { return "text" }
func (v textValue) Set(text string) error { return v.p.UnmarshalText([]byte(text)) }

// A list has a value more each time it is set.
type list struct{ p *[]string }

func (v *list) String() string { return strings.Join(*v.p, ",") }
func (v *list) Type() string   { return "stringArray" }

func (v *list) Set(text string) error      { return v.Append(text) }
func (v *list) Append(text string) error   { *v.p = append(*v.p, text); return nil }
func (v *list) Replace(all []string) error { *v.p = all; return nil }
func (v *list) GetSlice() []string         { return *v.p }

// Commas is a value for Add that takes texts or numbers with commas between them; \, is a comma in
// a text. Those that are given take the place of the standard ones.
func Commas[T string | int](p *[]T, standard ...T) pflag.Value {
	*p = standard
	return &commas[T]{p: p}
}

type commas[T string | int] struct {
	p     *[]T
	given bool
}

func (v *commas[T]) String() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(*v.p), "[]"), " ", ",")
}

func (v *commas[T]) Type() string {
	if _, ok := any(v.p).(*[]int); ok {
		return "int"
	}
	return "string"
}

func (v *commas[T]) Set(text string) error {
	all := []T{}
	for _, part := range SplitCommas(text) {
		var x T
		switch x := any(&x).(type) {
		case *string:
			*x = part
		case *int:
			n, err := strconv.ParseInt(part, 0, strconv.IntSize)
			if err != nil {
				return &partError{part, err}
			}
			*x = int(n)
		}
		all = append(all, x)
	}
	if v.given {
		all = append(*v.p, all...)
	}
	*v.p, v.given = all, true
	return nil
}

// A partError is the error of one of several values in a text.
type partError struct {
	part  string
	cause error
}

func (e *partError) Error() string { return e.cause.Error() }

// SplitCommas returns what stands between the commas of a text. \, is no such comma. An empty part
// at the end is left out.
func SplitCommas(text string) (parts []string) {
	part := ""
	for text != "" {
		switch {
		case strings.HasPrefix(text, `\,`):
			part += ","
			text = text[2:]
			continue
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
