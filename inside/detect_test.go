package inside_test

// Detectors beside TransformerLens's definitions over whole patterns.

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

// Row by row the named patterns are TransformerLens's: get_..._head_detection_pattern.
func TestNamedPatterns(t *testing.T) {
	ids := []int{5, 7, 5, 5, 7}
	for name, want := range map[string][][]float64{
		"previous":  {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0}},
		"duplicate": {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {1, 0, 1, 0, 0}, {0, 1, 0, 0, 0}},
		"induction": {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 1, 0, 1, 0}, {0, 0, 1, 0, 0}},
	} {
		if got := inside.NamedPattern(name, ids); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := inside.NamedPattern("next", ids); got != nil {
		t.Errorf("another name: %v", got)
	}
}

func TestDetectorsAreTransformerLenss(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	ids := []int{3, 9, 3, 12, 9, 3, 3}
	n, c := len(ids), m.Config()
	own := make([][]float64, n)
	for i := range own {
		own[i] = make([]float64, n)
		for j := range i + 1 {
			own[i][j] = float64((i*j+3)%5) / 7
		}
	}
	patterns := make([][][]float64, c.Layer*c.Head) // [n, n] of each head
	for i := range patterns {
		for range n {
			patterns[i] = append(patterns[i], make([]float64, n))
		}
	}
	heads(t, m, ids, inside.HeadsOptions{Pattern: func(layer, at int, weights []float32) {
		for i, w := range weights {
			patterns[layer*c.Head+i/(at+1)][at][i%(at+1)] = float64(w)
		}
	}})
	for i := range 8 {
		d := &inside.Detector{Pattern: own, Measure: "mul", ExcludeBOS: i&1 > 0,
			ExcludeCurrent: i&2 > 0}
		if i&4 > 0 {
			d.Measure = "abs"
		}
		for k, h := range heads(t, m, ids, inside.HeadsOptions{From: 3, Detect: d}).Heads {
			product, all, apart := 0.0, 0.0, 0.0
			for to := range n {
				for from := range n {
					if d.ExcludeBOS && from == 0 || d.ExcludeCurrent && from == to {
						continue
					}
					w := patterns[k][to][from]
					product += w * own[to][from]
					all += w
					apart += math.Abs(w - own[to][from])
				}
			}
			want := product / all
			if d.Measure == "abs" {
				want = 1 - apart/float64(n*n)*float64(n)
			}
			if h.Match == nil {
				t.Fatal("no match")
			}
			near(t, "match", *h.Match, want, 1e-12)
		}
	}
	// a head that looks at the token before, but for the first, which has itself
	m = testmodel.Induction(t, model.Options{})
	ids = repeated()
	for measure, want := range map[string]float64{
		"mul": float64(2*half) / float64(2*half+1), "abs": 1 - 1/float64(2*half+1)} {
		d := &inside.Detector{Pattern: inside.NamedPattern("previous", ids), Measure: measure}
		near(t, measure, *heads(t, m, ids, inside.HeadsOptions{Detect: d}).Heads[0].Match, want, 1e-6)
		d.ExcludeCurrent = true
		near(t, measure, *heads(t, m, ids, inside.HeadsOptions{Detect: d}).Heads[0].Match, 1, 1e-6)
	}
	for want, d := range map[string]inside.Detector{
		"pattern of 0 rows":     {},
		"row 1 has 1 numbers":   {Pattern: [][]float64{{0, 0}, {1}}},
		"row 0 has 1 for token": {Pattern: [][]float64{{0, 1}, {1, 0}}},
		"row 1 has NaN":         {Pattern: [][]float64{{0, 0}, {math.NaN(), 0}}}} {
		_, err := inside.Heads(context.Background(), m, []int{1, 2}, inside.HeadsOptions{Detect: &d})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
