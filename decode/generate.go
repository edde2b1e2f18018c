package decode

// The generation loop: sample, yield, evaluate.

import (
	"context"
	"fmt"
	"slices"

	"picogpt/tokenizer"
)

// Token is one new token of one sample.
type Token struct {
	Sample  int     // which of Samples' samples; 0 from Generate
	ID      int     // in the model's vocabulary
	LogProb float64 // see the function LogProb
	Text    string  // what became certain with this token: whole runes, nothing of a stop string; "" without a Vocabulary
	Dropped int     // how many of the context's oldest tokens Overflow dropped before this token was chosen
	Finish  string  // why the sample ends with this token, "" while it goes on
}

// Why a sample ended.
const (
	FinishStop      = "stop"        // a stop string is complete; its beginning is where the text was cut
	FinishEndOfText = "end_of_text" // the token is one of EndOfText; it has no text of its own
	FinishLength    = "length"      // MaxTokens, or the context's end
)

// engine evaluates timelines, one a sample. It is a model's sessions, or a script in tests.
type engine interface {
	// eval makes timeline i hold its first keep tokens and then tokens, for each step, in one
	// evaluation. It looks at the context, and after an error every timeline is as it was.
	eval(ctx context.Context, steps []step) error
	// undo makes every timeline hold what it held before the last eval. It may be called once after
	// each.
	undo()
	// logits returns timeline i's [vocabulary] after its last token, nil if it has none at hand.
	logits(i int) []float32
}

// step is what one evaluation does to one timeline.
type step struct {
	timeline int
	plan
}

// stream is one sample in the making.
type stream struct {
	sample  int // the Sample of its tokens
	options *Options
	limits  limits
	sampler *Sampler
	decoder tokenizer.Decoder // nil without a Vocabulary
	text    *textStream
	context []int // the tokens its timeline holds
	n       int   // new tokens so far
	dropped int   // tokens dropped since the last new one
	next    plan  // what its timeline evaluates next
	done    bool
}

// newStream starts a sample on a timeline that holds context, of which dropped tokens were dropped.
func newStream(sample int, l limits, context []int, dropped int, o *Options) (*stream, error) {
	own := *o
	own.Seed += uint64(sample)
	sampler, err := NewSampler(own)
	if err != nil {
		return nil, err
	}
	s := &stream{sample: sample, options: o, limits: l, sampler: sampler, text: newTextStream(o.Stop),
		context: slices.Clone(context), dropped: dropped}
	if o.Vocabulary != nil {
		s.decoder = o.Vocabulary.NewDecoder(context)
	}
	return s, nil
}

// choose takes the logits after the timeline's last token and returns the next one.
func (s *stream) choose(logits []float32) (Token, error) {
	id, err := s.sampler.Next(logits, s.context)
	if err != nil {
		return Token{Sample: s.sample}, err
	}
	t := Token{Sample: s.sample, ID: id, LogProb: LogProb(logits, id), Dropped: s.dropped}
	s.n++
	s.dropped = 0
	if slices.Contains(s.limits.endOfText, id) {
		t.Finish = FinishEndOfText
	} else if err := s.spell(&t); err != nil {
		return Token{Sample: s.sample}, err
	}
	if t.Finish == "" {
		if s.n == s.options.MaxTokens || len(s.context) == s.limits.context && s.options.Overflow != OverflowSlide {
			t.Finish = FinishLength
		}
	}
	switch t.Finish {
	case "":
		s.extend(id)
		return t, nil
	case FinishEndOfText, FinishLength:
		s.endText(&t)
	}
	s.done = true
	return t, nil
}

// spell gives t its text, and its Finish if a stop string is complete.
func (s *stream) spell(t *Token) error {
	if s.decoder == nil {
		return nil
	}
	certain, err := s.decoder.Push(t.ID)
	if err != nil {
		return fmt.Errorf("the text of token %d, id %d: %w", s.n, t.ID, err)
	}
	text, stopped := s.text.push(certain)
	t.Text = text
	if stopped {
		t.Finish = FinishStop
	}
	return nil
}

// endText gives t, the last token, what is still held back of the text.
func (s *stream) endText(t *Token) {
	if s.decoder == nil {
		return
	}
	text, stopped := s.text.push(s.decoder.Flush())
	t.Text += text
	switch {
	case !stopped:
		t.Text += s.text.flush()
	case t.Finish == FinishLength:
		t.Finish = FinishStop
	}
}

// extend plans the evaluation of id, which slides the context if it is full.
func (s *stream) extend(id int) {
	keep := len(s.context)
	s.context = append(s.context, id)
	if keep == s.limits.context {
		keep, s.dropped = 0, len(s.context)-newestHalf(s.limits.context)
		s.context = append(s.context[:0], s.context[s.dropped:]...)
	}
	s.next = plan{keep: keep, tokens: s.context[keep:]}
}

// run yields tokens in rounds, one of each stream that is not done, and reports whether the caller
// wants more. timeline i of e is streams[i]'s, with its logits at hand.
//
// Whenever a token is yielded its timeline holds all tokens but this one, and it still does when
// run returns: the context is looked at by eval only, so that an evaluation that succeeded is
// always followed by its token, and one whose token cannot be chosen is undone.
func run(ctx context.Context, e engine, streams []*stream, yield func(Token, error) bool) bool {
	steps := make([]step, 0, len(streams))
	for {
		for i, s := range streams {
			if s.done {
				continue
			}
			t, err := s.choose(e.logits(i))
			if err != nil {
				e.undo()
			}
			if !yield(t, err) || err != nil {
				return false
			}
		}
		steps = steps[:0]
		for i, s := range streams {
			if !s.done {
				steps = append(steps, step{i, s.next})
			}
		}
		if len(steps) == 0 {
			return true
		}
		if err := e.eval(ctx, steps); err != nil {
			yield(Token{}, err)
			return false
		}
	}
}

// prefill makes timeline 0 of e hold the prompt, with logits at hand, and returns the plan that
// did.
func prefill(ctx context.Context, e engine, l limits, held, prompt []int, o *Options) (plan, error) {
	if err := o.check(); err != nil {
		return plan{}, err
	}
	for _, id := range l.endOfText {
		if id < 0 || id >= l.vocabulary {
			return plan{}, fmt.Errorf("end-of-text id %d: want 0 to %d", id, l.vocabulary-1)
		}
	}
	p, err := newPlan(l, held, prompt, o)
	if err != nil {
		return plan{}, err
	}
	if len(p.tokens) == 0 {
		if len(e.logits(0)) > 0 {
			return p, ctx.Err()
		}
		p.keep, p.tokens = len(held)-1, slices.Clone(held[len(held)-1:]) // a truncated session has tokens and no logits
	}
	return p, e.eval(ctx, []step{{0, p}})
}
