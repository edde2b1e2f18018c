package main

// Receipts of gpt generate: what a text was made from and what came out, for gpt verify.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// A receipt says how one text was made. gpt verify makes it again.
type receipt struct {
	Model        string         `json:"model"` // its digest
	Formats      receiptFormats `json:"formats"`
	PromptIDs    []int          `json:"prompt_ids"`
	Options      []string       `json:"options"` // the flags as given, such as --temp=0.9
	Files        optionTexts    `json:"files,omitempty"`
	Seed         uint64         `json:"seed"`
	IDs          []int          `json:"ids"` // without the one that ended the text
	FinishReason string         `json:"finish_reason"`
	Logits       string         `json:"logits"`           // the digest of all rows
	TokenLogits  []string       `json:"token_logits"`     // the beginning of each row's digest
	Digest       *string        `json:"digest,omitempty"` // of all that; nil in older ones
}

type receiptFormats struct {
	Weights string `json:"weights"`
	Cache   string `json:"cache"`
}

// A receiptFlag is where the receipt goes.
type receiptFlag struct {
	Receipt *string
}

func (r *receiptFlag) flags(f *cli.Flags) {
	f.Add(&r.Receipt, "--receipt FILE",
		`write to FILE what the text was made from and what came out: gpt verify FILE makes it
		again and compares`)
}

// check refuses receipts that cannot be written, before anything is loaded.
func (f *receiptFlag) check(a *app, c *generateCommand, options []string) error {
	switch {
	case f.Receipt == nil:
		return nil
	case *f.Receipt == "-":
		return usagef("--receipt -: want a file, because stdout has the text")
	case c.Many.Prompts != nil:
		return usagef("--receipt and --prompts: want one of them")
	case c.Samples > 1:
		return fault.Hint(usagef("--receipt and --samples %d: want one text", c.Samples),
			"--seed S+i gives text i alone")

	case c.Search.Return > 1:
		return usagef("--receipt and --return %d: want one text", c.Search.Return)
	}
	for _, option := range options {
		if !utf8.ValidString(option) {
			return usagef("--receipt and %s: want UTF-8", quoteShort(option))
		}
	}
	return f.failed(outfile.Check(*f.Receipt, a.writing(c.Many.Target.Force)))
}

func (f *receiptFlag) failed(err error) error { return outfile.FlagError("--receipt", err) }

// kept keeps the tokens that pass.
func kept(
	tokens iter.Seq2[decode.Token, error], all *[]decode.Token,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		for t, err := range tokens {
			if err == nil {
				*all = append(*all, t)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// write writes a receipt, with its digest.
func (f *receiptFlag) write(a *app, c *generateCommand, r *receipt) (err error) {
	if r.Digest, err = contentDigest(r.content()); err != nil {
		return err
	}
	err = outfile.WriteFile(context.Background(), *f.Receipt, a.writing(c.Many.Target.Force),
		func(w io.Writer) error {
			b, err := strictjson.Line(r)
			if err == nil {
				_, err = w.Write(b)
			}
			return err
		})
	return f.failed(err)
}

// fill completes the receipt of a text whose prompt, options and seed it has. start is what the
// tokens follow: the prompt, or less where its end was healed.
func (r *receipt) fill(a *app, m *model.Model, start []int, tokens []decode.Token) error {
	ck, err := a.open()
	if err != nil {
		return err
	}
	defer a.ShowProgress(func() string { return "reading the logits again" })()
	if r.Model, err = ck.Digest(); err != nil {
		return err
	}
	rows, err := logitsBefore(m, start, tokens)
	if err != nil {
		return err
	}
	r.Formats, r.Files = receiptFormats{m.Format(), m.CacheFormat()}, a.optionFiles.texts
	for name, text := range r.Files {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s: want UTF-8 for a receipt", name)
		}
	}
	r.IDs, r.TokenLogits = []int{}, []string{}
	whole := sha256.New()
	for i, t := range tokens {
		if t.Finish != decode.FinishEndOfText {
			r.IDs = append(r.IDs, t.ID)
		}
		r.FinishReason = t.Finish
		whole.Write(rows[i][:])
		r.TokenLogits = append(r.TokenLogits, hex.EncodeToString(rows[i][:4]))
	}
	r.Logits = hex.EncodeToString(whole.Sum(nil))
	return nil
}

// logitsBefore returns the SHA-256 of the logits that the model gave before each token: float32 in
// little-endian order. They are computed anew, all positions together, which gives the bits that
// were seen when the tokens were chosen one by one.
func logitsBefore(m *model.Model, prompt []int, tokens []decode.Token) ([][32]byte, error) {
	rows := make([][32]byte, len(tokens))
	err := visitRows(m, prompt, tokens, func(i int, logits []float32) {
		h, b := sha256.New(), make([]byte, 0, 1<<12)
		for part := range slices.Chunk(logits, cap(b)/4) {
			b = b[:0]
			for _, x := range part {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
			h.Write(b)
		}
		h.Sum(rows[i][:0])
	})
	return rows, err
}

// visitRows evaluates a text and calls visit with the logits before each of its tokens, from
// several goroutines.
func visitRows(
	m *model.Model, prompt []int, tokens []decode.Token, visit func(i int, logits []float32),
) error {
	context, first := slices.Clone(prompt), 0
	if id, ok := m.Config().StartToken(); ok && len(prompt) == 0 {
		context = []int{id}
	}
	for first < len(tokens) {
		// Up to the next token before which the context was cut, all is one text.
		context = context[tokens[first].Dropped:]
		from, end := len(context)-1, first+1
		for ; end < len(tokens) && tokens[end].Dropped == 0; end++ {
			context = append(context, tokens[end-1].ID)
		}
		base := first
		err := evalOnce(m, model.Input{
			Tokens: context, NoLogits: true, VisitFrom: from,
			Visit: func(r model.Row) { visit(base+r.Index-from, r.Logits) },
		})
		if err != nil {
			return err
		}
		context, first = append(context, tokens[end-1].ID), end
	}
	return nil
}

// evalOnce evaluates tokens in a session of their own.
func evalOnce(m *model.Model, in model.Input) error {
	in.Session = m.NewSession()
	defer in.Session.Release()
	err := m.Eval(context.Background(), in)
	var input *model.InputError
	if errors.As(err, &input) {
		return input.Err
	}
	return err
}
