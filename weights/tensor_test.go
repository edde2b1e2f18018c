package weights

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
)

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// TestTransposed: shapes around the sizes of pieces, elements of every size, with Data and with
// Fill, as a whole and from every kind of position.
func TestTransposed(t *testing.T) {
	cases.NotShort(t)
	for _, dtype := range []DType{U8, F16, F32, F64} {
		width := dtype.Size()
		for _, shape := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {3, 5}, {255, 257}, {256, 512},
			{70, 600}, {600, 70}, {0, 3}, {3, 0}} {
			rows, cols := shape[0], shape[1]
			x := Tensor{Name: "x", DType: dtype, Shape: []int{rows, cols},
				Data: noise(rows * cols * width)}
			want := make([]byte, len(x.Data))
			for r := range rows {
				for c := range cols {
					copy(want[(c*rows+r)*width:][:width], x.Data[(r*cols+c)*width:])
				}
			}
			for _, from := range []Tensor{x, madeOf(x)} {
				y := from.Transposed()
				got, err := y.Bytes()
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s %v: wrong, %v", dtype, shape, err)
				}
				again, err := y.Transposed().Bytes()
				if err != nil || !bytes.Equal(again, x.Data) {
					t.Errorf("%s %v: not itself when transposed twice, %v", dtype, shape, err)
				}
				for range 20 {
					a := rand.IntN(rows*cols + 1)
					b := a + rand.IntN(rows*cols-a+1)
					part := make([]byte, (b-a)*width)
					if err := y.Fill(part, int64(a*width)); err != nil ||
						!bytes.Equal(part, want[a*width:b*width]) {
						t.Fatalf("%s %v: elements %d to %d: wrong, %v", dtype, shape, a, b, err)
					}
				}
			}
		}
	}
}

func TestAFillThatFails(t *testing.T) {
	lost := errors.New("lost")
	x := Tensor{Name: "x", DType: F32, Shape: []int{600, 1000},
		Fill: func(dst []byte, from int64) error {
			if from > 0 {
				return lost
			}
			return nil
		}}
	for _, y := range []Tensor{x, x.Transposed()} {
		_, err := y.Float32s()
		wantError(t, err, "x: lost")
		if _, err := y.Equal(y); !errors.Is(err, lost) {
			t.Errorf("%v, want %v", err, lost)
		}
	}
}

// TestNewChecksWhatAReaderFound: no reader's mistake goes further.
func TestNewChecksWhatAReaderFound(t *testing.T) {
	ok := Tensor{Name: "a", DType: U8, Shape: []int{2}, Data: []byte{1, 2}}
	short, unknown := ok, ok
	short.Data = short.Data[:1]
	unknown.DType = "Q4_0"
	for _, c := range []struct {
		tensors []Tensor
		want    string
	}{
		{[]Tensor{ok, ok}, "f: a: there twice, want it once"},
		{[]Tensor{short}, "f: a: 1 bytes of data, want 2"},
		{[]Tensor{unknown}, `f: a: unknown type "Q4_0"`},
	} {
		_, err := New(Source{Name: "f", Tensors: c.tensors})
		wantError(t, err, c.want)
	}
	closed := 0
	x, err := New(Source{Name: "f", Tensors: []Tensor{ok}, Metadata: map[string]string{"k": "v"},
		Size: 9, Close: func() error { closed++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got, there := x.Tensor("a"); !there || !bytes.Equal(got.Data, ok.Data) || x.Size() != 9 ||
		x.Metadata()["k"] != "v" || x.Name() != "f" {
		t.Errorf("%+v", x)
	}
	if err := x.Close(); err != nil || closed != 1 {
		t.Errorf("closed %d times, %v", closed, err)
	}
}
