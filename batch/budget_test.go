package batch

// The budget on simulated machines: the work of a step, and its time.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"picogpt/model"
)

// A machine takes at least floor for a step, in which it reads the weights, or the work divided by
// speed.
type machine struct {
	floor, speed float64 // seconds, work a second
	noise        float64 // a step takes up to so much of its time more or less
}

func (m machine) step(w float64, random *rand.Rand) float64 {
	return max(m.floor, w/m.speed) * (1 + m.noise*(2*random.Float64()-1))
}

func TestAStepWithALongPromptTakesMaxDelayAtMost(t *testing.T) {
	small := model.DefaultConfig()
	large := small
	large.Embd, large.Inner, large.Layer = 1600, 6400, 48
	for _, c := range []struct {
		about   string
		config  model.Config
		machine machine
		delay   float64 // milliseconds
		decodes int     // neighbours
		prompts int     // of 1,000 tokens
		scored  bool
		steps   int     // in which they are read, at most
		most    float64 // seconds
	}{
		{"124M on two cores", small, machine{0.020, 75e9, 0.1}, 100, 1, 1, false, 30, 0.1},
		{"eight neighbours", small, machine{0.020, 75e9, 0.1}, 100, 8, 1, false, 40, 0.1},
		{"a scored prompt", small, machine{0.020, 75e9, 0.1}, 100, 1, 1, true, 45, 0.1},
		{"four prompts", small, machine{0.020, 75e9, 0.1}, 100, 8, 4, false, 130, 0.1},
		{"four scored prompts", small, machine{0.020, 75e9, 0.1}, 100, 8, 4, true, 190, 0.1},
		{"a fast machine", small, machine{0.002, 2e12, 0.1}, 100, 1, 1, false, 8, 0.1},
		{"a slow one", small, machine{0.060, 12e9, 0.1}, 100, 1, 1, false, 180, 0.116},
		{"a short delay", small, machine{0.020, 75e9, 0.1}, 30, 1, 1, false, 110, 0.037},
		{"1.5B", large, machine{0.250, 75e9, 0.05}, 100, 1, 1, false, 160, 0.325},
	} {
		t.Run(c.about, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			w := workOf(c.config)
			b := newBudget(time.Duration(c.delay*1e6), w)
			for round := range 3 { // the first has no measurements
				decode := float64(c.decodes) * w.rows(100, 1, 1)
				for range 10 {
					took := time.Duration(1e9 * c.machine.step(decode, random))
					b.observe(took, decode, false, false)
				}
				steps := 0
				for prompts := longPrompts(c.prompts, c.scored); len(prompts) > 0; steps++ {
					more, cut := w.share(prompts, b.most()-decode)
					rows := 0
					for _, p := range prompts {
						p.at, p.pending = p.at+p.rows, p.pending-p.rows
						p.scored, rows = min(p.scored, p.pending), rows+p.rows
						p.rows = 0
					}
					prompts = slices.DeleteFunc(prompts, func(p *portion) bool { return p.pending == 0 })
					seconds := c.machine.step(decode+more, random)
					if seconds > c.most {
						t.Errorf("round %d, step %d: %d rows take %.3f s, want at most %.3f",
							round, steps, rows, seconds, c.most)
					}
					b.observe(time.Duration(1e9*seconds), decode+more, true, cut)
				}
				if steps > c.steps {
					t.Errorf("round %d: %d steps, want at most %d", round, steps, c.steps)
				}
			}
		})
	}
}

// longPrompts returns the portions of n prompts of 1,000 tokens.
func longPrompts(n int, scored bool) (prompts []*portion) {
	for range n {
		p := &portion{pending: 1000}
		if scored {
			p.scored = p.pending
		}
		prompts = append(prompts, p)
	}
	return prompts
}

func TestPromptsShareTheBudget(t *testing.T) {
	w := work{layers: 1}
	for _, c := range []struct {
		pending []int
		most    float64
		want    string // rows of each
		cut     bool
	}{
		{[]int{1000}, 40, "[40]", true},
		{[]int{1000, 1000}, 40, "[20 20]", true},
		{[]int{1000, 10}, 40, "[30 10]", true}, // the rest of the short one's share
		{[]int{1000, 5, 1000, 3}, 40, "[16 5 16 3]", true},
		{[]int{7, 7}, 40, "[7 7]", false},
		{[]int{9, 9, 9, 9}, 3, "[1 1 1 0]", true},
		{[]int{9, 4}, -5, "[0 1]", true}, // there is always some progress, for the shortest first
	} {
		var portions []*portion
		var rows []int
		for _, n := range c.pending {
			portions = append(portions, &portion{pending: n})
		}
		inOrder := append([]*portion{}, portions...)
		sum, cut := w.share(portions, c.most)
		total := 0
		for _, p := range inOrder {
			rows = append(rows, p.rows)
			total += p.rows
		}
		if fmt.Sprint(rows) != c.want || cut != c.cut || int(sum) != total {
			t.Errorf("%v in %v: %v, cut %v, sum %v; want %s, %v",
				c.pending, c.most, rows, cut, sum, c.want, c.cut)
		}
	}
}

func TestWorkCountsWhatTheModelMultiplies(t *testing.T) {
	w := workOf(model.Config{Embd: 4, Inner: 16, Layer: 3, VocabSize: 100})
	layers := 3.0 * (4*12 + 4*4 + 2*4*16) // c_attn, c_proj, c_fc and c_proj of the MLP
	keys := 3.0 * 2 * 4                   // a query with a key, a weight with a value
	if got, want := w.rows(10, 1, 0), layers+keys*10.5; got != want {
		t.Errorf("a row after ten: %v, want %v", got, want)
	}
	if got, want := w.rows(10, 2, 1), 2*layers+keys*22+400; got != want {
		t.Errorf("two rows after ten and their logits: %v, want %v", got, want)
	}
	p := portion{at: 10, pending: 4, scored: 2}
	if got, want := p.take(4, w), w.rows(10, 4, 2); got != want {
		t.Errorf("two rows, and two that are scored: %v, want %v", got, want)
	}
	if got, want := p.take(3, w), w.rows(10, 3, 1); got != want {
		t.Errorf("two rows, and one that is scored: %v, want %v", got, want)
	}
	for n := 1; n <= 4; n++ {
		if got := p.fit(p.take(n, w)+0.5, w); got != n {
			t.Errorf("%d rows fit into the work of %d", got, n)
		}
	}
	if n := w.fit(0, 1000, false, w.rows(0, 50, 0)); n < 10 || n > 50 {
		t.Errorf("%d rows fit into the work of 50", n)
	}
}
