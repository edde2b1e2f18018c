package sample

// Top-p by the best logits of a row chooses what it chooses by all of them.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/kernels"
	"picogpt/model"
)

// bestOf is a Best by its definition.
func bestOf(logits []float32, k int) *model.Best {
	b := &model.Best{LogSumExp: kernels.Leaves{}.LogSumExp(logits)}
	least := slices.Sorted(slices.Values(logits))[len(logits)-k]
	for id, x := range logits {
		if x >= least {
			b.IDs, b.Logits = append(b.IDs, int32(id)), append(b.Logits, x)
		}
	}
	return b
}

// TestTheBestDecideTopP: where the best logits are enough, every draw from them is that from the whole
// row. Rows are peaked, flat, and full of equal logits.
func TestTheBestDecideTopP(t *testing.T) {
	const vocabulary = 700
	r := rand.New(rand.NewPCG(9, 9))
	rows := map[string]func(i int) float32{
		"peaked":  func(i int) float32 { return float32(r.NormFloat64()*2 - float64(i)/20) },
		"usual":   func(int) float32 { return float32(r.NormFloat64() * 3) },
		"flat":    func(int) float32 { return float32(r.NormFloat64() * 0.1) },
		"by step": func(int) float32 { return float32(r.IntN(30)) / 3 },
		"equal":   func(i int) float32 { return float32(1 - i/9%2) },
	}
	enough := map[string]int{}
	for _, p := range []Params{
		{Temperature: 1}, {Temperature: 0.9}, {Temperature: 0.7, MinP: 0.01}, {Temperature: 0.2},
		{Temperature: 1e-310}, {Temperature: 1.7, Samplers: samplersLlamaCpp},
		{Temperature: 1, TopK: 9, Samplers: "top-p,top-k"},
	} {
		of := fmt.Sprint("temperature ", p.Temperature)
		for name, row := range rows {
			for _, topP := range []float64{1e-300, 0.1, 0.5, 0.9, 0.95, 0.999} {
				p.TopP = topP
				s, err := NewSampler(p, IDs{})
				if err != nil {
					t.Fatal(err)
				}
				if k := s.Perhaps(vocabulary); k != mostPerhaps || s.Decisive(vocabulary) != 0 {
					t.Fatalf("%s: %d logits, want %d", of, k, mostPerhaps)
				}
				logits := make([]float32, vocabulary)
				for i := range logits {
					logits[i] = row(i)
				}
				for _, k := range []int{1, 2, 30, mostPerhaps} {
					best := bestOf(logits, k)
					if !s.Enough(best) {
						continue
					}
					enough[of]++
					for seed := range uint64(10) {
						s.Reseed(seed)
						want, err := s.Choose(WholeRow(logits, s.Leaves), []int{1})
						if err != nil {
							t.Fatal(err)
						}
						s.Reseed(seed)
						got, err := s.Choose(RowOf(model.Row{Best: best}, s.Leaves), []int{1})
						if err != nil || got != want {
							t.Fatalf("%s, top-p %g, %s, %d best: id %d, want %d, error %v", of,
								topP, name, k, got, want, err)
						}
					}
				}
			}
		}
	}
	if len(enough) != 6 { // two have temperature 1
		t.Errorf("the best are enough %v times", enough)
	}
	t.Log(enough)
	for what, p := range map[string]Params{
		"warmer than 1":  {Temperature: 1.2, TopP: 0.5},
		"a range":        {Temperature: 0.8, TempRange: 0.1, TopP: 0.5},
		"another filter": {Temperature: 1, Typical: 0.5, TopP: 0.5, Samplers: "typical,top-p"},
		"a penalty":      {Temperature: 1, TopP: 0.5, RepeatPenalty: 2},
		"no top-p":       {Temperature: 1},
	} {
		s, err := NewSampler(p, IDs{})
		if err != nil {
			t.Fatal(err)
		}
		if k := s.Perhaps(vocabulary); k != 0 {
			t.Errorf("%s: %d logits, want all", what, k)
		}
	}
}

// TestTheBestAreNotEnoughAtTheEdge: where p is, to the last bits, what some ids have together.
func TestTheBestAreNotEnoughAtTheEdge(t *testing.T) {
	logits := make([]float32, 400) // 16 of 1 and the others of −1
	for i := range logits {
		logits[i] = -1
	}
	for i := range 16 {
		logits[i*7] = 1
	}
	whole := 16 + 384*kernels.Exp64(-2)
	edge := 8 / whole // what eight of the 16 have
	for _, c := range []struct {
		p    float64
		want bool
	}{{edge, false}, {edge * (1 - 1e-12), false}, {edge * (1 + 1e-12), false},
		{edge * 0.999, true}, {edge * 1.001, true}, {0.1, true}, {0.9, false}} {
		s, err := NewSampler(Params{Temperature: 1, TopP: c.p}, IDs{})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Enough(bestOf(logits, 16)); got != c.want {
			t.Errorf("top-p %.15g: enough %v, want %v", c.p, got, c.want)
		}
	}
}
