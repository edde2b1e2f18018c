package decode

// The options of a text: what they mean, their checks, and their table. Package sample has those
// that choose a token.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/decode/guess"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/sample"
)

// Options say how tokens are chosen and when the text ends. The zero value is greedy, until the end
// of text or of the context.
type Options struct {
	sample.Params // how a token is chosen from logits

	MaxTokens int // at most so many new tokens; 0 means until the end of text or of the context

	// Unasked says that MaxTokens is a checkpoint's default, which nobody has asked for: there are
	// fewer new tokens where the context has no room for so many, and a Constraint's text, unless
	// MayCut is set, has what it needs.
	Unasked bool

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

	// MayCut follows the Constraint by the letter: MaxTokens, or the context's end, may cut a text
	// before it is of the form. Otherwise a Constraint with the methods Bounded, Least, Within and
	// Shut of *constrain.Text shuts ids after which the text could not be completed in time, so that
	// it never ends with FinishLength, but where other options leave none of the rest:
	// Token.Outranked. If nothing fits, NewStream returns a *BudgetError. There is no bound without
	// EndOfText, nor with OverflowSlide and without MaxTokens.
	MayCut bool

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

// ids returns the ids of the vocabulary for a sampler, given the ids that end texts.
func (o *Options) ids(ends []int) sample.IDs {
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

func init() { option.Register((*Options).table) }

// table returns all options, bound to the fields of o: option.Of finds it.
func (o *Options) table() []option.Option {
	return slices.Concat(o.lengthTable(), option.Of(&o.Params), o.wantedTable())
}

// ownTable returns the table without package sample's options.
func (o *Options) ownTable() []option.Option {
	return slices.Concat(o.lengthTable(), o.wantedTable())
}

// lengthTable returns the options of a text's length.
func (o *Options) lengthTable() []option.Option {
	return []option.Option{{
		Name: "overflow", Value: (*string)(&o.Overflow), Default: string(OverflowError),
		Words: []string{string(OverflowError), string(OverflowTruncate), string(OverflowSlide)},
		Want:  fmt.Sprintf("%q, %q or %q", OverflowError, OverflowTruncate, OverflowSlide),
		In:    option.Corpus | option.Receipts,
		Flag: option.Flag{Name: "overflow", Holder: "HOW", Group: option.HowMuch,
			Help: "what to do where the model's context is too small: error, truncate (drop the " +
				"oldest tokens of the prompt) or slide (drop them later too, and write on without end)"},
	}, {
		Name: "max tokens", Value: &o.MaxTokens, Want: "0 (no limit) or more",
		In:    option.Chat | option.Corpus | option.Receipts,
		Saved: []string{"max_new_tokens"}, Unasked: func() { o.Unasked = true },
		Flag: option.Flag{Name: "max-tokens", Short: "n", Holder: "N", Group: option.HowMuch,
			Aliases: []string{"max-new-tokens", "max-completion-tokens", "n-predict", "num-predict",
				"predict"},
			Others: "length max-length max-len max num-tokens n-tokens new-tokens output-length " +
				"output-tokens tokens-to-generate",
			Range: option.Range{From: 1, Minus: true}, Want: "at least 1, or -1 for no limit",
			Help: "write at most N new tokens; default, and -1: until the text ends or the context " +
				"is full"},
		Field: option.Field{Name: "max_tokens", Default: "16", Range: option.Range{To: option.Most}},
		Setting: option.Setting{Group: "Completion", Label: "New tokens", Value: "40", Always: true,
			Min: 1, Max: 4096, Step: 1, Slider: 256,
			Help: "How many a completion has at most."},
	}, {
		Name: "stop string", Value: &o.Stop, Text: true,
		In: option.Chat | option.Corpus | option.Receipts,
		Check: func() string {
			if i := slices.Index(o.Stop, ""); i >= 0 {
				return fmt.Sprintf(" %d of %d: want at least one byte, found none", i+1, len(o.Stop))
			}
			return ""
		},
		Flag: option.Flag{Name: "stop", Holder: "STRING", Group: option.HowMuch,
			Others: "stop-sequences stop-strings reverse-prompt r",
			Help:   "end the text before this string; the flag may be repeated"},
		Field: option.Field{Name: "stop", Most: 32, Single: true},
		Setting: option.Setting{Group: "End", Label: "Stop at", Read: "strings",
			Help: `A string a line; the text ends before it. \n is a line end.`},
	}, {
		Name: "keep stop", Value: &o.KeepStop, Default: "false", With: []string{"stop"},
		In: option.Chat | option.Receipts,
		Flag: option.Flag{Name: "keep-stop", Aliases: []string{"include-stop-str-in-output"},
			Group: option.Output, Others: "include-stop keep-stop-string no-trim-stop",
			Help: "end the text with the string of --stop, and not before it"},
		Field: option.Field{Name: "include_stop_str_in_output"},
	}}
}

// wantedTable returns the options of a text's contents, of its end, and of speculation, which changes
// no token.
func (o *Options) wantedTable() []option.Option {
	const in = option.Chat | option.Next | option.Receipts
	return []option.Option{{
		Name: "banned strings", Value: &o.Ban, Text: true, In: in,
		Check: func() string {
			if slices.Contains(o.Ban, "") {
				return ": want at least one byte in each, found none"
			}
			return ""
		},
		Flag: option.Flag{Name: "ban", Holder: "S", Group: option.Wanted,
			Others: "bad-words banned-strings",
			Help: "the new text does not contain this string: it goes back to where the string " +
				"begins, and on another way; the flag may be repeated"},
		Field: option.Field{Name: "bad_words", Most: 1000},
		Setting: option.Setting{Group: "Words and tokens", Label: "Never write", Read: "strings",
			Help: "A string a line."},
	}, {
		Name: "may cut", Value: &o.MayCut, Default: "false",
		In: option.Chat | option.Receipts,
		Flag: option.Flag{Name: "may-cut", Group: option.Wanted,
			Others: "allow-incomplete allow-truncated",
			Help:   "--max-tokens may cut the text of a form; else it is complete in time"},
		Field: option.Field{Name: "may_cut"},
	}, {
		Name: "end of text", Value: (*ends)(&o.EndOfText), In: in,
		Flag: option.Flag{Name: "eos", Holder: "ID|none", Group: option.Wanted,
			Others: "eos-token-id eos-token stop-token stop-token-ids",
			Help: "the token that ends the text, or none; the flag may be repeated; default: the " +
				"model's"},
	}, {
		Name: "top", Value: &o.Top, Want: "0 (none) or more", Default: "0",
		Flag: option.Flag{Name: "logprobs", Holder: "N", Group: option.Output,
			Others: "top-logprobs probs n-probs log-probs", Want: "0 or more",
			Help: "in json and events, the N likeliest tokens in place of each; default: none"},
		Field: option.Field{Name: "logprobs", Range: option.Range{To: 100}},
		Setting: option.Setting{Group: "Display", Label: "Alternatives", Value: "8", Always: true,
			Min: 1, Max: 100, Step: 1, Slider: 20, Help: "How many a token comes with."},
	}, {
		Name: "lookup", Value: &o.Lookup, Want: "0 (off) or more", Default: "0", In: option.Chat,
		Flag: option.Flag{Name: "lookup", Holder: "N", Group: option.Guessing, Want: "0 or more",
			Others: "prompt-lookup-num-tokens prompt-lookup lookup-ngram",
			Help: "guess up to N tokens at a time from where the newest ones occurred before; the " +
				"text stays the same; 0 is off"},
	}}
}

// ends is Options.EndOfText as the value of an option.
type ends []int

// Set adds an id, or sets that no id ends the text.
func (e *ends) Set(s string) error {
	id, err := strconv.Atoi(s)
	none := *e != nil && len(*e) == 0
	switch {
	case none || s == "none" && *e != nil:
		return fmt.Errorf(" none and another --eos: want one of them")
	case s == "none":
		*e = []int{}
		return nil
	case err != nil || id < 0:
		return fmt.Errorf(" %s: want a token's id, or none", quote.Short(s, 40))
	}
	*e = append(*e, id)
	return nil
}

func (e *ends) Repeats() bool { return true }

func (e *ends) String() string {
	if *e != nil && len(*e) == 0 {
		return "none"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*e)), " ", ","), "[]")
}
