package eval

// Compare: how far one model is from another on a text, token by token.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// A Comparison says how far model B is from model A on one text: in the predictions of the Compared
// tokens, those that the protocol scores.
type Comparison struct {
	A, B     Result // as Measure gives them; the caller sets Model
	Compared int    // predictions

	// Of KL(A‖B) = Σ p·ln(p/q), where p is A's prediction and q is B's, in nats: the mean, the
	// value that 99 % of the predictions do not exceed (the nearest rank), and the greatest.
	KL, KL99, KLMax float64

	Agreement float64 // the share of the predictions with the same first choice
	Delta     float64 // the mean of |ln p − ln q| of the text's own token
	Most      []Difference
}

// A Difference is a token that the two models predict differently.
type Difference struct {
	Document int `json:"document"` // of the text, from 0
	Position int `json:"position"` // of the token in its document, from 0
	ID       int `json:"id"`       // of the token

	KL       float64    `json:"kl"`
	LogProbs [2]float64 `json:"logprobs"` // of the token, by A and by B
	Choices  [2]int     `json:"choices"`  // the first choices; of equal logits, the least id

	// Set by the caller, where there is a tokenizer: the text before the token, the token's, and
	// those of the choices.
	Before string   `json:"before,omitempty"`
	Text   string   `json:"text,omitempty"`
	Chosen []string `json:"chosen,omitempty"`
}

// comparisonJSON is a Comparison as JSON. Numbers that are not known are null.
type comparisonJSON struct {
	A         Result       `json:"a"`
	B         Result       `json:"b"`
	Compared  int          `json:"compared"`
	KL        *float64     `json:"kl"`
	KL99      *float64     `json:"kl_99"`
	KLMax     *float64     `json:"kl_max"`
	Agreement *float64     `json:"agreement"`
	Delta     *float64     `json:"delta"`
	Most      []Difference `json:"most"`
}

// MarshalJSON writes one object.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(comparisonJSON{c.A, c.B, c.Compared, finite(c.KL), finite(c.KL99),
		finite(c.KLMax), finite(c.Agreement), finite(c.Delta), c.Most})
}

// compareRows bounds the rows of logits that exist at a time.
const compareRows = 64

// Compare compares model b with model a on a text, in the windows of the protocol that o names; the
// default window is the shorter context of the two. Most are the top tokens with the greatest KL,
// of equal ones the earlier first. o.Batch is not read; the Perplexity of its Progress is a's.
//
// The models must have the same vocabulary; whether its ids stand for the same texts is the
// caller's to know. If ctx ends, or logits are not finite, Compare returns the error, and the
// comparison of the windows before it, whose results are marked Partial. Sums run over the tokens
// in the order of the text. Memory holds 64 rows of logits, and a number for each token.
func Compare(
	ctx context.Context, a, b *model.Model, text Text, o Options, top int,
) (Comparison, error) {
	c, err := newComparer(a, b, text, o, top)
	if err != nil {
		return Comparison{}, err
	}
	err = c.measure(ctx, text.Documents)
	return c.comparison(text, err != nil), err
}

// A comparer is a comparison under way.
type comparer struct {
	models [2]*model.Model
	totals [2]*Total
	top    int

	logits []float32 // [compareRows, vocab_size], of A
	rows   [compareRows]Difference
	lse    [compareRows]float64 // of A's logits

	kls    []float64 // of all predictions
	kl     float64   // sums
	delta  float64
	agreed int
	most   []Difference
}

// newComparer checks everything before anything is computed.
func newComparer(a, b *model.Model, text Text, o Options, top int) (*comparer, error) {
	if top < 0 {
		return nil, fmt.Errorf("top: %d, want 0 or more", top)
	}
	if x, y := a.Config().VocabSize, b.Config().VocabSize; x != y {
		return nil, fmt.Errorf("the vocabulary of B has %d ids, want %d, as A's", y, x)
	}
	c := &comparer{models: [2]*model.Model{a, b}, top: top, most: []Difference{},
		logits: make([]float32, compareRows*a.Config().VocabSize)}
	positions := min(a.Config().Positions, b.Config().Positions)
	for i, m := range c.models {
		config := m.Config()
		config.Positions = positions
		t, err := NewTotal(o, config)
		if err == nil {
			err = t.countAll(text, config)
		}
		if err != nil {
			return nil, err
		}
		c.totals[i] = t
	}
	if x, y := c.totals[0].bos, c.totals[1].bos; x != y {
		return nil, fmt.Errorf("bos_token_id of B is %d, want %d, as A's", y, x)
	}
	return c, nil
}

// measure compares the windows of all documents.
func (c *comparer) measure(ctx context.Context, documents []Document) error {
	t, before := c.totals[0], 0
	for i, d := range documents {
		for w := range t.windows(d.Tokens) {
			if err := c.window(ctx, i, w); err != nil {
				return err
			}
			if t.Progress != nil {
				t.Progress(Progress{before + w.end, t.tokens, t.perplexity()})
			}
		}
		before += len(d.Tokens)
	}
	return nil
}

// window compares one window, and adds all of it or nothing.
func (c *comparer) window(ctx context.Context, document int, w *sequence) error {
	var sessions [2]*model.Session
	for i, m := range c.models {
		sessions[i] = m.NewSession()
		defer sessions[i].Release()
		if before := w.tokens[:w.first-1]; len(before) > 0 {
			err := c.eval(ctx, i, model.Input{Session: sessions[i], Tokens: before, NoLogits: true})
			if err != nil {
				return err
			}
		}
	}
	var all []Difference
	for first := w.first; first < len(w.tokens); first += compareRows {
		targets := w.tokens[first:min(first+compareRows, len(w.tokens))]
		inputs := w.tokens[first-1 : first-1+len(targets)]
		for i, visit := range []func(row model.Row){
			func(row model.Row) { c.readA(row, targets[row.Index]) },
			func(row model.Row) { c.readB(row, targets[row.Index]) },
		} {
			err := c.eval(ctx, i, model.Input{Session: sessions[i], Tokens: inputs, NoLogits: true,
				Visit: visit})
			if err != nil {
				return err
			}
		}
		all = append(all, c.rows[:len(targets)]...)
	}
	for i := range all { // w.end is the place in the document of what follows the window
		all[i].Document, all[i].Position = document, w.end-len(all)+i
	}
	c.add(w, all)
	return nil
}

// eval evaluates a part of a window with model i.
func (c *comparer) eval(ctx context.Context, i int, in model.Input) error {
	if err := model.Cause(c.models[i].Eval(ctx, in)); err != nil {
		return fmt.Errorf("%c: %w", 'A'+i, err)
	}
	return nil
}

// readA keeps a row of A for readB.
func (c *comparer) readA(row model.Row, target int) {
	i, vocab := row.Index, len(row.Logits)
	copy(c.logits[i*vocab:], row.Logits)
	c.lse[i] = c.models[0].Leaves().LogSumExp(row.Logits)
	c.rows[i] = Difference{ID: target}
	c.rows[i].LogProbs[0] = float64(row.Logits[target]) - c.lse[i]
	c.rows[i].Choices[0] = kernels.Argmax(row.Logits)
}

// readB compares a row of B with that of A.
func (c *comparer) readB(row model.Row, target int) {
	i, vocab, leaves := row.Index, len(row.Logits), c.models[1].Leaves()
	lse := leaves.LogSumExp(row.Logits)
	d := &c.rows[i]
	d.LogProbs[1] = float64(row.Logits[target]) - lse
	d.Choices[1] = kernels.Argmax(row.Logits)
	d.KL = divergence(leaves, c.logits[i*vocab:][:vocab], row.Logits, c.lse[i], lse)
}

// divergence returns Σ p·ln(p/q) of the logits of p and of q, whose log-sum-exps are given; 0 for
// equal logits. The sum is one chain.
func divergence(leaves kernels.Leaves, p, q []float32, lseP, lseQ float64) float64 {
	var block [256]float64
	sum := 0.0
	for len(p) > 0 {
		n := min(len(p), len(block))
		leaves.Widen(block[:n], p[:n])
		leaves.Exp64s(block[:n], block[:n], lseP, 1)
		for i, x := range block[:n] {
			sum += float64(x * ((float64(p[i]) - lseP) - (float64(q[i]) - lseQ)))
		}
		p, q = p[n:], q[n:]
	}
	return max(0, sum) // it is below 0 by rounding only
}

// add adds the predictions of a window to the sums.
func (c *comparer) add(w *sequence, all []Difference) {
	for i, t := range c.totals {
		w.stats = w.stats[:0]
		for _, d := range all {
			w.stats = append(w.stats, Stat{LogProb: d.LogProbs[i]})
		}
		t.addWindow(w)
	}
	for _, d := range all {
		c.kls = append(c.kls, d.KL)
		c.kl += d.KL
		c.delta += math.Abs(d.LogProbs[0] - d.LogProbs[1])
		if d.Choices[0] == d.Choices[1] {
			c.agreed++
		}
		at, _ := slices.BinarySearchFunc(c.most, d, func(x, d Difference) int {
			if x.KL >= d.KL { // the earlier first
				return -1
			}
			return 1
		})
		if at < c.top {
			c.most = slices.Insert(c.most, at, d)[:min(len(c.most)+1, c.top)]
		}
	}
}

// comparison returns the result for the windows that were added.
func (c *comparer) comparison(text Text, partial bool) Comparison {
	n := len(c.kls)
	r := Comparison{Compared: n, KL: c.kl / float64(n), KL99: math.NaN(), KLMax: math.NaN(),
		Agreement: float64(c.agreed) / float64(n), Delta: c.delta / float64(n), Most: c.most}
	for i, to := range []*Result{&r.A, &r.B} {
		*to = c.totals[i].of(c.models[i], text, partial)
	}
	if n > 0 {
		slices.SortFunc(c.kls, cmp.Compare[float64])
		r.KL99, r.KLMax = c.kls[(99*n+99)/100-1], c.kls[n-1]
	}
	return r
}
