package check

// Ties, and numbers that no engine has: rows of logits made for it.

import (
	"math"
	"strings"
	"testing"

	"picogpt/check/reference"
)

// The reference goes on with the engine's token: what is compared next is after it.
func TestATieIsNoFault(t *testing.T) {
	for _, c := range []struct {
		oracle  []float64 // after the prompt's only token; the engine chose token 1
		exact   bool
		verdict Verdict
		where   string
	}{
		{[]float64{1, 5, -10}, true, Same, ""},
		{[]float64{5, 5, -10}, true, Tie, "0 apart"},
		{[]float64{5.0019, 5, -10}, true, Tie, "0.0019 apart"}, // two that are off by 1e-4 of 10
		{[]float64{5.0021, 5, -10}, true, Fault, "token 0 after 1: id 1, reference id 0"},
		{[]float64{8, 5, -10}, true, Fault, "token 0"},
		{[]float64{8, 5, -10}, false, Loss, "token 0"},
	} {
		comparison := &comparison{report: &Report{}, exact: c.exact}
		engine := [][]float32{{1, 5, -10}, {0, 0, 7}, {0, 0, 7}}
		oracle := reference.NewMatrix(3, 3, append(c.oracle, 0, 0, 7, 0, 0, 7))
		comparison.greedy([]int{2, 1, 2}, 1, engine, oracle)
		row := comparison.report.Rows[0]
		if row.Verdict != c.verdict || !strings.Contains(row.Where, c.where) || row.Count != 2 {
			t.Errorf("%v: %+v, want %s, %q", c.oracle, row, c.verdict, c.where)
		}
	}
}

// A fault is not hidden by a tie before it.
func TestAFaultAfterATieIsNamed(t *testing.T) {
	c := &comparison{report: &Report{}, exact: true}
	engine := [][]float32{{5, 5.001, 0}, {0, 5, 9}, {0, 0, 1}}
	oracle := reference.NewMatrix(3, 3, []float64{5.001, 5, 10, 0, 9, 5, 0, 0, 1})
	oracle.Row(0)[2] = -10
	c.greedy([]int{0, 1, 2}, 1, engine, oracle)
	if row := c.report.Rows[0]; row.Verdict != Fault || !strings.HasPrefix(row.Where, "token 1") ||
		!strings.Contains(row.Compared, "2 other, 1 of them ties") {
		t.Errorf("%+v", row)
	}
}

func TestGapsCountWhatIsNotFinite(t *testing.T) {
	for _, c := range []struct {
		engine []float32
		oracle []float64
		want   float64
	}{
		{[]float32{1, 2}, []float64{1, 2}, 0},
		{[]float32{1, 2}, []float64{1, 4}, 0.5},
		{[]float32{0, 0}, []float64{0, 0}, 0},
		{[]float32{0, 1}, []float64{0, 0}, math.Inf(1)},
		{[]float32{0, 1}, []float64{math.NaN(), 1}, math.Inf(1)},
	} {
		if got := gapOf(0, c.engine, reference.NewMatrix(1, len(c.oracle), c.oracle)).share(); got != c.want {
			t.Errorf("%v, %v: %g, want %g", c.engine, c.oracle, got, c.want)
		}
	}
}

// Against definitions: a binary16 has 11 bits and a bfloat16 8, beside float32's rounding.
func TestRound(t *testing.T) {
	for _, c := range []struct {
		format  string
		x, want float64
	}{
		{"f32", 1 + 1e-12, 1}, {"f32", 0.1, float64(float32(0.1))},
		{"f16", 0.1, 0.0999755859375}, {"f16", 1 + 1./2048, 1}, {"f16", 1 + 3./2048, 1 + 2./1024},
		{"f16", 1e-7, 1.1920928955078125e-07}, {"f16", 1e-9, 0}, {"f16", -65504, -65504},
		{"bf16", 0.1, 0.10009765625}, {"bf16", 1 + 1./256, 1}, {"bf16", 1 + 3./256, 1 + 2./128},
		{"q8", 0.1, float64(float32(0.1))}, {"f16", 0, 0},
	} {
		x := []float64{c.x}
		if round(x, c.format); x[0] != c.want {
			t.Errorf("%s: %v is %v, want %v", c.format, c.x, x[0], c.want)
		}
	}
}

func TestTokensAreBoundedByWeights(t *testing.T) {
	for _, c := range [][3]int{
		{7_259_008, 256, 256}, {124_439_808, 1024, 160}, {1_557_611_200, 1024, 12}, {9495, 23, 23},
		{math.MaxInt32, 1024, 9}, {0, 3, 3},
	} {
		if n := Tokens(c[0], c[1]); n != c[2] {
			t.Errorf("%d weights, %d positions: %d tokens, want %d", c[0], c[1], n, c[2])
		}
	}
}
