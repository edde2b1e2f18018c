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

// Beam search: its texts and its options. How they compete in a step is in group.go.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
	return optionError(b.check(&o))
}

// optionError makes an error, or nil, one of options.
func optionError(err error) error {
	if err != nil {
		err = &sample.OptionError{Err: err}
	}
	return err
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
	b.Beams, b.Return, b.Groups = cmp.Or(b.Beams, 1), cmp.Or(b.Return, 1), cmp.Or(b.Groups, 1)
	b.EarlyStopping = cmp.Or(b.EarlyStopping, EarlyStoppingFalse)
	return b
}

func init() { option.Register((*BeamOptions).table) }

// table returns all options of a beam search, bound to the fields of b: option.Of finds it.
func (b *BeamOptions) table() []option.Option {
	with := []string{"beams"}
	return []option.Option{{
		Name: "beams", Value: &b.Beams, Range: option.Range{To: mostBeams},
		Want: fmt.Sprintf("1 to %d", mostBeams), In: option.Receipts,
		Flag: option.Flag{Name: "beams", Holder: "N", Group: option.Searches,
			Others: "num-beams beam-size beam-width beam-search use-beam-search n-beams",
			Range:  option.Range{From: 1}, Want: "at least 1",
			Help: "beam search: N texts go on side by side, and the likeliest whole text wins; a " +
				"--temp given too samples them"},
	}, {
		Name: "return", Value: &b.Return, Want: "0 (one) or more", Default: "1", With: with,
		In: option.Receipts,
		Flag: option.Flag{Name: "return", Holder: "K", Group: option.Searches,
			Range: option.Range{From: 1}, Want: "at least 1",
			Help: "print the K best texts of the beams"},
	}, {
		Name: "length penalty", Value: &b.LengthPenalty,
		Range: option.Range{From: -math.MaxFloat64}, Want: "a finite number", Default: "1",
		With: with, In: option.Receipts,
		Flag: option.Flag{Name: "length-penalty", Holder: "L", Group: option.Searches,
			Help: "the score of a text is its log-probability divided by its length to the power " +
				"of L: above 0 favours long texts, below 0 short ones"},
		Field: option.Field{Name: "length_penalty", Range: option.Range{From: -100, To: 100}},
	}, {
		Name: "early stopping", Value: (*string)(&b.EarlyStopping), With: with,
		Words: []string{string(EarlyStoppingTrue), string(EarlyStoppingFalse),
			string(EarlyStoppingNever)},
		Want: fmt.Sprintf("%q, %q or %q", EarlyStoppingTrue, EarlyStoppingFalse,
			EarlyStoppingNever),
		Default: string(EarlyStoppingFalse), In: option.Receipts,
		Flag: option.Flag{Name: "early-stopping", Holder: "HOW", Group: option.Searches,
			Help: "when N texts have ended: true ends the search, false goes on while the best " +
				"text that runs scores better as it is, never while any could"},
		Field: option.Field{Name: "early_stopping"},
	}, {
		Name: "beam groups", Value: &b.Groups, Want: "0 (one) or more", Default: "1", With: with,
		In: option.Receipts,
		Idle: func() string {
			if b.Groups > 1 && b.Diversity == 0 {
				return "without --diversity D they all search alike"
			}
			return ""
		},
		Flag: option.Flag{Name: "beam-groups", Holder: "G", Group: option.Searches,
			Others: "num-beam-groups", Range: option.Range{From: 1}, Want: "at least 1",
			Help: "diverse beam search: divide the beams into G groups"},
	}, {
		Name: "diversity", Value: &b.Diversity, Want: "0 or a finite number above it",
		Default: "0", With: []string{"beam-groups"}, In: option.Receipts,
		Flag: option.Flag{Name: "diversity", Holder: "D", Group: option.Searches,
			Others: "diversity-penalty",
			Help:   "what a token loses for each beam of an earlier group that has just taken it"},
	}}
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

// A Beam is a text of a search. The beams that [Beams] returns have ended.
type Beam struct {
	Tokens []decode.Token // the last one has a Finish; Sample is the rank of the text, from 0
	Score  float64        // set when it has ended

	// While it runs:
	stream *decode.Stream
	place  int     // rank among the running beams
	sum    float64 // of the log-probabilities that the search uses

	// In a step:
	row        sample.Row   // the logits after its last token, all of them
	logProbs   []float32    // log-softmax of the logits, [vocabulary], which processors change
	candidates []candidate  // the ids after it that the step may consider
	after      sample.State // of the sampler, the same after each of them
	err        error
}

// Text returns the text of the tokens, "" without an Options.Vocabulary.
func (b Beam) Text() string {
	var text strings.Builder
	for _, t := range b.Tokens {
		text.WriteString(t.Text)
	}
	return text.String()
}

// last returns the newest token.
func (b *Beam) last() decode.Token { return b.Tokens[len(b.Tokens)-1] }

// follow returns a beam with one more id, with the top likeliest ids beside it.
func (b *Beam) follow(c candidate, top int) (*Beam, error) {
	f := &Beam{stream: b.stream.Fork(), sum: c.sum}
	t, err := f.stream.Take(b.row.Candidate(c.id, top, b.after))
	if err != nil {
		f.stream.Release()
		return nil, err
	}
	f.Tokens = append(slices.Clone(b.Tokens), t)
	return f, nil
}

// reuse takes the memory of a beam that no longer runs.
func (b *Beam) reuse(old *Beam) {
	b.row, b.logProbs, b.candidates = old.row, old.logProbs, old.candidates
}

// A candidate is an id that may follow a beam.
type candidate struct {
	beam *Beam
	id   int
	sum  float64 // of the beam and the id
}

// better orders candidates: the greater sum first, then the better beam, then the lower id.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.beam.place, b.beam.place),
		cmp.Compare(a.id, b.id))
}
