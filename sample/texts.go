package sample

// Options that are texts, which a tokenizer turns into ids.

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
