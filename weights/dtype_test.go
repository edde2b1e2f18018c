package weights

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"
	"unsafe"
)

// The definition of binary16, in float64 arithmetic.
func f16Definition(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, frac := int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

func TestEveryF16IsExact(t *testing.T) {
	data := make([]byte, 2<<16)
	for h := range 1 << 16 {
		binary.LittleEndian.PutUint16(data[2*h:], uint16(h))
	}
	got, err := Tensor{Name: "all", DType: F16, Shape: []int{1 << 16}, Data: data}.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for h, g := range got {
		want := f16Definition(uint16(h))
		if math.IsNaN(want) {
			if g == g || math.Float32bits(g)>>13&0x3ff != uint32(h&0x3ff) ||
				math.Signbit(float64(g)) != (h>>15 == 1) {
				t.Errorf("%#04x: %#08x, want a NaN of the same sign and payload", h,
					math.Float32bits(g))
			}
		} else if float64(g) != want || math.Signbit(float64(g)) != math.Signbit(want) {
			t.Errorf("%#04x: %g, want %g", h, g, want)
		}
	}
}

func TestFloatsOfEveryType(t *testing.T) {
	le := binary.LittleEndian
	nan := math.Float32bits(float32(math.NaN()))
	for _, c := range []struct {
		dtype DType
		data  []byte
		want  []float32
	}{
		{F32, le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, math.Float32bits(1.5)), 1), nan),
			[]float32{1.5, math.SmallestNonzeroFloat32, float32(math.NaN())}},
		{F16, []byte{0x00, 0x3c, 0x01, 0x00, 0xff, 0x7b}, []float32{1, 0x1p-24, 65504}},
		{BF16, []byte{0x80, 0x3f, 0x01, 0x00, 0x80, 0xff},
			[]float32{1, 0x1p-133, float32(math.Inf(-1))}},
		{F64, le.AppendUint64(le.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(1e300)),
			[]float32{0.1, float32(math.Inf(1))}},
	} {
		// Once where it lies, once at every misalignment.
		for shift := range 9 {
			data := append(make([]byte, shift, shift+len(c.data)), c.data...)[shift:]
			x := Tensor{Name: "x", DType: c.dtype, Shape: []int{len(c.want)}, Data: data}
			got, err := x.Float32s()
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("%s: %v, %v", c.dtype, got, err)
			}
			for i, w := range c.want {
				if got[i] != w && !(got[i] != got[i] && w != w) {
					t.Errorf("%s at shift %d: %v, want %v", c.dtype, shift, got, c.want)
				}
			}
		}
	}
}

func TestTypesThatAreNoFloatsAreNamed(t *testing.T) {
	for _, d := range []DType{BOOL, U8, I8, I16, U16, I32, U32, I64, U64} {
		x := Tensor{Name: "h.0.attn.c_attn.weight", DType: d, Shape: []int{1},
			Data: make([]byte, d.Size())}
		_, err := x.Float32s()
		wantError(t, err, "h.0.attn.c_attn.weight: type "+string(d), "want F32, F16, BF16 or F64")
		_, err = x.Uint16s()
		wantError(t, err, "h.0.attn.c_attn.weight: type "+string(d), "want F16 or BF16")
	}
	_, err := Tensor{Name: "x", DType: F32}.Uint16s()
	wantError(t, err, "x: type F32")
	_, err = Tensor{Name: "x", DType: "F8", Data: []byte{1}}.Float32s()
	wantError(t, err, "x: type F8")
}

func TestAlignedTensorsAreViewsAndOthersCopies(t *testing.T) {
	if !littleEndian() {
		t.Skip("views need a little-endian machine")
	}
	var file bytes.Buffer
	if err := Write(&file, nil, []Tensor{
		{Name: "f", DType: F32, Shape: []int{2}, Data: []byte{0, 0, 128, 63, 0, 0, 0, 64}},
		{Name: "h", DType: F16, Shape: []int{2}, Data: []byte{0, 60, 0, 64}},
	}); err != nil {
		t.Fatal(err)
	}
	dir := put(t, "model.safetensors", file.String())
	f, err := Open(os.DirFS(dir), "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, x := range f.All() {
		var at unsafe.Pointer
		if x.DType == F32 {
			v, err := x.Float32s()
			if err != nil || v[0] != 1 || v[1] != 2 {
				t.Fatalf("%v, %v", v, err)
			}
			at = unsafe.Pointer(&v[0])
		} else {
			v, err := x.Uint16s()
			if err != nil || v[0] != 0x3c00 || v[1] != 0x4000 {
				t.Fatalf("%x, %v", v, err)
			}
			at = unsafe.Pointer(&v[0])
		}
		if at != unsafe.Pointer(&x.Data[0]) {
			t.Errorf("%s: copied, want a view", x.Name)
		}
		if cap(x.Data) != len(x.Data) {
			t.Errorf("%s: append to Data would reach the next tensor", x.Name)
		}
	}
	// The same tensor one byte further on must not be viewed as it lies.
	x, _ := f.Tensor("h")
	moved := append(make([]byte, 1, 8), x.Data...)[1:]
	if uintptr(unsafe.Pointer(&moved[0]))%2 == 0 {
		t.Fatal("the test's slice is aligned")
	}
	v, err := Tensor{Name: "h", DType: F16, Shape: x.Shape, Data: moved}.Uint16s()
	if err != nil || v[0] != 0x3c00 || v[1] != 0x4000 ||
		unsafe.Pointer(&v[0]) == unsafe.Pointer(&moved[0]) {
		t.Errorf("misaligned: %x, %v, want a copy", v, err)
	}
}

func TestDoublesThatAllBecomeZeroAreAnError(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{[]float64{1e-60, -1e-50, 0}, "x: F32 makes zeros of all numbers, which are not in F64"},
		{[]float64{1e-60, 1e-44}, ""}, {[]float64{0, math.Copysign(0, -1)}, ""}, {nil, ""},
	} {
		var data []byte
		for _, x := range c.x {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
		_, err := Tensor{Name: "x", DType: F64, Shape: []int{len(c.x)}, Data: data}.Float32s()
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
			t.Errorf("%v: %v, want %q", c.x, err, c.want)
		}
	}
}
