// Package search finds texts by more than the logits before the next token: [Beams] follows several
// texts and returns the likeliest, [Contrastive] streams tokens that are likely and do not repeat
// what the context says.
//
// Both drive streams of package decode, whose rules for constraints, stop strings, banned strings
// and the end of a text they share.
package search

// Beam search: the calls a Go user sees. A step of the search is in beamstep.go.

import (
	"context"
	"errors"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
)

// BeamOptions say how [Beams] searches. The zero value is one beam, whose score is the sum of its
// log-probabilities.
type BeamOptions struct {
	Beams  int // how many texts run side by side, up to 256; 0 means 1
	Return int // how many of the best texts are returned, at most Beams; 0 means 1

	// LengthPenalty p makes the score of a text with L new tokens, the one that ends it too, the
	// sum of their log-probabilities divided by L to the power of p. Above 0 long texts gain, below
	// short ones. Hugging Face's default is 1.
	LengthPenalty float64

	EarlyStopping EarlyStopping

	// Groups above 1 are diverse beam search (Vijayakumar and others, arXiv 1610.02424): the beams
	// are divided into so many groups, and each group's log-probabilities are lowered by Diversity
	// for each beam of an earlier group that took the same id in this step. Groups divides Beams.
	Groups    int
	Diversity float64
}

// mostBeams bounds the memory of a search: each beam has some rows of logits, and a session.
const mostBeams = 256

// EarlyStopping says when a search ends once as many texts have ended as there are beams.
type EarlyStopping string

const (
	// EarlyStoppingFalse, the default, ends it when the best text that runs, at the length it has,
	// scores no better than the worst that has ended.
	EarlyStoppingFalse EarlyStopping = "false"

	// EarlyStoppingTrue ends it at once.
	EarlyStoppingTrue EarlyStopping = "true"

	// EarlyStoppingNever ends it when no text that runs can score better than the worst that has
	// ended, at whatever length it ends.
	EarlyStoppingNever EarlyStopping = "never"
)

// Check returns the *sample.OptionError of options that [Beams] refuses whatever the model is, or
// nil.
func (b BeamOptions) Check(o decode.Options) error {
	b = b.withDefaults()
	if err := b.check(&o); err != nil {
		return &sample.OptionError{Err: err}
	}
	return nil
}

func (b *BeamOptions) check(o *decode.Options) error {
	table := append(o.Table(), b.Table()...)
	wrong := func(name, rest string, args ...any) error {
		return option.Errorf(table, name, rest, args...)
	}
	switch {
	case b.Beams < 1 || b.Beams > mostBeams:
		return wrong("beams", " %d: want 1 to %d", b.Beams, mostBeams)
	case b.Return < 1 || b.Return > b.Beams:
		return wrong("return", " %d: want 1 to %d, the number of beams", b.Return, b.Beams)
	case b.Groups < 1 || b.Beams%b.Groups != 0:
		return wrong("beam groups", " %d: want a divisor of %d, the number of beams", b.Groups,
			b.Beams)
	case b.Diversity > 0 && b.Groups == 1:
		return wrong("diversity", " %v: want 2 or more beam groups for it", b.Diversity)
	case b.Groups > 1 && o.Temperature != 0:
		return wrong("temperature", " %v: want 0 with beam groups, which do not sample",
			o.Temperature)
	}
	for i := range table {
		if row := &table[i]; row.Remembers && row.On() {
			return wrong(row.Name, " %v: want none in a search", row)
		}
	}
	if err := option.Check(b.Table()); err != nil {
		return err
	}
	return checkSearch(o)
}

// checkSearch refuses what no search follows.
func checkSearch(o *decode.Options) error {
	switch {
	case o.Overflow == decode.OverflowSlide:
		return option.Errorf(o.Table(), "overflow", " %q: want %q or %q in a search, whose texts end "+
			"with the context", decode.OverflowSlide, decode.OverflowError, decode.OverflowTruncate)
	case o.Echo != decode.EchoNone:
		return decode.ErrNoEcho
	}
	return nil
}

// withDefaults fills in what zero stands for.
func (b BeamOptions) withDefaults() BeamOptions {
	for _, n := range []*int{&b.Beams, &b.Return, &b.Groups} {
		if *n == 0 {
			*n = 1
		}
	}
	if b.EarlyStopping == "" {
		b.EarlyStopping = EarlyStoppingFalse
	}
	return b
}

// Beams appends prompt to session s and searches for the continuations of the best scores, the best
// first. It follows Hugging Face transformers from 4.50 on (GenerationMixin._beam_search), in all
// but the order of equal scores, which is theirs to leave open: here the better beam comes first,
// then the lower id. With Groups it follows the last release that had them, 4.56.
//
// In each step every beam is followed by every id. The score of an id is its log-probability after
// the repetition penalty, which so only ever multiplies. Of all of them the best 2·Beams, or
// (1+n)·Beams where n ids end the text, are looked at: those that end are kept if they are among
// the best Beams, and the best Beams of the others run on. The texts that are kept are the best
// Beams of all that have ended.
//
// With a Temperature it is beam sampling: those ids are drawn, without replacement, in proportion
// to the exponential of a beam's sum, after temperature and filters as for sampling, one random
// number each. Without, the filters do not apply. One beam gives Generate's text, but for the
// repetition penalty.
//
// All beams are evaluated together, and share what they have in common. Session s ends as it was
// after the prompt. A search that is cancelled is an error, and so is one that no text is left of.
func Beams(
	ctx context.Context, s *model.Session, prompt []int, b BeamOptions, o decode.Options,
) ([]Beam, error) {
	if err := b.Check(o); err != nil {
		return nil, err
	}
	root, err := decode.NewStream(s, prompt, o)
	if err == nil {
		err = root.Prefill(ctx)
	}
	if err != nil {
		return nil, err
	}
	defer root.Stop()
	search := newBeamSearch(b.withDefaults(), o, root)
	defer search.release()
	for !search.done() {
		if batch := search.batch(); len(batch) > 0 {
			if err := s.Model().Eval(ctx, batch...); err != nil {
				return nil, model.Cause(err)
			}
		}
		if err := search.advance(); err != nil {
			return nil, err
		}
	}
	best := search.best()
	if len(best) == 0 {
		return nil, errNoBeam
	}
	return best, nil
}

var errNoBeam = errors.New("beams: no text is left: no token may follow any of them; want fewer " +
	"bans, biases or filters, or another form")
