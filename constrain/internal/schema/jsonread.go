package schema

// JSON values in schemas, read as what a keyword wants: types, numbers, lists of names.

import (
	"fmt"
	"math/big"

	"picogpt/internal/quote"
)

func (v *jsonValue) want(what string) error {
	return fmt.Errorf("%s: want %s, found %s", v.at(), what, v.is())
}

// string returns the characters of a string, "" of anything else and of nil.
func (v *jsonValue) string() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

func readTypes(v *jsonValue) (t types, err error) {
	items := []*jsonValue{v}
	if v.kind == '[' {
		items = v.items
	}
	for _, item := range items {
		bit := typeNames[item.text]
		if item.kind != '"' || bit == 0 {
			return 0, fmt.Errorf("%s: want null, boolean, number, integer, string, array or "+
				"object; found %s", v.at(), quote.Short(item.text, 40))
		}
		t |= bit
	}
	if t == 0 {
		return 0, v.want("a type or several")
	}
	return t, nil
}

// count reads a whole number from 0, such as 3 or 3.0. Numbers above 2^30 are all treated alike.
func (v *jsonValue) count() (int, error) {
	d, err := v.decimal()
	if err != nil || d.neg && !d.zero() || !d.whole() {
		return 0, v.want("a whole number from 0")
	}
	const most = 1 << 30
	if d.point > 10 {
		return most, nil
	}
	n := 0
	for _, digit := range d.integer() {
		n = n*10 + int(digit-'0')
	}
	return min(n, most), nil
}

func (v *jsonValue) strings() (list []string, err error) {
	if v.kind != '[' {
		return nil, v.want("an array of strings")
	}
	seen := map[string]bool{}
	for _, item := range v.items {
		if item.kind != '"' {
			return nil, item.want("a string")
		}
		if !seen[item.text] {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list, nil
}

func (v *jsonValue) decimal() (*decimal, error) {
	if v.kind != '0' {
		return nil, v.want("a number")
	}
	d, err := parseDecimal(v.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %v", v.at(), err)
	}
	return d, nil
}

// divisor reads a number above 0 for multipleOf.
func (v *jsonValue) divisor() (*big.Rat, error) {
	d, err := v.decimal()
	if err != nil {
		return nil, err
	}
	if d.neg || d.zero() || d.point > 400 || d.point < -400 || len(d.digits) > 400 {
		return nil, v.want("a number above 0")
	}
	return d.rat(), nil
}
