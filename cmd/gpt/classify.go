package main

// gpt classify: the labels of many texts, by a classifier's head.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/records"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
)

type classifyCommand struct {
	textsCommand
	Options eval.ClassifyOptions
}

func newClassify(a *app) *cli.Command {
	c := &classifyCommand{textsCommand: textsCommand{From: textSource{verb: "classify"},
		known: lines.FieldsOf[classRecord]()}}
	return &cli.Command{
		Name: "classify", Group: "measure",
		Short: "label texts with a classifier's checkpoint",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			c.fields(f, "id,label")
			f.Add(&c.Options.Truncate, "--truncate",
				"leave out the end of a text that is longer than the context; default: an error")
			addBatch(f, &c.Options.Batch, "texts", "digit")
			addSpecial(f, &c.Special)
			targetFlags(f, &c.Target)
			jsonAlready(f)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *classifyCommand) Run(a *app) error {
	err := cmp.Or(fault.NotNegative("--batch", c.Options.Batch), c.checkFields())
	if err != nil {
		return err
	}
	var head *checkpoint.Head
	r, err := c.open(a, func() (err error) {
		head, err = c.head(a)
		return err
	})
	if err != nil {
		return err
	}
	defer r.close()
	var counts records.Counts
	settings := []records.Setting{setting("labels", fmt.Sprintf("%s %q", head.Problem, head.Labels)),
		setting("--truncate", c.Options.Truncate)}
	classify := func(
		ctx context.Context, q iter.Seq[eval.Request],
	) iter.Seq2[eval.Classified, error] {
		return eval.Classify(ctx, r.model, prompts(r.tokenizer), head, q, c.Options)
	}
	err = writeRecords(a, &c.textsCommand, r, &records.Lines{Total: &counts}, settings, classify,
		func(made *eval.Classified) (*lines.Row, any, int, error) {
			counts.Lines++
			row := made.Tag.(*lines.Row)
			return row, classRecordOf(row, made, head), len(made.Tokens), nil
		})
	return fault.First(err, counts.Failed("classified"))
}

// head checks the target, and returns the head of the checkpoint.
func (c *classifyCommand) head(a *app) (*checkpoint.Head, error) {
	if err := a.checkTarget(&c.Target); err != nil {
		return nil, err
	}
	a.uses = checkpoint.HeadTensor
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	head, err := ck.Head()
	if errors.Is(err, checkpoint.ErrNoHead) {
		err = fault.Hint(err, "to choose among labels by their likelihood: gpt score, with context "+
			"and continuation")
	}
	return head, err
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
