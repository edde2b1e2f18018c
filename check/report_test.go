package check_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/check"
)

// On a terminal without room for them, the places stand below their rows.
func TestATableFitsItsTerminal(t *testing.T) {
	const where = `after position 199 (id 11 ",  ,"), id 25834 " hatch": -0.293375, reference -0.293399`
	r := check.Report{Agree: true, Rows: []check.Row{{What: "ids", Verdict: check.Same},
		{What: "logits", Compared: "256 × 50257", Where: where, Verdict: check.Within}}}
	for _, columns := range []int{0, 200, 80, 60} {
		text := r.Text(columns)
		for line := range strings.Lines(text) {
			if columns > 0 && utf8.RuneCountInString(line) > columns+1 {
				t.Errorf("%d columns: %s", columns, line)
			}
		}
		below := strings.Contains(text, "within\n    after position 199 ")
		if below != (columns == 80 || columns == 60) ||
			!strings.Contains(strings.ReplaceAll(text, "\n    ", " "), where) {
			t.Errorf("%d columns:\n%s", columns, text)
		}
	}
	if r.String() != r.Text(0) {
		t.Errorf("String is %s", r.String())
	}
}
