package model_test

// What Eval hands out: the rows that are wanted, each once.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

func TestVisitHandsOutTheRowsThatAreWanted(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 3})
	ids := tokens(rand.New(rand.NewPCG(3, 3)), 150, 29)
	want := visit(t, m, ids)
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	tensor, _ := f.Tensor("wte.weight")
	wte, err := tensor.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from     int
		noLogits bool
	}{{0, false}, {149, false}, {70, true}, {150, false}, {200, true}} {
		s := m.NewSession()
		rows := make([]model.Row, len(ids))
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids, VisitFrom: c.from,
			NoLogits: c.noLogits,
			Visit: func(r model.Row) {
				if rows[r.Index].Logits != nil {
					t.Errorf("from %d: row %d comes twice", c.from, r.Index)
				}
				rows[r.Index] = model.Row{Index: r.Index, Logits: slices.Clone(r.Logits),
					Hidden: slices.Clone(r.Hidden)}
			}})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if i < c.from {
				if r.Logits != nil {
					t.Errorf("from %d: row %d comes", c.from, i)
				}
				continue
			}
			what := fmt.Sprintf("from %d: row %d", c.from, i)
			sameBits(t, what, r.Logits, want[i])
			checkHidden(t, what, m, wte, r)
		}
		if c.noLogits {
			if s.Logits() != nil {
				t.Errorf("from %d: the session has logits that nobody wanted", c.from)
			}
			eval(t, s, 5)
			continue
		}
		sameBits(t, "the session's", s.Logits(), want[len(ids)-1])
	}
}

func checkHidden(t *testing.T, what string, m *model.Model, wte []float32, r model.Row) {
	t.Helper()
	n := m.Config().Embd
	if len(r.Hidden) != n {
		t.Fatalf("%s: hidden state of %d, want %d", what, len(r.Hidden), n)
	}
	for id := 0; id < m.Config().VocabSize; id += 997 {
		sum := 0.0
		for j, h := range r.Hidden {
			sum += float64(h) * float64(wte[id*n+j])
		}
		if math.Abs(sum-float64(r.Logits[id])) > 1e-3 {
			t.Fatalf("%s: hidden·wte[%d] is %v, the logit %v", what, id, sum, r.Logits[id])
		}
	}
}

func TestVisitsInSeveralPasses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700, Layer: 1})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	r := rand.New(rand.NewPCG(3, 1))
	for _, froms := range [][2]int{{0, 0}, {10, 600}, {299, 212}, {300, 213}, {5, 690}} {
		var batch []model.Input
		var counts [2][700]atomic.Int32
		for i, from := range froms {
			batch = append(batch, model.Input{
				Session: m.NewSession(), Tokens: tokens(r, 300+390*i, 29), VisitFrom: from,
				Visit: func(row model.Row) { counts[i][row.Index].Add(1) },
			})
		}
		if err := m.Eval(context.Background(), batch...); err != nil {
			t.Fatal(err)
		}
		for i, from := range froms {
			for at := range batch[i].Tokens {
				want := int32(0)
				if at >= from {
					want = 1
				}
				if n := counts[i][at].Load(); n != want {
					t.Fatalf("VisitFrom %v: token %d of input %d is visited %d times, want %d",
						froms, at, i, n, want)
				}
			}
		}
	}
}
