package main

// gpt eval: benchmarks on log-likelihoods.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/model"
	"picogpt/tokenizer"
)

func newEval(a *app) *cli.Command {
	return &cli.Command{
		Name: "eval", Group: "measure",
		Short:    "run a benchmark (LAMBADA or multiple choice)",
		Commands: []*cli.Command{newLambada(a), newChoice(a)},
	}
}

// A taskSource is the examples of a benchmark: JSON objects, one a line.
type taskSource struct {
	File  *string
	Limit int
	Batch int
	JSON  bool
}

func (s *taskSource) arg() cli.Arg {
	return cli.OptionalWord(&s.File, "file",
		"JSON objects, one on each line; - is stdin; default: what comes through a pipe")
}

func (s *taskSource) flags(f *cli.Flags) {
	f.Add(&s.Limit, "--limit N", "read the first N lines only; default: all")
	f.Add(&s.Batch, "--batch N",
		"how many texts run together, which changes no digit; default: chosen for speed")
	f.Add(&s.JSON, "--json", "print one JSON object")
}

type lambadaCommand struct {
	Source taskSource
}

func newLambada(a *app) *cli.Command {
	c := &lambadaCommand{}
	return &cli.Command{
		Name:  "lambada",
		Short: "how often the model knows the last word of a text",
		Args:  []cli.Arg{c.Source.arg()},
		Flags: func(f *cli.Flags) {
			c.Source.flags(f)
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

// A taskRun is a benchmark under way.
type taskRun struct {
	*app
	source  taskSource
	name    string // of the file, for messages
	model   *model.Model
	tok     *tokenizer.Tokenizer
	lines   []int // line numbers of the examples
	skipped int
	bar     *terminal.Bar
}

// start reads the source line by line: parse takes a line's object, and an error of it is reported
// by number.
func (s *taskSource) start(a *app, parse func(o rows.Object) error) (*taskRun, error) {
	err := cmp.Or(fault.NotNegative("--limit", s.Limit), fault.NotNegative("--batch", s.Batch))
	if err != nil {
		return nil, err
	}
	name := "-"
	if s.File != nil {
		name = *s.File
	} else if !textio.Readable(a.files.Stdin) {
		return nil, fault.Hint(usagef("no examples"),
			"give a file of JSON objects, one on each line, or such lines through a pipe")
	}
	in, err := a.files.Rows(name, "")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines := rows.NewReader(in, "jsonl")
	if err := lines.Check(); err != nil {
		return nil, err
	}
	t, err := a.openTokenizer()
	if err != nil {
		return nil, err
	}
	r := &taskRun{app: a, source: *s, name: in.Name, bar: terminal.NewBar("examples"), tok: t}
	for s.Limit == 0 || in.Line < s.Limit {
		w, err := lines.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		switch {
		case w.Err == nil && w.Object == nil:
			continue // an empty line
		case w.Err == nil:
			w.Err = parse(w.Object)
		}
		if w.Err != nil {
			r.skip(w.First, w.Err)
			continue
		}
		r.lines = append(r.lines, w.First)
	}
	if len(r.lines) == 0 {
		return nil, fmt.Errorf("%s: no examples", r.name)
	}
	r.bar.Restart()
	r.model, err = a.openModel()
	return r, err
}

func (r *taskRun) skip(line int, err error) {
	r.skipped++
	r.NoteDuring(r.bar, "%s: line %d: %s", r.name, line, quote.OneLine(err))
}

func (r *taskRun) options() eval.TaskOptions {
	return eval.TaskOptions{
		Batch:    r.source.Batch,
		Progress: func(done int) { r.bar.Set(done, len(r.lines), "") },
		Skip:     func(i int, err error) { r.skip(r.lines[i], err) },
	}
}

// run runs the benchmark until it is done or interrupted, and prints what there is.
func (r *taskRun) run(benchmark func(ctx context.Context) error,
	result func() (object any, text string)) error {
	ctx, release := r.Graceful()
	defer release()
	end := r.ShowBar(r.bar)
	err := benchmark(ctx)
	end()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	object, text := result()
	err = fault.First(r.print(r.source.JSON, object, text), err)
	if err == nil && r.skipped > 0 {
		err = fmt.Errorf("%d of %d examples could not be scored", r.skipped,
			r.skipped+int(r.bar.Done()))
	}
	return err
}

func (r *taskRun) common(task string, examples int, partial bool) show.Task {
	return show.Task{Task: task, Examples: examples, Skipped: r.skipped, Model: r.modelName(),
		DType: r.model.Format(), Cache: show.NotF32(r.model.CacheFormat()), Partial: partial}
}

func (c *lambadaCommand) Run(a *app) error {
	var texts []string
	run, err := c.Source.start(a, func(o rows.Object) error {
		text, err := o.Text("text")
		if err == nil && text == nil {
			err = errors.New("want text")
		}
		if err == nil {
			texts = append(texts, *text)
		}
		return err
	})
	if err != nil {
		return err
	}
	var r eval.LambadaResult
	return run.run(func(ctx context.Context) (err error) {
		r, err = eval.Lambada(ctx, run.model, run.tok, slices.Values(texts), run.options())
		return err
	}, func() (any, string) {
		return show.Lambada(run.common("lambada", r.Examples, r.Partial), r, a.digits())
	})
}

type choiceCommand struct {
	Source    taskSource
	Delimiter *string
}

func newChoice(a *app) *cli.Command {
	c := &choiceCommand{}
	return &cli.Command{
		Name:  "choice",
		Short: "how often the right one of several answers is the likeliest",
		Args:  []cli.Arg{c.Source.arg()},
		Flags: func(f *cli.Flags) {
			c.Source.flags(f)
			f.Add(&c.Delimiter, "--delimiter STRING", `what stands between context and choice;
				default: a space, unless one of them has white space there`)
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *choiceCommand) Run(a *app) error {
	var questions []eval.Question
	run, err := c.Source.start(a, func(o rows.Object) error {
		q, err := lines.Question(o, c.Delimiter)
		if err == nil {
			questions = append(questions, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	var r eval.ChoiceResult
	return run.run(func(ctx context.Context) (err error) {
		r, err = eval.Choice(ctx, run.model, run.tok, slices.Values(questions), run.options())
		return err
	}, func() (any, string) {
		return show.Choice(run.common("choice", r.Examples, r.Partial), r)
	})
}
