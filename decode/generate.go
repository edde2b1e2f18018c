package decode

// Generation on a model's session: the calls a Go user sees.

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"picogpt/decode/guess"
	"picogpt/model"
	"picogpt/sample"
)

// A Token is one new token of a sample, or one token of the prompt.
type Token struct {
	Sample  int     // the index of its sample, for Samples; 0 from Generate
	ID      int     // in the model's vocabulary
	LogProb float64 // see sample.LogProb
	Text    string  // the text that became certain: see Options.Vocabulary and Options.Stop
	Dropped int     // how many of the context's oldest tokens were dropped before it was chosen
	Finish  string  // why the sample ends with this token; "" if it continues
	Score   float64 // see search.Contrastive; 0 elsewhere
	Guessed bool    // speculation had guessed it: see Options.Lookup
	Prompt  bool    // it is a token of the prompt: see Options.Echo
	Seed    uint64  // set by package picogpt, in a sample's last token; 0 elsewhere

	// Incomplete: the sample ends here before its text is of the form that Options.Constraint
	// demands. Constraints report that by a method Complete() bool, which *constrain.Text has. They
	// know the tokens, so that what a stop string cuts off counts as a part of the text.
	Incomplete bool

	// Open is the probability that the model gives, at this token, to all ids together that the
	// Constraint leaves open: 1 where it shuts nothing likely. It is 0 unless Options.OpenMass asks
	// for it, and where a search chose the token.
	Open float64

	// Top is the likeliest tokens at its position, the likeliest first, if Options.Top asks for
	// them.
	Top []sample.Alternative
}

// Why a sample ended.
const (
	FinishStop      = "stop"        // a stop string or a constraint is complete; the former is cut
	FinishEndOfText = "end_of_text" // the token is one of EndOfText; it has no text of its own
	FinishLength    = "length"      // MaxTokens, the context's end, or the prompt's with EchoOnly
)

// Generate appends prompt to session s and streams the tokens that follow, each as soon as it is
// chosen. The loop ends with a token whose Finish says why, or with an error and no token: an error
// of the options, the context or the model. An empty prompt continues the tokens that the session
// holds; if there are none, it stands for the config's bos_token_id, or else its eos_token_id.
//
// Do not use the session until the loop ends. Then, however it ended (a Finish, a break, an error,
// a cancelled context), the session holds the prompt and every token that was yielded except the
// last, which is chosen and not yet evaluated. To continue from there, give that token's ID as the
// prompt. If no token was yielded, the session is as it was, and the prompt has to be given again.
// Where OverflowSlide has dropped tokens, the session holds those that stay. Its logits are nil
// where the greatest of them decided ([model.Input].Best).
//
// Ranging over the result again generates again, from what the session then holds.
func Generate(
	ctx context.Context, s *model.Session, prompt []int, o Options,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if ctx == nil {
			yield(Token{}, model.ErrNoContext)
			return
		}
		st, err := NewStream(s, prompt, o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		defer st.Stop()
		st.SetAccess(AccessAtEnd)
		if st.pending() == 0 && ctx.Err() != nil { // later, Eval checks the context
			yield(Token{}, ctx.Err())
			return
		}
		run(ctx, s.Model(), []*Stream{st}, yield)
	}
}

// together is how many samples share an Eval: enough that the weights are read once for many, and
// few enough for their caches.
const together = 8

// Samples appends prompt to session s once and streams n continuations of it. Sample i, marked by
// Token.Sample, is token for token what Generate gives with Seed+i. Samples 0 to 7 come first, a
// token of each in turn, whatever is guessed, then 8 to 15, and so on. They run on forks
// of s, so s ends as it was after the prompt. An error ends all of them. For the rest see Generate.
func Samples(
	ctx context.Context, s *model.Session, prompt []int, n int, o Options,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := checkSamples(n); err != nil {
			yield(Token{}, err)
			return
		}
		parent, err := NewStream(s, prompt, o)
		if err == nil {
			err = parent.Prefill(ctx)
		}
		if err != nil {
			yield(Token{}, err)
			return
		}
		parent.SetPool(&sample.Pool{})
		defer parent.Stop()
		for first := 0; first < n; first += together {
			// Tokens follow the evaluation of the prompt, even if ctx is cancelled.
			if err := ctx.Err(); first > 0 && err != nil {
				yield(Token{}, err)
				return
			}
			var streams []*Stream
			for i := first; i < min(first+together, n); i++ {
				streams = append(streams, parent.Sample(i))
			}
			more := run(ctx, s.Model(), streams, yield)
			for _, st := range streams {
				st.Release()
			}
			if !more {
				return
			}
		}
	}
}

func checkSamples(n int) error {
	if n < 1 {
		return fmt.Errorf("samples %d: want at least 1", n)
	}
	return nil
}

// Prefill evaluates the context, for forks of the stream that alone choose tokens. After an error
// the stream is stopped.
func (s *Stream) Prefill(ctx context.Context) error {
	s.SetAccess(AccessForks)
	err := model.ErrNoContext
	switch {
	case ctx == nil:
	case s.pending() == 0:
		err = ctx.Err()
	default:
		err = evaluate(ctx, s.session.Model(), []*Stream{s}, nil)
	}
	if err != nil {
		s.Stop()
		return model.Cause(err)
	}
	return nil
}

// run yields tokens in turn, one of each stream that is not done. It reports whether the caller
// wants more.
//
// Only Eval checks ctx: an evaluation that succeeded is followed by its tokens, so that the
// sessions hold all tokens except the last whenever run returns.
func run(
	ctx context.Context, m *model.Model, streams []*Stream, yield func(Token, error) bool,
) bool {
	inTurn := newTurns(len(streams))
	drafter := drafterOf(m, streams, inTurn)
	defer drafter.End()
	for _, s := range streams {
		s.GuessForced()
	}
	batch := make([]model.Input, 0, len(streams))
	for slices.ContainsFunc(streams, func(s *Stream) bool { return !s.Done() }) {
		for _, s := range streams {
			s.DraftForced(len(streams))
		}
		err := drafter.Begin(ctx)
		if err == nil {
			err = evaluate(ctx, m, streams, batch)
		}
		if err != nil && ctx.Err() == nil && dropDrafts(drafter, streams) {
			err = evaluate(ctx, m, streams, batch)
		}
		if err != nil {
			yield(Token{}, model.Cause(err))
			return false
		}
		for i, s := range streams {
			for s.Ready() {
				t, ok, err := s.Next()
				if !ok && err == nil { // held back
					continue
				}
				if !t.Prompt && err == nil {
					drafter.Took(i, t.ID)
				}
				inTurn.add(i, t, err)
				came := time.Now()
				if !inTurn.pass(yield) {
					return false
				}
				drafter.Paused(time.Since(came))
			}
			if s.Done() && !inTurn.end(i, yield) {
				return false
			}
		}
		drafter.Learn()
	}
	return true
}

// dropDrafts removes all drafts, and reports whether there were any.
func dropDrafts(drafter *guess.Drafter, streams []*Stream) bool {
	dropped := drafter.Drop()
	for _, s := range streams {
		dropped = s.DropDraft() || dropped
	}
	return dropped
}

// evaluate evaluates what streams need for their next tokens.
func evaluate(
	ctx context.Context, m *model.Model, streams []*Stream, batch []model.Input,
) error {
	for _, s := range streams {
		if in, ok := s.Input(0); ok {
			batch = append(batch, in)
		}
		if in, ok := s.Guide(0); ok {
			batch = append(batch, in)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return m.Eval(ctx, batch...)
}
