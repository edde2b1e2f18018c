package inside_test

// Sweeps: the bits of runs alone, and the work and memory that they take.

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

// sweep returns the logits of each run.
func sweep(t testing.TB, m *model.Model, ids []int, runs [][]model.Edit) [][]float32 {
	t.Helper()
	all := make([][]float32, 0, len(runs))
	err := inside.Sweep(context.Background(), m, ids, runs, func(run int, logits []float32) {
		if run != len(all) {
			t.Errorf("run %d after %d others", run, len(all))
		}
		all = append(all, slices.Clone(logits))
	})
	if err != nil || len(all) != len(runs) {
		t.Fatalf("%d runs of %d: %v", len(all), len(runs), err)
	}
	return all
}

// alone returns the logits of one run in a session of its own.
func alone(t testing.TB, m *model.Model, ids []int, edits []model.Edit) []float32 {
	t.Helper()
	s := m.NewSession()
	defer s.Release()
	in := model.Input{Session: s, Tokens: ids, Trace: model.Editing(edits)}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(s.Logits())
}

// add returns an edit of the residual stream at a token, or from it on if to is 0.
func add(layer, from, to int, by float32) model.Edit {
	return model.Edit{At: model.Point{Kind: model.ResidPre, Layer: layer}, Head: model.AllHeads,
		Op: model.Add, From: from, To: to, Values: []float32{by}}
}

func TestEachRunOfASweepHasTheBitsOfTheRunAlone(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300, DType: "F16"})
	ids := make([]int, 130)
	for i := range ids {
		ids[i] = (i*i + 3) % 29
	}
	last := len(ids) - 1
	hide := model.Edit{At: model.Point{Kind: model.Pattern, Layer: model.AllLayers}, Head: 0,
		Op: model.Hide, From: last, To: last + 1, KeysFrom: 3, KeysTo: 4}
	runs := [][]model.Edit{nil, {add(0, 0, 1, 2)}, {add(1, last, 0, 0.5)}, {hide}, {add(0, 200, 0, 1)},
		{add(1, 100, 0, 1), add(0, 64, 66, -1)}, nil}
	for i := range 60 {
		runs = append(runs, []model.Edit{add(i%2, 2*i, 0, float32(i))})
	}
	for _, o := range []model.Options{{Threads: 2}, {Threads: 1, Edits: []model.Edit{add(1, 50, 90, 1)}}} {
		m := testmodel.New(t, config, file, o)
		for i, logits := range sweep(t, m, ids, runs) {
			if !slices.Equal(logits, alone(t, m, ids, runs[i])) {
				t.Errorf("run %d has other bits than alone", i)
			}
		}
		if got := sweep(t, m, ids[:1], runs[:2]); slices.Equal(got[0], got[1]) {
			t.Error("an edit of the only token changes nothing")
		}
		if m.CacheBytes() != 0 {
			t.Errorf("%d bytes of caches are left", m.CacheBytes())
		}
	}
}

// What a sweep holds at a time shows what it evaluates: a page that is computed anew is one that is
// not shared.
func TestASweepSharesWhatIsNotEdited(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 1024})
	m, ids := testmodel.New(t, config, file, model.Options{Threads: 2}), make([]int, 1000)
	const page = 64 // positions
	s := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids[:page]}); err != nil {
		t.Fatal(err)
	}
	pageBytes := m.CacheBytes()
	s.Release()
	for _, c := range []struct {
		tokens, edited, runs int
		pages                int64 // at most at a time
	}{
		{640, 639, 100, 10 + 32}, // 32 runs, whose last pages are theirs
		{640, 512, 100, 8 + 4*2}, // 4 runs of 128 tokens
		{640, 0, 5, 10},          // one run: two have more than 512 tokens
		{192, 0, 5, 2 * 3},       // two runs of 192 tokens
	} {
		runs, most := make([][]model.Edit, c.runs), int64(0)
		for i := range runs {
			runs[i] = []model.Edit{add(0, c.edited, 0, float32(i))}
		}
		err := inside.Sweep(context.Background(), m, ids[:c.tokens], runs, func(int, []float32) {
			most = max(most, m.CacheBytes())
		})
		if err != nil || most != c.pages*pageBytes {
			t.Errorf("%d tokens edited from %d on: %d pages, want %d; %v", c.tokens, c.edited,
				most/pageBytes, c.pages, err)
		}
	}
}

// With room for a few runs only, these run side by side.
func TestASweepTakesTheMemoryThatThereIs(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 128})
	ids, runs := make([]int, 64), make([][]model.Edit, 20)
	for i := range runs {
		runs[i] = []model.Edit{add(1, 60, 0, float32(i))}
	}
	m := testmodel.New(t, config, file, model.Options{})
	want := sweep(t, m, ids, runs)
	s := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids}); err != nil {
		t.Fatal(err)
	}
	page := m.CacheBytes()
	few := testmodel.New(t, config, file, model.Options{CacheBytes: 4 * page})
	if got := sweep(t, few, ids, runs); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
		t.Error("other bits")
	}
	none := testmodel.New(t, config, file, model.Options{CacheBytes: page})
	err := inside.Sweep(context.Background(), none, ids, runs, func(int, []float32) {})
	if !errors.Is(err, model.ErrCacheFull) {
		t.Errorf("%v, want ErrCacheFull", err)
	}
}

func TestSweepRefuses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	ctx, end := context.WithCancel(context.Background())
	calls := 0
	each := func(int, []float32) { calls++; end() }
	for _, c := range []struct {
		ids  []int
		runs [][]model.Edit
		want string
	}{
		{nil, nil, "no tokens, want at least one"},
		{[]int{1, 29}, nil, "token 1: id 29, want 0 to 28"},
		{[]int{1}, [][]model.Edit{nil, {add(0, 0, 0, 1), add(9, 0, 0, 1)}},
			"run 1: edit of blocks.9.hook_resid_pre: want a layer from 0 to 2"},
	} {
		err := inside.Sweep(ctx, m, c.ids, c.runs, each)
		if err == nil || err.Error() != c.want || calls != 0 {
			t.Errorf("%v, %d calls; want %s", err, calls, c.want)
		}
	}
	if err := inside.Sweep(ctx, m, []int{1}, nil, each); err != nil {
		t.Errorf("no runs: %v", err)
	}
	// The first Eval holds 32 runs. Its results are handed out; the second is not begun.
	err := inside.Sweep(ctx, m, []int{1, 2}, make([][]model.Edit, 33), each)
	if !errors.Is(err, context.Canceled) || calls != 32 || m.CacheBytes() != 0 {
		t.Errorf("%v after %d calls, %d bytes left", err, calls, m.CacheBytes())
	}
}

// Logits that are not finite name the run.
func TestSweepNamesTheRunThatFails(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	large := model.Edit{At: model.Point{Kind: model.ResidPost, Layer: 1}, Head: model.AllHeads,
		Op: model.Scale, Values: []float32{3e38}}
	runs := make([][]model.Edit, 40)
	runs[35] = []model.Edit{large, large}
	err := inside.Sweep(context.Background(), m, []int{1, 2, 3}, runs, func(int, []float32) {})
	want := "run 35: logits after position 2: id 0 is not finite"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The sweep of each layer and position of the demo, alternating with as many single runs: the ratio
// is that of their medians.
func BenchmarkSweep(b *testing.B) {
	answers, m := answers(b), testmodel.Demo(b, model.Options{})
	runs, width := [][]model.Edit{}, m.Config().Embd
	for layer := range m.Config().Layer {
		for i := range answers.IDs[0] {
			at := model.Point{Kind: model.ResidPre, Layer: layer}
			runs = append(runs, []model.Edit{{At: at, Head: model.AllHeads, Op: model.Set, From: i,
				To: i + 1, Values: answers.Points[at.String()].Data[i*width : (i+1)*width]}})
		}
	}
	var together, single []time.Duration
	for b.Loop() {
		start := time.Now()
		sweep(b, m, answers.IDs[1], runs)
		middle := time.Now()
		for _, edits := range runs {
			alone(b, m, answers.IDs[1], edits)
		}
		together, single = append(together, middle.Sub(start)), append(single, time.Since(middle))
	}
	slices.Sort(together)
	slices.Sort(single)
	b.ReportMetric(float64(together[len(together)/2])/float64(single[len(single)/2]), "ratio")
}
