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
	File    string  `arg:"" name:"file" optional:"" help:"texts, one a line, or JSON objects, one a line; - is stdin, the default where that is no terminal"`
	Text    *string `placeholder:"TEXT" help:"score this one text"`
	Input   string  `placeholder:"FORM" default:"auto" enum:"auto,lines,jsonl" help:"what a line is: lines (a text), jsonl (an object), auto (jsonl if the name ends in .jsonl or the first line begins with {)"`
	BOS     bool    `name:"bos" help:"put <|endoftext|> before a text, so that its first token is scored too"`
	Top     int     `placeholder:"K" default:"0" help:"the K likeliest tokens at each place"`
	Offsets string  `placeholder:"UNIT" default:"chars" enum:"chars,utf16,bytes" help:"what offsets count: chars (code points, as Python), utf16 (as JavaScript), bytes (of UTF-8)"`
	Batch   int     `placeholder:"N" default:"0" help:"texts that run together; 0 is as many as pay. It changes no digit"`
	Special bool    `help:"special tokens in the text, such as <|endoftext|>, count as such"`

	Target recordsTarget `embed:""`
}

func (c *scoreCommand) Help() string {
	return `An object on a line of input has text, or context and continuation, or tokens (ids, which need no tokenizer); its id,
if it has one, comes back. An object of output has line, tokens (ids), text, offsets (where each token is in text), logprobs (in nats), ranks (how
many ids have a greater logit), entropies, sum_logprob, mean_logprob, greedy (each token is the likeliest), and with --top K
top: K alternatives for each token. The first token of a text has nothing before it: null, unless --bos is given.

Of a context and a continuation the continuation is scored. As in lm-evaluation-harness, white space at the end of the
context moves to the continuation, whose tokens are encode(both)[len(encode(context)):]; a context that is too long
loses its beginning (context_dropped), and <|endoftext|> stands for an empty one. A text that is longer than the model's
context is scored in windows that advance by half of it.

The output has a line for each line of the input, in order; empty lines of jsonl have none. A line that cannot be
scored gives {"line", "error"} and a message, and the exit status is 1 at the end. What texts share at their beginning
is computed once.

With --out FILE, FILE.resume remembers the model, the options and how much of the input is answered. --resume continues
after that, however the earlier run ended, and refuses another model, other options, and an input whose answered lines
were changed; new lines may follow them. The file ends as an uninterrupted run would leave it.

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
