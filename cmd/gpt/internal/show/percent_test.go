package show

import (
	"strings"
	"testing"
)

func TestNoProbabilityBut0LooksLikeNothing(t *testing.T) {
	for _, c := range []struct {
		p      float64
		digits int
		want   string
	}{
		{1, 2, "100.00%"}, {0.12345, 2, "12.35%"}, {0.001, 2, "0.10%"}, {0.0005, 2, "0.05%"},
		{1.99e-5, 2, "0.002%"}, {1.0 / 50257, 2, "0.002%"}, {3e-9, 2, "3e-07%"}, {0, 2, "0.00%"},
		{1, 1, "100.0%"}, {0.015, 1, "1.5%"}, {0.00012, 1, "0.012%"}, {0, 1, "0.0%"},
	} {
		if got := Percent(c.p, c.digits); got != c.want {
			t.Errorf("%v, %d: %s, want %s", c.p, c.digits, got, c.want)
		}
	}
	for _, p := range []float64{5e-324, 1e-300, 1e-20, 1e-9, 4e-5, 5e-5, 9.9e-4, 0.01} {
		for digits := range 4 {
			if got := Percent(p, digits); !strings.ContainsAny(strings.SplitN(got, "e", 2)[0], "123456789") {
				t.Errorf("%v, %d: %s", p, digits, got)
			}
		}
	}
}

// Of a model to which all tokens are the same, each bar is full and each number is there.
func TestANumberStandsBesideEachBar(t *testing.T) {
	even := &Next{left: 50257, rest: 50254.0 / 50257}
	for id := range 3 {
		even.Candidates = append(even.Candidates, NextToken{ID: id, Prob: 1.0 / 50257})
	}
	table := even.Table()
	if strings.Count(table, "0.002%  ") != 3 || strings.Contains(table, " 0.00%") {
		t.Error(table)
	}
	even.Candidates[1].Prob = 1.2e-9
	if !strings.Contains(even.Table(), " 1.2e-07%     0.000\n") {
		t.Error(even.Table())
	}
}
