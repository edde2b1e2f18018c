package inside

// Parts of the model by name, each with a number.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A Part is a part of the model, such as "embed", "head 3.1" (layer 3, head 1) or "mlp 2", and what
// it is worth.
type Part struct {
	Name  string
	Value float64
}

// Parts are some parts in an order. In JSON they are an object, in this order.
type Parts []Part

// Value returns the value of a part, and whether there is one of that name.
func (p Parts) Value(name string) (float64, bool) {
	for _, part := range p {
		if part.Name == name {
			return part.Value, true
		}
	}
	return 0, false
}

// MarshalJSON writes {"embed":0.1,"head 0.0":0.2}.
func (p Parts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, part := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(part.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.Name, err)
		}
		name, _ := json.Marshal(part.Name) // a string always has JSON
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Parts) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("parts: want an object")
	}
	*p = Parts{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		part := Part{Name: name.(string)} // the decoder takes no other name
		if err := d.Decode(&part.Value); err != nil {
			return fmt.Errorf("parts: %w", err)
		}
		*p = append(*p, part)
	}
	return nil
}
