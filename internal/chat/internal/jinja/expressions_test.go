package jinja

import (
	"os/exec"
	"testing"
)

// compareExpressions renders the sources of rows, and compares them with what transformers said.
func compareExpressions(t *testing.T, rows []*Dict) {
	t.Helper()
	var variables *Dict
	for _, row := range rows {
		if v, ok := row.Get("variables"); ok {
			variables = v.(*Dict)
			continue
		}
		source, _ := row.Get("source")
		template, err := Parse(source.(string))
		got := ""
		if err == nil {
			got, err = template.Render(variables, noon)
		}
		same(t, source.(string), row, got, err)
	}
}

// TestExpressionsAreAsTransformersEvaluatesThem: some by hand, 1500 at random.
func TestExpressionsAreAsTransformersEvaluatesThem(t *testing.T) {
	compareExpressions(t, goldens(t, "expressions.jsonl.gz"))
}

// TestOtherExpressionsWhereTransformersIs is its twin with other expressions.
func TestOtherExpressionsWhereTransformersIs(t *testing.T) {
	out, err := exec.Command("python3", "testdata/goldens.py", "2", "3000").Output()
	if err != nil {
		t.Skip("python3 has no transformers here: pip install transformers")
	}
	compareExpressions(t, rowsOf(t, string(out)))
}
