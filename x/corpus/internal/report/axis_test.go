package report

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestAt(t *testing.T) {
	a := logAxis{Low: 0.1, High: 1000, From: 500, To: 100}
	for v, want := range map[float64]float64{0.1: 500, 1: 400, 10: 300, 100: 200, 1000: 100} {
		if got := a.At(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	for _, c := range []struct{ low, high, wantLow, wantHigh float64 }{
		{3, 70, 2, 100}, {2, 50, 2, 50}, {1, 1000, 1, 1000}, {0.03, 0.04, 0.02, 0.05},
		{0.999, 1.001, 0.5, 2}, {7, 7, 5, 10}, {10, 10, 5, 20}, {1e12, 1e12, 5e11, 2e12},
		{2e-3, 2e-3, 1e-3, 5e-3},
	} {
		got := logAxis{Low: c.low, High: c.high, From: 3, To: 4}.Rounded()
		if want := (logAxis{c.wantLow, c.wantHigh, 3, 4}); got != want {
			t.Errorf("%v to %v: %v, want %v", c.low, c.high, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	type labels map[float64]bool
	for _, c := range []struct {
		axis logAxis
		gap  float64
		want labels
	}{
		{logAxis{1, 10, 0, 100}, 30, labels{1: true, 2: true, 5: true, 10: true}},
		{logAxis{1, 10, 0, 100}, 31, labels{1: true, 2: false, 5: false, 10: true}},
		{logAxis{0.002, 0.3, 10, 0}, 1, labels{.002: true, .005: true, .01: true, .02: true, .05: true,
			.1: true, .2: true}},
		{logAxis{5, 2000, 0, 100}, 70, labels{5: false, 10: false, 20: false, 50: false, 100: true,
			200: false, 500: false, 1000: false, 2000: false}},
		{logAxis{6, 9, 0, 100}, 1, labels{}},
	} {
		got := labels{}
		for _, tick := range c.axis.Ticks(c.gap) {
			got[tick.Value] = tick.Label
			if want := c.axis.At(tick.Value); tick.At != want {
				t.Errorf("%v: tick %v at %v, want %v", c.axis, tick.Value, tick.At, want)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.axis, got, c.want)
		}
	}
}

// Whatever the axis: ticks are in order, on the axis, and labels are as far apart as asked.
func TestLabelsKeepTheirDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		low := math.Pow(10, 16*r.Float64()-4)
		a := logAxis{Low: low, High: low * math.Pow(10, 12*r.Float64()), From: 100,
			To: 1000 * r.Float64()}.Rounded()
		gap := 60 * r.Float64()
		value, label := 0.0, math.Inf(1)
		for _, tick := range a.Ticks(gap) {
			if tick.Value <= value || tick.Value < a.Low || tick.Value > a.High {
				t.Fatalf("%v: tick %v after %v", a, tick.Value, value)
			}
			value = tick.Value
			if !tick.Label {
				continue
			}
			if math.Abs(tick.At-label) < gap-1e-9 {
				t.Fatalf("%v: labels at %v and %v, want %v between them", a, label, tick.At, gap)
			}
			label = tick.At
		}
		if value != a.High {
			t.Fatalf("%v: the last tick is %v", a, value)
		}
	}
}
