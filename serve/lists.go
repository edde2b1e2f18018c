package serve

// Fields of options that are lists, objects, or texts of their own syntax.

import (
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/strictjson"
)

// stringList reads the strings of an option, or a single string where that is allowed.
func stringList(o *option.Option, to *[]string) field {
	read := texts(to, o.Field.Most)
	if o.Field.Single {
		read = oneOrMore(to, o.Field.Most)
	}
	return func(r *strictjson.Reader) error {
		if err := read(r); err != nil || o.Check == nil {
			return err
		}
		if wrong := o.Check(); wrong != "" {
			return r.Errorf("%s", strings.TrimPrefix(wrong, ": "))
		}
		return nil
	}
}

// biases reads an object of numbers by ids.
func biases(to option.Biases, bounds option.Range, vocabulary int) field {
	return func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return wrong(r, "an object")
		}
		return r.Object(func(name string) error {
			id, err := strconv.Atoi(name)
			if err != nil || id < 0 || id >= vocabulary || name != strconv.Itoa(id) {
				return r.Errorf("want ids from 0 to %d, found %s", vocabulary-1, short(name))
			}
			var x float64
			if err := number(&x, bounds.From, bounds.To)(r); err != nil {
				return err
			}
			to.Add(id, x)
			return nil
		})
	}
}

// textBiases reads an object of numbers by texts, of which it may have so many.
func textBiases(to option.TextBiases, bounds option.Range, most int) field {
	return func(r *strictjson.Reader) error {
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
			if err := number(&x, bounds.From, bounds.To)(r); err != nil {
				return err
			}
			to.Add(strings.Clone(text), x)
			return nil
		})
	}
}

// word reads one of some words. true and false, where they are words, may be JSON's.
func word(to *string, words []string) field {
	return func(r *strictjson.Reader) (err error) {
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
	}
}

// written reads the value of an option that has a syntax of its own: a number, if it has bounds, or
// a text of at most so many bytes.
func written(to option.Value, bounds option.Range, most int) field {
	return func(r *strictjson.Reader) error {
		var x float64
		var text string
		if bounds == (option.Range{}) {
			if err := atMost(&text, most)(r); err != nil {
				return err
			}
		} else {
			if err := number(&x, bounds.From, bounds.To)(r); err != nil {
				return err
			}
			text = strconv.FormatFloat(x, 'g', -1, 64)
		}
		if err := to.Set(text); err != nil {
			return r.Errorf("%s", strings.TrimPrefix(err.Error(), ": "))
		}
		return nil
	}
}
