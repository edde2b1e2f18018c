package decode

// Generate and Samples, and the loop that drives their streams: its steps, and the order of tokens.

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"picogpt/model"
	"picogpt/sample"
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
		if n < 1 {
			yield(Token{}, fmt.Errorf("samples %d: want at least 1", n))
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
		err = s.session.Model().Eval(ctx, s.inputs(nil)...)
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
	batch := make([]model.Input, 0, len(streams))
	for slices.ContainsFunc(streams, func(s *Stream) bool { return !s.Done() }) {
		err := drafter.Begin(ctx)
		for again := err == nil; again; again = err != nil && ctx.Err() == nil && drafter.Drop() {
			batch = batch[:0]
			for _, s := range streams {
				batch = s.inputs(batch)
			}
			if len(batch) > 0 {
				err = m.Eval(ctx, batch...)
			}
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

// mostAhead bounds how many tokens of a text wait for those of slower ones.
const mostAhead = 1024

// turns yields the tokens of texts in turn: the n-th of each text that has so many, and then the
// next of any. How many tokens an Eval gives to a text follows from guesses, and how many are
// guessed from measured times; their order must not. An error has its place as a token has.
type turns struct {
	waiting [][]turn // by text: taken, and not yielded yet
	ended   []bool   // by text: no more are taken
	next    int      // the text whose turn it is
}

type turn struct {
	Token
	err error
}

func newTurns(texts int) *turns {
	return &turns{waiting: make([][]turn, texts), ended: make([]bool, texts)}
}

// add takes a token of the i-th text, or its error.
func (q *turns) add(i int, t Token, err error) {
	q.waiting[i] = append(q.waiting[i], turn{t, err})
}

// end says that no more tokens of the i-th text come, and yields as pass does.
func (q *turns) end(i int, yield func(Token, error) bool) bool {
	q.ended[i] = true
	return q.pass(yield)
}

// room returns how many more tokens of the i-th text may wait.
func (q *turns) room(i int) int { return max(0, mostAhead-len(q.waiting[i])) }

// pass yields the tokens whose turn it is. It returns false after an error, or if the caller wants
// no more.
func (q *turns) pass(yield func(Token, error) bool) bool {
	for passed := 0; passed < len(q.waiting); {
		i := q.next
		list := q.waiting[i]
		if len(list) == 0 && !q.ended[i] {
			return true
		}
		q.next = (i + 1) % len(q.waiting)
		if passed++; len(list) == 0 {
			continue
		}
		t := list[0]
		if q.waiting[i] = list[1:]; len(list) == 1 {
			q.waiting[i] = list[:0]
		}
		if !yield(t.Token, t.err) || t.err != nil {
			return false
		}
		passed = 0
	}
	return true
}
