package sample

// The options of a sampler: their table, their checks, and the texts that become ids.

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// Params are the options of the choice of a token from logits. The zero value is greedy: it chooses
// the largest logit, and all else is off. The package comment gives the order in which the options
// apply.
type Params struct {
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
	DRYBreakers   []string    // strings for Open to make DRYStrings of; nil means UsualBreakers
	DRYStrings    *DRYStrings // DRY's breakers as strings; nil means none
	Bias          []Bias      // a Text in it is one token
	SequenceBias  []Bias      // a Text in it is any number of tokens
	BanIDs        []Ban       // sequences of ids that the text does not contain
	Allowed       []int       // the only ids that may be drawn; empty means all
	MinTokens     int         // the text does not end before so many new tokens; 0 means off
	LengthDecay   LengthDecay

	// Mirostat takes the place of the filters.
	Mirostat Mirostat

	// Adaptive makes tokens likely whose probability is near a target. It wants a filter such as
	// MinP, which removes the least likely ids.
	Adaptive Adaptive

	// Guidance makes tokens likelier that another context makes unlikely. Nil means off.
	Guidance *Guidance

	// Earlier takes the definitions of earlier versions, for the texts that they wrote: Guidance
	// multiplies Bias and knows only the ids that may be drawn, and a bias of several ids needs a
	// context of at least so many.
	Earlier bool

	// Generated is how many of the last tokens of the prompt count as new ones already, for the
	// penalties, MinTokens and LengthDecay.
	Generated int
}

// An OptionError is a mistake in the options: they are wrong for every model and every prompt.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// Check returns an *OptionError that names the first option no sampler accepts, or nil.
func (p *Params) Check() error {
	if err := option.Check(p.table()); err != nil {
		return &OptionError{err}
	}
	return nil
}

func init() { option.Register((*Params).table) }

// table returns all options, bound to the fields of p: option.Of finds it.
func (p *Params) table() []option.Option {
	all := make([]option.Option, 0, 48)
	for _, step := range steps() {
		from := len(all)
		all = append(all, step.table(p)...)
		if step.kind >= filter {
			all[from].Filter, all[from].Drawn = step.kind != instead, true
			all[from].IsOn = func() bool { return step.on(p) }
		}
		all[from].Remembers = step.begin != nil
		for i := range all[from:] {
			if step.listed() {
				all[from+i].Step = step.name
			}
		}
	}
	all = append(all, p.otherTable()...)
	for i := range all {
		all[i].In |= option.Chat | option.Next | option.Receipts
	}
	all[len(all)-1].In = option.Chat | option.Next // the seed, which receipts have anyway
	return all
}

// otherTable returns the options that belong to no step.
func (p *Params) otherTable() []option.Option {
	return []option.Option{{
		Name: "samplers", Value: (*order)(&p.Samplers), Default: samplersHF,
		Check: func() string {
			if _, err := p.samplerList(); err != nil {
				return err.Error()
			}
			return ""
		},
		Flag: option.Flag{Name: "samplers", Holder: "ORDER", Group: option.Filters,
			Help: "the order and the definitions of the filters: hf (Hugging Face's), llama.cpp " +
				"(llama.cpp's), or the names of those to apply, in order, with commas between them"},
	}, {
		Name: "allowed tokens", Value: &p.Allowed,
		Check: func() string {
			if i := slices.IndexFunc(p.Allowed, func(id int) bool { return id < 0 }); i >= 0 {
				return fmt.Sprintf(" %d: want ids of 0 or more", p.Allowed[i])
			}
			return ""
		},
		Flag: option.Flag{Name: "allow", Holder: "ID", Group: option.Wanted,
			Others: "allowed-token-ids allowed-tokens",
			Help:   "draw no token but this one; the flag may be repeated"},
		Field: option.Field{Name: "allowed_token_ids", Most: 1 << 16},
	}, {
		Name: "generated tokens", Value: &p.Generated, Want: "0 or more",
	}, {
		Name: "seed", Value: &p.Seed,
		Flag: option.Flag{Name: "seed", Holder: "S", Group: option.WhichOnes,
			Others: "random-seed rng-seed s",
			Help: "the same seed (-2^63 to 2^64-1) gives the same text on every machine; " +
				"default: random, see -v"},
		Field: option.Field{Name: "seed"},
		Setting: option.Setting{Group: "Completion", Label: "Seed", Read: "seed",
			Help: "The same seed, text and settings give the same completion on every machine."},
	}}
}

// order is Params.Samplers as the value of an option.
type order string

// Set accepts a list without empty names.
func (o *order) Set(text string) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(text, ";", ","), ",") {
		if strings.TrimSpace(name) == "" {
			return fmt.Errorf(" %s: want a name before and after each comma, found none",
				quote.Short(text, 40))
		}
	}
	*o = order(text)
	return nil
}

func (o *order) String() string { return string(*o) }

// Open turns the texts in p into tokens of t: those of Bias, each of which must be one token, those
// of SequenceBias, that of Guidance, and DRY's breakers unless p has DRYStrings. A text that cannot
// be turned into tokens is an *OptionError.
func (p *Params) Open(ctx context.Context, t *tokenizer.Tokenizer) (err error) {
	if g := p.Guidance; g != nil && g.Text != "" {
		opened := Guidance{Scale: g.Scale}
		if opened.Negative, err = t.ForPrompts().Encode(g.Text); err != nil {
			return &OptionError{option.Errorf(p.table(), "negative", ": %v", err)}
		}
		p.Guidance = &opened
	}
	err = p.openBiases(t, "bias", &p.Bias, true)
	if err == nil {
		err = p.openBiases(t, "sequence bias", &p.SequenceBias, false)
	}
	if err != nil {
		return &OptionError{err}
	}
	if p.DRY.Multiplier == 0 || p.DRYStrings != nil {
		return nil
	}
	breakers := p.DRYBreakers
	if breakers == nil {
		breakers = UsualBreakers()
	}
	p.DRYStrings, err = NewDRYStrings(ctx, t, breakers)
	return err
}

// openBiases finds the ids of the biases of texts, and moves these behind the others. name is their
// option's. A text that is not one token is an error if each must be one.
func (p *Params) openBiases(t *tokenizer.Tokenizer, name string, all *[]Bias, one bool) error {
	var known, found []Bias
	for _, b := range *all {
		if b.Text == "" {
			known = append(known, b)
			continue
		}
		ids, err := t.WithSpecial().Encode(b.Text)
		if i := firstMissing(t, b.Text); err == nil && i >= 0 {
			err = fmt.Errorf("byte %d, %#02x: the vocabulary has no token for it", i, b.Text[i])
		}
		if err != nil {
			return option.Errorf(p.table(), name, " %s: %v", quote.Short(b.Text, 40), err)
		}
		if len(ids) == 0 { // a normalizer may take all of a text away
			return option.Errorf(p.table(), name, " %s: want the text of a token, found none",
				quote.Short(b.Text, 40))
		}
		if one && len(ids) != 1 {
			const most = 16
			list, more := fmt.Sprint(ids[:min(most, len(ids))]), ""
			if len(ids) > most {
				more = ", ..."
			}
			return option.Errorf(p.table(), name, " %s: want the text of one token, found %d: %s%s",
				quote.Short(b.Text, 40), len(ids),
				strings.ReplaceAll(strings.Trim(list, "[]"), " ", ","), more)
		}
		found = append(found, Bias{IDs: ids, Value: b.Value})
	}
	*all = append(known, found...)
	return nil
}

// firstMissing returns the index of the first byte of a text that byte-level BPE has no token for,
// -1 if there is none.
func firstMissing(v Speller, text string) int {
	t, ok := v.(interface{ Missing() ([]byte, int) })
	if !ok {
		return -1
	}
	missing, _ := t.Missing()
	for i := range len(text) {
		if bytes.IndexByte(missing, text[i]) >= 0 {
			return i
		}
	}
	return -1
}

// unopened returns an error for texts that Open has not seen.
func (p *Params) unopened() error {
	text := func(b Bias) bool { return b.Text != "" }
	switch {
	case slices.ContainsFunc(p.Bias, text):
		return option.Errorf(p.table(), "bias", " of a text: want Params.Open before it")
	case slices.ContainsFunc(p.SequenceBias, text):
		return option.Errorf(p.table(), "sequence bias", " of a text: want Params.Open before it")
	case p.Guidance != nil && p.Guidance.Text != "":
		return option.Errorf(p.table(), "negative", ": want Params.Open before it")
	case len(p.DRYBreakers) > 0 && p.DRYStrings == nil && p.DRY.Multiplier != 0:
		return option.Errorf(p.table(), "DRY breakers", ": want Params.Open before them")
	}
	return nil
}
