package check

// What the two compute: logits, greedy tokens, perplexity.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"picogpt/check/reference"
	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
)

// logits compares the two on the text and on the tokens that follow it.
func (c *comparison) logits(text []int) error {
	c.progress("the engine", 0.18)
	ids, engine, err := evaluate(c.ctx, c.Model, text, len(text), c.report.Greedy)
	var infinite *model.NonFiniteError
	if errors.As(err, &infinite) {
		return c.infinite(ids[:infinite.Position+1], min(len(text), infinite.Position+1), infinite)
	}
	if err != nil {
		return err
	}
	c.progress("the reference", 0.3)
	oracle, err := c.oracle(ids)
	if err != nil {
		return err
	}
	c.progress("the results", 0.93)
	broken := c.compareLogits(ids, engine, oracle)
	c.greedy(ids, len(text), engine, oracle)
	if err := c.perplexity(ids[:len(text)], oracle); err != nil {
		return err
	}
	if !c.exact {
		c.loss(ids, engine, oracle)
	}
	if broken < 0 {
		return nil
	}
	return c.nameThePlace(ids[:broken+1], min(len(text), broken+1))
}

// infinite compares the last row of logits, which the engine refuses, and returns the engine's
// error if the reference has no finite numbers there either.
func (c *comparison) infinite(ids []int, together int, refused error) error {
	c.progress("the reference", 0.3)
	oracle, err := c.oracle(ids)
	if err != nil {
		return err
	}
	for _, v := range oracle.Row(len(ids) - 1) {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > math.MaxFloat32 {
			return refused
		}
	}
	if !c.exact { // the format's range is too small
		return refused
	}
	c.report.add(Row{What: "logits", Verdict: Fault, Count: len(ids), Difference: math.Inf(1),
		Compared: fmt.Sprintf("%d × %d", len(ids), c.Model.Config().VocabSize),
		Bound:    Promise, Where: refused.Error() + "; the reference's are finite"})
	return c.nameThePlace(ids, together)
}

// nameThePlace looks for the part of the model that differs, where both have the same weights.
func (c *comparison) nameThePlace(ids []int, together int) error {
	if c.otherWeights {
		return nil
	}
	c.progress("the place", 0.96)
	place, err := c.place(ids, together)
	if err == nil {
		c.report.Place = place + ": " + c.report.Place
	}
	return err
}

// oracle returns the reference's logits after each id, [n_seq, n_vocab].
func (c *comparison) oracle(ids []int) (*reference.Matrix, error) {
	m := *c.Reference
	p := *m.Params
	m.Params = &p
	p.Watch = func(layer int, _ *reference.Matrix) error {
		c.progress(fmt.Sprintf("the reference, block %d of %d", layer+1, len(p.Blocks)),
			0.3+0.63*p.Share(layer))
		return nil
	}
	return m.Logits(c.ctx, ids)
}

// evaluate returns the engine's logits after each id, float32 [n_seq, n_vocab]. The first ids go
// through the model together, the others one by one, as a text is read and then written; so are
// new tokens, each with the largest logit, which it appends to ids.
func evaluate(
	ctx context.Context, m *model.Model, ids []int, together, new int,
) ([]int, [][]float32, error) {
	s := m.NewSession()
	defer s.Release()
	rows := make([][]float32, together, len(ids)+new)
	err := m.Eval(ctx, model.Input{Session: s, Tokens: ids[:together], Visit: func(r model.Row) {
		rows[r.Index] = append([]float32(nil), r.Logits...)
	}})
	ids = ids[:len(ids):len(ids)] // the caller's stay as they are
	for n := len(ids) + new; err == nil && len(rows) < n; {
		if len(rows) == len(ids) {
			ids = append(ids, kernels.Argmax(rows[len(rows)-1]))
		}
		id := ids[len(rows)]
		if err = m.Eval(ctx, model.Input{Session: s, Tokens: []int{id}}); err == nil {
			rows = append(rows, append([]float32(nil), s.Logits()...))
		}
	}
	return ids, rows, err
}

// A gap is the largest difference between two rows of logits.
type gap struct {
	position, id int
	diff, size   float64 // |Δ|, and the largest |logit| of the reference's row
}

// share is the difference as a share of the largest logit.
func (g gap) share() float64 {
	if g.diff == 0 || math.IsInf(g.diff, 0) {
		return g.diff
	}
	return g.diff / g.size // infinite where all logits should be 0
}

// gapOf compares two rows. The only logit of a vocabulary of one token decides nothing, and can be
// the small difference of large sums: its bound is a share of the largest after all tokens.
func gapOf(position int, engine []float32, all *reference.Matrix) gap {
	oracle := all.Row(position)
	g := gap{position: position, size: size(oracle)}
	if all.Cols == 1 {
		g.size = size(all.Data)
	}
	for i, want := range oracle {
		d := math.Abs(float64(engine[i]) - want)
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > g.diff {
			g.diff, g.id = d, i
		}
	}
	return g
}

// size returns the largest |logit| of a row.
func size(row []float64) float64 { return floats.Norm(row, math.Inf(1)) }

// compareLogits returns the first position where the promise is broken, -1 if there is none.
func (c *comparison) compareLogits(ids []int, engine [][]float32, oracle *reference.Matrix) int {
	worst, broken := gap{}, -1
	for i, row := range engine {
		g := gapOf(i, row, oracle)
		if g.share() > worst.share() {
			worst = g
		}
		if c.exact && broken < 0 && !(g.share() <= Promise) {
			broken = i
		}
	}
	row := Row{What: "logits", Difference: worst.share(), Verdict: Within, Bound: Promise,
		Count:    len(engine) * len(engine[0]),
		Compared: fmt.Sprintf("%d × %d", len(engine), len(engine[0]))}
	if worst.diff > 0 {
		row.Engine = float64(engine[worst.position][worst.id])
		row.Reference = oracle.Row(worst.position)[worst.id]
		row.Where = fmt.Sprintf("after %s, %s: %.6g, reference %.6g",
			c.position(worst.position, ids), c.token(worst.id), row.Engine, row.Reference)
	}
	switch {
	case !c.exact:
		row.Verdict, row.Bound = Loss, 0
	case broken >= 0:
		row.Verdict = Fault
		if broken != worst.position {
			row.Where += fmt.Sprintf("; the first is after %s", c.position(broken, ids))
		}
	}
	c.report.add(row)
	return broken
}

// greedy compares the tokens that the engine has chosen with the reference's choice after the same
// tokens. Two logits that are each off by the bound may change places if they are nearer than twice
// the bound.
func (c *comparison) greedy(ids []int, prompt int, engine [][]float32, oracle *reference.Matrix) {
	row := Row{What: "greedy", Verdict: Same, Count: len(ids) - prompt}
	other, ties := 0, 0
	for i := prompt; i < len(ids); i++ {
		want := oracle.Row(i - 1)
		best := floats.MaxIdx(want)
		if best == ids[i] {
			continue
		}
		bound := 2 * Promise * size(want)
		where := fmt.Sprintf("token %d after %d: %s, reference %s", i-prompt, prompt,
			c.token(ids[i]), c.token(best))
		switch distance := want[best] - want[ids[i]]; {
		case !c.exact:
			row.Verdict = Loss
		case distance <= bound:
			ties++
			if row.Verdict == Same {
				row.Verdict = Tie
			}
			where += fmt.Sprintf(", whose logits are %.2g apart", distance)
		case row.Verdict != Fault:
			row.Verdict, row.Where = Fault, ""
		}
		if other++; row.Where == "" {
			row.Where = where
		}
	}
	row.Compared = quote.Count(row.Count, "token")
	if other > 0 {
		row.Difference = float64(other)
		row.Compared += fmt.Sprintf(", %d other", other)
		if c.exact {
			row.Compared += fmt.Sprintf(", %d of them ties", ties)
		}
	}
	c.report.add(row)
}

// perplexity compares package eval's perplexity of the text with that of the reference's logits.
// Each log-probability may be off by twice the logits' bound, and the mean by the mean of that.
func (c *comparison) perplexity(text []int, oracle *reference.Matrix) error {
	if len(text) < 2 {
		c.report.add(Row{What: "perplexity", Verdict: NotCompared,
			Where: "one token has none: it is about those that follow another"})
		return nil
	}
	r, err := eval.Perplexity(c.ctx, c.Model, text, eval.Options{Protocol: eval.HF})
	if err != nil {
		return err
	}
	want, bound, n := 0.0, 0.0, float64(len(text)-1)
	for i, id := range text[1:] {
		row := oracle.Row(i)
		want += (floats.LogSumExp(row) - row[id]) / n
		bound += 2 * Promise * size(row) / n
	}
	bound = max(bound, 1e-12*want) // where all logits are 0, there is float64's rounding
	row := Row{What: "perplexity", Count: len(text) - 1, Difference: math.Abs(r.NLL - want),
		Bound: bound, Verdict: Within, Engine: r.Perplexity, Reference: math.Exp(want)}
	row.Compared = fmt.Sprintf("%.6g, reference %.6g", row.Engine, row.Reference)
	switch {
	case !c.exact:
		row.Verdict, row.Bound = Loss, 0
	case !(row.Difference <= bound):
		row.Verdict, row.Where = Fault, "the mean over the text"
	}
	c.report.add(row)
	return nil
}

// loss adds the Kullback-Leibler divergence from the reference's distributions to the engine's, and
// how often both have the same first choice.
func (c *comparison) loss(ids []int, engine [][]float32, oracle *reference.Matrix) {
	mean, most, at, same := 0.0, math.Inf(-1), 0, 0
	for i, e := range engine {
		r, x := oracle.Row(i), widen(e)
		re, ee := floats.LogSumExp(r), floats.LogSumExp(x)
		kl := 0.0
		for j, v := range r {
			kl += math.Exp(v-re) * ((v - re) - (x[j] - ee))
		}
		if mean += kl / float64(len(engine)); kl > most {
			most, at = kl, i
		}
		if kernels.Argmax(e) == floats.MaxIdx(r) {
			same++
		}
	}
	c.report.add(Row{What: "first choice", Count: len(engine), Verdict: Loss,
		Difference: float64(len(engine) - same),
		Compared: fmt.Sprintf("%d of %d agree, %.1f %%", same, len(engine),
			100*float64(same)/float64(len(engine)))})
	c.report.add(Row{What: "KL", Count: len(engine), Difference: mean, Verdict: Loss,
		Compared: "mean in nats",
		Where:    fmt.Sprintf("the largest, %.3g, after %s", most, c.position(at, ids))})
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// position names a token of the text.
func (c *comparison) position(i int, ids []int) string {
	return fmt.Sprintf("position %d (%s)", i, c.token(ids[i]))
}

// token is an id with its text.
func (c *comparison) token(id int) string {
	if c.Tokenizer != nil {
		if text, err := c.Tokenizer.Text(id); err == nil {
			return fmt.Sprintf("id %d %s", id, quote.Short(text, 20))
		}
	}
	return fmt.Sprintf("id %d", id)
}
