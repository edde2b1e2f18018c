package textio

import (
	"reflect"
	"testing"
)

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"", []int{}}, {" \n", []int{}}, {"[]", []int{}}, {"7", []int{7}},
		{"1,2, 3 ", []int{1, 2, 3}}, {"1 2\n3", []int{1, 2, 3}},
		{" [1, 2,\n 3]\n", []int{1, 2, 3}}, {"-1", []int{-1}},
	} {
		if got, err := ParseIDs(c.text); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"a", "1,", ",", "1;2", "1.0", "[1", "[1]]", "[1 2]", "[[1]]",
		`["1"]`, "[1e1]", "[true]", "9223372036854775808", "1, 2 3"} {
		if got, err := ParseIDs(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
