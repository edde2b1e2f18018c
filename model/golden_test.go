package model_test

// The model compared with answers of other programs: PyTorch in float64, and a model that others
// trained.

import (
	"context"
	"math"
	"os"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

func eval(t testing.TB, s *model.Session, ids ...int) []float32 {
	t.Helper()
	if err := s.Model().Eval(context.Background(),
		model.Input{Session: s, Tokens: ids}); err != nil {
		t.Fatal(err)
	}
	return s.Logits()
}

// visit returns the logits after each of ids, [len(ids), vocab_size], from one Eval of an empty
// session.
func visit(t testing.TB, m *model.Model, ids []int) [][]float32 {
	t.Helper()
	rows := make([][]float32, len(ids))
	err := m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: ids,
		Visit: func(r model.Row) {
			rows[r.Index] = append([]float32(nil), r.Logits...)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkLogits holds promise 1: within 1e-4 of the largest logit.
func checkLogits(t *testing.T, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d logits, want %d", len(got), len(want))
	}
	worst, largest := 0.0, 0.0
	for i, v := range want {
		worst, largest = max(worst, math.Abs(float64(got[i])-v)), max(largest, math.Abs(v))
	}
	if !(worst <= 1e-4*largest) {
		t.Errorf("logits differ by up to %g, want at most 1e-4 of %g", worst, largest)
	}
}

func TestUnusualConfigsAgreeWithPyTorch(t *testing.T) {
	goldens, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldens {
		t.Run(g.Name, func(t *testing.T) {
			m := testmodel.New(t, g.Config, g.File, model.Options{Threads: 2})
			for _, seq := range g.Sequences {
				for i, row := range visit(t, m, seq.Tokens) {
					checkLogits(t, row, seq.Logits[i])
				}
			}
		})
	}
}

func TestDemoLogitsAgreeWithPyTorch(t *testing.T) {
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{})
	for _, last := range stories.Last {
		want := make([]float64, len(last.Logits))
		for i, v := range last.Logits {
			want[i] = float64(v)
		}
		checkLogits(t, eval(t, m.NewSession(), last.Tokens...), want)
	}
}

func TestDemoTellsPyTorchsStories(t *testing.T) {
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{})
	for _, g := range stories.Greedy {
		s, ids := m.NewSession(), g.PromptIDs
		for i, want := range g.IDs {
			got := kernels.Argmax(eval(t, s, ids...))
			if got != want {
				t.Fatalf("%q: token %d is %d, want %d", g.Prompt, i, got, want)
			}
			ids = []int{got}
		}
	}
}

// nanoSort is a model that sorts six digits, trained by others; see ../shared/models/nano-sort.
// TestUnusualConfigsAgreeWithPyTorch is the twin of its tests that needs no file.
func nanoSort(t *testing.T) *model.Model {
	t.Helper()
	if !exists("../../shared/models/nano-sort") {
		t.Skip("../shared/models/nano-sort is not here")
	}
	return testmodel.Open(t, "../../shared/models/nano-sort", model.Options{})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNanoSortSortsEverything(t *testing.T) {
	m := nanoSort(t)
	for n := range 729 {
		var digits, count [6]int
		for i, rest := 0, n; i < 6; i, rest = i+1, rest/3 {
			digits[i] = rest % 3
			count[rest%3]++
		}
		s, ids := m.NewSession(), digits[:]
		for i := range 6 {
			want := 0
			if i >= count[0] {
				want = 1
			}
			if i >= count[0]+count[1] {
				want = 2
			}
			got := kernels.Argmax(eval(t, s, ids...))
			if got != want {
				t.Fatalf("%v: digit %d is %d, want %d", digits, i, got, want)
			}
			ids = []int{got}
		}
		if s.Len() != m.Config().Positions {
			t.Fatalf("%d tokens evaluated, want the whole context", s.Len())
		}
	}
}

func TestNanoSortAgreesWithItsMakers(t *testing.T) {
	m := nanoSort(t)
	f, err := weights.Open(os.DirFS("../../shared/models/nano-sort"), "partials.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensor := func(name string) []float32 {
		x, ok := f.Tensor(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		v, err := x.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	idx, logits := tensor("idx"), tensor("lm_head")
	for i := range 3 {
		ids := make([]int, 11)
		for j := range ids {
			ids[j] = int(idx[i*11+j])
		}
		for j, row := range visit(t, m, ids) {
			for k, v := range row {
				if want := logits[(i*11+j)*3+k]; math.Abs(float64(v-want)) > 1e-4 {
					t.Errorf("sequence %d, position %d: logit %d is %v, want %v", i, j, k, v, want)
				}
			}
		}
	}
}
