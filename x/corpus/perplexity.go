package main

// corpus perplexity: one number for a corpus, that of gpt perplexity.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
)

type perplexityCommand struct {
	runFlags

	Protocol       string
	Window, Stride int
	WikiText, JSON bool
}

func (c *perplexityCommand) line() *cli.Command {
	return &cli.Command{Name: "perplexity", Short: "measure how well a model predicts a corpus",
		Long: perplexityHelp,
		Flags: func(f *cli.Flags) {
			c.add(f)
			f.Add(&c.Protocol, "--protocol NAME [lm-eval]", "the definition: hf, lm-eval or llama.cpp").
				OneOf("hf", "lm-eval", "llama.cpp")
			f.Add(&c.Window, "--window N",
				"tokens of context at most; 0 is the model's context")
			f.Add(&c.Stride, "--stride N", "for hf: how far windows advance; 0 is the window")
			f.Add(&c.WikiText, "--wikitext",
				"the files are raw WikiText: its pages are the documents, detokenized")
			f.Add(&c.JSON, "--json", "print one JSON object")
		}}
}

const perplexityHelp = `Prints the perplexity of a corpus: the number that gpt perplexity prints for
the same documents in the same order, to the last digit, however they are divided into files and
pieces and wherever they are measured.

With --protocol lm-eval each text is a document of its own: a line, an object, or a file (--form
text). The other protocols know one document only. Sums are added up in the order of the files and
their lines, or of --order-field. A folder for the results is wanted only where workers are
elsewhere.

Examples:

  corpus perplexity --input 'books/*.txt' --form text
  corpus perplexity --input 'shards/*.jsonl.gz' --order-field n --json
  corpus perplexity --input wiki.test.raw --wikitext`

func (c *perplexityCommand) Run(a *app) (err error) {
	if c.Window < 0 || c.Stride < 0 {
		return usagef("--window %d --stride %d: want 0 or more", c.Window, c.Stride)
	}
	j, err := c.job(job.Perplexity)
	if err != nil {
		return err
	}
	j.Perplexity = job.PerplexityOptions{Protocol: eval.Protocol(c.Protocol), Window: c.Window,
		Stride: c.Stride}
	if c.WikiText {
		if c.Form != "auto" {
			return usagef("--wikitext and --form %s: want one of them", c.Form)
		}
		j.Input.Form = "wikitext"
	}
	if j.Output == "" && !j.Share.All() {
		return usagef("--share: want --output FOLDER, the same for all")
	}
	if j.Output == "" {
		if !here() {
			return usagef("want --output FOLDER, one that the workers can write to")
		}
		if j.Output, err = os.MkdirTemp("", "corpus"); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, os.RemoveAll(j.Output)) }()
		j.Work = storage.Join(j.Output, ".work")
	}
	m, err := c.submit(a, j)
	if err != nil {
		return err
	}
	if m == nil {
		return c.done(a, m)
	}
	if m.Result == nil {
		return cmp.Or(c.done(a, m), errors.New("there is nothing to measure"))
	}
	if err := c.print(a, m.Result); err != nil {
		return err
	}
	return c.done(a, m)
}

// print prints the result.
func (c *perplexityCommand) print(a *app, r *eval.Result) error {
	digits := -1
	if file, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		digits = 6 // for people
	}
	text := r.Digits(digits)
	if c.JSON {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text = string(b) + "\n"
	}
	_, err := fmt.Fprint(a.stdout, text)
	return err
}
