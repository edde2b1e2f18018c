package strictjson

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"unsafe"
)

// Line returns a value as one line of JSON, with its line feed. It does not escape characters such
// as <.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Print prints a value as one line of JSON, to what out has for JSON if that differs.
func Print(out io.Writer, v any) error {
	b, err := Line(v)
	if err != nil {
		return err
	}
	if o, ok := out.(interface{ JSON() io.Writer }); ok {
		out = o.JSON()
	}
	_, err = out.Write(b)
	return err
}

// Number is a pointer to x, nil where JSON has no such number.
func Number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// AppendFloats appends a JSON array of numbers, each the shortest decimal that gives the same
// float32 back.
func AppendFloats[T float32 | float64](b []byte, x []T) []byte {
	var zero T
	bits := 8 * int(unsafe.Sizeof(zero))
	b = append(b, '[')
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(v), 'g', -1, bits)
	}
	return append(b, ']')
}

// AppendIDs appends a JSON array of ids.
func AppendIDs(b []byte, ids []int) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}
