package inside_test

// Arrays beside float64, and to the last bit.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// everyPoint are all points of a model.
func everyPoint(t testing.TB, m *model.Model) []model.Point {
	t.Helper()
	var all []model.Point
	for _, name := range model.PointNames() {
		p, err := model.ParsePoint(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	all, err := m.Points(all...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// arrays returns the arrays of all points by name, and fails if a number is missing or there twice.
func arrays(
	t testing.TB, m *model.Model, ids []int, view inside.View,
) (values map[string][]float32, shapes map[string][]int) {
	t.Helper()
	list, err := inside.Arrays(m, len(ids), everyPoint(t, m)...)
	if err != nil {
		t.Fatal(err)
	}
	values, shapes = map[string][]float32{}, map[string][]int{}
	all, times := make([][]float32, len(list)), make([][]int32, len(list))
	for i, a := range list {
		all[i] = make([]float32, a.Bytes()/4)
		times[i] = make([]int32, len(all[i]))
		values[a.Point.String()], shapes[a.Point.String()] = all[i], a.Shape
	}
	err = inside.ReadArrays(context.Background(), m, ids, view, list,
		func(i, at int, x []float32) error {
			copy(all[i][at:at+len(x)], x)
			for j := range x {
				atomic.AddInt32(&times[i][at+j], 1)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for i := range times {
		if slices.Min(times[i]) != 1 || slices.Max(times[i]) != 1 {
			t.Errorf("%s: numbers are missing, or there twice", list[i].Point)
		}
	}
	return values, shapes
}

// nearAll compares numbers within a part of the largest; infinite ones are equal.
func nearAll(t testing.TB, what string, got []float32, want []float64, within float64) {
	t.Helper()
	most, worst := 0.0, 0.0
	for i, w := range want {
		g := float64(got[i])
		if math.IsInf(w, -1) && math.IsInf(g, -1) {
			continue
		}
		most, worst = max(most, math.Abs(w)), max(worst, math.Abs(w-g))
	}
	if len(got) != len(want) || !(worst <= within*most) {
		t.Errorf("%s: %d numbers, off by %.2g of %.2g; want %d within %.2g of it", what, len(got),
			worst, most, len(want), within)
	}
}

func TestArraysAreThoseOfFloat64(t *testing.T) {
	want, m := answers(t), testmodel.Demo(t, model.Options{Threads: 2})
	got, shapes := arrays(t, m, want.IDs[0], inside.Raw)
	compared := 0
	for name, w := range want.Points {
		if name == "logits_last" {
			continue
		}
		if compared++; fmt.Sprint(shapes[name]) != fmt.Sprint(w.Shape) {
			t.Errorf("%s: shape %v, want %v", name, shapes[name], w.Shape)
			continue
		}
		wide := make([]float64, len(w.Data))
		for i, x := range w.Data {
			wide[i] = float64(x)
		}
		nearAll(t, name, got[name], wide, 2e-4)
	}
	if compared < 50 {
		t.Errorf("%d points were compared", compared)
	}
}

// A text that fills the context takes several passes. Its arrays have the same bits for any threads
// and kernels, and those of the text in pieces.
func TestArraysHaveTheSameBits(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 530, DType: "F16"})
	ids := make([]int, 530)
	for i := range ids {
		ids[i] = (i*i + i/7) % 29
	}
	open := func(threads int, kernel string) *model.Model {
		return testmodel.New(t, config, file, model.Options{Threads: threads, Kernel: kernel})
	}
	m := open(1, "")
	want, _ := arrays(t, m, ids, inside.Raw)
	for _, kernel := range kernels.Variants() {
		got, _ := arrays(t, open(7, kernel), ids, inside.Raw)
		for name := range want {
			sameBits(t, kernel+": "+name, got[name], want[name])
		}
	}
	s := m.NewSession()
	defer s.Release()
	for from := 0; from < len(ids); from += 107 {
		part := ids[from:min(from+107, len(ids))]
		trace := &model.Trace{Points: everyPoint(t, m), Read: func(r model.Reading) {
			all, name, position := want[r.At.String()], r.At.String(), from+r.Index
			if k := r.At.Kind; k != model.Pattern && k != model.Scores {
				sameBits(t, name, r.Data, all[position*len(r.Data):][:len(r.Data)])
				return
			}
			for h, n := 0, position+1; h < len(r.Data)/n; h++ {
				row := all[(h*len(ids)+position)*len(ids):][:len(ids)]
				sameBits(t, name, r.Data[h*n:(h+1)*n], row[:n])
				for _, x := range row[n:] {
					if x != map[model.Kind]float32{model.Scores: float32(math.Inf(-1))}[r.At.Kind] {
						t.Fatalf("%s: %v for a token after it", name, x)
					}
				}
			}
		}}
		in := model.Input{Session: s, Tokens: part, Trace: trace}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
}

func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func TestArraysThatCannotBeKeptEndTheWork(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 3})
	list, err := inside.Arrays(m, 200, everyPoint(t, m)...)
	if err != nil {
		t.Fatal(err)
	}
	full, calls := errors.New("the disk is full"), atomic.Int32{}
	err = inside.ReadArrays(context.Background(), m, make([]int, 200), inside.Raw, list,
		func(int, int, []float32) error {
			calls.Add(1)
			return full
		})
	if err != full {
		t.Errorf("error %v, want that of put", err)
	}
	if all := int32(200 * len(list)); calls.Load() >= all {
		t.Errorf("%d calls, as if nothing had happened", calls.Load())
	}
	for _, ids := range [][]int{{}, {50257}, make([]int, m.Config().Positions+1)} {
		calls.Store(0)
		err := inside.ReadArrays(context.Background(), m, ids, inside.Raw, list,
			func(int, int, []float32) error { calls.Add(1); return nil })
		if err == nil || calls.Load() > 0 {
			t.Errorf("%d tokens: error %v, %d calls", len(ids), err, calls.Load())
		}
	}
	if _, err := inside.Arrays(m, 1, model.Point{Kind: model.Z, Layer: 4}); err == nil {
		t.Error("a layer that is not there")
	}
}

// Some positions and heads have the numbers that the whole arrays have there, also of gradients and
// of TransformerLens's view.
func TestSomeOfArraysArePartsOfTheWhole(t *testing.T) {
	a := readGradientAnswers(t)
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	n, heads := len(a.IDs), m.Config().Head
	read := func(some []inside.Array, how string) [][]float32 {
		all := make([][]float32, len(some))
		for i, x := range some {
			all[i] = slices.Repeat([]float32{float32(math.NaN())}, int(x.Bytes()/4))
		}
		put := func(i, at int, x []float32) error {
			copy(all[i][at:at+len(x)], x)
			return nil
		}
		err := inside.ReadArrays(t.Context(), m, a.IDs, inside.View(how), some, put)
		if how == "gradient" {
			_, err = inside.ReadGradients(t.Context(), m, a.IDs, inside.Metric{Target: 1}, some, put)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	positions, chosen := []int{1, 2, n - 1}, []inside.Head{{Layer: 1}, {Layer: 1, Head: 2}}
	var points []model.Point
	for _, k := range []model.Kind{model.ResidMid, model.Key, model.Scores, model.Pattern, model.Z,
		model.Result} {
		points = append(points, model.Point{Kind: k, Layer: 1}, model.Point{Kind: k})
	}
	for _, how := range []string{"raw", "transformerlens", "gradient"} {
		if how == "gradient" { // there is none by results
			points = points[:len(points)-2]
		}
		list, err := inside.Arrays(m, n, points...)
		if err != nil {
			t.Fatal(err)
		}
		whole := read(list, how)
		some := inside.Select(list, positions, chosen)
		if want := 2 + (len(list)-2)/2; len(some) != want { // layer 0 has its stream alone
			t.Errorf("%d arrays, want %d", len(some), want)
		}
		for i, got := range read(some, how) {
			at := slices.IndexFunc(list, func(x inside.Array) bool { return x.Point == some[i].Point })
			shape, all, k := list[at].Shape, whole[at], 0
			next := func(from []float32) {
				if k+len(from) > len(got) || !slices.Equal(got[k:k+len(from)], from) {
					t.Fatalf("%s: %s %v: other numbers than the whole has", how, some[i].Point, some[i].Shape)
				}
				k += len(from)
			}
			switch width := shape[len(shape)-1]; {
			case some[i].Point.Kind == model.ResidMid:
				for _, p := range positions {
					next(all[p*width : (p+1)*width])
				}
			case shape[0] == heads:
				for _, h := range []int{0, 2} {
					for _, p := range positions {
						next(all[(h*n+p)*n : (h*n+p+1)*n])
					}
				}
			default:
				for _, p := range positions {
					for _, h := range []int{0, 2} {
						next(all[(p*heads+h)*width : (p*heads+h+1)*width])
					}
				}
			}
			if k != len(got) {
				t.Errorf("%s: %s: %d numbers, want %d", how, some[i].Point, len(got), k)
			}
		}
	}
}
