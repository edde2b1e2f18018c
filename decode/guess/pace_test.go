package guess

// Guessing pays, or stops: on simulated machines.

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A toyMachine holds times in units of a step of one row.
type toyMachine struct {
	row   float64 // that a row adds to a step
	steps int     // rows that cost no more than one, as a tile's do
	guess float64 // of one token by a model; 0 where guesses cost nothing
	noise float64
	right float64 // how often a guess is right
}

func (m toyMachine) String() string {
	return fmt.Sprintf("%+v", [...]float64{m.row, float64(m.steps), m.guess, m.right})
}

func (m toyMachine) step(rows int) float64 {
	tiles := (rows + m.steps - 1) / m.steps
	return 1 + float64(tiles-1)*m.row*float64(m.steps)
}

// write generates so many tokens of each text, and returns how long that took with guesses and
// without.
func (m toyMachine) write(texts, tokens, most int, random *rand.Rand) (with, without float64) {
	var p pace
	kind := Odds{Prior: 0.7}
	p.guess.mean = m.guess
	done := make([]int, texts)
	noisy := func(x float64) float64 { return x * (1 + m.noise*random.Float64()) }
	for {
		var all []outlook
		for _, n := range done {
			if n < tokens {
				all = append(all, outlook{kind.Value(), min(most, tokens-n-1)})
			}
		}
		if len(all) == 0 {
			return with, without
		}
		n := p.length(len(all), all, 0)
		rows, came := 0, 0
		for i := range done {
			if done[i] == tokens {
				continue
			}
			k := min(n, tokens-done[i]-1)
			right := 0
			for right < k && random.Float64() < m.right {
				right++
			}
			if m.guess == 0 || k > 0 {
				kind.Observe(right, right < max(k, 1) && (k > 0 || random.Float64() >= m.right))
			} else {
				kind.fade()
			}
			done[i] += 1 + right
			rows, came = rows+1+k, came+1+right
		}
		step, guessing := noisy(m.step(rows)), 0.0
		if n > 0 {
			guessing = noisy(float64(n) * m.guess)
		}
		p.observe(rows, len(all), came, step, guessing)
		with += step + guessing
		without += m.step(len(all)) * float64(came) / float64(len(all)) * (1 + m.noise/2)
	}
}

func TestGuessingPaysOrEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for _, row := range []float64{0.01, 0.1, 0.4, 1} {
		for _, steps := range []int{1, 4} {
			for _, guess := range []float64{0, 0.1, 0.5, 3} {
				for _, right := range []float64{0, 0.2, 0.5, 0.9, 1} {
					for _, texts := range []int{1, 3, 8} {
						m := toyMachine{row, steps, guess, 0.1, right}
						with, without := m.write(texts, 200, 10, random)
						if with > 1.05*without {
							t.Errorf("%v, %d texts: %.3f of the time without guesses", m, texts,
								with/without)
						}
					}
				}
			}
		}
	}
	for _, c := range []struct {
		toyMachine
		most float64 // of the time without
	}{
		{toyMachine{0.02, 1, 0, 0.1, 0.95}, 0.25},
		{toyMachine{0.02, 1, 0.25, 0.1, 0.9}, 0.6},
		{toyMachine{0.3, 4, 0, 0.1, 0.9}, 0.6},
	} {
		with, without := c.write(1, 200, 10, random)
		if with > c.most*without {
			t.Errorf("%v: %.3f of the time without guesses, want %v", c.toyMachine, with/without,
				c.most)
		}
	}
}
