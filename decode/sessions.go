package decode

// Generation on a model's sessions: the calls a Go user sees.

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"picogpt/model"
)

// Generate appends prompt to session s and streams the tokens that follow, each as soon as it is
// chosen. The loop ends with a token whose Finish says why, or with an error and no token: the
// options', the context's, the model's. An empty prompt goes on from what the session holds; if
// that is nothing, from the config's bos_token_id, else its eos_token_id.
//
// Leave the session alone until the loop ends. Then, however it ended (a Finish, a break, an error,
// a cancelled context), the session holds the prompt and every token that was yielded but the last,
// which is chosen and not yet evaluated. To go on from there, give that token's ID as the prompt.
// If no token was yielded, the session is as it was, and the prompt has yet to be given again.
// Where OverflowSlide has dropped tokens the session holds the ones that stay.
//
// Ranging over the result again generates again, from what the session then holds.
func Generate(ctx context.Context, s *model.Session, prompt []int, o Options) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		l := limitsOf(s.Model(), &o)
		e := &sessions{model: s.Model(), sessions: []*model.Session{s}}
		p, err := prefill(ctx, e, l, s.Tokens(), prompt, &o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		st, err := newStream(0, l, s.Tokens(), p.dropped, &o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		run(ctx, e, []*stream{st}, yield)
	}
}

// together is how many samples share an Eval: enough to read the weights once for many, few enough
// for their caches.
const together = 8

// Samples appends prompt to session s once and streams n continuations of it: sample i, marked by
// Token.Sample, is token for token what Generate gives with Seed+i. Samples 0 to 7 come first, a
// token of each in turn as they are decoded in one Eval, then 8 to 15, and so on. They run on forks
// of s, so that s ends as it was after the prompt. An error ends all of them. See Generate for the
// rest.
func Samples(ctx context.Context, s *model.Session, prompt []int, n int, o Options) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if n < 1 {
			yield(Token{}, fmt.Errorf("samples %d: want at least 1", n))
			return
		}
		l := limitsOf(s.Model(), &o)
		p, err := prefill(ctx, &sessions{model: s.Model(), sessions: []*model.Session{s}}, l, s.Tokens(), prompt, &o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		for first := 0; first < n; first += together {
			if err := ctx.Err(); first > 0 && err != nil { // the prompt's evaluation is followed by tokens
				yield(Token{}, err)
				return
			}
			e := &sessions{model: s.Model()}
			var streams []*stream
			for i := first; i < min(first+together, n); i++ {
				st, err := newStream(i, l, s.Tokens(), p.dropped, &o)
				if err != nil {
					yield(Token{Sample: i}, err)
					return
				}
				streams = append(streams, st)
				e.sessions = append(e.sessions, s.Fork(s.Len()))
			}
			if !run(ctx, e, streams, yield) {
				return
			}
		}
	}
}

// limitsOf reads a model's limits, and the options that change them.
func limitsOf(m *model.Model, o *Options) limits {
	c := m.Config()
	l := limits{context: c.Positions, vocabulary: c.VocabSize, first: -1, endOfText: o.EndOfText}
	in := func(id int) bool { return 0 <= id && id < c.VocabSize }
	if i := slices.IndexFunc(c.EOSTokenIDs, in); i >= 0 {
		l.first = c.EOSTokenIDs[i]
	}
	if c.BOSTokenID != nil && in(*c.BOSTokenID) {
		l.first = *c.BOSTokenID
	}
	if o.EndOfText == nil {
		l.endOfText = slices.DeleteFunc(slices.Clone(c.EOSTokenIDs), func(id int) bool { return !in(id) })
	}
	return l
}

// sessions is the engine on one model, a session a timeline.
type sessions struct {
	model    *model.Model
	sessions []*model.Session
	batch    []model.Input
	before   []before // of the sessions that the last eval changed
}

// before is what a session held before an evaluation: its first n tokens, or another session's, if
// it began anew.
type before struct {
	session *model.Session
	n       int
	old     *model.Session
}

func (e *sessions) logits(i int) []float32 { return e.sessions[i].Logits() }

func (e *sessions) eval(ctx context.Context, steps []step) error {
	e.batch, e.before = e.batch[:0], e.before[:0]
	for _, st := range steps {
		s := e.sessions[st.timeline]
		b := before{session: s, n: s.Len()}
		if st.keep < s.Len() {
			b.old = s.Fork(s.Len())
			s.Truncate(st.keep)
		}
		e.before = append(e.before, b)
		e.batch = append(e.batch, model.Input{Session: s, Tokens: st.tokens})
	}
	err := e.model.Eval(ctx, e.batch...)
	if err != nil {
		e.undo()
	}
	return err
}

func (e *sessions) undo() {
	for _, b := range e.before {
		if b.old != nil {
			*b.session = *b.old
		} else {
			b.session.Truncate(b.n)
		}
	}
	e.before = e.before[:0]
}
