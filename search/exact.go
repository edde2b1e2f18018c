package search

// Exact: texts of a form, each as likely as it is without the form, given that it is of it.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"picogpt/decode"
	"picogpt/decode/matcher"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
)

// ExactOptions are the options of [Exact].
type ExactOptions struct {
	MaxDraws int // how many draws a text may take; 0 means 1000
	Samples  int // how many texts; 0 means 1
}

const (
	defaultDraws = 1000

	// mostKept bounds the ids of distributions that are kept, of 12 bytes each. What is drawn
	// beyond them is drawn as well, but not remembered.
	mostKept = 1 << 22
)

// CheckExact returns the *sample.OptionError of options that [Exact] refuses for every model, or
// nil.
func CheckExact(x ExactOptions, o decode.Options) error {
	return optionError(checkExact(x, &o))
}

func checkExact(x ExactOptions, o *decode.Options) error {
	table := option.Of(o)
	for i := range table {
		if row := &table[i]; row.Remembers && row.On() {
			return option.Errorf(table, row.Name, " %v: want none in exact draws", row)
		}
	}
	switch {
	case x.MaxDraws < 0:
		return fmt.Errorf("draws %d: want 0 (%d) or more", x.MaxDraws, defaultDraws)
	case x.Samples < 0:
		return fmt.Errorf("samples %d: want 0 (one) or more", x.Samples)
	case o.Temperature == 0:
		return option.Errorf(table, "temperature", " 0: want more for exact draws")
	case o.XTCProbability > 0:
		return option.Errorf(table, "XTC probability", " %v: want 0 in exact draws", o.XTCProbability)
	case len(o.Stop) > 0:
		return option.Errorf(table, "stop string", ": want none in exact draws, whose texts end with "+
			"an end of text")
	case len(o.Ban) > 0:
		return option.Errorf(table, "banned strings", ": want none in exact draws")
	case o.Guidance.On():
		return option.Errorf(table, "guidance", ": want none in exact draws")
	case o.EndOfText != nil && len(o.EndOfText) == 0:
		return fmt.Errorf("exact draws: want an id that ends texts, found none")
	case o.Overflow != "" && o.Overflow != decode.OverflowError:
		return option.Errorf(table, "overflow", " %q: want %q in exact draws", o.Overflow,
			decode.OverflowError)
	case o.Healing != nil:
		return fmt.Errorf("healing: want none in exact draws")
	case o.Echo != decode.EchoNone:
		return decode.ErrNoEcho
	}
	return nil
}

// An AcceptanceError says that no text of the form came in so many draws.
type AcceptanceError struct {
	Draws int
	Fit   float64 // at most that part of all texts is of the form
}

func (e *AcceptanceError) Error() string {
	if e.Fit == 0 {
		return "exact: want a text of the form, found none that the options allow"
	}
	return fmt.Sprintf("exact: want a text of the form in %d draws, found none: at most %.3g of all "+
		"texts are of it", e.Draws, e.Fit)
}

// Exact appends prompt to session s and streams a text of the form of Options.Constraint, drawn
// from what the same options give without it, given that the text is of the form: of two such texts
// the one that is twice as likely without the form comes twice as often. A mask alone does not do
// that, for it chooses each token without regard to what the form allows after it. A text that
// MaxTokens or the context cuts is not of the form.
//
// It draws texts, and draws again where one leaves the form. What was found shut is never drawn
// again: that is rejection sampling with a proposal that comes nearer to the target with each draw
// (Park and others, arXiv 2405.21047, from whom it differs in that each text is exact). Of a form of
// few texts that soon leaves nothing else. Its tokens come when the text is complete. Sample i has
// the random numbers of Options.Seed+i, and is the text that this seed gives alone.
//
// With more than one sample, s stays as it is; otherwise it ends as [decode.Generate] leaves it.
// If MaxDraws are not enough, the error is an *AcceptanceError.
func Exact(
	ctx context.Context, s *model.Session, prompt []int, x ExactOptions, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		e, err := newExact(ctx, s, prompt, x, o)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		defer e.end()
		for i := range max(1, x.Samples) {
			ids, open, err := e.draw(ctx, o.Seed+uint64(i))
			if err != nil {
				yield(decode.Token{}, err)
				return
			}
			on, after, o := s, prompt, o
			if x.Samples > 1 {
				on, after = e.start.Fork(e.start.Len()), nil
			}
			o.Constraint, o.Seed, o.Lookup, o.Draft = &route{ids: ids}, o.Seed+uint64(i), 0, nil
			for t, err := range decode.Generate(ctx, on, after, o) {
				if t.Sample = i; err == nil && len(open) > 0 {
					t.Open, open = open[0], open[1:]
				}
				if !yield(t, err) || err != nil {
					return
				}
			}
			if on != s {
				on.Release()
			}
		}
	}
}

// An exact draws texts of a form.
type exact struct {
	ExactOptions
	root      *decode.Stream // without a session, and without the form
	form      decode.Matcher
	start     *model.Session // holds the prompt
	grown     *model.Session // holds the prompt, and tokens of the last draw
	wantsMass bool
	tree      *drawn
	kept      int    // ids of distributions in tree
	turn      uint64 // the text that is drawn, from 1
}

// drawn is a beginning of texts, and what is known of those that follow.
type drawn struct {
	made  bool
	ids   []int32 // that may follow
	probs []float64
	mass  float64 // Token.Open of what follows, 0 unless it is asked for
	after sample.State
	turn  uint64 // of the text for which open is known
	open  float64
	next  map[int32]*drawn
}

func newExact(
	ctx context.Context, s *model.Session, prompt []int, x ExactOptions, o decode.Options,
) (*exact, error) {
	x.MaxDraws = cmp.Or(x.MaxDraws, defaultDraws)
	if o.EndOfText == nil {
		o.EndOfText = s.Model().Config().EndTokens()
	}
	if err := CheckExact(x, o); err != nil {
		return nil, err
	}
	if o.Constraint == nil {
		return nil, &sample.OptionError{Err: fmt.Errorf("exact draws: want a form, found none")}
	}
	e := &exact{ExactOptions: x, tree: &drawn{}, wantsMass: o.OpenMass,
		form: matcher.Begin(o.Constraint, o.EndOfText)}
	var err error
	if e.start, err = start(ctx, s, prompt); err != nil {
		return nil, err
	}
	e.grown = e.start.Fork(e.start.Len())
	o.Constraint, o.Lookup, o.Draft = nil, 0, nil
	if e.root, err = decode.NewDetached(s.Model().Config(), e.start.Tokens(), o); err != nil {
		e.end()
		return nil, err
	}
	return e, nil
}

func (e *exact) end() {
	e.start.Release()
	e.grown.Release()
}

// draw returns the tokens of a text of the form, with the Token.Open of each.
func (e *exact) draw(ctx context.Context, seed uint64) (ids []int, open []float64, err error) {
	var random rand.PCG
	random.Seed(seed, seed+0x65786163) // not the numbers of a Sampler, which draws what this decides
	e.turn++
	for range e.MaxDraws {
		ids, open, err := e.try(ctx, &random)
		if err != nil || ids != nil {
			return ids, open, err
		}
		if e.tree.open == 0 {
			break
		}
	}
	return nil, nil, &AcceptanceError{e.MaxDraws, e.tree.open}
}

// try draws one text; nil is one that is not of the form, which it then remembers.
//
// Let open(n) be a bound on the part of the texts after a beginning n that are of the form, 1 where
// nothing is known. A step from n takes each next beginning m in proportion to p(m)·open(m), whose
// sum is open(n). A beginning that is new gets a lower bound, and the draw ends there but for the
// quotient of the two. Along a text of the form all bounds cancel but the first: it comes with its
// own probability, divided by open of the empty beginning, which is the same for all.
func (e *exact) try(
	ctx context.Context, random *rand.PCG,
) (ids []int, open []float64, err error) {
	st, form, at := e.root.Fork(), e.form.Fork(), e.tree
	path := []*drawn{at}
	uniform := func() float64 { return float64(random.Uint64()>>11) * 0x1p-53 }
	defer func() {
		for i := len(path) - 2; err == nil && i >= 0; i-- {
			path[i].open = path[i].sum(e.turn)
		}
	}()
	for {
		if isNew := at.turn != e.turn; isNew {
			if err := e.know(ctx, at, st, form); err != nil {
				return nil, nil, err
			}
			at.open, at.turn = at.sum(e.turn), e.turn
			if at != e.tree && uniform() >= at.open {
				return nil, nil, nil
			}
		}
		id := at.draw(uniform()*at.open, e.turn)
		if id < 0 { // nothing is open
			at.open = 0
			return nil, nil, nil
		}
		t, err := st.Take(sample.Candidate{ID: int(id), After: at.after})
		if err != nil {
			return nil, nil, err
		}
		if err := form.Accept(int(id)); err != nil {
			return nil, nil, &decode.ConstraintError{Err: err}
		}
		open = append(open, at.mass)
		if ids = append(ids, int(id)); t.Finish == decode.FinishEndOfText {
			return ids, open, nil
		}
		next := at.next[id]
		if next == nil {
			next = &drawn{}
			if e.kept < mostKept { // else it is as unknown to the next draw as it was to this
				if at.next == nil {
					at.next = map[int32]*drawn{}
				}
				at.next[id] = next
			}
		}
		path = append(path, next)
		if at = next; t.Finish != "" { // cut
			at.made, at.turn, at.open = true, e.turn, 0
			return nil, nil, nil
		}
	}
}

// sum returns the bound of a beginning by those of what follows.
func (d *drawn) sum(turn uint64) (all float64) {
	for i, id := range d.ids {
		all += float64(d.probs[i] * d.openAfter(id, turn))
	}
	return min(all, 1)
}

func (d *drawn) openAfter(id int32, turn uint64) float64 {
	if n := d.next[id]; n != nil && n.turn == turn {
		return n.open
	}
	return 1
}

// draw returns the id at which the sum exceeds at; -1: none is open.
func (d *drawn) draw(at float64, turn uint64) int32 {
	sum, last := 0.0, int32(-1)
	for i, id := range d.ids {
		p := float64(d.probs[i] * d.openAfter(id, turn))
		if p == 0 {
			continue
		}
		if sum, last = sum+p, id; at < sum {
			break
		}
	}
	return last
}

// know finds what may follow a beginning, of which the stream has the tokens, and how likely each
// id is among all that the options leave.
func (e *exact) know(
	ctx context.Context, d *drawn, st *decode.Stream, form decode.Matcher,
) error {
	if d.made {
		return nil
	}
	context := st.Context()
	same := min(e.grown.Matches(context), len(context)-1)
	e.grown.Truncate(same)
	in := model.Input{Session: e.grown, Tokens: context[same:]}
	m := e.grown.Model()
	if err := m.Eval(ctx, in); err != nil {
		return model.Cause(err)
	}
	open := make([]uint64, (m.Config().VocabSize+63)/64)
	if err := form.Mask(open); err != nil {
		return &decode.ConstraintError{Err: err}
	}
	var ids []int32
	var scores []float64
	err := st.Sampling(sample.Row{}, 1, func(s *sample.Sampler) error {
		d.after = s.State.After()
		return s.EachKept(e.grown.Logits(), context, func(id int, score float64) {
			ids, scores = append(ids, int32(id)), append(scores, score)
		})
	})
	if err != nil {
		return err
	}
	weights := scores
	m.Leaves().Exp64s(weights, scores, slices.Max(scores), 1)
	sum := m.Leaves().Sum64(weights, 0)
	for i, id := range ids {
		if open[id>>6]>>(id&63)&1 == 1 {
			d.ids, d.probs = append(d.ids, id), append(d.probs, weights[i]/sum)
		}
	}
	if e.wantsMass {
		row := sample.WholeRow(e.grown.Logits(), m.Leaves())
		d.mass = row.Mass(open)
	}
	d.made = true
	e.kept += len(d.ids)
	return nil
}

// A route is the form of one sequence of tokens.
type route struct {
	ids []int
	at  int
}

func (r *route) Mask(open []uint64) error {
	clear(open)
	if r.at < len(r.ids) {
		open[r.ids[r.at]>>6] |= 1 << (r.ids[r.at] & 63)
	}
	return nil
}

func (r *route) Accept(id int) error {
	if r.at == len(r.ids) || id != r.ids[r.at] {
		return &matcher.NotOpenError{ID: id}
	}
	r.at++
	return nil
}

func (r *route) Rewind(n int) error {
	r.at -= n
	return nil
}

func (r *route) Fork() decode.Matcher { f := *r; return &f }
