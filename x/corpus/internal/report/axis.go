package report

// Logarithmic axes: the coordinates of numbers, and ticks.

import "math"

// A logAxis is an axis on which equal ratios are equally far apart: the numbers from Low to High stand
// between the coordinates From and To. Low and High are positive and differ.
type logAxis struct{ Low, High, From, To float64 }

// At returns the coordinate of v.
func (a logAxis) At(v float64) float64 {
	low := math.Log(a.Low)
	return a.From + (math.Log(v)-low)/(math.Log(a.High)-low)*(a.To-a.From)
}

// Rounded returns the axis with both ends moved outwards to a tick. Equal ends become different
// ones.
func (a logAxis) Rounded() logAxis {
	low, high := above(a.Low), above(a.High)
	if a.Low == a.High && tick(low) == a.Low {
		high++
	}
	if tick(low) > a.Low || a.Low == a.High {
		low--
	}
	a.Low, a.High = tick(low), tick(high)
	return a
}

// An axisTick is a number on an axis. Some have a label, so that labels are far enough apart.
type axisTick struct {
	Value, At float64
	Label     bool
}

// Ticks returns the ticks: 1, 2 and 5 times the powers of ten on the axis. Labels are at least gap
// apart: all ticks have one, or only the powers of ten, or of a hundred, a thousand, ….
func (a logAxis) Ticks(gap float64) []axisTick {
	decade := math.Abs(a.To-a.From) / math.Log10(a.High/a.Low)
	every := 1 // which ticks have a label, counted from 1
	if decade*math.Log10(2) < gap {
		for every = 3; decade*float64(every)/3 < gap; {
			every += 3
		}
	}
	var all []axisTick
	for i := above(a.Low); tick(i) <= a.High; i++ {
		all = append(all, axisTick{tick(i), a.At(tick(i)), i%every == 0})
	}
	return all
}

// tick returns number i of …, 0.5, 1, 2, 5, 10, …: tick(0) is 1.
func tick(i int) float64 {
	decade := int(math.Floor(float64(i) / 3))
	v := [...]float64{1, 2, 5}[i-3*decade]
	if decade < 0 {
		return v / math.Pow10(-decade) // rounded once, so that %g prints 0.002 as 0.002
	}
	return v * math.Pow10(decade)
}

// above returns the index of the first tick that is not below v.
func above(v float64) int {
	i := 3*int(math.Floor(math.Log10(v))) - 1
	for tick(i) < v {
		i++
	}
	return i
}
