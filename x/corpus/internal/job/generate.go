package job

// What corpus generate is told.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/internal/option"
)

// GenerateOptions are those of gpt generate --prompts: of the options of the table, those that are
// corpus's too, as flags say them.
type GenerateOptions struct {
	decode.Options
	Samples int
	Fields  []string
	Keep    bool
}

// A Generation is GenerateOptions as JSON: Beam carries no interfaces, which decode.Options have.
type Generation string

// GenerationOf returns options as a Generation.
func GenerationOf(o *GenerateOptions) Generation {
	b, _ := json.Marshal(o) // numbers and strings have a JSON
	return Generation(b)
}

// Options returns the options.
func (g Generation) Options() *GenerateOptions {
	o := &GenerateOptions{}
	json.Unmarshal([]byte(g), o) // which GenerationOf has made
	return o
}

// Table is the options that have flags.
func (o *GenerateOptions) Table() []option.Option {
	return slices.Insert(option.In(option.Of(&o.Options), option.Corpus), 2,
		option.Samples(&o.Samples))
}

// Meant returns what the flags mean to package decode.
func (o GenerateOptions) Meant() decode.Options {
	option.Settle(o.Table())
	return o.Options
}

// others are what is no option of the table, in JSON.
type others struct {
	Seed   uint64   `json:"seed"`
	Top    int      `json:"logprobs,omitempty"` // alternatives of a token
	Fields []string `json:"fields,omitempty"`
	Keep   bool     `json:"keep,omitempty"`
}

func key(o *option.Option) string { return strings.ReplaceAll(o.Flag.Name, "-", "_") }

// MarshalJSON writes an object with the flags, with underscores in their names.
func (o GenerateOptions) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, row := range o.Table() {
		value, err := json.Marshal(row.Value)
		if row.Default == "" && !row.On() || row.String() == "0" && row.Default == "" {
			value = []byte("null")
		}
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, "%q:%s,", key(&row), value)
	}
	rest, err := json.Marshal(others{o.Seed, o.Top, o.Fields, o.Keep})
	return append(b, rest[1:]...), err
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *GenerateOptions) UnmarshalJSON(b []byte) error {
	var values map[string]json.RawMessage
	var rest others
	if err := json.Unmarshal(b, &values); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &rest); err != nil {
		return err
	}
	o.Seed, o.Top, o.Fields, o.Keep = rest.Seed, rest.Top, rest.Fields, rest.Keep
	for _, row := range o.Table() {
		value := values[key(&row)]
		if value == nil || bytes.Equal(value, []byte("null")) {
			continue
		}
		if err := json.Unmarshal(value, row.Value); err != nil {
			return fmt.Errorf("%s: %w", key(&row), err)
		}
	}
	return nil
}
