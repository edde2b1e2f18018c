package kernels

import (
	"math"
	"testing"
)

// halfValue is what 16 bits mean by the definition of binary16, as a float64.
func halfValue(h uint16) float64 {
	value := float64(h&0x3ff) * 0x1p-24
	if e := int(h >> 10 & 31); e == 31 {
		value = math.Inf(1)
		if h&0x3ff != 0 {
			return math.NaN()
		}
	} else if e > 0 {
		value = math.Ldexp(1+float64(h&0x3ff)/1024, e-15)
	}
	return math.Copysign(value, 1-2*float64(h>>15))
}

func TestHalfToFloatMeansWhatBinary16Says(t *testing.T) {
	for i := range 1 << 16 {
		got, want := float64(FromHalf(uint16(i))), halfValue(uint16(i))
		if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			t.Fatalf("%#04x: %v, want %v", i, got, want)
		}
	}
}

func TestHalfReturnsEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		want := h
		if f := halfValue(h); f != f {
			want |= 0x200 // made quiet
		}
		if got := Half(FromHalf(h)); got != want {
			t.Fatalf("Half of the value of %#04x: %#04x, want %#04x", h, got, want)
		}
	}
}

// Between each two neighbours: the midpoint goes to the even one, a hair to either side goes to the
// nearer one.
func TestHalfRoundsToNearestEven(t *testing.T) {
	for i := range 0x7c00 {
		low, high := uint16(i), uint16(i+1)
		top := halfValue(high)
		if high == 0x7c00 {
			top = 65536 // the next value, had binary16 a larger exponent
		}
		mid := float32((halfValue(low) + top) / 2) // exact
		even := low + low&1
		for _, c := range []struct {
			f    float32
			want uint16
		}{{mid, even}, {math.Nextafter32(mid, 0), low}, {math.Nextafter32(mid, 1e9), high}} {
			if got := Half(c.f); got != c.want {
				t.Fatalf("Half(%v) = %#04x, want %#04x", c.f, got, c.want)
			}
			if got := Half(-c.f); got != c.want|0x8000 {
				t.Fatalf("Half(-%v) = %#04x, want %#04x", c.f, got, c.want|0x8000)
			}
		}
	}
	for _, c := range []struct {
		f    float32
		want uint16
	}{{float32(math.Inf(1)), 0x7c00}, {math.MaxFloat32, 0x7c00}, {math.SmallestNonzeroFloat32, 0},
		{float32(math.Copysign(0, -1)), 0x8000}} {
		if got := Half(c.f); got != c.want {
			t.Errorf("Half(%v) = %#04x, want %#04x", c.f, got, c.want)
		}
	}
}

func TestBFloatRoundsToNearestEven(t *testing.T) {
	value := func(h uint16) float64 { // the bits past the greatest exponent as if it went on
		if h&0x7fff == 0x7f80 {
			return 0x1p128
		}
		return float64(math.Float32frombits(uint32(h) << 16))
	}
	for i := range 0x7f80 {
		low, high := uint16(i), uint16(i+1)
		mid := float32((value(low) + value(high)) / 2)
		for _, c := range []struct {
			f    float32
			want uint16
		}{{float32(value(low)), low}, {mid, low + low&1}, {math.Nextafter32(mid, 0), low},
			{math.Nextafter32(mid, float32(math.Inf(1))), high}} {
			if got := BFloat(c.f); got != c.want {
				t.Fatalf("BFloat(%v) = %#04x, want %#04x", c.f, got, c.want)
			}
			if got := BFloat(-c.f); got != c.want|0x8000 {
				t.Fatalf("BFloat(-%v) = %#04x, want %#04x", c.f, got, c.want|0x8000)
			}
		}
	}
	if got := BFloat(float32(math.Inf(-1))); got != 0xff80 {
		t.Errorf("BFloat(-Inf) = %#04x", got)
	}
	if got := BFloat(math.Float32frombits(0x7f800001)); got&0x7fc0 != 0x7fc0 {
		t.Errorf("BFloat(NaN) = %#04x", got)
	}
}
