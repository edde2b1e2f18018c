package model_test

// What Eval hands out: the rows that are wanted, each once; hidden states of any layer, the same
// bits in every batch, and what a session then holds.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
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

// TestWithoutAnOutputHead: a classifier that was saved with tie_word_embeddings false has none. Hidden
// states are those of the same weights with one. What wants logits is refused, and changes nothing.
func TestWithoutAnOutputHead(t *testing.T) {
	ids := []int{3, 1, 4, 1, 5}
	for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
		tied := fixture.Options{Prefix: true, Heads: true}
		headless := tied
		headless.Config = map[string]any{"tie_word_embeddings": false}
		config, file := fixture.Checkpoint(headless)
		if _, err := testmodel.Try(config, file, model.Options{Format: format}); err == nil ||
			!errors.Is(err, model.ErrNoLogits) || err.Error() != "lm_head.weight: missing, want shape "+
			"[29 15], since tie_word_embeddings is false: no output head, so no logits" {
			t.Errorf("%s: %v", format, err)
		}
		m := testmodel.New(t, config, file, model.Options{Format: format, Headless: true})
		config, file = fixture.Checkpoint(tied)
		with := testmodel.New(t, config, file, model.Options{Format: format, Headless: true})
		for layer := range 4 {
			got, want := states(t, m, layer, ids), states(t, with, layer, ids)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s: layer %d: other states at %d", format, layer, i)
				}
			}
		}
		s, rows := m.NewSession(), make([][]float32, len(ids))
		for _, in := range []model.Input{
			{Session: s, Tokens: ids}, {Session: s, Tokens: ids, NoLogits: true, Visit: func(model.Row) {}},
		} {
			other := m.NewSession()
			err := m.Eval(t.Context(), readStates(other, 3, ids, rows), in)
			var found *model.InputError
			if !errors.As(err, &found) || found.Input != 1 || !errors.Is(err, model.ErrNoLogits) ||
				s.Len() != 0 || other.Len() != 0 || rows[0] != nil {
				t.Errorf("%s: %v, sessions of %d and %d", format, err, s.Len(), other.Len())
			}
		}
		if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: ids, NoLogits: true}); err != nil ||
			s.Len() != len(ids) || s.Logits() != nil {
			t.Errorf("%s: %v, a session of %d", format, err, s.Len())
		}
		if head := with.Params().WTE.Bytes(); m.Bytes() != with.Bytes()-head ||
			m.SaveSize() != with.SaveSize() {
			t.Errorf("%s: %d bytes of %d, %d saved of %d", format, m.Bytes(), with.Bytes(),
				m.SaveSize(), with.SaveSize())
		}
	}
}
