package main

// corpus filter: the texts of many files that are neither too likely nor too unlikely.

import (
	"math"
	"slices"

	"picogpt/internal/cli"
	"picogpt/x/corpus/internal/job"
)

type filterCommand struct {
	runFlags

	BOS          bool
	Keep         string
	Above, Below *float64
	ScoreField   string
}

func (c *filterCommand) line() *cli.Command {
	return &cli.Command{Name: "filter", Short: "keep the texts whose perplexity is in a range",
		Long: filterHelp,
		Flags: func(f *cli.Flags) {
			c.add(f)
			f.Add(&c.BOS, "--bos",
				"put <|endoftext|> before a text, so that its first token is scored too")
			f.Add(&c.Keep, "--keep LO..HI", `keep these shares of the documents, in the order of their
				perplexities: 0.1..0.7, 10%..70% or 0..1/3`)
			f.Add(&c.Above, "--above X", "keep documents with a perplexity of X or more")
			f.Add(&c.Below, "--below X", "keep documents with a perplexity below X")
			f.Add(&c.ScoreField, "--score-field NAME [perplexity]",
				"the member that is added to a document that is kept")
		}}
}

const filterHelp = `Scores every document, then writes those that the cuts keep to
OUT/kept-00000-of-00100.jsonl and so on, in the order of the input: each with its members as they
are, and its perplexity as a member more. A line of text becomes an object with source, line and
text. A member of a document that has the name of the new one gives way, as with gpt score --keep,
and a line on stderr says in how many; --score-field NAME keeps both.

The perplexity of a document is exp(−S/n), where S is the sum of the log-probabilities of its n
scored tokens. Documents with a perplexity are put in order: by it, then by their ids (numbers by
value, before strings by their bytes; those without an id last), then by their place in the input.
The first of n documents has rank 1. --keep LO..HI keeps the ranks r with ceil(LO·n) < r ≤
ceil(HI·n), computed exactly from the digits as they are written. So 0..0.1, 0.1..0.7 and 0.7..1
have each document once. Which documents these are does not depend on workers, nor on the files that
the documents are in, as long as no two with equal perplexities have the same id or none.

CCNet's head, middle and tail are thirds:

  corpus filter --input 'texts/*.jsonl.zst' --output head   --keep 0..1/3
  corpus filter --input 'texts/*.jsonl.zst' --output middle --keep 1/3..2/3
  corpus filter --input 'texts/*.jsonl.zst' --output tail   --keep 2/3..1

--above X and --below X take perplexities, of which the first one keeps X itself. All that is given
has to hold; ranks are always those among all documents. Documents without a scored token have no
perplexity, and are not kept. OUT/manifest.json has how many were kept, dropped, unranked and set
aside, which together are all rows, and the perplexities at the cuts; OUT/report.html shows them.`

func (c *filterCommand) Run(a *app) error {
	j, err := c.job(job.Filter)
	if err != nil {
		return err
	}
	if j.Filter, err = c.options(); err != nil {
		return err
	}
	j.Score.BOS = c.BOS
	m, err := c.submit(a, j)
	if err != nil {
		return err
	}
	return c.done(a, m)
}

// options checks what is to be kept.
func (c *filterCommand) options() (o job.FilterOptions, _ error) {
	if c.Keep == "" && c.Above == nil && c.Below == nil {
		return o, usagef("want --keep LO..HI, --above X or --below X")
	}
	if c.Keep != "" {
		if _, err := job.ParseRanks(c.Keep); err != nil {
			return o, usagef("--keep %w", err)
		}
	}
	for name, x := range map[string]*float64{"above": c.Above, "below": c.Below} {
		if x != nil && (!(*x > 0) || math.IsInf(*x, 0)) {
			return o, usagef("--%s %v: want a perplexity above 0", name, *x)
		}
	}
	if c.Above != nil && c.Below != nil && *c.Above >= *c.Below {
		return o, usagef("--above %v --below %v: keeps nothing, want the smaller one first", *c.Above,
			*c.Below)
	}
	if slices.Contains(c.read(), c.ScoreField) {
		return o, usagef("--score-field %s: documents have their text or id there", c.ScoreField)
	}
	o.Keep, o.ScoreField = c.Keep, c.ScoreField
	if c.Above != nil {
		o.Above = *c.Above
	}
	if c.Below != nil {
		o.Below = *c.Below
	}
	return o, nil
}

// read are the fields that are read of a document.
func (c *filterCommand) read() []string {
	if c.TextField != "" {
		return []string{c.IDField, c.TextField}
	}
	return []string{c.IDField, "text", "context", "continuation", "tokens"}
}
