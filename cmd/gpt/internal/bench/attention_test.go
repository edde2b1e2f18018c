package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func powers(constant, exponent float64) []AttentionPoint {
	var p []AttentionPoint
	for n := 1024; n <= 16384; n *= 2 {
		p = append(p, AttentionPoint{Tokens: n, MS: constant * math.Pow(float64(n), exponent)})
	}
	return p
}

func TestExponent(t *testing.T) {
	for _, want := range []float64{1, 1.5, 2} {
		p := powers(3e-4, want)
		p[0].MS *= 10 // what is not among the longest three does not count
		if got := exponent(p); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := exponent(powers(1, 2)[:1]); got != 0 {
		t.Errorf("of one point: %v, want 0", got)
	}
}

func TestSVG(t *testing.T) {
	a := Attention{Width: 512, Series: []AttentionSeries{{"quadratic", 2, powers(1e-5, 2)},
		{"linear", 1, powers(1e-3, 1)}}}
	for range 2 { // all lengths, then only one
		var b bytes.Buffer
		if err := a.SVG(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, want := range []string{"quadratic: N^2.00", "linear: N^1.00", ">1024<", ">20 ms<"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in the picture", want)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("a coordinate is no number:\n%s", text)
		}
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for i := range a.Series {
			a.Series[i].Points = a.Series[i].Points[:1]
		}
	}
}
