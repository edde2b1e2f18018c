package main

// JSON as commands print it: one value a line, and < as it is; and as they read it, an object a
// line.

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

// printJSON prints a value as one line of JSON.
func printJSON(out io.Writer, v any) error {
	b, err := strictjson.Line(v)
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

// A jsonField is a key of an object and where its value goes.
type jsonField struct {
	key, want string
	to        any
	optional  bool
}

// parseFields reads an object with these keys and no others.
func parseFields(text string, fields []jsonField) error {
	o, err := rows.ParseObject([]byte(text))
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch value := o.Get(f.key); {
		case value == nil && f.optional:
		case value == nil:
			return fmt.Errorf("%s: missing", f.key)
		case string(value) == "null" || json.Unmarshal(value, f.to) != nil:
			return fmt.Errorf("%s: want %s", f.key, f.want)
		}
	}
	for _, m := range o {
		if !slices.ContainsFunc(fields, func(f jsonField) bool { return f.key == m.Key }) {
			return fmt.Errorf("%s: not one of its keys", quoteShort(m.Key))
		}
	}
	return nil
}
