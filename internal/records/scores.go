package records

// Scores: lines are scored together, and written in order.

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"picogpt/eval"
	"picogpt/internal/amount"
	"picogpt/internal/process"
	"picogpt/internal/quote"
	"picogpt/internal/resume"
	"picogpt/internal/rows"
	"picogpt/internal/scorelines"
	"picogpt/internal/strictjson"
	"picogpt/internal/terminal"
	"picogpt/model"
)

// Scores is a run of gpt score. Its exported fields are set before Run.
type Scores struct {
	Console *terminal.Console
	Signals *process.Signals
	Logf    func(format string, args ...any)
	Bar     bool // show how far the run is

	Options  eval.ScoreOptions
	Input    *Input
	Requests scorelines.Input
	Lines    scorelines.Output
	Out      *Records
	Silent   bool         // write no records
	Total    eval.Summary // of all lines, those of an earlier run included

	bar    *terminal.Bar
	done   int // lines, answered now
	tokens int // scored now
}

// requests are the rows, for eval.Score, which reads ahead.
func (s *Scores) requests(yield func(eval.Request) bool) {
	for w := range s.Input.Rows {
		if r, ok := s.Requests.Request(w); ok && !yield(r) {
			return
		}
	}
}

// begin takes up what an earlier run has done.
func (s *Scores) begin() error {
	last := s.Out.Last()
	if s.Input.From = last; last.State == nil {
		return nil
	}
	return json.Unmarshal(last.State, &s.Total)
}

// Run scores the lines and writes the results, both in their order.
func (s *Scores) Run(m *model.Model, t eval.Tokenizer) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.bar = terminal.NewBar("lines")
	ctx, release := s.Signals.Graceful()
	defer release()
	if s.Bar {
		s.Console.ShowBar(s.bar)
	}
	defer s.Console.EndProgress()
	start := time.Now()
	for score, err := range eval.Score(ctx, m, t, s.requests, s.Options) {
		var bad *eval.RequestError
		switch {
		case errors.As(err, &bad):
			err = s.fail(score.Tag.(*scorelines.Row), bad.Err)
		case err == nil:
			err = s.answer(score.Tag.(*scorelines.Row), &score)
		}
		if err != nil {
			return err
		}
		s.done++
		s.Input.show(s.bar, s.done)
	}
	took := time.Since(start)
	s.Logf("%d tokens in %s, %.0f tokens/s", s.tokens, amount.Duration(took),
		amount.Rate(s.tokens, took))
	return s.Input.Err
}

// answer writes the score of a row.
func (s *Scores) answer(row *scorelines.Row, score *eval.Scored) error {
	r := s.Lines.Record(row, score)
	s.tokens += score.Count
	if err := s.Total.Add(&r.Record); err != nil {
		return err
	}
	return s.write(row, r)
}

// fail tells of a row that cannot be scored, on stderr and in the output.
func (s *Scores) fail(row *scorelines.Row, err error) error {
	s.Total.Err()
	s.Console.NoteDuring(s.bar, "%s: line %d: %s", s.Input.Name, row.First, quote.OneLine(err))
	return s.write(row, s.Lines.Error(row, err))
}

// write writes a record, to the file only where stdout is for the summary.
func (s *Scores) write(row *scorelines.Row, record any) error {
	if s.Silent {
		return nil
	}
	b, err := s.Lines.Line(row, record)
	if err != nil {
		return err
	}
	state, err := json.Marshal(s.Total)
	if err != nil {
		return err
	}
	return s.Out.Write(b, resume.Mark{Line: row.Last, Input: row.Digest, State: state})
}

// withMember is an object as a line, with another value of a member.
func withMember(line []byte, key, value string) ([]byte, error) {
	o, err := rows.ParseObject(line)
	for i := range o {
		if o[i].Key == key {
			o[i].Value = json.RawMessage(value)
		}
	}
	if err != nil {
		return nil, err
	}
	return o.Line()
}

// Summary returns the sums of all rows as an object, those of an earlier run included. The
// perplexity has so many digits, or all where digits is below 0. partial says that rows are missing.
func (s *Scores) Summary(digits int, partial bool) ([]byte, error) {
	b, err := strictjson.Line(s.Total)
	if p := s.Total.Perplexity(); err == nil && digits >= 0 && p-p == 0 { // a number
		b, err = withMember(b, "perplexity", strconv.FormatFloat(p, 'g', digits, 64))
	}
	if err == nil && partial {
		b = append(bytes.TrimSuffix(b, []byte("}\n")), ",\"partial\":true}\n"...)
	}
	return b, err
}
