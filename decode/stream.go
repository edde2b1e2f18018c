// Package decode writes text: the loop around a model's session, the conditions that end a text,
// and the strings that it may not contain.
//
// [Generate] continues one session and streams its tokens; [Samples] draws several continuations of
// one prompt, a few at a time in one Eval. Package [picogpt/batch] does both for many callers at
// once. [Echo] scores the prompt too. Package search chooses tokens by more than the logits before
// them, and package guess proposes drafts.
//
// All of them drive [Stream], the state machine that returns what to evaluate and takes the logits.
// Sampling, stop strings, overflow and log-probabilities are there and nowhere else. It is exported
// for programs that have a loop of their own.
//
// Package [picogpt/sample] chooses a token from logits: [Options] embeds its Params. A stream can
// also go back: it takes back a token that would complete a string of Options.Ban, and draws
// another one with the random number of the same position.
//
// Its types, in the order to read them:
//
//   - [Stream] is a text in the making; [Options] say how it is written and when it ends.
//   - [Token] is a piece of it, [PromptTokens] the scores of its prompt, as [Echo] asks for them.
//   - [Overflow] says what happens where the context is full.
//   - [Matcher] is a form: which ids may come next; [Vocabulary] says which ids there are.
//   - [Healing] takes back the last tokens of a prompt, so that a text may go on inside one.
//   - [Pending] counts what a stream evaluates before its next token; [Evaluated] is the part of a
//     text that is evaluated.
//   - [ConstraintError], [BudgetError] and [NegativeError] say what of the options went wrong.
//
// Sample i of [Samples] uses Seed+i, and is the text that Generate gives with Seed+i, on every
// machine.
package decode

// A text in the making: what fits its context, what is evaluated next, and the token that follows.
// The other files, in an order to read them:
//
//	session.go     the session of a stream: how it grows, goes back, and is shared
//	choice.go      the choice of a token, by package sample or by the caller
//	text.go        the text of the tokens, and how it ends
//	generate.go    Generate and Samples: the loop that drives streams
//	draft.go       guessed tokens, with package guess or from a form
//	constraint.go  what steers the new tokens: forms with their masks, and guidance
//	budget.go      forms whose texts end in time
//	bans.go        banned strings, for which the text goes back
//	heal.go        prompts that end inside a word
//	echo.go        what is known of the prompt: scores and hidden states
//	options.go     the options, and their table of flags, fields and checks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"picogpt/kernels"
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
	bounded    bounded      // the constraint, if it ends in time; nil: it need not, or cannot
	narrow     narrowing    // of the newest mask
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
	m := s.Model()
	if err := o.Draft.Check(m); err != nil {
		return nil, err
	}
	if err := m.CheckEdits(o.Edits); err != nil {
		return nil, &sample.OptionError{Err: err}
	}
	st, err := newStream(limitsOf(m.Config(), m.Leaves(), &o), s.Tokens(), prompt, o)
	if err != nil {
		return nil, err
	}
	if st.guide, err = newGuide(m, st); err == nil && st.guide != nil {
		err = st.keepBudget()
	}
	if err != nil {
		return nil, err
	}
	st.session, st.base = s, s.Len()
	switch {
	case st.dropped > 0:
		st.renew(0)
	case s.Len() == 0:
	case s.Logits() == nil && (st.timeline.pending(st.ahead()) == 0 || st.echo != nil):
		// Truncated: its last token is evaluated again, whatever the guide has to evaluate.
		st.renew(s.Len() - 1)
	case st.echo != nil:
		st.echo.follows(sample.WholeRow(s.Logits(), st.limits.leaves), o.Top)
	}
	return st, nil
}

// NewDetached returns a stream without a session, for logits that no session has: those after
// [Stream.Context] go to Push, until the stream is done. c has the context's length, the vocabulary
// and the ids that begin and end texts. Errors are those of NewStream, and one for an option that
// needs a session: Ban, Echo, Guidance, Lookup, Draft.
func NewDetached(c model.Config, prompt []int, o Options) (*Stream, error) {
	if len(o.Ban) > 0 || o.Echo != "" || o.Guidance.On() || o.Lookup > 0 || o.Draft != nil {
		return nil, errors.New("detached stream: want no banned strings, echo, guidance or guesses, " +
			"which need a session")
	}
	return newStream(limitsOf(c, kernels.Leaves{}, &o), nil, prompt, o)
}

// newStream returns a stream without a session, after the tokens held.
func newStream(l limits, held, prompt []int, o Options) (*Stream, error) {
	if err := o.checkOwn(); err != nil {
		return nil, err
	}
	sampler, err := sample.NewSampler(o.Params, o.ids(l.endOfText))
	if err != nil {
		return nil, err
	}
	sampler.Leaves = l.leaves
	if o.Echo == EchoOnly {
		o.MaxTokens = 1 // never chosen
	}
	context, dropped, err := l.fit(held, prompt, &o)
	if err != nil {
		return nil, err
	}
	s := &Stream{options: o, limits: l, sampler: sampler, context: context, dropped: dropped,
		trace: model.Editing(o.Edits)}
	if s.echo, err = newEcho(&o, context, max(0, len(held)-dropped), dropped); err != nil {
		return nil, err
	}
	form, exempt := formOf(&o, l.endOfText)
	s.constraint, s.bans = form, newBans(o.Ban, exempt)
	s.text = newTextStream(o.Stop, o.KeepStop, exempt)
	if o.Vocabulary != nil {
		s.decoder = o.Vocabulary.NewDecoder(context)
	}
	s.visit, s.isEnough = s.see, s.enough
	return s, s.keepBudget()
}

// limits are what a model allows a text. first is the token that an empty prompt stands for, or -1
// if there is none.
type limits struct {
	context, vocabulary, first int
	endOfText                  []int
	leaves                     kernels.Leaves // the kernels that the model computes with
}

// limitsOf returns the limits of a model, as the options change them.
func limitsOf(c model.Config, leaves kernels.Leaves, o *Options) limits {
	l := limits{context: c.Positions, vocabulary: c.VocabSize, first: -1, endOfText: o.EndOfText,
		leaves: leaves}
	if id, ok := c.StartToken(); ok {
		l.first = id
	}
	if o.EndOfText == nil {
		l.endOfText = c.EndTokens()
	}
	return l
}

// fit returns, before anything runs, the context of the first new token: the tokens that the
// session held, then the prompt, without the dropped tokens, which are the oldest. It is an error
// if the vocabulary lacks an id of the options, or the context has no room.
func (l *limits) fit(held, prompt []int, o *Options) (context []int, dropped int, err error) {
	err = cmp.Or(l.has("end-of-text", l.endOfText), l.has("allowed", o.Allowed))
	for _, b := range o.Bias {
		err = cmp.Or(err, l.has("bias of", b.IDs))
	}
	for _, b := range o.SequenceBias {
		err = cmp.Or(err, l.has("sequence bias of", b.IDs))
	}
	for _, b := range o.BanIDs {
		err = cmp.Or(err, l.has("banned", b.IDs))
	}
	if o.Unasked && o.Constraint != nil && !o.MayCut {
		o.MaxTokens = 0
	}
	if len(held)+len(prompt) == 0 {
		prompt = []int{l.first}
		if l.first < 0 {
			err = cmp.Or(err, errNoStart)
		}
	}
	length := len(held) + len(prompt)
	switch o.Overflow {
	case OverflowTruncate:
		if o.MaxTokens > 0 && o.MaxTokens <= l.context && !o.Unasked {
			dropped = max(0, length-(l.context-o.MaxTokens+1))
			break
		}
		fallthrough
	case OverflowSlide:
		if length > l.context {
			dropped = length - newestHalf(l.context)
		}
	default:
		o.shrink(l.context - length + 1)
		err = cmp.Or(err, l.room(len(held), len(prompt), o.MaxTokens))
	}
	o.shrink(l.context - (length - dropped) + 1)
	return slices.Concat(held, prompt)[dropped:], dropped, err
}

// shrink makes a default of MaxTokens at most what the context has room for.
func (o *Options) shrink(room int) {
	if o.Unasked && o.Overflow != OverflowSlide {
		o.MaxTokens = min(o.MaxTokens, max(1, room))
	}
}

var errNoStart = errors.New("empty prompt: want a bos_token_id or eos_token_id in the vocabulary " +
	"to start from, found none")

// has returns an error if the vocabulary lacks one of the ids.
func (l *limits) has(what string, ids []int) error {
	for _, id := range ids {
		if id < 0 || id >= l.vocabulary {
			return fmt.Errorf("%s id %d: want 0 to %d", what, id, l.vocabulary-1)
		}
	}
	return nil
}

// room returns an error if a prompt and new tokens do not fit the context after the tokens held.
func (l *limits) room(held, prompt, maxTokens int) error {
	length := held + prompt
	if length > l.context {
		full := &model.ContextError{Held: held, Added: prompt, Positions: l.context}
		return fmt.Errorf("prompt of %d tokens: %w", prompt, full)
	}
	if maxTokens-1 > l.context-length {
		full := &model.ContextError{Held: length, Added: maxTokens - 1, Positions: l.context}
		return fmt.Errorf("prompt of %d tokens and %d new ones (the last takes no position): %w",
			prompt, maxTokens, full)
	}
	return nil
}

// newestHalf returns how many tokens stay when the context is full. Positions are absolute in
// GPT-2, so all that stays is evaluated again.
func newestHalf(context int) int { return max(1, context/2) }

// newest returns the last n of the tokens, or all if there are fewer.
func newest(tokens []int, n int) []int { return tokens[max(0, len(tokens)-n):] }

// Fork returns a stream that continues from here independently, on a fork of the session, with the
// same random numbers to come. It computes nothing, and uses no cache memory until the two differ.
func (s *Stream) Fork() *Stream {
	f := *s
	if s.decoder != nil { // first the caller's types: if they panic, nothing is left behind
		f.decoder = s.decoder.Fork()
	}
	if s.constraint != nil {
		f.constraint = s.constraint.Fork()
		if s.bounded != nil {
			f.bounded = f.constraint.(bounded)
		}
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

// Context returns the tokens that the next one follows: after OverflowSlide, those that stay. The
// slice is the stream's memory: do not change it.
func (s *Stream) Context() []int { return s.context }

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

// inputs adds all that is evaluated before the next token to a batch.
func (s *Stream) inputs(batch []model.Input) []model.Input {
	if in, ok := s.Input(0); ok {
		batch = append(batch, in)
	}
	if in, ok := s.Guide(0); ok {
		batch = append(batch, in)
	}
	return batch
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

// extend appends id to the context. If that is full, the context restarts with its newest half.
func (s *Stream) extend(id int) {
	s.guide.extend(id, &s.limits)
	s.context = append(s.context, id)
	if len(s.context) <= s.limits.context {
		return
	}
	s.dropped = len(s.context) - newestHalf(s.limits.context)
	if s.bans != nil { // the text may go back to dropped tokens
		s.context = slices.Clone(s.context)
		s.bans.slides++
	}
	s.context = append(s.context[:0], s.context[s.dropped:]...)
	if s.access == AccessNever {
		s.Release()
	} else {
		s.renew(0)
	}
}
