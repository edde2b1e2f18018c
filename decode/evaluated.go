package decode

// Evaluated tokens of a text, for other texts that begin with the same tokens.

import (
	"iter"

	"picogpt/model"
)

// An Evaluated is the evaluated part of a text. A stream whose context begins with the same tokens
// can begin with it: [Stream.TakeOver].
type Evaluated struct {
	Session *model.Session // holds the tokens
	scores  []scored       // of the prompt's tokens, some yet unknown; nil: it is not scored
	top     int            // alternatives that each of scores has
}

// Evaluated returns what is evaluated of the context. The session belongs to the stream until the
// context slides: fork it, and do not change it.
func (s *Stream) Evaluated() Evaluated {
	e := Evaluated{Session: s.grows()}
	if s.echo != nil && s.echo.from == 0 {
		e.scores, e.top = s.echo.scores, s.options.Top
	}
	return e
}

// HandOver is Evaluated for a stream that no longer needs it: the session is then the caller's. If
// the stream continues, all of its context is evaluated again.
func (s *Stream) HandOver() Evaluated {
	e := s.Evaluated()
	s.leave()
	return e
}

// Usable returns how many tokens the stream could begin with, given that the first n of its context
// are those of e, evaluated or yet to be. The context's last token is not among them, because its
// logits are not kept; nor are tokens of a scored prompt whose next token is not scored in e, nor
// those whose hidden states are wanted.
func (s *Stream) Usable(e Evaluated, n int) int {
	n = min(n, len(s.context)-1)
	if s.reading != nil {
		n = min(n, s.reading.from)
	}
	if !s.echo.waiting() {
		return n
	}
	if e.top != s.options.Top {
		return 0
	}
	same := 0 // the session of a text that slid holds others than the tokens that were scored
	for same < min(n+1, len(e.scores)) && e.scores[same].id == s.context[same] {
		same++
	}
	return max(0, min(n, same-1))
}

// TakeOver makes a stream that has evaluated nothing begin with the first n tokens of e, which are
// Usable and evaluated. It takes a fork of the session, and the scores of a scored prompt.
func (s *Stream) TakeOver(e Evaluated, n int) {
	s.grows().Take(e.Session.Fork(n))
	s.echo.take(e.scores, n)
}

// PromptTokens are the tokens of a scored prompt: see [Options.Echo].
type PromptTokens struct{ echo *echo }

// Tokens yields the tokens, marked as those of the given sample.
func (p *PromptTokens) Tokens(sample int) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for i := range p.echo.scores {
			if !yield(p.echo.token(i, sample)) {
				return
			}
		}
	}
}

// TakePrompt returns all tokens of a scored prompt together, once all of them are evaluated; Next
// then returns none of them. It returns nil before that, without [Options.Echo], and after Next or
// TakePrompt has returned some. With EchoOnly the stream is then done.
func (s *Stream) TakePrompt() *PromptTokens {
	if s.echo == nil || s.echo.given > 0 || s.pending() > 0 {
		return nil
	}
	s.giveEcho(len(s.echo.scores))
	return &PromptTokens{s.echo}
}
