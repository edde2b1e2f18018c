package decode

// The budget on machines made up: what a step holds, and how long it would take there.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"picogpt/model"
)

// A machine takes at least floor for a step, in which the weights are read, and else speed.
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
		steps   int     // in which a prompt of 1,000 is read, at most
		most    float64 // seconds
	}{
		{"124M on two cores", small, machine{0.020, 75e9, 0.1}, 100, 1, 30, 0.1},
		{"eight neighbours", small, machine{0.020, 75e9, 0.1}, 100, 8, 40, 0.1},
		{"a fast machine", small, machine{0.002, 2e12, 0.1}, 100, 1, 8, 0.1},
		{"a slow one", small, machine{0.060, 12e9, 0.1}, 100, 1, 180, 0.116},
		{"a short delay", small, machine{0.020, 75e9, 0.1}, 30, 1, 110, 0.037},
		{"1.5B", large, machine{0.250, 75e9, 0.05}, 100, 1, 160, 0.325},
	} {
		t.Run(c.about, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			w := workOf(c.config)
			b := newBudget(time.Duration(c.delay*1e6), w)
			for round := range 3 { // the first knows nothing of the machine
				decode := float64(c.decodes) * w.rows(100, 1, true)
				for range 10 {
					took := time.Duration(1e9 * c.machine.step(decode, random))
					b.observe(took, decode, false, false)
				}
				p, steps := portion{pending: 1000}, 0
				for ; p.pending > 0; steps++ {
					more, cut := w.share([]*portion{&p}, b.most()-decode)
					p.at, p.pending = p.at+p.rows, p.pending-p.rows
					seconds := c.machine.step(decode+more, random)
					if seconds > c.most {
						t.Errorf("round %d, step %d: %d rows take %.3f s, want at most %.3f",
							round, steps, p.rows, seconds, c.most)
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
		{[]int{1000, 10}, 40, "[30 10]", true}, // what the short one does not need
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
	if got, want := w.rows(10, 1, false), layers+keys*10.5; got != want {
		t.Errorf("a row after ten: %v, want %v", got, want)
	}
	if got, want := w.rows(10, 2, true), 2*layers+keys*22+400; got != want {
		t.Errorf("two rows after ten and their logits: %v, want %v", got, want)
	}
	if n := w.fit(0, 1000, w.rows(0, 50, false)); n < 10 || n > 50 {
		t.Errorf("%d rows fit into the work of 50", n)
	}
}
