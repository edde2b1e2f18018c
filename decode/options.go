package decode

// The options of a text, and their checks.

import (
	"errors"
	"fmt"

	"picogpt/decode/guess"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// Options say how tokens are chosen and when the text ends. The zero value is greedy, until the end
// of text or of the context.
type Options struct {
	sample.Params // how a token is chosen from logits

	MaxTokens int // at most so many new tokens; 0 means until the end of text or of the context

	// Ban holds strings that the new text does not contain. Where one is complete in the bytes of
	// the tokens, the text goes back to the token in which it began, and takes another token there
	// with the same random number. Tokens that may be the beginning of such a string, now or after
	// the text has gone back, are held back until that is decided. Ban needs Vocabulary. Beams that
	// complete one end without a text.
	Ban []string

	// EndOfText holds the ids that end the text. Nil means the model's eos_token_id if its
	// vocabulary has that id, and an empty slice that no id does.
	EndOfText []int

	// Stop holds strings that end the text: it ends where the first of them is complete in the
	// bytes of the generated tokens, across token borders too. No part of the string appears in
	// Token.Text, unless KeepStop is set: then the text ends with it. Stop needs Vocabulary.
	Stop     []string
	KeepStop bool

	// Vocabulary gives Token.Text its bytes, in whole runes as they become certain, and limits
	// sampling to its ids: it never draws a checkpoint's padding rows from Size on, nor the ids
	// between that Gaps() []int returns, if it has that method. With nil, Text is empty and every
	// row may be drawn.
	Vocabulary Vocabulary

	// Top is how many alternatives each token has in Token.Top: the likeliest ids by the model's
	// own logits, as sample.LogProb defines it. They have texts if the Vocabulary has a method
	// Text(id int) (string, error).
	Top int

	// Echo says whether the prompt's tokens come first, with their log-probabilities, and whether
	// new ones follow.
	Echo Echo

	// Constraint is what the new tokens must fit: each is one of the ids that its Mask leaves open.
	// Streams use forks of it, and do not change it. If it has a method EndWith(ids []int), as
	// *constrain.Text does, that receives the ids of EndOfText: they are open exactly where the
	// text may end. Where no id ends texts, a text ends, with FinishStop, when it is of the form
	// and nothing can follow; while more may follow it continues, up to MaxTokens or the context's
	// end. Nil means that every id is open.
	Constraint Matcher

	// OpenMass makes each token under a Constraint have its Token.Open.
	OpenMass bool

	// Edits change what the forward pass computes of this text, as in model.Trace. Positions in
	// them are those of the session.
	Edits []model.Edit

	Overflow Overflow // what happens where the context is too short; "" means OverflowError

	// Healing makes the new text begin with the bytes that it took back from the prompt, which is
	// then Healing.Prompt. Stop and banned strings end after those bytes, and may begin in them; a
	// Constraint begins after them. Nil means off.
	Healing *Healing

	// Lookup and Draft speculate, in Generate and Samples: guessed tokens are evaluated together
	// with the text, and become part of it if they are the ones that are chosen anyway. The tokens
	// are the same without them, to the last bit of their LogProb; only the time differs, and
	// Token.Guessed. How much is guessed, and whether anything is, depends on its measured cost and
	// gain. At most one of the two is given.
	//
	// Lookup guesses the tokens that followed when the newest tokens occurred before, at most so
	// many tokens at a time. It helps where a text repeats a part of its prompt. 0 means off.
	Lookup int

	// Draft is a model that guesses, a smaller or faster one of the same vocabulary. Nil means off.
	Draft *guess.Model

	alwaysDraft bool // drafts whatever it costs, for tests
}

// Vocabulary turns ids into text. *tokenizer.Tokenizer is one, with Gaps.
type Vocabulary interface {
	NewDecoder(before []int) tokenizer.Decoder // of the ids that follow those before
	Size() int                                 // one more than the largest id
}

// idsOf returns the ids of the options' vocabulary for a sampler, given the ids that end texts.
func idsOf(o *Options, ends []int) sample.IDs {
	ids := sample.IDs{Ends: ends}
	if o.Vocabulary != nil {
		ids.Size = o.Vocabulary.Size()
	}
	if v, ok := o.Vocabulary.(interface{ Gaps() []int }); ok {
		ids.Gaps = v.Gaps()
	}
	return ids
}

// Overflow says what happens to a prompt or a continuation that the context (n_positions of the
// model) cannot hold. Tokens that the session held before count as part of the prompt.
// Token.Dropped counts every token that was dropped.
type Overflow string

const (
	// OverflowError returns an error, before anything runs, for a prompt longer than the context,
	// and for a MaxTokens n with prompt + n - 1 > context: the n-th new token need not be
	// evaluated. Without MaxTokens the text ends at the context's end, with FinishLength.
	OverflowError Overflow = "error"

	// OverflowTruncate drops the oldest prompt tokens so that the n tokens of MaxTokens fit,
	// leaving context - n + 1 of the prompt. Where no cut can make them fit (n is 0 or above the
	// context), only a prompt longer than the context is cut, to the newest half of a context, and
	// the text ends at the context's end, with FinishLength.
	OverflowTruncate Overflow = "truncate"

	// OverflowSlide continues beyond the context's end: whenever a token finds the context full,
	// the newest half of a context (context / 2 rounded down, at least 1, that token included) is
	// evaluated again from position 0 and the rest is dropped. A prompt longer than the context is
	// cut in the same way. The text then ends only by MaxTokens, end of text, a stop string or the
	// caller.
	OverflowSlide Overflow = "slide"
)

// Check returns an *[sample.OptionError] that names the first option that is wrong for every model
// and prompt, or nil.
func (o *Options) Check() error {
	if err := o.Params.Check(); err != nil {
		return err
	}
	return o.checkOwn()
}

// checkOwn checks the options that package sample does not check.
func (o *Options) checkOwn() error {
	err := option.Check(o.ownTable())
	switch {
	case err != nil:
	case o.Draft != nil && o.Draft.Model == nil && o.Draft.Open == nil:
		err = errors.New("draft model: want a Model or Open, found neither")
	case o.Lookup > 0 && o.Draft != nil:
		err = errors.New("lookup and a draft model: want one of them")
	case len(o.Stop) > 0 && o.Vocabulary == nil:
		err = errors.New("stop strings: want a vocabulary to find them in the text, found none")
	case len(o.Ban) > 0 && o.Vocabulary == nil:
		err = errors.New("banned strings: want a vocabulary to find them in the text, found none")
	case o.Echo != EchoNone && o.Echo != EchoPrompt && o.Echo != EchoOnly:
		err = fmt.Errorf("echo %q: want \"\", %q or %q", o.Echo, EchoPrompt, EchoOnly)
	}
	if err != nil {
		return &sample.OptionError{Err: err}
	}
	return nil
}
