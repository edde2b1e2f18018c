package main

// gpt score: log-likelihoods of many texts, JSON objects out.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
	"unicode/utf8"

	"picogpt/checkpoint"
	"picogpt/eval"
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
	Out     *string `short:"o" placeholder:"FILE" help:"write there, not to stdout"`
	Resume  bool    `help:"go on after what --out already has"`
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

  gpt score --text "The cat sat on the mat."
  gpt score < sentences.txt | jq .mean_logprob
  gpt score pairs.jsonl -o scores.jsonl --resume`
}

func (c *scoreCommand) Run(a *app) error {
	if c.Top < 0 || c.Batch < 0 {
		return usagef("--top %d, --batch %d: want 0 or more", c.Top, c.Batch)
	}
	if c.Resume && c.Out == nil {
		return usagef("--resume: want --out FILE, the file to go on with")
	}
	in, err := c.input(a)
	if err != nil {
		return err
	}
	defer in.close()
	if c.Out != nil && in.reads(a, *c.Out) {
		return usagef("--out %s: that is the input", *c.Out)
	}
	out, done, err := c.create(a)
	if err != nil {
		return err
	}
	in.done = done
	err = c.score(a, in, out)
	if c.Out != nil {
		err = errors.Join(err, fileError(*c.Out, out.(*os.File).Close()))
	}
	if err == nil && in.broken > 0 {
		err = fmt.Errorf("%d of %d lines could not be scored", in.broken, in.answered)
	}
	return err
}

// create opens the output. done is the last line of the input that it already has a result for.
func (c *scoreCommand) create(a *app) (w io.Writer, done int, err error) {
	if c.Out == nil {
		return a.stdout, 0, nil
	}
	mode := os.O_RDWR | os.O_CREATE
	if !c.Resume {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(*c.Out, mode, 0o666)
	if err != nil {
		return nil, 0, fileError(*c.Out, err)
	}
	if c.Resume {
		if done, err = lastResult(f); err != nil {
			f.Close()
			return nil, 0, fileError(*c.Out, err)
		}
		a.logf("%s: going on after line %d", *c.Out, done)
	}
	return f, done, nil
}

// lastResult finds the input line of the last whole result in a file, and cuts off what is after it.
func lastResult(f *os.File) (done int, err error) {
	r := bufio.NewReaderSize(f, 1<<16)
	var whole int64
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return 0, err
		}
		if begin := []byte(`{"line":`); err == io.EOF && !bytes.HasPrefix(line, begin) && !bytes.HasPrefix(begin, line) {
			return 0, fmt.Errorf("%q after line %d: want what gpt score writes", short(line), done)
		}
		var result struct {
			Line int `json:"line"`
		}
		if err == io.EOF || json.Unmarshal(line, &result) != nil || result.Line <= done {
			if err == nil {
				return 0, fmt.Errorf("%q after line %d: want what gpt score writes", short(line), done)
			}
			break
		}
		whole += int64(len(line))
		done = result.Line
	}
	if err := f.Truncate(whole); err != nil {
		return 0, err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return done, err
}

func short(line []byte) string {
	if len(line) > 40 {
		return string(line[:40]) + "…"
	}
	return string(line)
}

// score runs the requests and writes the results, both in the order of the lines.
func (c *scoreCommand) score(a *app, in *scoreInput, out io.Writer) error {
	t, err := a.openTokenizer()
	var e scoringTokenizer = t
	switch {
	case in.jsonl && errors.Is(err, checkpoint.ErrNoTokenizer):
		e = idTokenizer{missing: err}
	case err != nil:
		return err
	case c.Special:
		e = t.WithSpecial()
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, release := a.graceful()
	defer release()

	bar := newBar("lines")
	if out != io.Writer(a.stdout) || !a.stdout.terminal {
		a.showProgress(bar.String)
	}
	defer a.endProgress()
	start, tokens := time.Now(), 0
	w := scoreWriter{command: c, tok: e, out: out, bar: bar}
	o := eval.ScoreOptions{BOS: c.BOS, Top: c.Top, Batch: c.Batch}
	for s, err := range eval.Score(ctx, m, e, in.requests, o) {
		var bad *eval.RequestError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		if bad != nil {
			err = bad.Err
		}
		if err := in.answer(a, &w, s, err); err != nil {
			return err
		}
		tokens += s.Count
		bar.set(in.answered, 0, "")
	}
	if err := in.answerBroken(a, &w); err != nil {
		return err
	}
	a.logf("%d tokens in %s, %.0f tokens/s", tokens, duration(time.Since(start)), float64(tokens)/time.Since(start).Seconds())
	return in.err
}

// A scoreWriter turns scores into lines of JSON.
type scoreWriter struct {
	command *scoreCommand
	tok     scoringTokenizer
	out     io.Writer
	bar     *bar
}

// scoreJSON is a line of output.
type scoreJSON struct {
	Line     int             `json:"line"`
	ID       json.RawMessage `json:"id,omitempty"`
	Tokens   []int           `json:"tokens"`
	Text     string          `json:"text"`
	Offsets  [][2]int        `json:"offsets"`
	LogProbs []*float64      `json:"logprobs"`
	Ranks    []*int          `json:"ranks"`
	Entropy  []*float64      `json:"entropies"`
	Sum      float64         `json:"sum_logprob"`
	Mean     *float64        `json:"mean_logprob"`
	Greedy   bool            `json:"greedy"`
	Dropped  int             `json:"context_dropped,omitempty"`
	Top      [][]alternative `json:"top,omitempty"`
}

type alternative struct {
	ID      int     `json:"id"`
	Text    string  `json:"text"`
	LogProb float64 `json:"logprob"`
}

func (w *scoreWriter) write(line int, id json.RawMessage, s eval.Scored) error {
	n := len(s.Tokens)
	j := scoreJSON{
		Line: line, ID: id, Text: s.Text, Sum: s.Sum, Mean: number(s.Mean), Greedy: s.Greedy, Dropped: s.Dropped,
		Tokens: make([]int, n), Offsets: w.offsets(s), LogProbs: make([]*float64, n), Ranks: make([]*int, n), Entropy: make([]*float64, n),
	}
	for i := range s.Tokens {
		t := &s.Tokens[i]
		j.Tokens[i] = t.ID
		if t.Rank >= 0 {
			j.LogProbs[i], j.Ranks[i], j.Entropy[i] = &t.LogProb, &t.Rank, &t.Entropy
		}
		if w.command.Top > 0 {
			top := make([]alternative, len(t.Top))
			for k, a := range t.Top {
				text, _ := w.tok.Text(a.ID) // a row beyond the vocabulary has no text
				top[k] = alternative{a.ID, text, a.LogProb}
			}
			j.Top = append(j.Top, top)
		}
	}
	return w.print(j)
}

func (w *scoreWriter) fail(line int, id json.RawMessage, err error) error {
	return w.print(struct {
		Line  int             `json:"line"`
		ID    json.RawMessage `json:"id,omitempty"`
		Error string          `json:"error"`
	}{line, id, oneLine(err)})
}

func (w *scoreWriter) print(v any) error {
	b, err := marshalLine(v)
	if err != nil {
		return err
	}
	_, err = w.out.Write(b)
	if w.command.Out != nil {
		err = fileError(*w.command.Out, err)
	}
	return err
}

// offsets counts where tokens are, in the unit asked for. A character that two tokens share belongs to both.
func (w *scoreWriter) offsets(s eval.Scored) [][2]int {
	at := make([][2]int, len(s.Tokens))
	if w.command.Offsets == "bytes" {
		for i, t := range s.Tokens {
			at[i] = [2]int{t.Start, t.End}
		}
		return at
	}
	before := make([]int, len(s.Text)+1) // units before the character that byte i belongs to
	after := make([]int, len(s.Text)+1)  // units up to the end of the character that byte i−1 belongs to
	n := 0
	for i, r := range s.Text {
		size := 1
		if r > math.MaxUint16 && w.command.Offsets == "utf16" {
			size = 2
		}
		_, length := utf8.DecodeRuneInString(s.Text[i:])
		for b := i; b < i+length; b++ {
			before[b], after[b+1] = n, n+size
		}
		n += size
	}
	before[len(s.Text)] = n
	for i, t := range s.Tokens {
		at[i] = [2]int{before[t.Start], max(before[t.Start], after[t.End])}
	}
	return at
}
