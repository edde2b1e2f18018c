package main

// gpt score, gpt classify and gpt embed: a record for each of many texts.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/records"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/outfile"
	"picogpt/model"
)

// gpt score: log-likelihoods of many texts, JSON objects out.

type scoreCommand struct {
	textsCommand
	Summary bool
	Options eval.ScoreOptions
	Offsets string
}

func newScore(a *app) *cli.Command {
	c := &scoreCommand{
		textsCommand: textsCommand{From: textSource{verb: "score"}, known: lines.Fields()}}
	return &cli.Command{
		Name: "score", Group: "measure",
		Short: "print the log-likelihood of each token of many texts",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			c.fields(f, "id,mean_logprob")
			f.Add(&c.Summary, "--summary",
				"print one object for all of the input, in place of an object for each line")
			f.Add(&c.Options.BOS, "--bos",
				"put <|endoftext|> before a text, so that its first token is scored too")
			f.Add(&c.Options.Top, "--top K",
				"print the K likeliest tokens in place of each token too; default: none")
			f.Add(&c.Offsets, "--offsets UNIT [chars]",
				`what offsets count: chars (code points, as in Python), utf16 (as in JavaScript) or
				bytes (of UTF-8)`).OneOf("chars", "utf16", "bytes")
			addBatch(f, &c.Options.Batch, "texts", "digit")
			addSpecial(f, &c.Special)
			targetFlags(f, &c.Target)
			jsonAlready(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *scoreCommand) Run(a *app) error {
	o := c.Options
	err := cmp.Or(fault.NotNegative("--top", o.Top), fault.NotNegative("--batch", o.Batch),
		c.checkFields())
	if err != nil {
		return err
	}
	r, err := c.open(a, func() error { return a.checkTarget(&c.Target) })
	if err != nil {
		return err
	}
	defer r.Close()
	r.Bar = r.Bar || c.Summary
	var total eval.Summary // of all lines, those of an earlier run included
	l := &records.Lines{Output: lines.Output{Offsets: eval.Unit(c.Offsets)}, Total: &total,
		Silent: c.Summary && c.Target.Out == nil}
	settings := []records.Setting{setting("--bos", o.BOS), setting("--top", o.Top),
		setting("--offsets", c.Offsets)}
	score := func(ctx context.Context, q iter.Seq[eval.Request]) iter.Seq2[eval.Scored, error] {
		return eval.Score(ctx, r.model, r.tokenizer, q, o)
	}
	err = writeRecords(a, &c.textsCommand, r, l, settings, score,
		func(s *eval.Scored) (*lines.Row, any, int, error) {
			row := s.Tag.(*lines.Row)
			record := l.Output.Record(row, s)
			return row, record, s.Count, total.Add(&record.Record)
		})
	if l.Out != nil && c.Summary && !errors.Is(err, process.ErrClosedPipe) {
		line, failed := records.Summary(total, a.digits(), err != nil)
		if failed == nil {
			_, failed = a.stdout.Write(line)
		}
		err = fault.First(failed, err)
	}
	counts := records.Counts{Lines: total.Lines, Errors: total.Errors}
	return fault.First(err, counts.Failed("scored"))
}

// checkFields refuses names that no record has, or not these.
func (c *scoreCommand) checkFields() error {
	if c.Fields != nil && len(c.Fields) == 0 {
		return usagef("--fields: want names, found nothing")
	}
	if err := c.textsCommand.checkFields(); err != nil {
		return err
	}
	if c.Options.Top == 0 && slices.Contains(c.Fields, "top") {
		return usagef("--fields: top wants --top K")
	}
	return nil
}

// gpt classify: the labels of many texts, by a classifier's head.

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
	defer r.Close()
	var counts records.Counts
	labels := fmt.Sprintf("%s %q", head.Problem, head.Labels)
	settings := []records.Setting{setting("labels", labels),
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
	a.uses, a.headless = checkpoint.HeadTensor, true
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	head, err := ck.Head()
	if errors.Is(err, checkpoint.ErrNoHead) {
		err = fault.Hint(err, "to choose among labels by their likelihood: gpt score, with "+
			"context and continuation")
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

// gpt embed: vectors of many texts.

type embedCommand struct {
	textsCommand
	Options eval.EmbedOptions
	Pooling string
	Format  *string
	JSON    bool
}

func newEmbed(a *app) *cli.Command {
	c := &embedCommand{textsCommand: textsCommand{From: textSource{verb: "embed"}}}
	return &cli.Command{
		Name: "embed", Group: "measure",
		Short: "turn texts into vectors: hidden states, pooled",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			f.Add(&c.Pooling, "--pooling HOW [mean]",
				`how a text's tokens become one vector: mean, weighted (the mean with weights 1, 2,
				3, …, as SGPT), or last (the last token's)`).OneOf("mean", "weighted", "last")
			f.Add(&c.Options.Layer, "--layer L",
				`the hidden states: 0 is the embeddings, L those after L layers, the last one after
				ln_f, as in Hugging Face's hidden_states; default: the last`)
			f.Add(&c.Options.Normalize, "--normalize", "make each vector's length 1")
			f.Add(&c.Options.Truncate, "--truncate",
				"leave out the end of a text that is longer than the context; default: an error")
			c.fields(f, "")
			addBatch(f, &c.Options.Batch, "texts", "bit")
			addSpecial(f, &c.Special)
			f.Add(&c.Format, "--format FORM",
				`jsonl (an object for each text), npy or safetensors (one matrix of float32, a row
				for each text); default: by the end of the name of --out, else jsonl`).
				OneOf("jsonl", "npy", "safetensors")
			f.Add(&c.JSON, "--json", "what --format jsonl is, as without --out")
			targetFlags(f, &c.Target)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *embedCommand) Run(a *app) error {
	if err := fault.NotNegative("--batch", c.Options.Batch); err != nil {
		return err
	}
	c.Options.Pooling = eval.Pooling(c.Pooling)
	if err := c.settleFormat(); err != nil {
		return err
	}
	a.headless = true
	r, err := c.open(a, func() error { return c.check(a) })
	if err != nil {
		return err
	}
	defer r.Close()
	var counts records.Counts
	embed := func(ctx context.Context, q iter.Seq[eval.Request]) iter.Seq2[eval.Embedded, error] {
		return eval.Embed(ctx, r.model, prompts(r.tokenizer), q, c.Options)
	}
	if *c.Format != "jsonl" {
		err = c.matrix(a, r, &counts, embed)
		return fault.First(err, counts.Failed("embedded"))
	}
	settings := []records.Setting{
		setting("--pooling", c.Pooling), setting("--layer", c.layer(r.model)),
		setting("--normalize", c.Options.Normalize), setting("--truncate", c.Options.Truncate)}
	err = writeRecords(a, &c.textsCommand, r, &records.Lines{Total: &counts}, settings, embed,
		func(e *eval.Embedded) (*lines.Row, any, int, error) {
			counts.Lines++
			row := e.Tag.(*lines.Row)
			record := embedRecord{row.First, row.ID, e.Tokens, e.Dropped, e.Vector}
			return row, record, len(e.Tokens), nil
		})
	return fault.First(err, counts.Failed("embedded"))
}

// settleFormat settles the format, and refuses what it cannot be.
func (c *embedCommand) settleFormat() error {
	out := ""
	if c.Target.Out != nil {
		out = *c.Target.Out
	}
	if c.Format == nil {
		c.Format = new(cmp.Or(string(arrayFormatOf(out)), "jsonl"))
	}
	switch {
	case *c.Format == "jsonl":
	case out == "" || out == "-" || outfile.IsStream(out):
		return usagef("--format %s: want --out FILE, and no pipe: the number of rows is written "+
			"at its beginning, at the end", *c.Format)
	case c.JSON:
		return usagef("--json: want --format jsonl, found %s", *c.Format)
	case c.Target.Resume:
		return usagef("--resume: want --format jsonl, which is written line by line; found %s",
			*c.Format)
	case c.Keep:
		return usagef("--keep: want --format jsonl, which has fields; found %s", *c.Format)
	}
	return nil
}

// rules are those for a matrix.
func (c *embedCommand) rules(a *app) outfile.Options {
	return a.writing(c.Target.Force, arrayKind(arrayFormat(*c.Format)))
}

// check refuses what cannot be written, and a layer that the model does not have, or not on this
// device.
func (c *embedCommand) check(a *app) (err error) {
	if *c.Format == "jsonl" {
		err = a.checkTarget(&c.Target)
		if errors.Is(err, outfile.ErrEnding) {
			err = fault.Hint(err,
				"a name that ends in .npy or .safetensors has a row for each text")
		}
	} else {
		err = outfile.FlagError("--out", outfile.Check(*c.Target.Out, c.rules(a)))
	}
	if err != nil || c.Options.Layer == nil {
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	if err := a.chooseDevice(); err != nil {
		return err
	}
	switch l, n := *c.Options.Layer, ck.Config.Layer; {
	case l < 0 || l > n:
		return usagef("--layer %d: want 0 (the embeddings) to %d (after ln_f)", l, n)
	case l < n && a.chosen.device != nil:
		return usagef("--layer %d: a GPU gives the last layer, %d, only; want --device cpu, whose "+
			"numbers are the same", l, n)
	}
	return nil
}

// An embedRecord is one line of the output.
type embedRecord struct {
	Line      int             `json:"line"`
	ID        json.RawMessage `json:"id,omitempty"`
	Tokens    []int           `json:"tokens"`
	Dropped   int             `json:"tokens_dropped,omitempty"`
	Embedding []float32       `json:"embedding"`
}

// matrix writes a row for each text.
func (c *embedCommand) matrix(
	a *app, r *textRun, counts *records.Counts, embed records.Answers[eval.Embedded],
) error {
	width := r.model.Config().Embd
	array := arrayShape{Name: "embeddings", Shape: []int{growingRows, width}}
	metadata := map[string]string{"pooling": c.Pooling, "layer": c.layer(r.model),
		"normalized": strconv.FormatBool(c.Options.Normalize)}
	missing := slices.Repeat([]float32{float32(math.NaN())}, width)
	var matrix *arrayWriter
	var written, own error // own is not about the output
	put := func(row []float32) error {
		written = matrix.write(row)
		return written
	}
	err := outfile.WriteFile(context.Background(), *c.Target.Out, c.rules(a),
		func(w io.Writer) (err error) {
			matrix, err = beginArrays(w, arrayFormat(*c.Format), metadata, array)
			if err != nil {
				return err
			}
			err = records.Answer(&r.Texts, embed, func(e *eval.Embedded) (int, error) {
				counts.Lines++
				return len(e.Tokens), put(e.Vector)
			}, func(*lines.Row, error) error {
				counts.Err()
				return put(missing)
			})
			if err != nil {
				if written == nil {
					own = err
				}
				return err
			}
			return matrix.end()
		})
	return fault.First(own, outfile.FlagError("--out", err))
}

// layer is the layer in words.
func (c *embedCommand) layer(m *model.Model) string {
	if c.Options.Layer == nil {
		return strconv.Itoa(m.Config().Layer)
	}
	return strconv.Itoa(*c.Options.Layer)
}
