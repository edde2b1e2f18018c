package search

// Contrastive search: likely tokens that do not repeat the meaning of the context.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
)

// defaultCandidates is how many ids contrastive search compares if Options.TopK is 0.
const defaultCandidates = 4

// Contrastive appends prompt to session s and streams the tokens that contrastive search chooses
// (Su and others, arXiv 2202.06417; Hugging Face's _contrastive_search). Of the Options.TopK
// likeliest ids, 4 if it is 0, it takes the v with the greatest (1-alpha)·p(v) - alpha·c, where c
// is the greatest cosine of v's hidden state and one of the context, the prompt's included; hidden
// states are the model's final ones, after ln_f. Among equals the likelier id wins. Token.Score is
// that number. alpha is from 0, which is greedy, to 1; 0.6 is usual.
//
// p is the softmax after the repetition penalty. It does not sample: Temperature must be 0, and the
// filters do not apply. All candidates of a token are evaluated in one Eval before it is chosen, so
// each new token, including the last, needs room in the context. The hidden states of the tokens
// that s held before are unknown, so those tokens are evaluated again. For the rest see
// [decode.Generate].
func Contrastive(
	ctx context.Context, s *model.Session, prompt []int, alpha float64, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		c, err := newContrast(s, prompt, alpha, o)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		defer c.stream.Stop()
		if err := c.begin(ctx); err != nil {
			yield(decode.Token{}, model.Cause(err))
			return
		}
		for !c.stream.Done() {
			t, err := c.step(ctx)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// CheckContrastive returns the *sample.OptionError of options that [Contrastive] refuses for every
// model, or nil.
func CheckContrastive(alpha float64, o decode.Options) error {
	asked := &alpha
	table := append(option.Of(&o), option.Contrastive(&asked))
	err := option.Check(table[len(table)-1:])
	switch {
	case err != nil:
	case o.Temperature != 0:
		err = option.Errorf(table, "temperature", " %v: want 0 in contrastive search, which does "+
			"not sample", o.Temperature)
	case o.Guidance.On():
		err = option.Errorf(table, "guidance", ": want none in contrastive search")
	case len(o.Ban) > 0:
		err = option.Errorf(table, "banned strings", ": want none in contrastive search, which does "+
			"not go back")
	default:
		err = checkSearch(&o)
	}
	return optionError(err)
}

// A contrast is the state of a contrastive search between two tokens.
type contrast struct {
	stream  *decode.Stream
	grown   *model.Session // the session in which the context grows
	options decode.Options
	alpha   float64
	hidden  []float32 // hidden states of the context, normalised, [len(context), n_embd]
	logits  []float32 // after the context, [vocabulary]
	tries   []try
	weights []float64    // of all ids
	after   sample.State // of the sampler, the same after each of tries
}

// A try is an id that may come next, and the results of its evaluation.
type try struct {
	id      int
	prob    float64
	session *model.Session // the context and id
	hidden  []float32      // hidden state of id, normalised, [n_embd]
	logits  []float32      // after id, [vocabulary]
	score   float64
}

// newContrast returns a search whose prompt is not evaluated yet.
func newContrast(
	s *model.Session, prompt []int, alpha float64, o decode.Options,
) (*contrast, error) {
	if err := CheckContrastive(alpha, o); err != nil {
		return nil, err
	}
	o.TopK = cmp.Or(o.TopK, defaultCandidates)
	positions, length := s.Model().Config().Positions, s.Len()+len(prompt)
	if o.Overflow != decode.OverflowTruncate && !o.Unasked && length <= positions &&
		o.MaxTokens > positions-length {
		full := &model.ContextError{Held: length, Added: o.MaxTokens, Positions: positions}
		return nil, fmt.Errorf("prompt of %d tokens and %d new ones: %w", len(prompt), o.MaxTokens,
			full)
	}
	room := o
	if room.MaxTokens > 0 {
		room.MaxTokens++ // the last new token takes a position
	}
	st, err := decode.NewStream(s, prompt, room)
	if err != nil {
		return nil, err
	}
	if err := st.Shorten(1); err != nil {
		return nil, err
	}
	if s.Len() > 0 {
		st.Renew()
	}
	return &contrast{stream: st, options: o, alpha: alpha}, nil
}

// begin evaluates the context.
func (c *contrast) begin(ctx context.Context) error {
	in, _ := c.stream.Input(0)
	c.grown = in.Session
	n := c.grown.Model().Config().Embd
	c.hidden = make([]float32, len(in.Tokens)*n)
	in.VisitFrom, in.NoLogits, in.Best = 0, true, 0
	in.Visit = func(r model.Row) {
		unit(c.hidden[r.Index*n:][:n], r.Hidden)
		if r.Index == len(in.Tokens)-1 {
			c.logits = slices.Clone(r.Logits)
		}
	}
	return c.grown.Model().Eval(ctx, in)
}

// step evaluates the candidates for the next token, and takes the best.
func (c *contrast) step(ctx context.Context) (decode.Token, error) {
	row := sample.WholeRow(c.logits, c.grown.Model().Leaves())
	if err := c.stream.Sampling(row, 1, c.candidates); err != nil {
		return decode.Token{}, err
	}
	var batch []model.Input
	for i := range c.tries {
		t := &c.tries[i]
		t.session = c.grown.Fork(c.grown.Len())
		defer t.session.Release()
		batch = append(batch, model.Input{
			Session: t.session, Tokens: []int{t.id}, NoLogits: true, Trace: model.Editing(c.options.Edits),
			Visit: func(r model.Row) { c.weigh(t, r) },
		})
	}
	if err := c.grown.Model().Eval(ctx, batch...); err != nil {
		return decode.Token{}, model.Cause(err)
	}
	return c.choose(slices.MaxFunc(c.tries, func(a, b try) int { // the first among equals
		return cmp.Compare(a.score, b.score)
	}))
}

// candidates fills tries with the likeliest ids.
func (c *contrast) candidates(s *sample.Sampler) error {
	scores, err := s.Scores(c.logits, c.stream.Context())
	if err != nil {
		return err
	}
	c.after = s.State.After()
	ids := sample.Likeliest(scores, c.options.TopK)
	c.weights = slices.Grow(c.weights[:0], len(scores))[:len(scores)]
	s.Leaves.Exp64s(c.weights, scores, scores[ids[0]], 1)
	sum := s.Leaves.Sum64(c.weights, 0)
	c.tries = slices.Grow(c.tries[:0], len(ids))[:0]
	for _, id := range ids {
		if c.weights[id] > 0 { // else it is a gap, or its probability rounds to 0
			c.tries = append(c.tries, try{id: id, prob: c.weights[id] / sum})
		}
	}
	return nil
}

// weigh scores a candidate. It may run for several candidates at the same time.
func (c *contrast) weigh(t *try, r model.Row) {
	n := len(r.Hidden)
	t.hidden, t.logits = make([]float32, n), slices.Clone(r.Logits)
	unit(t.hidden, r.Hidden)
	closest := math.Inf(-1)
	for i := 0; i < len(c.hidden); i += n {
		closest = max(closest, dot(c.hidden[i:][:n], t.hidden))
	}
	t.score = float64((1-c.alpha)*t.prob) - float64(c.alpha*closest)
}

// choose makes a candidate the next token.
func (c *contrast) choose(best try) (decode.Token, error) {
	row := sample.WholeRow(c.logits, c.grown.Model().Leaves())
	t, err := c.stream.Take(row.Candidate(best.id, c.options.Top, c.after))
	if err != nil {
		return t, err
	}
	t.Score = best.score
	if !c.stream.Done() {
		c.grown = c.stream.Session()
		c.grown.Take(best.session)
		c.hidden, c.logits = append(c.hidden, best.hidden...), best.logits
	}
	return t, nil
}

// unit sets dst to x, divided by its length.
func unit(dst, x []float32) {
	length := math.Sqrt(dot(x, x))
	for i, v := range x {
		dst[i] = float32(float64(v) / length)
	}
}

// dot returns the dot product of a and b, which have the same length, in float64, in four sums by i
// mod 4: the result has the same bits on every machine.
func dot(a, b []float32) float64 {
	var s [4]float64
	for len(a) >= 4 && len(b) >= 4 {
		s[0] += float64(float64(a[0]) * float64(b[0])) // exact products: fusing changes no bit
		s[1] += float64(float64(a[1]) * float64(b[1]))
		s[2] += float64(float64(a[2]) * float64(b[2]))
		s[3] += float64(float64(a[3]) * float64(b[3]))
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s[i] += float64(float64(a[i]) * float64(b[i]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
