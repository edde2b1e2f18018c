package main

// The searches of gpt generate: beams and contrastive search.

import (
	"context"
	"iter"

	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/search"
)

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
	for _, flag := range sampling(c.table()) {
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
