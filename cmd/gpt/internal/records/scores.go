package records

// Scores: lines are scored together, and written in order.

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Scores is a run of gpt score. Its exported fields are set before Run.
type Scores struct {
	Texts
	Options eval.ScoreOptions
	Lines   lines.Output
	Out     *Records
	Silent  bool         // write no records
	Total   eval.Summary // of all lines, those of an earlier run included
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
	scores := func(ctx context.Context, r iter.Seq[eval.Request]) iter.Seq2[eval.Scored, error] {
		return eval.Score(ctx, m, t, r, s.Options)
	}
	return Answer(&s.Texts, scores, s.answer, s.fail)
}

// answer writes the score of a row.
func (s *Scores) answer(score *eval.Scored) (tokens int, err error) {
	row := score.Tag.(*lines.Row)
	r := s.Lines.Record(row, score)
	if err := s.Total.Add(&r.Record); err != nil {
		return 0, err
	}
	return score.Count, s.write(row, r)
}

// fail writes why a row cannot be scored.
func (s *Scores) fail(row *lines.Row, err error) error {
	s.Total.Err()
	return s.write(row, s.Lines.Error(row, err))
}

// write writes a record, to the file only where stdout is for the summary.
func (s *Scores) write(row *lines.Row, record any) error {
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
	return s.Out.Write(b, Mark{Line: row.Last, Input: row.Digest, State: state})
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
