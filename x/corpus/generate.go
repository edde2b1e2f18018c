package main

// corpus generate: the texts of gpt generate --prompts, for the prompts of many files.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/x/corpus/internal/job"
)

type generateCommand struct {
	runFlags
	flags *cli.Flags

	Options  job.GenerateOptions // those of the table
	Seed     uint64
	LogProbs int
	Fields   []string
	Keep     bool
	Saved    string // "none": the checkpoint's generation_config.json is left
}

func (c *generateCommand) line() *cli.Command {
	return &cli.Command{Name: "generate", Short: "write texts that continue many prompts",
		Long: generateHelp,
		Flags: func(f *cli.Flags) {
			c.add(f)
			c.flags = f
			f.AddOptions(c.Options.Table(), true)
			f.Group("Which tokens:")
			f.Add(&c.Seed, "--seed S [0]", `the same seed gives the same texts; that of a record depends
				on it and on the record's id, or on its prompt where there is none`)
			f.Add(&c.Saved, "--generation-config HOW [auto]", `auto: what the checkpoint's
				generation_config.json says of sampling is the default of flags; none: it has no effect`).
				OneOf("auto", "none")
			f.Group(option.Output)
			f.Add(&c.LogProbs, "--logprobs K [0]", "write the K likeliest tokens in place of each")
			f.Add(cli.Commas(&c.Fields), "--fields LIST", "write these fields of a record only")
			f.Add(&c.Keep, "--keep", "write the fields of the input too")
		}}
}

const generateHelp = `Writes what a model continues many prompts with, as gpt generate --prompts
does for one file: many texts side by side, on any number of machines, and the same texts on each.

The input is JSON objects on lines, each with prompt, or with tokens (an array of ids); with
--text-field NAME the prompt is the field NAME. An object may have an id (--id-field) and a seed, a
whole number. Of the forms lines and text, each text is a prompt.

A text depends on the model, the options, the prompt and its seed, and on nothing else: not on the
number of workers, the pieces, the shards or what was tried again. An object's own seed counts if it
has one. Else the seed is made of --seed and the object's id, or of --seed and the prompt where
there is no id: so the same prompt twice without ids gives the same text twice. For different texts
give ids or seeds, or ask for several with --samples N.

Each line of texts-00012-of-00100.jsonl is an object:

  source, line    where the prompt stands
  id              the object's id, if it has one
  sample          the number of the text among those of its prompt, from 0
  seed            with it, gpt generate gives the text again
  prompt_ids      the ids of the prompt
  ids, text       the new tokens, and their text (null without a tokenizer)
  logprobs        their log-probabilities, as the model has them
  top             with --logprobs K, the K likeliest tokens in place of each
  dropped         tokens of the context that --overflow has dropped
  finish_reason   length, stop or end_of_text

A prompt that cannot be continued (it is missing, it is longer than the context, an id is outside
the vocabulary) goes to errors/ with its source, line and reason. In manifest.json records are
prompts, tokens, sum_logprob and perplexity are of the new tokens, and the digest is that of all
texts, in whatever order: of their ids, new tokens and log-probabilities.

Examples:

  corpus generate --input prompts.jsonl --output out --seed 1 -n 200
  corpus generate --input '*.txt' --form lines --output out --samples 4
  corpus generate --input 'gs://b/*.jsonl.gz' --output gs://b/out --keep`

func (c *generateCommand) Run(a *app) error {
	j, err := c.job(job.Generate)
	if err != nil {
		return err
	}
	o, err := c.generateOptions()
	if err != nil {
		return fault.Usage{Err: err}
	}
	if err := c.takeSaved(a, j, &o); err != nil {
		return err
	}
	j.Generate = job.GenerationOf(&o)
	m, err := c.submit(a, j)
	if err != nil {
		return err
	}
	return c.done(a, m)
}

// takeSaved takes what the checkpoint says where no flag does, and tells it.
func (c *generateCommand) takeSaved(a *app, j *job.Job, o *job.GenerateOptions) error {
	if c.Saved == "none" || j.Model.Path == "" {
		return nil
	}
	ck, err := checkpoint.Open(j.Model.Path, checkpoint.Options{GELU: j.Model.GELU})
	if err != nil {
		return err
	}
	defer ck.Close()
	config, given := ck.Config, c.flags.Given()
	o.Saved, err = option.TakeSaved(option.Of(&o.Options), config.Generation.Sampling,
		config.VocabSize, config.EndTokens(),
		func(o *option.Option) bool { return given[o.Flag.Name] })
	if len(o.Saved) > 0 && !c.Quiet {
		fmt.Fprintf(a.stderr, "corpus: %s\n", option.TellSaved(o.Saved))
	}
	return err
}

// generateOptions checks the flags.
func (c *generateCommand) generateOptions() (job.GenerateOptions, error) {
	o := c.Options
	o.Seed, o.Top, o.Keep = c.Seed, c.LogProbs, c.Keep
	table := o.Table()
	given := c.flags.Given()
	err := option.CheckFlags(table, func(flag string) bool { return given[flag] })
	if err == nil {
		meant := o
		table := meant.Table()
		option.Settle(table)
		err = option.Check(table)
	}
	switch {
	case err != nil:
		return o, option.ByFlag(err)
	case c.LogProbs < 0:
		return o, usagef("--logprobs %d: want 0 or more", c.LogProbs)
	case c.Fields == nil:
		return o, nil
	}
	o.Fields, err = lines.ParseFields(c.Fields, textFields)
	switch {
	case err != nil:
		return o, usagef("--fields: %w; the fields are %s", err, strings.Join(textFields, ", "))
	case slices.Contains(o.Fields, "top") && c.LogProbs == 0:
		return o, usagef("--fields: top wants --logprobs K")
	}
	return o, nil
}

// textFields are the fields of a text, in their order.
var textFields = []string{"source", "line", "id", "sample", "seed", "prompt_ids", "ids", "text",
	"logprobs", "top", "dropped", "finish_reason"}
