package main

// gpt score: log-likelihoods of many texts, JSON objects out.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/internal/resume"
	"picogpt/model"
)

type scoreCommand struct {
	File    *string `arg:"" name:"file" optional:"" help:"texts or JSON objects, one on each line; - is stdin; default: what comes through a pipe"`
	Text    *string `placeholder:"TEXT" help:"score TEXT, in place of a file"`
	Input   string  `placeholder:"FORM" default:"auto" enum:"auto,lines,jsonl" help:"what each line is: lines (a text), jsonl (an object) or auto (jsonl if the name of the file ends in .jsonl, or its first line begins with {)"`
	BOS     bool    `name:"bos" help:"put <|endoftext|> before a text, so that its first token is scored too"`
	Top     int     `placeholder:"K" default:"0" help:"print the K likeliest tokens in place of each token too; default: none"`
	Offsets string  `placeholder:"UNIT" default:"chars" enum:"chars,utf16,bytes" help:"what offsets count: chars (code points, as in Python), utf16 (as in JavaScript) or bytes (of UTF-8)"`
	Batch   int     `placeholder:"N" default:"0" help:"how many texts run together, which changes no digit; default: chosen for speed"`
	Special bool    `help:"read <|endoftext|> and other special tokens in the text as such"`

	Target recordsTarget `embed:""`
}

func (c *scoreCommand) Help() string {
	return `Prints an object for each line of the input, in order. A line of the input is a text, or an object
with text, with context and continuation, or with tokens (ids, which need no tokenizer). An object of
the output has

line	the number of the input's line, from 1
id	the id of the input's object, if it has one
tokens	the ids
text	the text that was scored
offsets	where each token begins and ends in text
logprobs	the natural logarithm of the probability of each token
ranks	how many tokens the model thought likelier
entropies	of the prediction of each token, in nats
sum_logprob	the sum of logprobs
mean_logprob	their mean
greedy	whether each token is the likeliest
context_dropped	how many tokens of the context did not fit
top	with --top K, the K likeliest tokens in place of each

Nothing precedes the first token of a text, so its numbers are null, unless --bos is given.

Of a context and a continuation the continuation is scored. As in lm-evaluation-harness, white space
at the end of the context is moved to the continuation; its tokens are those of both texts together,
without as many as the context has alone. A context that is too long loses its beginning, and
<|endoftext|> takes the place of an empty one. A text that is longer than the model's context is
scored in windows that advance by half the context.

A line that cannot be scored gives an object with line and error, and a message on stderr; the exit
status is then 1. Empty lines are skipped where lines are objects.

With --out FILE, FILE.resume remembers the model, the options and how much of the input is answered.
--resume continues after that, however the earlier run ended, and refuses another model, other
options, and an input whose answered lines were changed; new lines may follow them. The file ends as
an uninterrupted run would leave it.

Examples:

  gpt score --text "The cat sat on the mat."
  gpt score < sentences.txt | jq .mean_logprob
  gpt score pairs.jsonl -o scores.jsonl --resume`
}

func (c *scoreCommand) Run(a *app) error {
	if c.Top < 0 || c.Batch < 0 {
		return usagef("--top %d, --batch %d: want 0 or more", c.Top, c.Batch)
	}
	in, err := c.input(a)
	if err != nil {
		return err
	}
	defer in.close()
	if err := c.Target.check(a, in.path()); err != nil {
		return err
	}
	t, err := c.tokenizer(a, in)
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	out, err := c.Target.open(a, m, in.path(), "gpt score", c.settings(in)...)
	if err != nil {
		return err
	}
	run := scoring{command: c, app: a, in: in, out: out, bar: newBar("lines")}
	err = run.begin()
	if err == nil {
		err = run.run(m, t)
	}
	if err = out.close(err); err == nil && run.total.Errors > 0 {
		err = fmt.Errorf("%d of %d lines could not be scored", run.total.Errors, run.total.Lines)
	}
	return err
}

// tokenizer is the checkpoint's; where there is none, ids can still be scored.
func (c *scoreCommand) tokenizer(a *app, in *scoreInput) (eval.Tokenizer, error) {
	t, err := a.openTokenizer()
	switch {
	case in.jsonl && errors.Is(err, checkpoint.ErrNoTokenizer):
		return idTokenizer{missing: err}, nil
	case err == nil && c.Special:
		return t.WithSpecial(), nil
	}
	return t, err
}

// settings are the options that the output depends on.
func (c *scoreCommand) settings(in *scoreInput) []resume.Setting {
	form := "lines"
	if in.jsonl {
		form = "jsonl"
	}
	return []resume.Setting{
		{Name: "--input", Value: form},
		{Name: "--bos", Value: strconv.FormatBool(c.BOS)},
		{Name: "--top", Value: strconv.Itoa(c.Top)},
		{Name: "--offsets", Value: c.Offsets},
		{Name: "--special", Value: strconv.FormatBool(c.Special)},
	}
}

// A scoring is a run of gpt score.
type scoring struct {
	*app
	command *scoreCommand
	in      *scoreInput
	out     *records
	bar     *bar
	total   eval.Summary // of all lines, those of an earlier run included
	tokens  int          // scored now
}

// begin takes up what an earlier run has done.
func (s *scoring) begin() error {
	last := s.out.last()
	if s.in.from = last; last.State == nil {
		return nil
	}
	return json.Unmarshal(last.State, &s.total)
}

// run scores the lines and writes the results, both in their order.
func (s *scoring) run(m *model.Model, t eval.Tokenizer) error {
	ctx, release := s.graceful()
	defer release()
	if s.command.Target.Out != nil || !s.stdout.terminal {
		s.showBar(s.bar)
	}
	defer s.endProgress()
	start := time.Now()
	o := eval.ScoreOptions{BOS: s.command.BOS, Top: s.command.Top, Batch: s.command.Batch}
	for score, err := range eval.Score(ctx, m, t, s.in.requests, o) {
		var bad *eval.RequestError
		switch {
		case errors.As(err, &bad):
			err = s.fail(score.Tag.(*scoreLine), bad.Err)
		case err == nil:
			err = s.answer(score.Tag.(*scoreLine), &score)
		}
		if err != nil {
			return err
		}
		s.bar.set(s.total.Lines, 0, "")
	}
	took := time.Since(start)
	s.logf("%d tokens in %s, %.0f tokens/s", s.tokens, duration(took), rate(s.tokens, took))
	return s.in.err
}

// answer writes the score of a line.
func (s *scoring) answer(line *scoreLine, score *eval.Scored) error {
	r := score.Record()
	r.Line, r.ID = line.number, line.id
	if u := eval.Unit(s.command.Offsets); u != eval.Chars {
		r.Offsets = score.Offsets(u)
	}
	s.tokens += score.Count
	if err := s.total.Add(&r); err != nil {
		return err
	}
	return s.write(line, r)
}

// fail tells of a line that cannot be scored, on stderr and in the output.
func (s *scoring) fail(line *scoreLine, err error) error {
	s.total.Err()
	s.noteDuring(s.bar, "%s: line %d: %s", s.in.name, line.number, oneLine(err))
	return s.write(line, struct {
		Line  int             `json:"line"`
		ID    json.RawMessage `json:"id,omitempty"`
		Error string          `json:"error"`
	}{line.number, line.id, oneLine(err)})
}

func (s *scoring) write(line *scoreLine, record any) error {
	b, err := marshalLine(record)
	if err != nil {
		return err
	}
	state, err := json.Marshal(s.total)
	if err != nil {
		return err
	}
	return s.out.write(b, resume.Mark{Line: line.number, Input: line.digest, State: state})
}
