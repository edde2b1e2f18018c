package option

// Values: reading them as a user writes them, checking and printing them.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Value is the value of an option that has a syntax of its own.
type Value interface {
	// Set sets the value, or adds to it if a flag may be repeated. Its error has the form of
	// Error.Rest.
	Set(text string) error
	String() string
}

// An Error is a mistake in the value of an option. Its text has the option's name in the Go API.
type Error struct {
	Option *Option
	Rest   string // the message after the name
}

func (e *Error) Error() string { return e.Option.Name + e.Rest }

// ByFlag returns an error that has the name of the flag in place of the option's, if err is an
// *Error of an option that has a flag.
func ByFlag(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Option.Flag.Name == "" {
		return err
	}
	return errors.New("--" + e.Option.Flag.Name + e.Rest)
}

// Errorf returns an *Error of the option of that name, which must be one of options.
func Errorf(options []Option, name, rest string, args ...any) error {
	i := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
	return options[i].errorf(rest, args...)
}

func (o *Option) errorf(rest string, args ...any) error {
	return &Error{o, fmt.Sprintf(rest, args...)}
}

// Check returns the *Error of the first option whose value the Go API does not accept, or nil.
func Check(options []Option) error {
	for i := range options {
		if err := options[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (o *Option) check() error {
	if s, ok := o.Value.(*string); ok && o.Words != nil {
		if *s != "" && !slices.Contains(o.Words, *s) {
			return o.errorf(" %q: want %s", *s, o.Want)
		}
	} else if !o.Range.has(o.Value) {
		return o.errorf(" %v: want %s", deref(o.Value), o.Want)
	}
	if o.Check == nil {
		return nil
	}
	if rest := o.Check(); rest != "" {
		return &Error{o, rest}
	}
	return nil
}

// has reports whether a number is in the range. It returns true for other values.
func (r Range) has(value any) bool {
	var x float64
	switch v := deref(value).(type) {
	case float64:
		x = v
	case int:
		x = float64(v)
	default:
		return true
	}
	most := cmp.Or(r.To, math.MaxFloat64)
	return x >= r.From && x <= most || x == 0 && r.Zero || x == -1 && r.Minus
}

// A Biases is a Value of numbers by id; in a request it is an object.
type Biases interface {
	Value
	Add(id int, x float64)
}

// TextBiases is a Value of numbers by text; in a request it is an object.
type TextBiases interface {
	Value
	Add(text string, x float64)
}

// CheckFlags returns the *Error of the first option that was given by its flag and whose value a
// command line does not accept, or nil. It checks values as they were written, before Settle, and
// gives -1 and none their meaning.
func CheckFlags(options []Option, given func(flag string) bool) error {
	for i := range options {
		o := &options[i]
		takes, want := o.Range, o.Want
		if o.Flag.Want != "" {
			takes, want = o.Flag.Range, o.Flag.Want
		}
		if !given(o.Flag.Name) {
			continue
		}
		if !takes.has(o.Value) {
			return o.errorf(" %v: want %s", deref(o.Value), want)
		}
		if n, ok := o.Value.(*int); ok && takes.Minus && *n == -1 {
			*n = 0
		}
		if s, ok := o.Value.(*string); ok && o.Words != nil && !slices.Contains(o.Words, *s) {
			return o.errorf(": want %s, found %q", Either(o.Words), *s)
		}
		if list, ok := o.Value.(*[]string); ok {
			switch none := o.Flag.None && slices.Contains(*list, "none"); {
			case slices.Contains(*list, ""):
				return o.errorf(": want at least one byte, found none")
			case none && len(*list) > 1:
				return o.errorf(" none and another --%s: want one of them", o.Flag.Name)
			case none:
				*list = []string{}
			}
		}
	}
	return nil
}

// SetDefaults gives all options their defaults: the usual ones, or those of the API.
func SetDefaults(options []Option, usual bool) error {
	for i := range options {
		o := &options[i]
		if text := o.First(usual); text != "" {
			if err := o.Set(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// First returns the default of an option, usual or not; "" if it has none.
func (o *Option) First(usual bool) string {
	if usual && o.Usual != "" {
		return o.Usual
	}
	return o.Default
}

// Settle turns all values that a user wrote into their meaning in Go.
func Settle(options []Option) {
	for _, o := range options {
		if o.Settle != nil {
			o.Settle()
		}
	}
}

// Set sets the value of the option from text, or adds to a list. An error is an *Error.
func (o *Option) Set(text string) error {
	switch p := o.Value.(type) {
	case *float64, **float64:
		return set(o, text, "a number", ParseFloat)
	case *int, *[]int:
		return set(o, text, "a whole number", ParseInt)
	case *uint64:
		return set(o, text, WantSeed, func(s string) (uint64, error) { return ParseSeed(s, 0) })
	case *bool, **bool:
		return set(o, text, "true or false", ParseBool)
	case *string, *[]string:
		Put(p, text)
	case Value:
		if err := p.Set(text); err != nil {
			return &Error{o, err.Error()}
		}
	}
	return nil
}

// set sets the value of an option to what parse makes of a text.
func set[T any](o *Option, text, want string, parse func(string) (T, error)) error {
	x, err := parse(text)
	if err != nil {
		return o.errorf(": want %s, found %q", want, text)
	}
	Put(o.Value, x)
	return nil
}

// Put stores x where p points to: in a T, a pointer to one, or at the end of a list.
func Put[T any](p any, x T) {
	switch p := p.(type) {
	case *T:
		*p = x
	case **T:
		*p = &x
	case *[]T:
		*p = append(*p, x)
	}
}

// ParseInt, ParseFloat and ParseBool parse what a user types.
func ParseInt(text string) (int, error) {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	return int(n), err
}

func ParseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func ParseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

// WantSeed is what ParseSeed wants.
const WantSeed = "a whole number from -2^63 to 2^64-1"

// ParseSeed parses a seed in a base, or as Go writes numbers if base is 0: 64 bits, with a sign or
// without. A negative one is its two's complement, so that -1 is 2^64-1.
func ParseSeed(text string, base int) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		n, err := strconv.ParseInt(text, base, 64)
		return uint64(n), err
	}
	return strconv.ParseUint(text, base, 64)
}

// Either joins words, with "or" before the last.
func Either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// String returns the value in the form that Set reads, as far as one text can have it.
func (o *Option) String() string {
	switch p := o.Value.(type) {
	case *[]string:
		if len(*p) == 0 {
			return ""
		}
		return fmt.Sprintf("%q", *p)
	case *[]int:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(*p), " ", ","), "[]")
	case Value:
		return p.String()
	}
	if x := deref(o.Value); x != nil {
		return fmt.Sprint(x)
	}
	return ""
}

// On reports whether the value has an effect: whether it differs from the default of the API.
func (o *Option) On() bool {
	if o.IsOn != nil {
		return o.IsOn()
	}
	return o.String() != o.Default
}

// NeedsText reports whether the value has an effect only once there is a tokenizer.
func (o *Option) NeedsText() bool {
	if v, ok := o.Value.(interface{ NeedsText() bool }); ok {
		return v.NeedsText()
	}
	return o.Text && o.On()
}

// Repeats reports whether a flag adds to the value, so that it may be repeated.
func (o *Option) Repeats() bool {
	switch p := o.Value.(type) {
	case *[]string, *[]int:
		return true
	case interface{ Repeats() bool }:
		return p.Repeats()
	}
	return false
}

// deref returns the value that a pointer leads to, nil if a pointer on the way is.
func deref(value any) any {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}
