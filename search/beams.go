// Package search finds texts by more than the logits before the next token: [Beams] extends several
// texts and returns the likeliest, [Contrastive] streams tokens that are likely and do not repeat
// the meaning of the context. [Choose] returns how likely some texts are, each whole,
// [Exact] draws whole texts of a form, and a [Tree] yields the likeliest texts of all.
//
// Its types, in the order to read them:
//
//   - [Beams] finds texts, each a [Beam]; [BeamOptions] say how many are held, and when it ends.
//   - [Choices] are texts with their probabilities, each a [Choice]; [ChooseOptions] say how they
//     are counted, and a [Speller] how they are tokenized.
//   - [Tree] is all texts of a model, and [Likely] one that it yields; [TreeOptions] bound it.
//   - [ExactOptions] bound the drafts of Exact, whose [AcceptanceError] says that too few were taken.
//
// Beams and Contrastive drive streams of package decode, and share its rules for constraints, stop
// strings, banned strings and the end of a text.
package search

// Beam search: the exported API. A step of the search is in step.go.

import (
	"context"
	"errors"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
)

// BeamOptions are the options of [Beams]. The zero value is one beam, whose score is the sum of its
// log-probabilities.
type BeamOptions struct {
	Beams  int // how many texts run together, up to 256; 0 means 1
	Return int // how many of the best texts are returned, at most Beams; 0 means 1

	// LengthPenalty p divides the sum of log-probabilities of a text with L new tokens, including
	// the one that ends it, by L to the power of p: this is its score. Above 0 it favours long
	// texts, below 0 short ones. Hugging Face's default is 1.
	LengthPenalty float64

	EarlyStopping EarlyStopping

	// Groups above 1 is diverse beam search (Vijayakumar and others, arXiv 1610.02424): the beams
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
	// EarlyStoppingFalse, the default, ends it when the best running text, scored at its present
	// length, is no better than the worst that has ended.
	EarlyStoppingFalse EarlyStopping = "false"

	// EarlyStoppingTrue ends it at once.
	EarlyStoppingTrue EarlyStopping = "true"

	// EarlyStoppingNever ends it when no running text can score better than the worst that has
	// ended, whatever its final length.
	EarlyStoppingNever EarlyStopping = "never"
)

// Check returns the *sample.OptionError of options that [Beams] refuses for every model, or nil.
func (b BeamOptions) Check(o decode.Options) error {
	b = b.withDefaults()
	if err := b.check(&o); err != nil {
		return &sample.OptionError{Err: err}
	}
	return nil
}

func (b *BeamOptions) check(o *decode.Options) error {
	table := append(option.Of(o), b.table()...)
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
	if err := option.Check(b.table()); err != nil {
		return err
	}
	return checkSearch(o)
}

// checkSearch returns an error for options that no search supports.
func checkSearch(o *decode.Options) error {
	switch {
	case o.Overflow == decode.OverflowSlide:
		return option.Errorf(option.Of(o), "overflow", " %q: want %q or %q in a search, whose texts end "+
			"with the context", decode.OverflowSlide, decode.OverflowError, decode.OverflowTruncate)
	case o.Echo != decode.EchoNone:
		return decode.ErrNoEcho
	}
	return nil
}

// withDefaults replaces zeros by the defaults.
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

// Beams appends prompt to session s and searches for the continuations of the best scores. It
// returns the best first. It follows Hugging Face transformers from 4.50 on
// (GenerationMixin._beam_search), in all but the order of equal scores, which they leave open: here
// the better beam comes first, then the lower id. With Groups it follows the last release that had
// them, 4.56.
//
// In each step every beam is followed by every id. The score of an id is its log-probability after
// the repetition penalty, which therefore always multiplies. The step considers the best 2·Beams of
// all of them, or (1+n)·Beams if n ids end the text. Texts that end are kept if they are among the
// best Beams, and the best Beams of the others continue. The search returns the best of all ended
// texts.
//
// With a Temperature it is beam sampling: those ids are drawn, without replacement, in proportion
// to the exponential of a beam's sum, after temperature and filters as in sampling, with one random
// number each. Without a Temperature, the filters do not apply. One beam gives Generate's text,
// except for the repetition penalty.
//
// All beams are evaluated together, and share their common tokens. Session s ends as it was after
// the prompt. A cancelled search is an error, and so is a search without a text left.
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
