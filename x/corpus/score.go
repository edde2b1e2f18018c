package main

// corpus score: the records of gpt score, for the texts of many files.

import (
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/x/corpus/internal/job"
)

type scoreCommand struct {
	runFlags

	BOS     bool
	Top     int
	Offsets string
	Fields  []string
	Keep    bool
}

func (c *scoreCommand) line() *cli.Command {
	return &cli.Command{Name: "score", Short: "write the log-likelihood of each token of many texts",
		Long: scoreHelp,
		Flags: func(f *cli.Flags) {
			c.add(f)
			f.Add(&c.BOS, "--bos",
				"put <|endoftext|> before a text, so that its first token is scored too")
			f.Add(&c.Top, "--top K", "write the K likeliest tokens in place of each")
			f.Add(&c.Offsets, "--offsets UNIT [chars]", "count offsets in chars, utf16 or bytes").
				OneOf("chars", "utf16", "bytes")
			f.Add(cli.Commas(&c.Fields), "--fields LIST", "write these fields of a record only")
			f.Add(&c.Keep, "--keep", "write the fields of the input too")
		}}
}

const scoreHelp = `Writes an object for each text to OUT/scores-00000-of-00100.jsonl and so on, in
the order of the input: that of gpt score, with the source before its line. Rows that cannot be
scored are in OUT/errors/, with their source, line and reason. OUT/manifest.json has what all came
to, and a digest that is equal wherever the same texts got the same bits; gpt score --summary prints
it too.

Examples:

  corpus score --input 'texts/*.jsonl.gz' --output out
  corpus score --input 'books/*.parquet' --text-field body --output out
  corpus score --input 'gs://b/*.zst' --form lines --output gs://b/scores`

func (c *scoreCommand) Run(a *app) error {
	j, err := c.job(job.Score)
	if err != nil {
		return err
	}
	if c.Top < 0 {
		return usagef("--top %d: want 0 or more", c.Top)
	}
	fields, err := c.recordFields()
	if err != nil {
		return err
	}
	j.Score = job.ScoreOptions{BOS: c.BOS, Top: c.Top, Offsets: eval.Unit(c.Offsets),
		Fields: fields, Keep: c.Keep}
	m, err := c.submit(a, j)
	if err != nil {
		return err
	}
	return c.done(a, m)
}
