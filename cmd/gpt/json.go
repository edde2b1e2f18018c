package main

// JSON as commands print it: one value a line, and < as it is; and as they read it, an object a
// line.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"picogpt/internal/strictjson"
)

// marshalLine is a value as one line of JSON.
func marshalLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// printJSON prints a value as one line of JSON.
func printJSON(out io.Writer, v any) error {
	b, err := marshalLine(v)
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// number is a pointer to x, nil where JSON has no such number.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// An object is a JSON object of somebody's file, its members in their order. Its keys are as they
// stand there: Text is not text.
type object []member

// A member is a key of an object with its value.
type member struct {
	key   string
	value json.RawMessage
}

func parseObject(line []byte) (object, error) {
	o := object{} // not nil, even if it is empty
	err := strictjson.Members(line, func(key string, value json.RawMessage) error {
		o = append(o, member{key, value})
		return nil
	})
	return o, err
}

// get returns the value of a key, nil where there is none.
func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text returns the string of that key, nil where there is none or null.
func (o object) text(key string) (s *string, err error) {
	if v := o.get(key); v != nil && json.Unmarshal(v, &s) != nil {
		return nil, fmt.Errorf("%s: want a string", key)
	}
	return s, nil
}

// list returns the array of that key, nil where there is none or null. want says what it is to
// hold.
func list[T any](o object, key, want string) ([]T, error) {
	v := o.get(key)
	if v == nil {
		return nil, nil
	}
	var items []*T // null is no T, and not its zero value
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

// A jsonField is a key of an object and where its value goes.
type jsonField struct {
	key, want string
	to        any
	optional  bool
}

// parseFields reads an object with these keys and no others.
func parseFields(text string, fields []jsonField) error {
	o, err := parseObject([]byte(text))
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch value := o.get(f.key); {
		case value == nil && f.optional:
		case value == nil:
			return fmt.Errorf("%s: missing", f.key)
		case string(value) == "null" || json.Unmarshal(value, f.to) != nil:
			return fmt.Errorf("%s: want %s", f.key, f.want)
		}
	}
	for _, m := range o {
		if !slices.ContainsFunc(fields, func(f jsonField) bool { return f.key == m.key }) {
			return fmt.Errorf("%s: not one of its keys", quoteShort(m.key))
		}
	}
	return nil
}

// byteOrderMark is what some editors put before a file's first line.
const byteOrderMark = "\uFEFF"
