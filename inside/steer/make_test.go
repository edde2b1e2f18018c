package steer

// Vectors that are made: beside NumPy, the same bits in every batch, and prompts that give none.

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/model"
)

//go:embed testdata/made.json
var madeJSON []byte

// answers are what testdata/make_made.py says: elements of blocks 1, 2 and 3.
type answers struct {
	Positive, Negative [][]int
	Mean, PCA          [][]float64
	Stream             []float64
}

func made(t *testing.T) (a answers) {
	t.Helper()
	if err := json.Unmarshal(madeJSON, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVectorsAreThoseOfNumPy(t *testing.T) {
	a := made(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	for method, want := range map[Method][][]float64{"": a.Mean, Mean: a.Mean, PCA: a.PCA} {
		got, err := Make(context.Background(), m, a.Positive, a.Negative, Options{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Vector.Layers(), []int{1, 2, 3}) {
			t.Fatalf("%s: directions of %d", method, got.Vector.Layers())
		}
		for i, want := range want {
			largest := 0.0
			for _, x := range want {
				largest = max(largest, math.Abs(x))
			}
			for j, x := range want {
				if d := math.Abs(float64(got.Vector[i+1][j]) - x); !(d <= 1e-4*largest) {
					t.Errorf("%s: direction.%d: number %d is %v, want %v", method, i+1, j, got.Vector[i+1][j],
						x)
				}
			}
			if d := math.Abs(got.Stream[i+1] - a.Stream[i]); !(d <= 1e-5*a.Stream[i]) {
				t.Errorf("%s: stream of block %d: %v, want %v", method, i+1, got.Stream[i+1],
					a.Stream[i])
			}
		}
	}
}

// The bits are recorded: they are those of every batch, and of every machine that runs this.
func TestVectorsHaveTheSameBitsEverywhere(t *testing.T) {
	a := made(t)
	for method, want := range map[Method]string{
		Mean: "ef027464c700b914760315ffe70ef9089aa88672036c38544d2645b3e7f72a2d",
		PCA:  "a0163fca92f79d4a0dbcd7f1444100b3efd6942bc236d3d33923dd56486ac046",
	} {
		var first Made
		for i, x := range []struct{ threads, batch int }{{1, 1}, {3, 0}, {7, 3}} {
			m := testmodel.Demo(t, model.Options{Threads: x.threads})
			told := []int{}
			got, err := Make(context.Background(), m, a.Positive, a.Negative, Options{Method: method,
				Batch: x.batch, Progress: func(done, total int) { told = append(told, done, total) }})
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = got
				var file bytes.Buffer
				if err := got.Vector.Write(&file, "gpt2"); err != nil {
					t.Fatal(err)
				}
				if sum := fmt.Sprintf("%x", sha256.Sum256(file.Bytes())); sum != want {
					t.Errorf("%s: SHA-256 %s, want %s", method, sum, want)
				}
			}
			if !reflect.DeepEqual(got, first) {
				t.Errorf("%s: %d threads, batch %d: other bits", method, x.threads, x.batch)
			}
			if n := len(told); n < 2 || told[n-2] != 10 || told[n-1] != 10 || x.batch == 1 && n != 20 {
				t.Errorf("progress %d", told)
			}
			if n := m.CacheBytes(); n > 0 {
				t.Errorf("%d bytes of cache are left", n)
			}
		}
	}
}

// Rows whose component is known: they lie along (3, 4)/5, more or less, and most of them ahead.
func TestTheComponentIsTheLongestAxis(t *testing.T) {
	axis, across := []float64{0.6, 0.8, 0}, []float64{-0.8, 0.6, 0}
	for name, x := range map[string]struct {
		along []float64
		sign  float64
	}{
		"as many rows as numbers": {[]float64{5, 3, -2}, 1},
		"more rows than numbers":  {[]float64{5, 3, -2, -4, -7, 1, -3, -6, -8, 2}, -1},
		"two rows":                {[]float64{-3, -1}, -1},
		"as many on either side":  {[]float64{1, 2, -4, -3}, -1},
	} {
		var rows [][]float32
		for i, a := range x.along {
			row := make([]float32, 3)
			for j := range row {
				side := float64(1-2*(i/2%2)) / 64 // a little to either side
				if len(x.along) == 2 {
					side = 0
				}
				row[j] = float32(a*axis[j] + side*across[j])
			}
			rows = append(rows, row)
		}
		got := component(rows)
		for j := range got {
			if d := math.Abs(got[j] - x.sign*axis[j]); !(d <= 0.01) {
				t.Errorf("%s: %v, want %v times %v", name, got, x.sign, axis)
				break
			}
		}
		if length := dot(got, got); math.Abs(length-1) > 1e-12 {
			t.Errorf("%s: length² %v", name, length)
		}
	}
	if got := component([][]float32{{1, 2}, {1, 2}, {1, 2}}); got != nil {
		t.Errorf("%v of equal rows", got)
	}
}

func TestPromptsThatGiveNoVector(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	one, two := []int{7454}, []int{464, 3772}
	for _, x := range []struct {
		positive, negative [][]int
		method             Method
		want               string
	}{
		{nil, [][]int{one}, Mean, "0 positive and 1 negative prompts, want some of both"},
		{[][]int{one}, nil, Mean, "1 positive and 0 negative prompts"},
		{[][]int{one}, [][]int{two}, "umap", `method "umap", want mean or pca`},
		{[][]int{one, two}, [][]int{two}, PCA, "pca: 2 positive and 1 negative prompts, want pairs"},
		{[][]int{one}, [][]int{two}, PCA, "pca: 1 pair of prompts, want 2 or more"},
		{[][]int{one, {}}, [][]int{two}, Mean, "positive prompt 2: 0 tokens, want 1 to 256"},
		{[][]int{one}, [][]int{make([]int, 257)}, Mean, "negative prompt 1: 257 tokens, want 1 to 256"},
		{[][]int{one}, [][]int{two, {50257}}, Mean, "negative prompt 2: id 50257, want 0 to 50256"},
		{[][]int{one}, [][]int{one}, Mean, "the positive and the negative prompts are the same"},
		{[][]int{one, one}, [][]int{two, two}, PCA, "pca: after block 1 the differences of all pairs are the same"},
		{make([][]int, 1<<22), make([][]int, 1<<22), PCA, "pca: 4194304 pairs of prompts, want at most 2796202"},
	} {
		if _, err := Make(context.Background(), m, x.positive, x.negative, Options{Method: x.method}); err == nil ||
			!strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Make(ctx, m, [][]int{one}, [][]int{two}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
