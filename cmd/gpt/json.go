package main

// JSON as commands print it: one value a line, and < as it is.

import (
	"bytes"
	"encoding/json"
	"math"
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
func (a *app) printJSON(v any) error {
	b, err := marshalLine(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(b)
	return err
}

// number is a pointer to x, nil where JSON has no such number.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
