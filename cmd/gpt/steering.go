package main

// The flags that look at the text so far: penalties, biases, and when a text may end.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/genflags"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// repeatFlags are against repetition, beside --repeat-penalty.
type repeatFlags struct {
	FrequencyPenalty float64 `placeholder:"X" default:"0"`
	PresencePenalty  float64 `placeholder:"X" default:"0"`
	PenaltyPrompt    *bool
	NoRepeatNgram    int      `placeholder:"N" default:"0"`
	DRYMultiplier    float64  `name:"dry-multiplier" placeholder:"X" default:"0"`
	DRYBase          float64  `name:"dry-base" placeholder:"B" default:"1.75"`
	DRYAllowedLength int      `name:"dry-allowed-length" placeholder:"N" default:"2"`
	DRYLastN         int      `name:"dry-last-n" placeholder:"N" default:"-1"`
	DRYBreaker       []string `name:"dry-breaker" placeholder:"S" sep:"none"`
}

// wantedFlags are about single tokens and strings, and the end of the text.
type wantedFlags struct {
	LogitBias   []string `placeholder:"ID|TEXT=X" sep:"none"`
	Ban         []string `placeholder:"S" sep:"none"`
	EOS         []string `name:"eos" placeholder:"ID|none" sep:"none"`
	MinTokens   int      `placeholder:"N" default:"0" help:"do not end the text before N new tokens"`
	Guidance    *float64 `placeholder:"G"`
	Negative    *string  `placeholder:"TEXT"`
	LengthDecay *string  `placeholder:"START,FACTOR"`
}

// A steering is all flags that look at the text so far.
type steering struct {
	Repeats repeatFlags `embed:"" group:"Against repetition:"`
	Wanted  wantedFlags `embed:"" group:"Wanted and unwanted tokens:"`
}

// set gives o what the flags say, but for what needs a tokenizer.
func (f *steering) set(o *decode.Options) error {
	r, w := &f.Repeats, &f.Wanted
	o.FrequencyPenalty, o.PresencePenalty = r.FrequencyPenalty, r.PresencePenalty
	o.PenaltyPrompt, o.NoRepeatNgram, o.MinTokens = r.PenaltyPrompt, r.NoRepeatNgram, w.MinTokens
	o.DRY = sample.DRY{
		Multiplier: r.DRYMultiplier, Base: r.DRYBase, AllowedLength: r.DRYAllowedLength,
		LastN: r.DRYLastN,
	}
	switch {
	case r.DRYLastN < -1:
		return usagef("--dry-last-n %d: want -1 (all), 0 (off) or more", r.DRYLastN)
	case r.DRYLastN == -1:
		o.DRY.LastN = 0 // decode's all
	case r.DRYLastN == 0:
		o.DRY.Multiplier = min(0, o.DRY.Multiplier)
	}
	if err := genflags.NoneEmpty("--dry-breaker", r.DRYBreaker); err != nil {
		return fault.Usage{Err: err}
	}
	if err := sample.CheckDRYStrings(r.DRYBreaker); err != nil {
		return usagef("--dry-breaker: %v", err)
	}
	if len(r.DRYBreaker) > 1 && slices.Contains(r.DRYBreaker, "none") {
		return usagef("--dry-breaker none and another --dry-breaker: want one of them")
	}
	if err := genflags.NoneEmpty("--ban", w.Ban); err != nil {
		return fault.Usage{Err: err}
	}
	o.Ban = w.Ban
	if w.Guidance != nil {
		o.Guidance = &sample.Guidance{Scale: *w.Guidance}
	}
	if err := w.setDecay(o); err != nil {
		return err
	}
	if err := w.setEnds(o); err != nil {
		return err
	}
	if err := checkEnds(o); err != nil {
		return err
	}
	return w.setBias(o)
}

func (f *wantedFlags) setDecay(o *decode.Options) error {
	if f.LengthDecay == nil {
		return nil
	}
	start, factor, ok := strings.Cut(*f.LengthDecay, ",")
	n, err := strconv.Atoi(strings.TrimSpace(start))
	x, err2 := strconv.ParseFloat(strings.TrimSpace(factor), 64)
	if !ok || err != nil || err2 != nil || !(x > 0) || math.IsInf(x, 1) || n < 0 {
		return usagef("--length-decay %s: want START,FACTOR, such as 20,1.1: a whole number and a "+
			"number above 0", quoteShort(*f.LengthDecay))
	}
	o.LengthDecay = sample.LengthDecay{Start: n, Factor: x}
	return nil
}

func (f *wantedFlags) setEnds(o *decode.Options) error {
	if f.EOS != nil {
		o.EndOfText = []int{}
	}
	for _, s := range f.EOS {
		id, err := strconv.Atoi(s)
		switch {
		case s == "none" && len(f.EOS) == 1:
		case s == "none":
			return usagef("--eos none and another --eos: want one of them")
		case err != nil || id < 0:
			return usagef("--eos %s: want a token's id, or none", quoteShort(s))
		default:
			o.EndOfText = append(o.EndOfText, id)
		}
	}
	return nil
}

// setBias gives o the biases of ids, and checks those of texts, which wait for a tokenizer.
func (f *wantedFlags) setBias(o *decode.Options) error {
	for _, s := range f.LogitBias {
		text, id, x, err := parseBias(s)
		if err != nil {
			return err
		}
		if text == "" {
			o.Bias = append(o.Bias, sample.Bias{IDs: []int{id}, Value: x})
		}
	}
	return nil
}

// parseBias reads ID=X, or TEXT=X, of which text is not "".
func parseBias(s string) (text string, id int, x float64, err error) {
	at := max(0, strings.LastIndexByte(s, '='))
	text, value := s[:at], strings.TrimPrefix(s[at:], "=")
	x, bad := strconv.ParseFloat(strings.TrimSpace(value), 64)
	id, noID := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case text == "", bad != nil, noID == nil && id < 0, math.IsNaN(x), math.IsInf(x, 1):
		return "", 0, 0, usagef("--logit-bias %s: want ID=X or TEXT=X, such as 257=-2.5, 257=-inf or "+
			"' Lily=5'", quoteShort(s))
	case noID != nil:
		return text, 0, x, nil
	}
	return "", id, x, nil
}

// hasBiasText reports whether a token is named by its text.
func (f *wantedFlags) hasBiasText() bool {
	return slices.ContainsFunc(f.LogitBias, func(s string) bool {
		text, _, _, _ := parseBias(s)
		return text != ""
	})
}

// openBias gives o the biases of tokens that are named by their text.
func (f *wantedFlags) openBias(t *tokenizer.Tokenizer, o *decode.Options) error {
	for _, s := range f.LogitBias {
		text, _, x, _ := parseBias(s) // which setBias has checked
		if text == "" {
			continue
		}
		ids, err := t.WithSpecial().Encode(text)
		if err != nil {
			return usagef("--logit-bias %s: %w", quoteShort(text), err)
		}
		if len(ids) != 1 {
			const most = 16
			list, more := fmt.Sprint(ids[:min(most, len(ids))]), ""
			if len(ids) > most {
				more = ", ..."
			}
			return usagef("--logit-bias %s: want the text of one token, found %d: %s%s", quoteShort(text),
				len(ids), strings.ReplaceAll(strings.Trim(list, "[]"), " ", ","), more)
		}
		o.Bias = append(o.Bias, sample.Bias{IDs: ids, Value: x})
	}
	return nil
}

// needsText is the flag that needs a tokenizer, "" without one.
func (f *steering) needsText() string {
	switch {
	case len(f.Wanted.Ban) > 0:
		return "--ban"
	case f.Repeats.DRYBreaker != nil:
		return "--dry-breaker"
	case f.Wanted.Negative != nil:
		return "--negative"
	case f.Wanted.hasBiasText():
		return "--logit-bias"
	}
	return ""
}

// open gives o what needs a tokenizer. t is the tokenizer, if one is open.
func (f *steering) open(a *app, t *tokenizer.Tokenizer, o *decode.Options) (err error) {
	if flag := f.needsText(); t == nil && flag != "" {
		if t, err = a.openTokenizer(); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	if f.Wanted.Negative != nil && o.Guidance != nil {
		if o.Guidance.Negative, err = t.ForPrompts().Encode(*f.Wanted.Negative); err != nil {
			return fmt.Errorf("--negative: %w", err)
		}
	}
	if err := f.Wanted.openBias(t, o); err != nil {
		return err
	}
	return f.openDRY(t, o)
}

func (f *steering) openDRY(t *tokenizer.Tokenizer, o *decode.Options) error {
	breakers := f.Repeats.DRYBreaker
	switch {
	case o.DRY.Multiplier == 0 || t == nil || len(breakers) == 1 && breakers[0] == "none":
		return nil
	case breakers == nil:
		breakers = sample.UsualBreakers()
	}
	var err error
	o.DRYStrings, err = sample.NewDRYStrings(context.Background(), t, breakers)
	return err
}
