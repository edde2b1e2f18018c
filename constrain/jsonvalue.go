package constrain

// JSON values as schemas hold them: in order, numbers as they are written.

import (
	"fmt"
	"strings"

	"picogpt/internal/strictjson"
)

// A jsonValue is a value of a schema's text.
type jsonValue struct {
	kind  byte   // {, [, ", 0 for any number, t, f or n
	text  string // of a string: its characters; of a number: its digits
	keys  []string
	items []*jsonValue
	at    string // JSON pointer, for errors
}

// parseJSON reads one value.
func parseJSON(text string) (*jsonValue, error) {
	r := strictjson.NewReader(text)
	v, err := readJSON(r, "#")
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func readJSON(r *strictjson.Reader, at string) (v *jsonValue, err error) {
	v = &jsonValue{kind: r.Kind(), at: at}
	if len(at) > 1<<14 {
		return nil, fmt.Errorf("the schema nests too deeply")
	}
	switch v.kind {
	case '{':
		err = r.Object(func(key string) error {
			item, err := readJSON(r, at+"/"+pointerEscape.Replace(key))
			v.keys, v.items = append(v.keys, strings.Clone(key)), append(v.items, item)
			return err
		})
	case '[':
		err = r.Array(func(i int) error {
			item, err := readJSON(r, fmt.Sprintf("%s/%d", at, i))
			v.items = append(v.items, item)
			return err
		})
	case '"':
		v.text, err = r.String()
		v.text = strings.Clone(v.text)
	default:
		var scalar *strictjson.Reader
		if scalar, err = r.Value(); err == nil {
			v.text = scalar.Text()
		}
	}
	return v, err
}

// member returns the value of a key of an object, or nil.
func (v *jsonValue) member(key string) *jsonValue {
	if v.kind != '{' {
		return nil
	}
	for i, k := range v.keys {
		if k == key {
			return v.items[i]
		}
	}
	return nil
}

// is names what a value is, for errors.
func (v *jsonValue) is() string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return v.text
	}
	return v.text
}
