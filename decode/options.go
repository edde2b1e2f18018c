package decode

// What a caller can ask for, and which of it is refused.

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"picogpt/constrain"
	"picogpt/guess"
	"picogpt/kernels"
	"picogpt/tokenizer"
)

// Options says how tokens are chosen and when to stop. The zero value is greedy until the end of
// text or of the context. The package comment gives the order in which the choices apply.
type Options struct {
	MaxTokens int // new tokens at most; 0 means until the end of text or of the context

	Temperature float64 // 0 means greedy
	TopK        int     // 0 means off
	TopP        float64 // in [0, 1]; 0 and 1 mean off
	MinP        float64 // in [0, 1]; 0 means off
	Seed        uint64  // ignored when greedy

	// The other filters. 0 means off; the package comment defines them.
	Typical        float64 // in [0, 1]; 1 means off
	Epsilon        float64 // in [0, 1)
	Eta            float64 // in [0, 1)
	TopH           float64 // in [0, 1]
	TopNSigma      float64 // 0 or more
	XTCProbability float64 // in [0, 1]
	XTCThreshold   float64 // in [0, 1]; above 0.5 XTC removes nothing

	// TempRange above 0 makes the temperature depend on how sure the model is: from Temperature -
	// TempRange, but 0 at least, where one id has all of the probability, to Temperature +
	// TempRange where all ids are equally likely. Between them it follows the entropy, divided by
	// its greatest value, to the power of TempExponent (1 is usual; 0 always gives the upper end).
	TempRange, TempExponent float64

	// Samplers is the order of the temperature and the filters: "" or "hf" for Hugging Face's,
	// "llama.cpp" for llama.cpp's order and definitions, or the names of those that apply, in
	// order, with commas between them. SamplerNames lists them.
	Samplers string

	// RepeatPenalty above 1 discourages ids that are among the newest RepeatLastN tokens of the
	// context, the prompt's included. From 1e-100 to 1e100; 0 and 1 mean off.
	RepeatPenalty float64
	RepeatLastN   int // 0 means all; it bounds the two penalties below too

	// FrequencyPenalty is taken from an id's logit for each time, and PresencePenalty once, that it
	// is among the new tokens (OpenAI's definition).
	FrequencyPenalty, PresencePenalty float64

	// PenaltyPrompt says whether the penalties count the prompt's tokens too. Nil means that
	// RepeatPenalty does and the others do not; with Samplers "llama.cpp", that all do.
	PenaltyPrompt *bool

	NoRepeatNgram int // no sequence of so many ids occurs twice, the prompt counted; 0 means off
	DRY           DRY
	DRYStrings    *DRYStrings // DRY's breakers as strings; nil means none
	Bias          []Bias
	MinTokens     int // the text does not end before so many new tokens; 0 means off
	LengthDecay   LengthDecay

	// Mirostat takes the place of the filters.
	Mirostat Mirostat

	// Guidance makes tokens likelier that another context makes unlikely. Nil means off.
	Guidance *Guidance

	// Ban holds strings that the new text does not contain: where one is complete in the bytes of
	// the tokens, the text goes back to the token in which it began, and takes another one there
	// with the same random number. Tokens that may begin such a string, as the text is or where it
	// may go back to, are held back until that is decided. Needs Vocabulary. Beams that complete one
	// end without a text.
	Ban []string

	// Generated is how many of the last tokens of the prompt count as new ones already, for the
	// penalties, MinTokens and LengthDecay.
	Generated int

	// EndOfText holds the ids that end the text. Nil means the model's eos_token_id if its
	// vocabulary has that id, and an empty slice that no id does.
	EndOfText []int

	// Stop holds strings that end the text where the first of them is complete in the bytes of the
	// generated tokens, wherever token borders fall; neither the string nor any part of it appears
	// in Token.Text. Needs Vocabulary.
	Stop []string

	// Vocabulary gives Token.Text its bytes, in whole runes as they become certain, and limits
	// sampling to its ids: a checkpoint's padding rows beyond its Size are never drawn, nor those
	// in between that its method Gaps() []int, if it has one, lists. Nil leaves Text empty and
	// every row open.
	Vocabulary Vocabulary

	// Top is how many alternatives each token comes with, in Token.Top: the likeliest ids in the
	// model's own opinion, as LogProb has it. Their texts are there if the Vocabulary has a method
	// Text(id int) (string, error).
	Top int

	// Echo says whether the prompt's tokens come first, with their log-probabilities, and whether any
	// new ones follow.
	Echo Echo

	// Constraint is what the new tokens must fit: each is one of the ids that its Mask leaves open.
	// Streams follow forks of it, and leave it as it is. One with a method EndWith(ids []int), as
	// *constrain.Text has it, is told the ids of EndOfText: they are open exactly where the text may
	// end. Where no id ends texts, a text ends, with FinishStop, when it is of the form and nothing
	// can follow; while more may follow it continues, up to MaxTokens or the context's end. Nil
	// means that any id will do.
	Constraint constrain.Matcher

	Overflow Overflow // what happens where the context is too short; "" means OverflowError

	// Healing makes the new text begin with the bytes that it took back from the prompt, which is
	// then Healing.Prompt. Stop and banned strings end after them, and may begin in them; what a
	// Constraint is about begins after them. Nil means off.
	Healing *Healing

	// Lookup and Draft speculate, in Generate and Samples: guessed tokens are evaluated together
	// with the text, and become part of it if they are what is chosen anyway. The tokens are the
	// same without, to the last bit of their LogProb; only the time differs, and Token.Guessed. How
	// much is guessed, and whether at all, follows from what it turns out to cost and to bring. At
	// most one of the two is given.
	//
	// Lookup guesses what followed when the newest tokens occurred before: at most so many tokens
	// at a time. It helps where a text repeats a part of its prompt. 0 means off.
	Lookup int

	// Draft is a model that guesses, a smaller or faster one of the same vocabulary. Nil means off.
	Draft *guess.Model

	alwaysDraft bool // whatever it costs: for tests

	// Leaves are the operations that a Sampler made by NewSampler computes with: the fastest of
	// this processor if zero. Any give the same tokens. A Stream's are its model's.
	Leaves kernels.Leaves
}

// Vocabulary turns ids into text. *tokenizer.Tokenizer is one, with Gaps.
type Vocabulary interface {
	NewDecoder(before []int) tokenizer.Decoder // of the ids that follow those before
	Size() int                                 // one more than the largest id
}

// Overflow is the choice for a prompt or a continuation that the context (n_positions of the model)
// cannot hold. What the session held before counts as part of the prompt. Token.Dropped reports
// every token that was dropped.
type Overflow string

const (
	// OverflowError refuses, before anything runs, a prompt longer than the context, and a
	// MaxTokens n with prompt + n - 1 > context: the n-th new token need not be evaluated. Without
	// MaxTokens the text ends at the context's end, with FinishLength.
	OverflowError Overflow = "error"

	// OverflowTruncate drops the oldest prompt tokens so that the n tokens of MaxTokens fit,
	// leaving context - n + 1 of the prompt. Where no cut can make them fit (n is 0 or above the
	// context), only a prompt longer than the context is cut, to the newest half of a context, and
	// the text ends at the context's end, with FinishLength.
	OverflowTruncate Overflow = "truncate"

	// OverflowSlide goes on past the context's end: whenever a token finds the context full, the
	// newest half of a context (context / 2 rounded down, at least 1, that token included) is
	// evaluated anew from position 0 and the rest is dropped. So is a prompt longer than the
	// context. The text then ends by MaxTokens, end of text, a stop string or the caller only.
	OverflowSlide Overflow = "slide"
)

// An OptionError is a mistake in the options: the caller's, whatever the model and the prompt are.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// check refuses options that no model could follow, by name.
func (o *Options) check() error {
	switch {
	case o.MaxTokens < 0:
		return fmt.Errorf("max tokens %d: want 0 (no limit) or more", o.MaxTokens)
	case !(o.Temperature >= 0) || math.IsInf(o.Temperature, 1):
		return fmt.Errorf("temperature %v: want 0 (greedy) or a finite number above it",
			o.Temperature)
	case o.TopK < 0:
		return fmt.Errorf("top-k %d: want 0 (off) or more", o.TopK)
	case !(o.TopP >= 0 && o.TopP <= 1):
		return fmt.Errorf("top-p %v: want a number from 0 to 1 (off)", o.TopP)
	case !(o.MinP >= 0 && o.MinP <= 1):
		return fmt.Errorf("min-p %v: want a number from 0 (off) to 1", o.MinP)
	case o.RepeatPenalty != 0 && !(o.RepeatPenalty >= 1e-100 && o.RepeatPenalty <= 1e100):
		return fmt.Errorf("repetition penalty %v: want 0 or 1 (off) or another number "+
			"from 1e-100 to 1e100", o.RepeatPenalty)
	case o.RepeatLastN < 0:
		return fmt.Errorf("repetition window %d: want 0 (the whole context) or more", o.RepeatLastN)
	case o.Lookup < 0:
		return fmt.Errorf("lookup %d: want 0 (off) or more", o.Lookup)
	case o.Draft != nil && o.Draft.Model == nil && o.Draft.Open == nil:
		return errors.New("draft model: want a Model or Open, found neither")
	case o.Lookup > 0 && o.Draft != nil:
		return errors.New("lookup and a draft model: want one of them")
	case o.Top < 0:
		return fmt.Errorf("top %d: want 0 (none) or more", o.Top)
	case len(o.Stop) > 0 && o.Vocabulary == nil:
		return fmt.Errorf("stop strings: want a vocabulary to find them in the text, found none")
	}
	for i, stop := range o.Stop {
		if stop == "" {
			return fmt.Errorf("stop string %d of %d: want at least one byte, found none",
				i+1, len(o.Stop))
		}
	}
	if err := o.checkFilters(); err != nil {
		return err
	}
	if err := o.checkContext(); err != nil {
		return err
	}
	switch o.Echo {
	case EchoNone, EchoPrompt, EchoOnly:
	default:
		return fmt.Errorf("echo %q: want \"\", %q or %q", o.Echo, EchoPrompt, EchoOnly)
	}
	switch o.Overflow {
	case "", OverflowError, OverflowTruncate, OverflowSlide:
		return nil
	}
	return fmt.Errorf("overflow %q: want %q, %q or %q",
		o.Overflow, OverflowError, OverflowTruncate, OverflowSlide)
}

// checkFilters refuses what the filters that came after top-k, top-p and min-p cannot follow.
func (o *Options) checkFilters() error {
	for _, p := range []struct {
		name  string
		value float64
		below bool // 1
	}{
		{"typical", o.Typical, false}, {"epsilon", o.Epsilon, true}, {"eta", o.Eta, true},
		{"top-h", o.TopH, false}, {"XTC probability", o.XTCProbability, false},
		{"XTC threshold", o.XTCThreshold, false},
	} {
		switch {
		case p.below && !(p.value >= 0 && p.value < 1):
			return fmt.Errorf("%s %v: want a number from 0 (off) to below 1", p.name, p.value)
		case !(p.value >= 0 && p.value <= 1):
			return fmt.Errorf("%s %v: want a number from 0 to 1", p.name, p.value)
		}
	}
	for _, x := range []struct {
		name  string
		value float64
	}{
		{"top-n-sigma", o.TopNSigma}, {"temperature range", o.TempRange},
		{"temperature exponent", o.TempExponent},
	} {
		if !(x.value >= 0) || math.IsInf(x.value, 1) {
			return fmt.Errorf("%s %v: want 0 or a finite number above it", x.name, x.value)
		}
	}
	_, err := o.samplerList()
	return err
}

// checkContext refuses what the steps that look at the context cannot follow.
func (o *Options) checkContext() error {
	d := &o.LengthDecay
	switch {
	case !finite(o.FrequencyPenalty):
		return fmt.Errorf("frequency penalty %v: want a finite number", o.FrequencyPenalty)
	case !finite(o.PresencePenalty):
		return fmt.Errorf("presence penalty %v: want a finite number", o.PresencePenalty)
	case o.NoRepeatNgram < 0:
		return fmt.Errorf("no-repeat n-gram %d: want 0 (off) or more", o.NoRepeatNgram)
	case o.DRY.Multiplier < 0 || !finite(o.DRY.Multiplier):
		return fmt.Errorf("DRY multiplier %v: want 0 (off) or a finite number above it",
			o.DRY.Multiplier)
	case o.DRY.Base < 0 || !finite(o.DRY.Base):
		return fmt.Errorf("DRY base %v: want 0 or a finite number above it", o.DRY.Base)
	case o.DRY.AllowedLength < 0:
		return fmt.Errorf("DRY allowed length %d: want 0 or more", o.DRY.AllowedLength)
	case o.DRY.LastN < 0:
		return fmt.Errorf("DRY window %d: want 0 (the whole context) or more", o.DRY.LastN)
	case o.MinTokens < 0:
		return fmt.Errorf("min tokens %d: want 0 (off) or more", o.MinTokens)
	case d.Start < 0:
		return fmt.Errorf("length decay: start %d: want 0 or more", d.Start)
	case d.Factor < 0 || !finite(d.Factor):
		return fmt.Errorf("length decay: factor %v: want 0 (off) or a finite number above it",
			d.Factor)
	case o.Mirostat.Version < 0 || o.Mirostat.Version > 2:
		return fmt.Errorf("mirostat %d: want 0 (off), 1 or 2", o.Mirostat.Version)
	case o.Mirostat.Tau < 0 || !finite(o.Mirostat.Tau):
		return fmt.Errorf("mirostat tau %v: want 0 or a finite number above it", o.Mirostat.Tau)
	case o.Mirostat.Eta < 0 || !finite(o.Mirostat.Eta):
		return fmt.Errorf("mirostat eta %v: want 0 or a finite number above it", o.Mirostat.Eta)
	case o.Guidance != nil && !(math.Abs(o.Guidance.Scale) <= 1e100):
		return fmt.Errorf("guidance %v: want a number from -1e100 to 1e100", o.Guidance.Scale)
	case len(o.Ban) > 0 && o.Vocabulary == nil:
		return errors.New("banned strings: want a vocabulary to find them in the text, found none")
	case slices.Contains(o.Ban, ""):
		return errors.New("banned strings: want at least one byte in each, found none")
	case o.Generated < 0:
		return fmt.Errorf("generated tokens %d: want 0 or more", o.Generated)
	}
	for i, b := range o.Bias {
		switch {
		case len(b.IDs) == 0:
			return fmt.Errorf("bias %d of %d: want at least one id, found none", i+1, len(o.Bias))
		case !(math.Abs(b.Value) <= 1e100) && !math.IsInf(b.Value, -1):
			return fmt.Errorf("bias %v: want a number from -1e100 to 1e100, or -Inf", b.Value)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
