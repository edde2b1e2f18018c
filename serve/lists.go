package serve

// Fields of options that are lists or objects: strings, and biases of ids.

import (
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
