package main

// JSON as commands print it: one value a line, and < as it is.

import (
	"io"
	"math"

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
