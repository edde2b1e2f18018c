package main

// JSON as commands print it: one value a line, and < as it is.

import (
	"io"
	"math"
	"strconv"

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

// appendFloats appends a JSON array of numbers, each the shortest decimal that gives the same
// float32 back.
func appendFloats(b []byte, x []float32) []byte {
	b = append(b, '[')
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(v), 'g', -1, 32)
	}
	return append(b, ']')
}

// appendIDs appends a JSON array of ids.
func appendIDs(b []byte, ids []int) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}
