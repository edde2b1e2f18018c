package eval

// Expectations: a wanted perplexity, for the tests of those who change a model or the code that
// runs it.

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"picogpt/model"
)

// An Expectation is a wanted perplexity.
type Expectation struct {
	Perplexity float64
	Tolerance  float64 // the largest accepted difference
}

// ParseExpectation reads a perplexity as gpt perplexity prints it. The tolerance is half a unit of
// the last digit: "20.0222" is 20.0222 ± 0.00005.
func ParseExpectation(s string) (Expectation, error) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(s), "e")
	whole, decimals, _ := strings.Cut(mantissa, ".")
	power, err := strconv.Atoi(exponent)
	if !scaled {
		power, err = 0, nil
	}
	x, bad := strconv.ParseFloat(s, 64)
	digits := whole + decimals
	if err != nil || bad != nil || digits == "" || strings.Trim(digits, "0123456789") != "" ||
		x <= 0 {
		return Expectation{},
			fmt.Errorf("%q: want a perplexity as it is printed, 20.0222 for example", s)
	}
	half, err := strconv.ParseFloat("5e"+strconv.Itoa(power-len(decimals)-1), 64)
	return Expectation{x, half}, err
}

// Check returns an error with both numbers if the perplexity is not the wanted one.
func (e Expectation) Check(perplexity float64) error {
	if perplexity == e.Perplexity || math.Abs(perplexity-e.Perplexity) <= e.Tolerance {
		return nil
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return fmt.Errorf("perplexity per token: %s, want %s ± %s",
		number(perplexity), number(e.Perplexity), number(e.Tolerance))
}

// TB has the methods of testing.TB that ExpectPerplexity needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ExpectPerplexity measures a text, and fails the test unless the perplexity is the wanted one,
// which ParseExpectation reads. If the text cannot be measured, the test ends.
//
//	func TestPerplexity(t *testing.T) {
//		text, _ := eval.NewText(eval.HF, tok, story)
//		eval.ExpectPerplexity(t, m, text, eval.Options{Stride: 128}, "20.0222")
//	}
func ExpectPerplexity(t TB, m *model.Model, text Text, o Options, want string) Result {
	t.Helper()
	e, err := ParseExpectation(want)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r, err := Measure(context.Background(), m, text, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := e.Check(r.Perplexity); err != nil {
		t.Errorf("%v", err)
	}
	return r
}
