package main

// gpt classify: the labels of many texts, by a classifier's head.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/records"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
)

type classifyCommand struct {
	From    textSource
	Options eval.ClassifyOptions
	Fields  []string
	Keep    bool
	Special bool
	Target  records.Target
}

func newClassify(a *app) *cli.Command {
	c := &classifyCommand{From: textSource{verb: "classify"}}
	return &cli.Command{
		Name: "classify", Group: "measure",
		Short: "label texts with a classifier's checkpoint",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			f.Add(cli.Commas(&c.Fields), "--fields LIST",
				"write only these fields, for example id,label; default: all")
			f.Add(&c.Keep, "--keep", "write the fields of the input too")
			f.Add(&c.Options.Truncate, "--truncate",
				"leave out the end of a text that is longer than the context; default: an error")
			f.Add(&c.Options.Batch, "--batch N",
				"how many texts run together, which changes no digit; default: chosen for speed")
			addSpecial(f, &c.Special)
			targetFlags(f, &c.Target)
			jsonAlready(f)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *classifyCommand) Run(a *app) error {
	if err := fault.NotNegative("--batch", c.Options.Batch); err != nil {
		return err
	}
	if err := c.checkFields(); err != nil {
		return err
	}
	in, err := c.From.open(a)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.checkTarget(&c.Target); err != nil {
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	head, err := ck.Head()
	if errors.Is(err, checkpoint.ErrNoHead) {
		err = fault.Hint(err,
			"to choose among labels by their likelihood: gpt score, with context "+
				"and continuation")
	}
	if err != nil {
		return err
	}
	t, err := a.idTokenizer(in, c.Special)
	if err != nil {
		return err
	}
	a.uses = checkpoint.HeadTensor
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	out, err := a.openRecords(&c.Target, m, "gpt classify", c.settings(in, head), nil)
	if err != nil {
		return err
	}
	l := records.Lines{Output: lines.Output{Fields: c.Fields, Keep: c.Keep}, Out: out}
	texts := in.texts(a, c.Target.Out != nil)
	classify := func(
		ctx context.Context, r iter.Seq[eval.Request],
	) iter.Seq2[eval.Classified, error] {
		return eval.Classify(ctx, m, prompts(t), head, r, c.Options)
	}
	if err = l.Begin(&texts); err == nil {
		err = records.Answer(&texts, classify, func(r *eval.Classified) (int, error) {
			row := r.Tag.(*lines.Row)
			return len(r.Tokens), l.Write(row, classRecordOf(row, r, head))
		}, l.Fail)
	}
	return fault.First(out.Close(err), l.Failed("classified"))
}

// checkFields refuses names that no record has.
func (c *classifyCommand) checkFields() error {
	if c.Fields == nil {
		return nil
	}
	known := lines.FieldsOf[classRecord]()
	names, err := lines.ParseFields(c.Fields, known)
	if err == nil && len(names) == 0 {
		err = errors.New("want names, found nothing")
	}
	if err != nil {
		return fault.Hint(usagef("--fields: %w", err), "the fields are "+strings.Join(known, ", "))
	}
	c.Fields = names
	return nil
}

// settings are the options that the output depends on.
func (c *classifyCommand) settings(in *textInput, h *checkpoint.Head) []records.Setting {
	return append(in.settings(), []records.Setting{
		{Name: "labels", Value: fmt.Sprintf("%s %q", h.Problem, h.Labels)},
		{Name: "--truncate", Value: strconv.FormatBool(c.Options.Truncate)},
		{Name: "--special", Value: strconv.FormatBool(c.Special)},
		{Name: "--fields", Value: strconv.Quote(strings.Join(c.Fields, ","))},
		{Name: "--keep", Value: strconv.FormatBool(c.Keep)},
	}...)
}

// A classRecord is one line of the output. Label, Scores and Logits are lists for a head that is
// PerToken.
type classRecord struct {
	Line    int             `json:"line"`
	ID      json.RawMessage `json:"id,omitempty"`
	Tokens  []int           `json:"tokens"`
	Dropped int             `json:"tokens_dropped,omitempty"`
	Text    string          `json:"text,omitempty"`
	Offsets [][2]int        `json:"offsets,omitempty"`
	Label   any             `json:"label"`
	Scores  any             `json:"scores"`
	Logits  any             `json:"logits"`
}

// classRecordOf is the record of a row.
func classRecordOf(row *lines.Row, c *eval.Classified, h *checkpoint.Head) classRecord {
	r := classRecord{Line: row.First, ID: row.ID, Tokens: c.Tokens, Dropped: c.Dropped,
		Text: c.Text}
	if !h.PerToken {
		one := c.Classes[0]
		r.Label, r.Scores, r.Logits = one.Label, labelled{h.Labels, one.Scores}, one.Logits
		return r
	}
	var labels []string
	var scores []labelled
	var logits [][]float64
	for _, one := range c.Classes {
		labels, logits = append(labels, one.Label), append(logits, one.Logits)
		scores = append(scores, labelled{h.Labels, one.Scores})
	}
	r.Label, r.Scores, r.Logits = labels, scores, logits
	if c.Spans != nil {
		spans := eval.Scored{Text: c.Text}
		for _, s := range c.Spans {
			spans.Tokens = append(spans.Tokens, eval.Token{Start: s.Start, End: s.End})
		}
		r.Offsets = spans.Offsets(eval.Chars)
	}
	return r
}

// labelled is an object of labels and their numbers, in the head's order.
type labelled struct {
	labels  []string
	numbers []float64
}

func (l labelled) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, label := range l.labels {
		b.WriteByte("{,"[min(i, 1)])
		name, err := json.Marshal(label)
		if err != nil {
			return nil, err
		}
		number, err := json.Marshal(l.numbers[i])
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), number...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
