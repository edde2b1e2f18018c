package rows

// JSON objects in users' files.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"picogpt/internal/strictjson"
)

// An Object is a JSON object with its members in order. Keys are compared exactly: Text is not
// text.
type Object []Member

// A Member is a key of an object with its value.
type Member struct {
	Key   string
	Value json.RawMessage
}

// ParseObject reads one object and nothing else.
func ParseObject(line []byte) (Object, error) {
	o := Object{} // not nil, even if empty
	err := strictjson.Members(line, func(key string, value json.RawMessage) error {
		o = append(o, Member{key, value})
		return nil
	})
	return o, err
}

// Get returns the value of a key, or nil if there is none.
func (o Object) Get(key string) json.RawMessage {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Text returns the string of a key, or nil if there is none or it is null.
func (o Object) Text(key string) (s *string, err error) {
	if v := o.Get(key); v != nil && json.Unmarshal(v, &s) != nil {
		return nil, fmt.Errorf("%s: want a string", key)
	}
	return s, nil
}

// List returns the array of a key, or nil if there is none or it is null. want names the elements
// in errors.
func List[T any](o Object, key, want string) ([]T, error) {
	v := o.Get(key)
	if v == nil {
		return nil, nil
	}
	var items []*T // null is an error, not a zero value
	if json.Unmarshal(v, &items) != nil || slices.Contains(items, nil) {
		return nil, fmt.Errorf("%s: want an array of %s", key, want)
	}
	if items == nil {
		return nil, nil
	}
	values := make([]T, len(items))
	for i, item := range items {
		values[i] = *item
	}
	return values, nil
}

// Line returns the object as one line of JSON, with unchanged values.
func (o Object) Line() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		key, err := strictjson.Line(m.Key)
		if err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSuffix(key, []byte("\n")))
		b.WriteByte(':')
		if err := json.Compact(&b, m.Value); err != nil {
			return nil, err
		}
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}
