package main

// What gpt score writes: which fields of a record, and which of the input's.

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"picogpt/eval"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

// recordFields are the names of the fields of a record, in their order.
func recordFields() (names []string) {
	t := reflect.TypeFor[eval.Record]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// checkFields refuses names that no record has.
func (c *scoreCommand) checkFields() error {
	known := recordFields()
	if c.Fields != nil && len(c.Fields) == 0 {
		return usagef("--fields: want names, found nothing")
	}
	for i, name := range c.Fields {
		name = strings.TrimSpace(name) // of "id, text"
		c.Fields[i] = name
		switch {
		case !slices.Contains(known, name):
			return hinted{usagef("--fields: %s is no field of the output", quoteShort(name)),
				"the fields are " + strings.Join(known, ", ")}
		case name == "top" && c.Top == 0:
			return usagef("--fields: top wants --top K")
		}
	}
	return nil
}

// line is a record of the row as a line of output.
func (c *scoreCommand) line(row *scoreLine, record any) ([]byte, error) {
	b, err := strictjson.Line(record)
	if err != nil || c.Fields == nil && !c.Keep {
		return b, err
	}
	var all rows.Object
	written := []string{"error", "context_dropped"} // reserved, whether or not this record has them
	_, failed := record.(lineError)
	err = strictjson.Members(b, func(key string, value json.RawMessage) error {
		if failed || c.Fields == nil || slices.Contains(c.Fields, key) {
			all = append(all, rows.Member{Key: key, Value: value})
			written = append(written, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.Keep {
		for _, m := range row.Object {
			if !slices.Contains(written, m.Key) {
				all = append(all, m)
			}
		}
	}
	return all.Line()
}
