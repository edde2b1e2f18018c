package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// random returns a model with random weights: three layers, of which the last two have few rows to
// compute when few are read.
func random(t *testing.T, team *kernels.Team, r *rand.Rand, format, cache kernels.Format,
	embd, heads int,
) *stack.Params {
	numbers := func(n int, scale float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64() * scale)
		}
		return x
	}
	matrix := func(layout kernels.Layout, in, out int) kernels.Matrix {
		m := kernels.Matrix{Layout: layout, In: in, Out: out, F32: numbers(in*out, 0.2)}
		return kernels.Convert(team, format, &m)
	}
	linear := func(in, out int) stack.Linear {
		return stack.Linear{Weight: matrix(kernels.InOut, in, out), Bias: numbers(out, 0.1)}
	}
	norm := func() stack.Norm { return stack.Norm{Gain: numbers(embd, 1), Bias: numbers(embd, 0.1)} }
	p := &stack.Params{Vocab: 53, Positions: 200, Embd: embd, Heads: heads, Inner: 4 * embd,
		Epsilon: 1e-5, CacheFormat: cache, WTE: matrix(kernels.OutIn, embd, 53),
		WPE: numbers(200*embd, 0.1), LnF: norm()}
	for range 3 {
		p.H = append(p.H, stack.Block{Ln1: norm(), Ln2: norm(), CAttn: linear(embd, 3*embd),
			AttnProj: linear(embd, embd), CFC: linear(embd, 4*embd), MLPProj: linear(4*embd, embd),
			Scale: 0.3})
	}
	p.LMHead = &p.WTE
	return p
}

// A batch is what is asked for in one pass, and what came of it.
type batch struct {
	params *stack.Params
	caches []*cache
	rows   map[[2]int][]float32 // the logits and hidden states of visited rows
	logits [][]float32
	begins []int // positions of the texts' first tokens
}

// run runs a pass. Of each text, rows are read from visit on, and after the last if last is set.
func (x *batch) run(b engine.Backend, texts [][]int, visit []int, last []bool) error {
	p := &engine.Pass{}
	x.rows, x.logits, x.begins = map[[2]int][]float32{}, nil, nil
	mu := make(chan struct{}, 1)
	p.Visit = func(span, i int, row engine.Row) {
		mu <- struct{}{}
		x.rows[[2]int{span, i}] = slices.Concat(row.Logits, row.Hidden)
		<-mu
	}
	for i, tokens := range texts {
		c := x.caches[i]
		if err := c.Reserve(len(tokens)); err != nil {
			return err
		}
		s := engine.Span{Cache: c, Tokens: tokens, Position: c.held, Visit: visit[i]}
		if last[i] {
			s.Logits = make([]float32, x.params.Vocab)
		}
		x.logits, x.begins = append(x.logits, s.Logits), append(x.begins, c.held)
		p.Spans = append(p.Spans, s)
	}
	err := b.Run(context.Background(), p)
	for _, c := range x.caches[:len(texts)] {
		if err == nil {
			c.Commit()
		} else {
			c.Rollback()
		}
	}
	return err
}

func bitsOf(x []float32) (b []uint32) {
	for _, v := range x {
		b = append(b, math.Float32bits(v))
	}
	return b
}

// TestRowsThatNobodyReads compares passes of which some rows are read with passes of which all are:
// keys, values, logits, hidden states and errors are the same.
func TestRowsThatNobodyReads(t *testing.T) {
	cases.NotShort(t)
	r := rand.New(rand.NewPCG(7, 1))
	for _, variant := range []string{"", "go"} {
		team, err := kernels.NewTeam(2, variant)
		if err != nil {
			t.Fatal(err)
		}
		defer team.Close()
		for _, format := range []kernels.Format{kernels.F32, kernels.F16, kernels.BF16, kernels.Q8,
			kernels.Q4} {
			widths := [][2]int{{48, 3}, {40, 2}} // 40 cuts a block of Q8 and Q4
			if variant == "go" {                 // takes long; the widths change from format to format
				widths = cases.Some(widths, 1, int(format))
			}
			for _, width := range widths {
				cacheFormat := []kernels.Format{kernels.F32, kernels.F16, kernels.Q8}[r.IntN(3)]
				p := random(t, team, r, format, cacheFormat, width[0], width[1])
				for round := range cases.Of(2, 30) {
					if round == 1 { // rows from position 11 on are not finite
						p.WPE[11*p.Embd+3] = float32(math.Inf(1))
					}
					t.Run(fmt.Sprintf("%s/%v/%d/%d", variant, format, width[0], round),
						func(t *testing.T) { compareRead(t, team, p, r) })
				}
			}
		}
	}
}

func compareRead(t *testing.T, team *kernels.Team, p *stack.Params, r *rand.Rand) {
	some, all := batch{params: p}, batch{params: p}
	a, b := New(team, p, engine.NewBudget(0)), New(team, p, engine.NewBudget(0))
	var texts [][]int
	var visit, none []int
	var last []bool
	for _, n := range []int{1 + r.IntN(90), 1, 1 + r.IntN(20)}[:1+r.IntN(3)] {
		some.caches = append(some.caches, a.NewCache().(*cache))
		all.caches = append(all.caches, b.NewCache().(*cache))
		tokens := make([]int, n)
		for i := range tokens {
			tokens[i] = r.IntN(p.Vocab)
		}
		texts, none = append(texts, tokens), append(none, 0)
		visit = append(visit, []int{n, n, r.IntN(n + 1)}[r.IntN(3)])
		last = append(last, r.IntN(2) == 0)
	}
	for range 2 { // the second pass reads the keys and values of the first
		err, want := some.run(a, texts, visit, last), all.run(b, texts, none, last)
		if want != nil {
			checkRefused(t, err, &some, texts, visit, last)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for at, row := range some.rows {
			if !slices.Equal(bitsOf(row), bitsOf(all.rows[at])) {
				t.Errorf("row %v: others than where all rows are read", at)
			}
		}
		for i := range texts {
			if !slices.Equal(bitsOf(some.logits[i]), bitsOf(all.logits[i])) {
				t.Errorf("text %d: other logits", i)
			}
			for page := range some.caches[i].pages {
				for _, x := range [][2]kernels.KV{
					{some.caches[i].keys[page], all.caches[i].keys[page]},
					{some.caches[i].values[page], all.caches[i].values[page]},
				} {
					if !slices.Equal(x[0].Bytes(), x[1].Bytes()) {
						t.Errorf("text %d, page %d: other keys or values", i, page)
					}
				}
			}
		}
	}
}

// checkRefused: the error names the first row that is read and not finite, if there is one.
func checkRefused(t *testing.T, err error, x *batch, texts [][]int, visit []int, last []bool) {
	for i, tokens := range texts {
		for k := range tokens {
			read := k >= visit[i] || last[i] && k == len(tokens)-1
			if !read || x.begins[i]+k < 11 {
				continue
			}
			var bad *engine.NonFiniteError
			if !errors.As(err, &bad) || bad.Span != i || bad.Token != k {
				t.Errorf("error %v, want text %d, token %d", err, i, k)
			}
			return
		}
	}
	if err != nil {
		t.Errorf("error %v, want none: no row that is read has others than finite numbers", err)
	}
}

// TestTheLastBlockIsForTheRowsThatAreRead: from the attention of a prompt's last block on, each
// operation has the tasks that it has for one row.
func TestTheLastBlockIsForTheRowsThatAreRead(t *testing.T) {
	p := shaped(t, kernels.F32)
	one, prompt := count(t, p, 1, 1), count(t, p, 1, 512)
	after := 0 // where the last block's attention has ended, from the end
	for i, o := range slices.Backward(one) {
		if o.name == "kernels.CausalAttention" {
			after = len(one) - 1 - i
			break
		}
	}
	if after < 8 || len(prompt) < after {
		t.Fatalf("%d operations after the last attention, want 8 or more", after)
	}
	for i := range after {
		a, b := one[len(one)-after+i], prompt[len(prompt)-after+i]
		if a.name != b.name || a.tasks != b.tasks {
			t.Errorf("operation %d after the last attention: %d tasks of %s, want %d of %s", i,
				b.tasks, b.name, a.tasks, a.name)
		}
	}
}
