package inside_test

// The lens beside float64, and beside the logits to the last bit.

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

func answers(t testing.TB) *fixture.InsideAnswers {
	t.Helper()
	a, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func lens(t testing.TB, m *model.Model, ids []int, o inside.LensOptions) *inside.LensTable {
	t.Helper()
	table, err := inside.Lens(context.Background(), m, ids, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func near(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLensIsThatOfFloat64(t *testing.T) {
	cases.NotShort(t)
	want, m := answers(t), testmodel.Demo(t, model.Options{Threads: 2})
	vocab := float64(m.Config().VocabSize)
	for prompt, ids := range want.IDs {
		var mu sync.Mutex
		type cell struct{ layer, position int }
		probabilities := map[cell][]float64{}
		table := lens(t, m, ids, inside.LensOptions{Target: &want.A,
			Logits: func(layer, position int, logits []float32) {
				p, sum := make([]float64, len(logits)), 0.0
				for i, v := range logits {
					p[i] = math.Exp(float64(v))
					sum += p[i]
				}
				for i := range p {
					p[i] /= sum
				}
				mu.Lock()
				defer mu.Unlock()
				probabilities[cell{layer, position}] = p
			}})
		if len(table.Layers) != m.Config().Layer+1 || len(probabilities) != len(table.Layers)*len(ids) {
			t.Fatalf("%d layers, %d rows", len(table.Layers), len(probabilities))
		}
		for layer, row := range want.Lens[prompt] {
			for position, cellWant := range row {
				got, p := table.Layers[layer][position], probabilities[cell{layer, position}]
				for i, id := range cellWant.Top { // the same ids, or others as likely
					near(t, "p of an id", p[id], cellWant.P[i], 1e-3)
					near(t, "p of the table", got.P[i], cellWant.P[i], 1e-3)
					near(t, "p of the table's id", p[got.Top[i]], got.P[i], 1e-9)
				}
				near(t, "entropy", got.Entropy, cellWant.Entropy, 1e-3)
				near(t, "kl", got.KL, cellWant.KL, 1e-3)
				near(t, "rank", float64(*got.Rank), float64(cellWant.RankOfA), vocab*1e-3)
				near(t, "p of the target", *got.TargetP, p[want.A], 1e-9)
			}
		}
	}
}

// The last row is the logits of the model, whatever the threads and kernels, and also where the
// text is longer than what is read at a time.
func TestLastRowOfTheLensIsTheLogits(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300, DType: "F16"})
	ids := make([]int, 290)
	for i := range ids {
		ids[i] = rand.New(rand.NewPCG(1, uint64(i))).IntN(29)
	}
	var first *inside.LensTable
	for i, variant := range kernels.Variants() {
		for _, format := range []string{"auto", "q8"} {
			m := testmodel.New(t, config, file, model.Options{Threads: 1 + 2*i, Kernel: variant,
				Format: format})
			logits := make([][]float32, len(ids))
			in := model.Input{Session: m.NewSession(), Tokens: ids,
				Visit: func(r model.Row) { logits[r.Index] = slices.Clone(r.Logits) }}
			if err := m.Eval(context.Background(), in); err != nil {
				t.Fatal(err)
			}
			table := lens(t, m, ids, inside.LensOptions{Top: 3,
				Logits: func(layer, position int, x []float32) {
					if layer == m.Config().Layer && !slices.Equal(x, logits[position]) {
						t.Errorf("%s: position %d: not the logits", variant, position)
					}
				}})
			if last := table.Layers[m.Config().Layer]; last[289].KL != 0 || len(last) != 290 {
				t.Errorf("%d positions, kl %v in the last layer", len(last), last[289].KL)
			}
			part := lens(t, m, ids, inside.LensOptions{Top: 3, From: 250})
			for i := range part.Layers {
				if !reflect.DeepEqual(part.Layers[i], table.Layers[i][250:]) {
					t.Errorf("%s: layer %d from 250 on is not that of the whole", variant, i)
				}
			}
			if format != "auto" {
				continue
			}
			if first == nil {
				first = table
			}
			if !reflect.DeepEqual(table, first) {
				t.Errorf("%s gives another table than %s", variant, kernels.Variants()[0])
			}
		}
	}
}

// The demo's logits after 60 tokens are more than exist at a time.
func TestGroupsOfALensAreOneTable(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	ids := make([]int, 60)
	for i := range ids {
		ids[i] = rand.New(rand.NewPCG(2, uint64(i))).IntN(50257)
	}
	table := lens(t, m, ids, inside.LensOptions{})
	part := lens(t, m, ids, inside.LensOptions{From: 50})
	for i := range part.Layers {
		if !reflect.DeepEqual(part.Layers[i], table.Layers[i][50:]) {
			t.Errorf("layer %d from 50 on is not that of the whole", i)
		}
	}
}

func TestLensRefuses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	id := func(n int) *int { return &n }
	for _, c := range []struct {
		ids  []int
		o    inside.LensOptions
		want string
	}{
		{nil, inside.LensOptions{}, "no tokens, want at least one"},
		{make([]int, 24), inside.LensOptions{},
			"context: 0 tokens and 24 more, want at most 23 (n_positions)"},
		{[]int{1, 29}, inside.LensOptions{}, "token 1: id 29, want 0 to 28"},
		{[]int{1}, inside.LensOptions{From: 1}, "lens: from position 1, want 0 to 0"},
		{[]int{1}, inside.LensOptions{Top: -1}, "lens: top -1, want 0 (5) or more"},
		{[]int{1}, inside.LensOptions{Target: id(29)}, "target: id 29, want 0 to 28"},
	} {
		_, err := inside.Lens(context.Background(), m, c.ids, c.o)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.o, err, c.want)
		}
	}
	config, file = fixture.Checkpoint(fixture.Options{
		Config: map[string]any{"tie_word_embeddings": false}})
	headless := testmodel.New(t, config, file, model.Options{Headless: true})
	_, err := inside.Lens(t.Context(), headless, []int{1}, inside.LensOptions{})
	if err != model.ErrNoLogits {
		t.Errorf("without an output head: %v", err)
	}
	_, err = inside.At(t.Context(), headless.NewSession(), 1, inside.AtOptions{})
	if !errors.Is(err, model.ErrNoLogits) {
		t.Errorf("without an output head, at a token: %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := inside.Lens(ended, m, []int{1}, inside.LensOptions{}); err != context.Canceled {
		t.Errorf("ended context: %v", err)
	}
}

func TestLensHasTheWordsOfTheAnswers(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 2})
	target := 3290
	b, err := json.Marshal(lens(t, m, []int{3198}, inside.LensOptions{Top: 1, Target: &target}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"tokens":[3198],"target":3290,"lens":[[{"top":[`, `"p":[`,
		`"entropy":`, `"kl":`, `"rank":`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s\nlacks %s", b, want)
		}
	}
}

// BenchmarkLens measures the lens of 512 tokens beside their prompt, in turns.
func BenchmarkLens(b *testing.B) {
	o := fixture.Options{Vocab: 50257, Positions: 1024, Embd: 768, Head: 12, Layer: 12}
	config, file := fixture.Checkpoint(o)
	m := testmodel.New(b, config, file, model.Options{})
	r, ids := rand.New(rand.NewPCG(3, 4)), make([]int, 512)
	for i := range ids {
		ids[i] = r.IntN(o.Vocab)
	}
	ctx := context.Background()
	seconds := func(f func() error) float64 {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start).Seconds()
	}
	var prompt, lens []float64
	for b.Loop() {
		prompt = append(prompt, seconds(func() error {
			s := m.NewSession()
			defer s.Release()
			return m.Eval(ctx, model.Input{Session: s, Tokens: ids})
		}))
		lens = append(lens, seconds(func() error {
			_, err := inside.Lens(ctx, m, ids, inside.LensOptions{})
			return err
		}))
	}
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	b.ReportMetric(median(prompt), "prompt-s")
	b.ReportMetric(median(lens), "lens-s")
	b.ReportMetric(median(lens)/median(prompt), "lens/prompt")
}
