package main

// gpt help search: beams, contrastive search, --exact, and guesses that make texts faster.

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/search"
	"picogpt/weights/demo"
)

// The searches of gpt generate: beams and contrastive search.

type searchFlags struct {
	search.BeamOptions // of which Beams 0 is no search
	Contrastive        *float64
}

// asked is the flag of the search that is asked for, "" without one.
func (f *searchFlags) asked() string {
	switch {
	case f.Beams != 0:
		return "--beams"
	case f.Contrastive != nil:
		return "--contrastive"
	}
	return ""
}

// settleSearch refuses flags that a search does not go with. Under a search those for sampling are
// off unless they are given.
func (c *generateCommand) settleSearch(given map[string]bool) error {
	f := &c.Search
	switch {
	case f.asked() == "":
		return nil
	case f.Beams != 0 && f.Contrastive != nil:
		return usagef("--beams and --contrastive: want one of them")
	case f.Beams != 0 && given["samples"]:
		return fault.Hint(usagef("--beams and --samples: want one of them"),
			"--return K prints the K best texts of the beams")

	case given["samples"]:
		return usagef("--contrastive and --samples: want one of them, for nothing is random")
	}
	if !given["temp"] {
		c.Temperature = 0
	}
	if !given["top-k"] {
		c.TopK = 0 // contrastive search has its own
	}
	return nil
}

// checkSampled refuses flags for sampling where a search does not sample.
func (c *generateCommand) checkSampled() error {
	if c.Search.asked() == "" || c.Temperature != 0 {
		return nil
	}
	filters, others := sampling(c.table())
	for _, flag := range append(filters, others...) {
		switch {
		case c.Search.Beams != 0:
			return usagef("--beams and --%s: want --temp T too, which samples the beams", flag)
		case flag != "top-k": // contrastive search has that of its own
			return usagef("--contrastive and --%s: want one of them, for nothing is random", flag)
		}
	}
	return nil
}

// checkSearch refuses searches that no model could make. c is as it is meant.
func (c *generateCommand) checkSearch(given map[string]bool) error {
	err := c.checkSampled()
	switch f := &c.Search; {
	case err != nil:
		return err
	case f.Beams != 0:
		err = f.Check(c.Options)
	case f.Contrastive != nil && given["top-k"] && c.TopK == 0:
		return usagef("--contrastive and --top-k 0: want 1 or more, the tokens to choose from")
	case f.Contrastive != nil:
		err = search.CheckContrastive(*f.Contrastive, c.Options)
	}
	if err != nil {
		return fault.Usage{Err: option.ByFlag(err)}
	}
	return nil
}

// beams searches, and gives the tokens of the texts that are found, one text after another.
func (f *searchFlags) beams(
	ctx context.Context, s *model.Session, prompt []int, o decode.Options, scores *searchScores,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		found, err := search.Beams(ctx, s, prompt, f.BeamOptions, o)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		for _, h := range found {
			scores.found = append(scores.found, h.Score)
		}
		for _, h := range found {
			for _, t := range h.Tokens {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// searchScores are what JSON tells of a search. Nil is no search.
type searchScores struct {
	found  []float64 // of the texts that beams found
	tokens bool      // each token has one
}

func (f *searchFlags) newScores() *searchScores {
	if f.asked() == "" {
		return nil
	}
	return &searchScores{tokens: f.Contrastive != nil}
}

// begin gives the object of a text what a search adds. Its texts have one seed.
func (c *searchScores) begin(s *lines.Sample, seed uint64) {
	switch {
	case c == nil:
		return
	case c.tokens:
		s.Score, s.Scores = new(float64), &[]float64{}
	default:
		s.Score = &c.found[s.Sample]
	}
	s.Seed = seed
}

// --exact of gpt generate: what it does not go with.

func (c *generateCommand) exactOptions() search.ExactOptions {
	return search.ExactOptions{MaxDraws: c.MaxDraws, Samples: max(1, c.Samples)}
}

// checkExact refuses flags that --exact does not go with. c is as it is meant.
func (c *generateCommand) checkExact(given map[string]bool) error {
	switch {
	case !c.Exact && given["max-draws"]:
		return usagef("--max-draws: want --exact too")
	case !c.Exact:
		return nil
	case given["max-draws"] && c.MaxDraws < 1:
		return usagef("--max-draws %d: want at least 1", c.MaxDraws)
	case c.Form.asked() == "":
		return fault.Hint(usagef("--exact: want a form, found none"),
			"--choice, --choices, --regex, --json-schema, --grammar and --structural-tag make one")
	case c.Search.asked() != "":
		return usagef("--exact and %s: want one of them", c.Search.asked())
	case c.Many.Prompts != nil:
		return usagef("--exact and --prompts: want one of them")
	case c.Heal:
		return usagef("--exact and --heal: want one of them")
	case c.Lookup > 0 || c.DraftName != nil:
		return usagef("--exact: want no --lookup or --draft, for nothing is guessed")
	}
	if err := search.CheckExact(c.exactOptions(), c.Options); err != nil {
		return fault.Usage{Err: option.ByFlag(err)}
	}
	return nil
}

// Guesses that make gpt generate faster: prompt lookup and draft models.

// checkGuesses refuses what guessing does not go with.
func (c *generateCommand) checkGuesses() error {
	flag := "--lookup"
	switch {
	case c.DraftName != nil && *c.DraftName == "":
		return usagef("--draft: want a directory or a file, q8 or q4, found nothing")
	case c.DraftName != nil && c.Lookup > 0:
		return usagef("--draft and --lookup: want one of them")
	case c.DraftName != nil:
		flag = "--draft"
	case c.Lookup == 0:
		return nil
	}
	switch {
	case c.Search.asked() != "":
		return usagef("%s and %s: want one of them, for a search guesses nothing", flag,
			c.Search.asked())
	case c.Many.Prompts != nil:
		return fault.Hint(usagef("%s and --prompts: want one of them", flag),
			"texts that are written side by side share the work already")
	}
	return nil
}

// openDraft makes o guess with a draft model, which is only loaded when guessing seems to be worth
// it. Call release when the texts are written.
func (g *generateCommand) openDraft(
	a *app, m *model.Model, o *decode.Options,
) (release func(), err error) {
	if g.DraftName == nil {
		return func() {}, nil
	}
	c, options := a.opened, a.modelOptions()
	if name := *g.DraftName; name == "q8" || name == "q4" {
		if own := m.Format(); own == "q4" || own == name {
			return nil, usagef("--draft %s: the model is in %s, want fewer bits than its own", name,
				own)
		}
		options.Format = name
	} else {
		options.Format = "auto"
		if c, err = a.openDraftFile(name); err != nil {
			return nil, err
		}
	}
	closeFile := func() {
		if c != a.opened {
			c.Close()
		}
	}
	if got, want := c.Config.VocabSize, m.Config().VocabSize; got != want {
		closeFile()
		return nil, fmt.Errorf("--draft %s: a vocabulary of %d ids, want %d, the model's own",
			*g.DraftName, got, want)
	}
	var draft *model.Model
	o.Draft = &guess.Model{
		Open: func(ctx context.Context) (*model.Model, error) {
			var err error
			if draft, err = model.New(ctx, c.Config, c.Tensors, options); err != nil {
				return nil, fmt.Errorf("%s: %w", *g.DraftName, err)
			}
			for _, note := range draft.Notes() {
				a.Notef("--draft %s: %s", *g.DraftName, note)
			}
			a.logf("draft: %s, %d layers of width %d, format %s", *g.DraftName, c.Config.Layer,
				c.Config.Embd, draft.Format())
			return draft, nil
		},
	}
	o.Draft.Estimate(c.Config, options.Format, m)
	return func() {
		if draft != nil {
			draft.Close()
		}
		closeFile()
	}, nil
}

// openDraftFile opens the checkpoint of a draft model.
func (a *app) openDraftFile(name string) (*checkpoint.Checkpoint, error) {
	if checkpoints.IsDemo(name) {
		return checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	}
	if err := a.offerPull(&name); err != nil {
		return nil, err
	}
	c, err := a.finder.Open(name, "--draft", checkpoint.Options{})
	if err == nil {
		return c, nil
	}
	const takes = "--draft takes a checkpoint, such as -m does, or q8 or q4"
	hint := hintFor(err)
	err = fmt.Errorf("--draft %s: %w", name, err)
	if hint == checkpoints.Hint {
		err = fault.Hint(err, takes)
	} else if errors.Is(err, hub.ErrAbsent) {
		err = fault.Hint(err, takes+"; "+hint)
	}
	return nil, err
}
