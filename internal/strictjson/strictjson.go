// Package strictjson reads JSON objects from files that may be hostile:
// nothing comes twice, nothing follows, and errors fit one line.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Members calls visit for each member of a JSON object, in order, and stops at
// the first error. It refuses what encoding/json lets pass: a key that comes
// twice, and anything but space after the object. A value is never empty and
// has no space around it.
func Members(text []byte, visit func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // or the error for a number beyond float64 quotes all of it
	if t, err := dec.Token(); err != nil {
		return invalid(err)
	} else if t != json.Delim('{') {
		return fmt.Errorf("found %s, want a JSON object", Quote(text, 20))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return invalid(err)
		}
		key := t.(string) // the decoder lets nothing else stand here
		if seen[key] {
			return fmt.Errorf("%s comes twice", Quote([]byte(key), 80))
		}
		seen[key] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return invalid(err)
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return invalid(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more follows after the end of the JSON object")
	}
	return nil
}

func invalid(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// String returns the value of a JSON string, and refuses every other type.
func String(value json.RawMessage) (string, error) {
	var s string
	if value[0] != '"' {
		return "", fmt.Errorf("found %s, want a string", Quote(value, 20))
	}
	err := json.Unmarshal(value, &s)
	return s, err
}

// Quote returns the first n bytes of b, quoted for an error message: printable,
// on one line.
func Quote(b []byte, n int) string {
	if len(b) > n {
		return strconv.Quote(string(b[:n])) + "…"
	}
	return strconv.Quote(string(b))
}
