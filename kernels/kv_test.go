package kernels

// A cache in 16 or 8 bits: what is stored, and that nothing reads anything else.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A text is the queries, keys and values of some tokens, [tokens, heads, dim] each.
type text struct {
	tokens, heads, dk, dv int
	q, k, v               []float32
}

func newText(rng *rand.Rand, tokens, heads, dk, dv int) *text {
	return &text{tokens, heads, dk, dv, randoms(rng, tokens*heads*dk),
		randoms(rng, tokens*heads*dk), randoms(rng, tokens*heads*dv)}
}

// rounded is the text with its keys and values rounded to binary16.
func (x *text) rounded() *text {
	r := *x
	round := func(from []float32) []float32 {
		to := make([]float32, len(from))
		for i, f := range from {
			to[i] = FromHalf(Half(f))
		}
		return to
	}
	r.k, r.v = round(x.k), round(x.v)
	return &r
}

// attend is the causal attention of the text over a cache of a format, so many tokens in a call.
func (x *text) attend(team *Team, format Format, chunk int) []float32 {
	const before = 2 // heads before the first one
	rowK, rowV := KVRow(format, x.dk, x.dv)
	out := make([]float32, x.tokens*x.heads*x.dv)
	s := Span{Heads: x.heads, KeyDim: x.dk, ValueDim: x.dv}
	rows := func(data []float32, first, dim int) HeadRows {
		return HeadRows{Data: data[first*x.heads*dim:], Row: x.heads * dim, Head: dim}
	}
	for first := 0; first < x.tokens; first += s.Rows {
		s.Rows = min(chunk, x.tokens-first)
		s.Tokens = first + s.Rows
		for len(s.Keys)*Block < s.Tokens {
			s.Keys = append(s.Keys, MakeKV(format, (before+x.heads)*rowK*Block))
			s.Values = append(s.Values, MakeKV(format, (before+x.heads)*rowV*Block))
		}
		s.Query, s.Key = rows(x.q, first, x.dk), rows(x.k, first, x.dk)
		s.Value, s.Out = rows(x.v, first, x.dv), rows(out, first, x.dv)
		spans := []Span{s}
		team.Run(func(w *Worker) { CausalAttention(w, spans, before, 0.25) })
	}
	return out
}

// A cache in F16 gives what one in F32 gives of keys and values that were rounded before: in a pass
// of its own, in parts and token by token, in each variant.
func TestACacheInF16HoldsRoundedNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	goTeam := newTeam(t, 1, "go")
	for _, s := range [][4]int{{1, 1, 4, 4}, {70, 2, 16, 16}, {130, 1, 64, 80}, {75, 3, 5, 33},
		{200, 1, 64, 64}} {
		x := newText(rng, s[0], s[1], s[2], s[3])
		want := x.rounded().attend(goTeam, F32, x.tokens)
		for _, variant := range Variants() {
			team := newTeam(t, 2, variant)
			for _, chunk := range []int{1, 7, 64, x.tokens} {
				what := fmt.Sprintf("%s %v, %d at a time", variant, s, chunk)
				sameSlices(t, what, x.attend(team, F16, chunk), want)
			}
		}
	}
}

// The attention of a first token is its value: here the nearest binary16, by hand.
func TestATokenReadsItsOwnValueRounded(t *testing.T) {
	value := []float32{2049, 2051, 1.0 / 3, -1e-8, 65519.996, 0x1.002p0, 0x1.006p0}
	want := []float32{2048, 2052, 0.333251953125, 0, 65504, 1, 0x1.008p0}
	x := &text{1, 1, 4, len(value), make([]float32, 4), make([]float32, 4), value}
	for _, variant := range Variants() {
		got := x.attend(newTeam(t, 1, variant), F16, 1)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: the value %v is read as %v, want %v", variant, value[i], got[i], want[i])
			}
		}
	}
}

// From 65520 on, nothing finite is left, whether it is in a key or a value, and whichever sign the
// query gives it.
func TestWhatF16CannotHoldIsNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, bad := range []float32{65520, -65520, 1e30, -1e30, inf, -inf, float32(math.NaN())} {
		for _, variant := range Variants() {
			team := newTeam(t, 1, variant)
			for _, query := range []float32{1, -1} {
				for _, where := range []string{"key", "value"} {
					x := &text{3, 1, 4, 4, filled(12), filled(12), filled(12)}
					for i := range x.q {
						x.q[i] = query
					}
					if where == "key" {
						x.k[5] = bad
					} else {
						x.v[5] = bad
					}
					out := x.attend(team, F16, 3)
					for i, v := range out {
						isNaN, hidden := v != v, i < 4 || where == "value" && i%4 != 1
						if isNaN == hidden {
							t.Errorf("%s: %v in a %s: out[%d] is %v, NaN is wanted: %v", variant, bad,
								where, i, v, !hidden)
						}
					}
				}
			}
		}
	}
}

func TestRound16IsAllOfBinary16(t *testing.T) {
	src, dst := make([]float32, 3*0x7c00), make([]uint16, 3*0x7c00)
	for i := range 0x7c00 {
		f := FromHalf(uint16(i))
		src[3*i] = f
		src[3*i+1] = math.Nextafter32(f, float32(math.Inf(1)))
		src[3*i+2] = -float32((float64(f) + halfValue(uint16(min(i+1, 0x7bff)))) / 2) // a tie
	}
	for _, v := range available {
		v.round16(dst, src)
		for i := range 0x7c00 {
			want := [3]uint16{uint16(i), uint16(i), 0x8000 | uint16(i+i&1)}
			if i == 0x7bff {
				want[2] = 0xfbff // itself: there is no next one
			}
			if got := [3]uint16(dst[3*i:]); got != want {
				t.Fatalf("%s: around %v: %#04x, want %#04x", v.name, src[3*i], got, want)
			}
		}
	}
}

// TestHeadsMove: keys and values of heads whose widths differ, to a block with more room.
func TestHeadsMove(t *testing.T) {
	const heads, dk, dv, room, roomTo = 3, 3, 5, 8, 16
	for _, format := range []Format{F32, F16, Q8} {
		room, roomTo := max(room, KVRoom(format)), max(roomTo, 2*KVRoom(format))
		rowK, rowV := KVRow(format, dk, dv)
		k, v := MakeKV(format, heads*rowK*room), MakeKV(format, heads*rowV*room)
		team, rng := newTeam(t, 1, ""), rand.New(rand.NewPCG(61, 62))
		keys, values := randoms(rng, room*heads*dk), randoms(rng, room*heads*dv)
		kTo, vTo := MakeKV(format, heads*rowK*roomTo), MakeKV(format, heads*rowV*roomTo)
		want, wantValues := MakeKV(format, heads*rowK*roomTo), MakeKV(format, heads*rowV*roomTo)
		team.Run(func(w *Worker) {
			for h := range heads {
				store := func(k, v KV, room int) {
					w.storeKV(k.from(h*rowK*room), v.from(h*rowV*room), room, 0, 8, keys[h*dk:], heads*dk,
						dk, values[h*dv:], heads*dv, dv)
				}
				store(k, v, room)
				store(want, wantValues, roomTo)
			}
		})
		MoveKV(kTo, vTo, roomTo, k, v, room, heads, dk, dv)
		if !reflect.DeepEqual(kTo, want) || !reflect.DeepEqual(vTo, wantValues) {
			t.Errorf("%v: other keys or values after the move", format)
		}
	}
}

// rounded8 is the text with its keys and values rounded to Q8: the integer of a number is it divided
// by the scale, which is the bfloat16 nearest to a 127th of the greatest of 32 numbers of a key, or of
// a value.
func (x *text) rounded8() *text {
	r := *x
	round := func(from []float32, dim, each int) []float32 {
		to := make([]float32, len(from))
		for i := 0; i < len(from); i += dim {
			for j := i; j < i+dim; j += each {
				part, most := from[j:min(j+each, i+dim)], 0.0
				for _, f := range part {
					most = max(most, math.Abs(float64(f)))
				}
				_, exponent := math.Frexp(most / 127)
				step := math.Ldexp(1, exponent-8) // of bfloat16, which has eight bits
				scale := math.RoundToEven(most/127/step) * step
				for k, f := range part {
					to[j+k] = float32(math.RoundToEven(float64(f)/scale) * scale)
				}
			}
		}
		return to
	}
	r.k, r.v = round(x.k, x.dk, 32), round(x.v, x.dv, x.dv)
	return &r
}

// exact is the causal attention of the text in float64.
func (x *text) exact() []float64 {
	out := make([]float64, x.tokens*x.heads*x.dv)
	for h := range x.heads {
		for i := range x.tokens {
			p, most, sum := make([]float64, i+1), math.Inf(-1), 0.0
			for j := range p {
				for d := range x.dk {
					p[j] += 0.25 * float64(x.q[(i*x.heads+h)*x.dk+d]) *
						float64(x.k[(j*x.heads+h)*x.dk+d])
				}
				most = max(most, p[j])
			}
			for j := range p {
				p[j] = math.Exp(p[j] - most)
				sum += p[j]
			}
			for j := range p {
				for d := range x.dv {
					out[(i*x.heads+h)*x.dv+d] += p[j] / sum * float64(x.v[(j*x.heads+h)*x.dv+d])
				}
			}
		}
	}
	return out
}

// A cache in Q8 gives the attention over rounded keys and values, in a pass of its own, in parts and
// token by token, in each variant with the same bits. Queries and weights, which have 16 bits, move
// it by far less than rounding does.
func TestACacheInQ8HoldsRoundedNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	goTeam := newTeam(t, 1, "go")
	for _, s := range [][4]int{{1, 1, 4, 4}, {70, 2, 16, 16}, {130, 1, 64, 80}, {75, 3, 5, 33},
		{200, 1, 64, 64}, {67, 1, 128, 130}} {
		x := newText(rng, s[0], s[1], s[2], s[3])
		want := x.attend(goTeam, Q8, x.tokens)
		near, plain, moved := x.rounded8().exact(), x.exact(), 0.0
		for i := range want {
			if off := math.Abs(float64(want[i]) - near[i]); !(off < 3e-4) {
				t.Fatalf("%v: [%d] is %v, want %v", s, i, want[i], near[i])
			}
			moved = max(moved, math.Abs(near[i]-plain[i]))
		}
		if moved < 2e-3 {
			t.Errorf("%v: rounding moves the results by %v: nothing is shown", s, moved)
		}
		for _, variant := range Variants() {
			team := newTeam(t, 2, variant)
			for _, chunk := range []int{1, 7, 64, x.tokens} {
				what := fmt.Sprintf("%s %v, %d at a time", variant, s, chunk)
				sameSlices(t, what, x.attend(team, Q8, chunk), want)
			}
		}
	}
}

// From 2¹⁰⁰ on nothing finite is left, whichever sign the query gives it, and below it nothing is
// lost. A NaN spoils its key or value, and those who see it.
func TestWhatQ8CannotHoldIsNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, bad := range []float32{0x1p100, -0x1p100, 1e38, inf, -inf, float32(math.NaN()), 0x1.fep99} {
		for _, variant := range Variants() {
			team := newTeam(t, 1, variant)
			for _, query := range []float32{1, -1, 1e-30} {
				for _, where := range []string{"key", "value"} {
					x := &text{3, 1, 4, 4, filled(12), filled(12), filled(12)}
					for i := range x.q {
						x.q[i] = query
					}
					if where == "key" {
						x.k[5] = bad
					} else {
						x.v[5] = bad
					}
					out := x.attend(team, Q8, 3)
					for i, v := range out {
						if isNaN, want := v != v, i >= 4 && bad != 0x1.fep99; isNaN != want {
							t.Errorf("%s: %v in a %s: out[%d] is %v, NaN is wanted: %v", variant, bad,
								where, i, v, want)
						}
					}
				}
			}
		}
	}
}

// Small numbers keep their precision, until a weight times a scale is below 2⁻⁸⁰.
func TestSmallNumbersInQ8(t *testing.T) {
	for _, c := range []struct{ value, want float32 }{{0x1p-73, 0x1p-73}, {0x1p-75, 0}, {0, 0},
		{-0x1p99, -0x1p99}, {127, 127}} {
		for _, variant := range Variants() {
			x := &text{1, 1, 4, 4, make([]float32, 4), make([]float32, 4), make([]float32, 4)}
			x.v[2] = c.value
			got := x.attend(newTeam(t, 1, variant), Q8, 1)
			if off := math.Abs(float64(got[2] - c.want)); off > math.Abs(float64(c.want))/250 ||
				got[0] != 0 || got[3] != 0 {
				t.Errorf("%s: %v is read as %v, want %v", variant, c.value, got, c.want)
			}
		}
	}
}
