package show

// What is shown on narrow terminals.

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
