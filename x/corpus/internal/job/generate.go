package job

// What corpus generate is told, and the ranks that --keep keeps.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
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
	Saved   []string // flags that the checkpoint's generation_config.json gave
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

// Meant returns what the flags, and those of Saved, mean to package decode.
func (o GenerateOptions) Meant() decode.Options {
	option.Settle(o.Table())
	option.SetSaved(option.Of(&o.Options), o.Saved) // which UnmarshalJSON has tried
	return o.Options
}

// others are what is no option of the table, in JSON.
type others struct {
	Seed   uint64   `json:"seed"`
	Top    int      `json:"logprobs,omitempty"` // alternatives of a token
	Fields []string `json:"fields,omitempty"`
	Keep   bool     `json:"keep,omitempty"`
	Saved  []string `json:"generation_config,omitempty"`
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
	rest, err := json.Marshal(others{o.Seed, o.Top, o.Fields, o.Keep, o.Saved})
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
	o.Saved = rest.Saved
	if err := option.SetSaved(option.Of(new(decode.Options)), o.Saved); err != nil {
		return err
	}
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

// Ranks are a range of documents by rank, as shares of all documents, exactly as they were written.
type Ranks struct {
	From, To string
	from, to *big.Rat
}

// share matches a share: 0.1, 10% or 1/3.
var share = regexp.MustCompile(`^([0-9]{1,20}(\.[0-9]{1,20})?%?|[0-9]{1,20}/[0-9]{1,20})$`)

// ParseRanks reads LO..HI.
func ParseRanks(s string) (Ranks, error) {
	from, to, found := strings.Cut(s, "..")
	if !found {
		return Ranks{}, fmt.Errorf("%q: want LO..HI, such as 0.1..0.7", s)
	}
	r := Ranks{From: from, To: to}
	var err error
	if r.from, err = parseShare(from); err != nil {
		return r, err
	}
	if r.to, err = parseShare(to); err != nil {
		return r, err
	}
	if r.from.Cmp(r.to) >= 0 {
		return r, fmt.Errorf("%q: keeps nothing, want the smaller share first", s)
	}
	return r, nil
}

func parseShare(s string) (*big.Rat, error) {
	number, percent := strings.CutSuffix(s, "%")
	r, ok := new(big.Rat).SetString(number)
	if !share.MatchString(s) || !ok {
		return nil, fmt.Errorf("%q: want a share of the documents: 0.1, 10%% or 1/3", s)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	if r.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, fmt.Errorf("%q: want a share of the documents, from 0 to 1", s)
	}
	return r, nil
}

// Of returns the ranks of the range among n documents, which count from 1: those greater than
// after, up to last.
func (r Ranks) Of(n int) (after, last int) { return ceil(r.from, n), ceil(r.to, n) }

// ceil returns the smallest whole number that is at least share·n.
func ceil(share *big.Rat, n int) int {
	product := new(big.Int).Mul(share.Num(), big.NewInt(int64(n)))
	product.Add(product, share.Denom()).Sub(product, big.NewInt(1))
	return int(product.Quo(product, share.Denom()).Int64())
}
