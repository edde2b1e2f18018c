package kernels

// Q8 and Q4: the layout, the rounding, and linear layers on them.

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// storedWeight reads a weight by the words at the top of quant.go, and by nothing else.
func storedWeight(f Format, blocks []byte, in, k, j int) (integer int, scale float32) {
	tiles := (in + 31) / 32
	number := j/16*tiles + k/32
	j, k = j%16, k%32
	var at int
	if f == Q8 {
		tile := blocks[544*number:]
		integer = int(int8(tile[32*(k/2)+2*j+k%2]))
		at = 544*number + 512 + 2*j
	} else {
		b := blocks[288*number+32*(k/4)+4*(j%8)+2*(k%2)+(k%4)/2]
		if j < 8 {
			integer = int(b&15) - 8
		} else {
			integer = int(b>>4) - 8
		}
		at = 288*number + 256 + 2*j
	}
	return integer, math.Float32frombits(uint32(binary.LittleEndian.Uint16(blocks[at:])) << 16)
}

var quantSizes = [][2]int{{1, 1}, {31, 15}, {32, 16}, {33, 17}, {64, 48}, {100, 50}, {128, 33}}

func TestConvertRoundsWithinHalfAStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range []Format{Q8, Q4} {
		for _, layout := range []Layout{InOut, OutIn} {
			for _, size := range quantSizes {
				in, out := size[0], size[1]
				src := Matrix{Layout: layout, In: in, Out: out, F32: randoms(rng, in*out)}
				m := Convert(newTeam(t, 3, ""), f, &src)
				if len(m.Blocks) != QuantBytes(f, in, out) || m.In != in || m.Out != out ||
					m.Format != f {
					t.Fatalf("%v %v: %v [%d %d], %d bytes", f, size, m.Format, m.In, m.Out,
						len(m.Blocks))
				}
				row := make([]float32, in)
				for j := range out {
					m.Row(row, j)
					for k := range in {
						at := k*out + j
						if layout == OutIn {
							at = j*in + k
						}
						integer, scale := storedWeight(f, m.Blocks, in, k, j)
						if got := float32(float32(integer) * scale); got != row[k] {
							t.Fatalf("%v %v: Row gives %v for input %d, output %d, the bytes say %d·%v", f, size, row[k], k, j, integer, scale)
						}
						w, s := float64(src.F32[at]), math.Abs(float64(scale))
						cut := f == Q4 && (integer == 7 || integer == -8)
						if e := math.Abs(float64(row[k]) - w); e > s*0.501 &&
							!(cut && math.Abs(w) > math.Abs(float64(row[k])) && e < 3*s) {
							t.Fatalf("%v %v: input %d, output %d is %v = %d·%v, want %v", f, size,
								k, j, row[k], integer, scale, w)
						}
					}
				}
			}
		}
	}
}

// Four bits must do at least as well as the plain way, scale = peak/−8.
func TestConvertQ4SearchesTheScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const in, out = 256, 64
	src := Matrix{Layout: OutIn, In: in, Out: out, F32: randoms(rng, in*out)}
	m := Convert(newTeam(t, 1, ""), Q4, &src)
	var searched, plain float64
	row := make([]float32, in)
	for j := range out {
		m.Row(row, j)
		for b := 0; b < in; b += 32 {
			block := src.F32[j*in+b:][:32]
			var peak float64
			for _, v := range block {
				if math.Abs(float64(v)) > math.Abs(peak) {
					peak = float64(v)
				}
			}
			for k, v := range block {
				s := peak / -8
				p := float64(v) - s*max(-8, min(7, math.RoundToEven(float64(v)/s)))
				e := float64(v) - float64(row[b+k])
				searched, plain = searched+e*e, plain+p*p
			}
		}
	}
	if searched > 0.93*plain {
		t.Errorf("squared error %v, the plain way's %v", searched, plain)
	}
}

func TestConvertOddBlocks(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, f := range []Format{Q8, Q4} {
		src := Matrix{Layout: OutIn, In: 32, Out: 8, F32: make([]float32, 32*8)}
		row := func(j int) []float32 { return src.F32[j*32 : j*32+32] }
		for k := range 32 {
			row(1)[k] = float32(k - 9)
			row(2)[k] = float32(k - 9)
			row(4)[k] = math.MaxFloat32 / 32 * float32(k-16)
			row(5)[k] = 0x1p-79 * float32(k-16) / 16
			row(6)[k] = 0x1p-90 * float32(k-16) / 16
			row(7)[k] = -0.25
		}
		row(1)[5], row(2)[31], row(3)[0] = nan, -inf, float32(math.Copysign(0, -1))
		m := Convert(newTeam(t, 1, ""), f, &src)
		got := make([]float32, 32)
		for j := range 8 {
			m.Row(got, j)
			for k, v := range got {
				w := row(j)[k]
				ok := false
				switch j {
				case 1, 2:
					ok = v != v
				case 0, 3, 6:
					ok = math.Float32bits(v) == 0
				default:
					peak := float64(row(j)[0])
					ok = math.Abs(float64(v)-float64(w)) <= math.Abs(peak)/7
				}
				if !ok {
					t.Errorf("%v, row %d: input %d is %v, was %v", f, j, k, v, w)
				}
			}
		}
	}
}

func TestConvertBetweenAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	team := newTeam(t, 2, "")
	for _, layout := range []Layout{InOut, OutIn} {
		for _, size := range quantSizes {
			src := Matrix{Layout: layout, In: size[0], Out: size[1],
				F32: randoms(rng, size[0]*size[1])}
			for _, f := range []Format{F32, F16, BF16, Q8, Q4} {
				there := Convert(team, f, &src)
				back := Convert(team, F32, &there)
				if there.Format != f || back.Format != F32 || back.Layout != layout ||
					back.In != src.In || back.Out != src.Out {
					t.Fatalf("%v, back %+v", there.Format, back)
				}
				row := make([]float32, src.In)
				for j := range src.Out {
					if layout == OutIn || there.Blocks != nil {
						there.Row(row, j)
					}
					for k := range src.In {
						at := k*src.Out + j
						if layout == OutIn {
							at = j*src.In + k
						}
						want := row[k]
						switch f {
						case F32:
							want = src.F32[at]
						case F16:
							want = FromHalf(Half(src.F32[at]))
						case BF16:
							want = math.Float32frombits(uint32(BFloat(src.F32[at])) << 16)
						}
						if back.F32[at] != want {
							t.Fatalf("%v %v: input %d, output %d is %v, want %v", f, size, k, j,
								back.F32[at], want)
						}
					}
				}
			}
		}
	}
}

func TestQuantBytes(t *testing.T) {
	for _, c := range []struct {
		f             Format
		in, out, want int
	}{
		{Q8, 768, 2304, 768 * 2304 * 17 / 16}, {Q4, 768, 2304, 768 * 2304 * 9 / 16},
		{Q8, 1, 1, 544}, {Q4, 33, 17, 4 * 288},
		{Q8, 0, 5, 0}, {Q8, 5, 0, 0}, {Q8, -1, 5, -1}, {Q4, 5, -1, -1}, {F16, 32, 16, -1},
		{Q8, math.MaxInt, math.MaxInt, -1}, {Q4, math.MaxInt, 1 << 10, -1},
	} {
		if got := QuantBytes(c.f, c.in, c.out); got != c.want {
			t.Errorf("QuantBytes(%v, %d, %d) = %d, want %d", c.f, c.in, c.out, got, c.want)
		}
	}
}

func TestQuantMatrixRefusesOtherSizes(t *testing.T) {
	if m, err := QuantMatrix(Q4, 33, 17, make([]byte, 4*288)); err != nil || m.Format != Q4 ||
		m.In != 33 || m.Out != 17 {
		t.Errorf("%+v, %v", m, err)
	}
	_, err := QuantMatrix(Q8, 32, 16, make([]byte, 543))
	if err == nil || !strings.Contains(err.Error(), "q8 [32 16]: 543 bytes, want 544") {
		t.Errorf("error %v", err)
	}
	if _, err := QuantMatrix(F32, 0, 0, nil); err == nil {
		t.Error("f32 is accepted")
	}
}

// Linear on Q8 and Q4 against float64 sums over the same integers: the rounding of x to 16 bits is
// all that it may lose.
func TestQuantLinearAgreesWithFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, f := range []Format{Q8, Q4} {
		for _, size := range quantSizes {
			for _, rows := range []int{1, 2, 7} {
				in, out := size[0], size[1]
				src := Matrix{Layout: OutIn, In: in, Out: out, F32: randoms(rng, in*out)}
				team := newTeam(t, 2, "")
				m := Convert(team, f, &src)
				x, bias, dst := randoms(rng, rows*in), randoms(rng, out), make([]float32, rows*out)
				x[0] = 300 // an outlier
				team.Run(func(w *Worker) { Linear(w, dst, x, rows, &m, bias) })
				row := make([]float32, in)
				for i := range rows {
					for j := range out {
						m.Row(row, j)
						want, weights := float64(bias[j]), 0.0
						peak := 0.0
						for k, v := range x[i*in : (i+1)*in] {
							want += float64(v) * float64(row[k])
							weights += math.Abs(float64(row[k]))
							peak = max(peak, math.Abs(float64(v)))
						}
						bound := weights*peak/65534 + 1e-5*(1+weights*peak)
						if got := float64(dst[i*out+j]); math.Abs(got-want) > bound {
							t.Fatalf("%v %v: row %d, output %d is %v, want %v ± %v", f, size, i, j,
								got, want, bound)
						}
					}
				}
			}
		}
	}
}

// The same bits whatever the team, the kernels, and the rows that a row is computed with.
func TestQuantLinearIsTheSameEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, f := range []Format{Q8, Q4} {
		for _, size := range [][2]int{{40, 10}, {600, 77}} {
			const rows = 2*leastRange + 13
			in, out := size[0], size[1]
			src := Matrix{In: in, Out: out, F32: randoms(rng, in*out)}
			m := Convert(newTeam(t, 1, "go"), f, &src)
			x, bias := randoms(rng, rows*in), randoms(rng, out)
			x[3*in+5], x[4*in] = float32(math.Inf(1)), float32(math.NaN())
			clear(x[5*in : 6*in])
			product := func(threads int, variant string, from, n int, bias []float32) []float32 {
				dst := make([]float32, n*out)
				newTeam(t, threads, variant).Run(func(w *Worker) {
					Linear(w, dst, x[from*in:], n,
						&m, bias)
				})
				return dst
			}
			for _, b := range [][]float32{bias, nil} {
				want := product(1, "go", 0, rows, b)
				for i, v := range want[3*out : 6*out] {
					switch row := 3 + i/out; {
					case row < 5 && v == v:
						t.Fatalf("%v: row %d is not finite and gives %v", f, row, v)
					case row == 5 && b != nil && v != b[i%out],
						row == 5 && b == nil && math.Float32bits(v) != 0:
						t.Fatalf("%v: a row of zeros gives %v", f, v)
					}
				}
				for _, name := range Variants() {
					for i, threads := range []int{1, 3} {
						splits := cases.Some([]int{rows, 7, 1, 100}, 2, i)
						for _, split := range splits {
							for from := 0; from < rows; from += split {
								n := min(split, rows-from)
								if from > 10 && from < rows-20 { // enough of them
									continue
								}
								for i, v := range product(threads, name, from, n, b) {
									if w := want[from*out+i]; !sameBits(v, w) {
										t.Fatalf("%v %v, %s, %d threads, rows %d–%d: number %d is %v, want %v", f, size, name, threads, from, from+n, i, v, w)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

func TestQuantLinearAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	team := newTeam(t, 2, "")
	src := Matrix{In: 96, Out: 50, F32: randoms(rng, 96*50)}
	m := Convert(team, Q8, &src)
	x, dst := randoms(rng, 9*96), make([]float32, 9*50)
	rows := 9
	body := func(w *Worker) { Linear(w, dst, x, rows, &m, nil) }
	for _, rows = range []int{9, 1, 4} {
		if n := testing.AllocsPerRun(20, func() { team.Run(body) }); n != 0 {
			t.Errorf("%d rows: %v allocations", rows, n)
		}
	}
}
