package model_test

// Hidden states: of any layer, the same bits in every batch, and what a session then holds.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

// states returns the hidden states [len(ids)][n_embd] of a layer, from an Eval of a new session.
func states(t testing.TB, m *model.Model, layer int, ids []int) [][]float32 {
	t.Helper()
	rows := make([][]float32, len(ids))
	in := readStates(m.NewSession(), layer, ids, rows)
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	return rows
}

// readStates returns an input that copies hidden states to rows.
func readStates(s *model.Session, layer int, ids []int, rows [][]float32) model.Input {
	return model.Input{Session: s, Tokens: ids, States: &model.States{Layer: layer},
		Visit: func(r model.Row) {
			if rows[r.Index] != nil || r.Logits != nil || r.Best != nil {
				panic(fmt.Sprintf("row %d comes twice or with logits", r.Index))
			}
			rows[r.Index] = slices.Clone(r.Hidden)
		}}
}

func TestHiddenStatesAreThoseOfFloat64(t *testing.T) {
	answers, err := fixture.Heads()
	if err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{Threads: 2})
	for _, text := range answers.Texts {
		for layer, want := range text.Vectors {
			rows := states(t, m, layer, text.IDs)
			last := rows[len(rows)-1]
			largest := 0.0
			for _, x := range want.Last {
				largest = max(largest, math.Abs(x))
			}
			for i, at := range answers.Shown {
				if d := math.Abs(float64(last[at]) - want.Last[i]); d > 1e-4*largest {
					t.Errorf("%d tokens, layer %d, element %d: %v, want %v", len(rows), layer, at,
						last[at], want.Last[i])
				}
			}
		}
	}
}

func TestHiddenStatesInABatch(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Seed: 3, Positions: 600, Vocab: 53})
	r := rand.New(rand.NewPCG(7, 7))
	alone := testmodel.New(t, config, file, model.Options{Threads: 1, Kernel: "go"})
	texts := [][]int{tokens(r, 1, 53), tokens(r, 40, 53), tokens(r, 530, 53)} // two passes
	var want [4][3][][]float32
	for layer := range want {
		for i, ids := range texts {
			want[layer][i] = states(t, alone, layer, ids)
		}
	}
	for i, ids := range texts { // the last layer is what Visit gets with logits
		alone.Eval(context.Background(), model.Input{Session: alone.NewSession(), Tokens: ids,
			Visit: func(row model.Row) {
				if !slices.Equal(row.Hidden, want[3][i][row.Index]) {
					panic("another hidden state with logits")
				}
			}})
	}
	logits := eval(t, alone.NewSession(), texts[1]...)
	for _, threads := range []int{1, 3} {
		m := testmodel.New(t, config, file,
			model.Options{Threads: threads, Kernel: kernels.Variants()[0]})
		for _, layers := range [][]int{{1, 1, 1}, {0, 1, 2}, {3, 0, 2}, {2, 3, 3}} {
			var batch []model.Input
			got := make([][][]float32, len(texts))
			for i, ids := range texts {
				got[i] = make([][]float32, len(ids))
				batch = append(batch, readStates(m.NewSession(), layers[i], ids, got[i]))
			}
			s := m.NewSession()
			if layers[0] > 0 { // a text beside them
				batch = append(batch, model.Input{Session: s, Tokens: texts[1]})
			}
			if err := m.Eval(context.Background(), batch...); err != nil {
				t.Fatal(err)
			}
			for i := range texts {
				for at := range got[i] {
					sameBits(t, fmt.Sprintf("%d threads, layers %v, text %d, token %d", threads,
						layers, i, at), got[i][at], want[layers[i]][i][at])
				}
				held, wantHeld := batch[i].Session.Len(), 0
				if layers[i] == 3 {
					wantHeld = len(texts[i])
				}
				if held != wantHeld || batch[i].Session.Logits() != nil {
					t.Errorf("layer %d: the session holds %d tokens, want %d without logits",
						layers[i], held, wantHeld)
				}
			}
			if layers[0] > 0 {
				sameBits(t, "the text beside them", s.Logits(), logits)
			}
		}
		if m.CacheBytes() == 0 {
			t.Error("no session holds anything")
		}
	}
}

// TestASessionGoesOnAfterHiddenStates: those of the last layer leave a session that continues.
func TestASessionGoesOnAfterHiddenStates(t *testing.T) {
	m := small(t, model.Options{Threads: 1})
	want := slices.Clone(eval(t, m.NewSession(), 1, 2, 3, 4))
	s := m.NewSession()
	for _, layer := range []int{1, 3} {
		in := readStates(s, layer, []int{1, 2, 3}, make([][]float32, 3))
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if s.Len() != layer/3*3 {
			t.Fatalf("layer %d: the session holds %d tokens", layer, s.Len())
		}
	}
	sameBits(t, "after the hidden states", eval(t, s, 4), want)
	// after a text, a lower layer leaves the session and its logits as they were
	before := s.Logits()
	rows := make([][]float32, 2)
	if err := m.Eval(context.Background(), readStates(s, 2, []int{5, 6}, rows)); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "before", s.Logits(), before)
	sameBits(t, "in the context", rows[1], states(t, m, 2, []int{1, 2, 3, 4, 5, 6})[5])
}

func TestHiddenStatesThatCannotBe(t *testing.T) {
	m := small(t, model.Options{})
	for _, layer := range []int{-1, 4} {
		in := readStates(m.NewSession(), layer, []int{1}, make([][]float32, 1))
		err := m.Eval(context.Background(), in)
		if err == nil || !strings.Contains(err.Error(), "want 0 to 3") {
			t.Errorf("layer %d: %v", layer, err)
		}
	}
	bad := testmodel.New(t, fixture.Config(longer),
		checkpointWith(t, plant("wte.weight", 9*15+2, math.NaN())), model.Options{})
	for layer := range 4 {
		other := bad.NewSession()
		batch := []model.Input{readStates(other, layer, []int{1, 2}, make([][]float32, 2)),
			readStates(bad.NewSession(), layer, []int{4, 9, 9}, make([][]float32, 3))}
		err := bad.Eval(context.Background(), batch...)
		var in *model.InputError
		var found *model.NonFiniteError
		if !errors.As(err, &in) || in.Input != 1 || !errors.As(err, &found) || found.Position != 1 ||
			found.States.Layer != layer {
			t.Errorf("layer %d: %v, want input 1, position 1", layer, err)
		}
		if other.Len() > 0 || bad.CacheBytes() > 0 {
			t.Errorf("layer %d: the other session has changed", layer)
		}
	}
	defer func() {
		if p := recover(); p != "enough" {
			t.Errorf("panic %v", p)
		}
		eval(t, m.NewSession(), 1)
	}()
	m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: []int{1, 2, 3},
		States: &model.States{Layer: 1}, Visit: func(model.Row) { panic("enough") }})
}
