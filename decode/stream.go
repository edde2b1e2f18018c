package decode

// One text in progress: what to evaluate next, and the token that follows.

import (
	"slices"

	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// A Stream continues a session token by token; its caller decides when to evaluate what, and
// together with which other inputs. It is the state machine behind [Generate], [Samples] and
// package batch: sampling, stop strings, the end of the text, overflow and log-probabilities are
// all here. A loop of a program's own, with any number of streams in one Eval, is
//
//	st, err := decode.NewStream(session, prompt, options)
//	…
//	defer st.Stop()
//	for !st.Done() {
//		if in, ok := st.Input(0); ok {
//			if err := m.Eval(ctx, in); err != nil { … }
//		}
//		t, ok, err := st.Next()
//		…
//	}
//
// After an error of Eval nothing has changed: the same Input may be tried again. The session
// belongs to the stream until it is done or stopped. A stream serves one goroutine at a time.
//
// With [Options.Guidance] there is a second input, [Stream.Guide], for the same Eval.
//
// A search forks streams ([Stream.Fork]) and evaluates them together. [Stream.Push] takes logits
// that are not a session's.
type Stream struct {
	timeline
	access Access

	sample  int // Token.Sample of its tokens
	options Options
	limits  limits
	sampler *sample.Sampler
	shared  *sample.Pool      // nil: the sampler has its own
	decoder tokenizer.Decoder // nil without a Vocabulary
	text    *textStream

	constraint Matcher      // nil: none
	mask       *mask        // of the constraint, computed before it was needed; nil: none
	guide      *guide       // nil: none
	bans       *bans        // nil: none
	echo       *echo        // nil: none
	reading    *reading     // nil: none
	trace      *model.Trace // of Options.Edits; nil: none

	context []int // what the next token follows; the session holds the first of them
	n       int   // new tokens so far
	dropped int   // tokens dropped since the last new one
	done    bool

	visit func(model.Row) // the method see; a method value is an allocation, so it is made once
	next  choice
	draft draft

	forced *forcedText // guesses by the constraint; nil: none

	isEnough  func(*model.Best) bool // the method enough
	wholeRows int                    // for so many tokens, whole rows are asked for
}

// NewStream returns a stream that continues the tokens of s and prompt. An empty prompt continues
// the session's tokens; if there are none, it stands for the config's bos_token_id, or else its
// eos_token_id. Nothing runs yet. Options that cannot be followed, and a prompt that does not fit
// the context, are errors.
func NewStream(s *model.Session, prompt []int, o Options) (*Stream, error) {
	if err := o.Draft.Check(s.Model()); err != nil {
		return nil, err
	}
	if err := s.Model().CheckEdits(o.Edits); err != nil {
		return nil, &sample.OptionError{Err: err}
	}
	st, err := newStream(limitsOf(s.Model(), &o), s.Tokens(), prompt, o)
	if err != nil {
		return nil, err
	}
	st.session, st.base = s, s.Len()
	switch {
	case st.dropped > 0:
		st.renew(0)
	case s.Len() == 0:
	case s.Logits() == nil && (st.pending() == 0 || st.echo != nil):
		st.renew(s.Len() - 1) // truncated: its last token is evaluated again
	case st.echo != nil:
		st.echo.follows(sample.WholeRow(s.Logits(), st.limits.leaves), o.Top)
	}
	if o.Echo == EchoOnly {
		return st, nil
	}
	if st.guide, err = newGuide(s.Model(), st.limits, st.context, &o); err != nil {
		st.undo()
		return nil, err
	}
	return st, nil
}

// newStream returns a stream without a session.
func newStream(l limits, held, prompt []int, o Options) (*Stream, error) {
	if err := o.checkOwn(); err != nil {
		return nil, err
	}
	sampler, err := sample.NewSampler(o.Params, idsOf(&o, l.endOfText))
	if err != nil {
		return nil, err
	}
	sampler.Leaves = l.leaves
	if o.Echo == EchoOnly {
		o.MaxTokens = 1 // never chosen
	}
	if err := l.check(&o); err != nil {
		return nil, err
	}
	context, dropped, err := fit(l, held, prompt, &o)
	if err != nil {
		return nil, err
	}
	s := &Stream{options: o, limits: l, sampler: sampler, context: context, dropped: dropped,
		trace: model.Editing(o.Edits)}
	prompted := len(prompt)
	if len(held) == 0 {
		prompted = len(context) // an empty prompt stands for a token
	}
	if s.echo, err = newEcho(&o, context, prompted, dropped); err != nil {
		return nil, err
	}
	s.constraint = constraintOf(&o, l.endOfText)
	exempt := 0
	if h := o.Healing; h != nil {
		s.constraint, exempt = h.Matcher(s.constraint), len(h.Bytes)
	}
	s.text, s.bans = newTextStream(o.Stop, o.KeepStop, exempt), newBans(o.Ban, exempt)
	if o.Vocabulary != nil {
		s.decoder = o.Vocabulary.NewDecoder(context)
	}
	s.visit, s.isEnough = s.see, s.enough
	return s, nil
}

// Fork returns a stream that continues from here independently, on a fork of the session, with the
// same random numbers to come. It computes nothing, and uses no cache memory until the two differ.
func (s *Stream) Fork() *Stream {
	f := *s
	if s.decoder != nil { // first the caller's types: if they panic, nothing is left behind
		f.decoder = s.decoder.Fork()
	}
	if s.constraint != nil {
		f.constraint = s.constraint.Fork()
	}
	f.timeline, f.context = s.timeline.fork(), slices.Clone(s.context)
	f.sampler, f.text = s.sampler.Fork(), s.text.fork()
	f.guide, f.bans, f.echo = s.guide.fork(), s.bans.fork(), s.echo.fork()
	f.forced = s.forced.fork()
	f.visit, f.isEnough, f.draft = f.see, f.enough, s.draft.clone()
	return &f
}

// Session returns the stream's session: the given one, or a fork's own.
func (s *Stream) Session() *model.Session { return s.session }

// Done reports whether the text has ended: with a token that has a Finish, an error, or Stop.
func (s *Stream) Done() bool { return s.done && !s.bans.waiting() }

// ahead returns the tokens of the context that are evaluated before the next token: all but with
// EchoOnly.
func (s *Stream) ahead() []int { return s.context[:len(s.context)-s.echo.last()] }

// pending returns how many tokens of the context are not evaluated yet, or 1 if only the second
// context has some.
func (s *Stream) pending() int {
	n := s.timeline.pending(s.ahead())
	if n <= 0 && s.guide.pending() > 0 {
		return 1
	}
	return n
}

// Input returns what the model is to evaluate before the next token: at most rows tokens, or all if
// rows is 0. The token is chosen during the Eval that evaluates the last of them, by one of its
// workers (Input.Visit). ok is false, and there is nothing to evaluate, if the stream is done or
// the logits are known.
func (s *Stream) Input(rows int) (in model.Input, ok bool) {
	ahead := s.ahead()
	n := s.timeline.pending(ahead)
	if s.done || n <= 0 {
		return model.Input{}, false
	}
	s.next.made = false
	in = model.Input{Session: s.grows(), Tokens: ahead[len(ahead)-n:], NoLogits: true, Trace: s.trace}
	switch {
	case 0 < rows && rows < n:
		in.Tokens = in.Tokens[:rows]
	case s.echo.last() > 0 || s.reading != nil: // no token is chosen
	case s.guide != nil: // Next chooses, once both contexts are evaluated
		in.NoLogits = false
	default:
		if in.NoLogits = s.access == AccessNever; s.access != AccessForks {
			in.Visit, in.VisitFrom = s.visit, n-1
			if in.Best = s.best(); in.Best > 0 {
				in.Enough = s.isEnough
			}
			in.NoLogits = in.NoLogits || s.access == AccessAtEnd && in.Best > 0
			in.Tokens = s.draft.after(in.Tokens)
		}
	}
	s.echo.want(&in, len(ahead)-n, s.visit)
	s.reading.want(&in, len(ahead)-n, len(ahead))
	return in, true
}

// see scores a token of the prompt or chooses the next token, on a worker. A panic, as of a
// constraint, would end the Eval of all streams: Next raises it instead.
func (s *Stream) see(r model.Row) {
	defer func() {
		if p := recover(); p != nil {
			s.next = choice{made: true, panicked: p}
		}
	}()
	from := sample.RowOf(r, s.limits.leaves)
	if s.echo.see(r.Index, from, s.options.Top) || s.access == AccessForks || s.guide != nil {
		return
	}
	if !s.draft.see(r.Index, from) {
		s.choose(from)
	}
}

// Next returns the next token once the Inputs before it are evaluated. ok is false while there are
// more of them, and, with Options.Ban, while a token is held back; several tokens may then follow
// in turn before the next Input. After an error the stream is done, and the session is as Stop
// leaves it.
func (s *Stream) Next() (t Token, ok bool, err error) {
	if !s.Ready() {
		return Token{Sample: s.sample}, false, nil
	}
	if s.echo.waiting() {
		t = s.echo.token(s.echo.given, s.sample)
		s.giveEcho(1)
		return t, true, nil
	}
	if !s.bans.waiting() && !s.next.made {
		s.choose(s.here())
	}
	if s.bans != nil {
		return s.nextHeld()
	}
	t, err = s.take()
	return t, err == nil, err
}

// Stop ends the stream where it is. The session then holds the tokens that it held before, the
// prompt, and every token that Next or Push has returned except the last, which is chosen and not
// evaluated. To continue from there, begin a stream whose prompt is that token. If no token was
// returned, the session is as it was. Where OverflowSlide has dropped tokens, it holds those that
// stay. After the end of the text Stop does nothing.
func (s *Stream) Stop() {
	if s.Done() {
		return
	}
	if s.done = true; s.bans != nil {
		s.bans.ready = nil
	}
	s.undo()
	s.guide.forget()
}
