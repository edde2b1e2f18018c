package show

// What is shown on narrow terminals, and small probabilities.

import (
	"fmt"
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/inside"
)

// fits reports lines that are wider than so many columns.
func fits(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if width := terminal.Width(strings.TrimSuffix(line, "\n")); width > columns {
			t.Errorf("%d columns: a line of %d: %s", columns, width, line)
		}
	}
}

func TestTablesOfHeadsFitTheTerminal(t *testing.T) {
	x := 0.25
	a := Attention{HeadTable: &inside.HeadTable{Heads: []inside.HeadScore{
		{Layer: 11, Head: 10, Previous: 0.5, Duplicate: &x, Entropy: 1.25, Distance: 3.5}, {Head: 1}}}}
	whole := a.Table(0)
	if a.Table(72) != whole || strings.Count(whole, "\n") != 3 || !strings.Contains(whole,
		"  11.10     0.500  0.000  0.000      0.250          -    1.250      3.50\n") {
		t.Errorf("whole:\n%s", whole)
	}
	for _, columns := range []int{71, 40, 24, 20} {
		got := a.Table(columns)
		fits(t, got, columns)
		for _, column := range strings.Fields(strings.SplitN(whole, "\n", 2)[0])[1:] {
			if strings.Count(got, column) != 1 {
				t.Errorf("%d columns: %s is not there once:\n%s", columns, column, got)
			}
		}
	}
}

func TestBarsFitTheTerminal(t *testing.T) {
	a := Attribution{[]int{1}, &inside.Attribution{Metric: inside.Metric{Target: 2}, Sum: 1,
		Parts: inside.Parts{{Name: "attn_bias 11", Value: -2}, {Name: "pos", Value: 1.5}}},
		func(id int) string { return fmt.Sprint(" ", id) }}
	if whole := a.Bars(0, 0); a.Bars(0, 76) != whole {
		t.Errorf("76 columns are another table than\n%s", whole)
	}
	for columns := 25; columns < 76; columns++ {
		got := a.Bars(0, columns)
		fits(t, got, columns)
		if (columns >= 32) != strings.Contains(got, "██│") {
			t.Errorf("%d columns:\n%s", columns, got)
		}
	}
}

// TestComparisonsFit80Columns has tokens as long as they come, and signs that quotes make longer.
func TestComparisonsFit80Columns(t *testing.T) {
	for _, text := range []string{" a", " internationalization", "\u200b\u200b\u200b\u200b", "世界世界世界"} {
		c := &eval.Comparison{}
		c.A.Documents = 12
		for i := range 3 {
			c.Most = append(c.Most, eval.Difference{Document: i, Position: 1000 + i, ID: 5, KL: 0.01234,
				LogProbs: [2]float64{-12.345, -10.5}, Before: strings.Repeat(text, 9), Text: text,
				Choices: [2]int{1, 2}, Chosen: []string{text, text}})
		}
		got := differences(c)
		fits(t, got, 80)
		if strings.Count(got, "\n") != 4 || strings.Count(got, "…\"") < 3 {
			t.Errorf("%q:\n%s", text, got)
		}
	}
}

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
