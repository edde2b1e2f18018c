package receipt

// The parts of a receipt about the text: its ids, and digests of the logits before them.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/engine"
	"picogpt/model"
)

// Keep returns tokens, and appends each that passes to all.
func Keep(
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

// Fill completes the receipt of texts whose model, prompt, options, files and seed it has. The
// tokens follow start: the prompt, or less if its end was healed. Those of several texts may come in
// any order.
func (r *Receipt) Fill(m *model.Model, start []int, tokens []decode.Token) error {
	if err := r.checkFiles(); err != nil {
		return err
	}
	r.Formats, r.Arithmetic, r.Edits = chat.FormatsOf(m), engine.Arithmetic, m.Edits()
	var bySample [][]decode.Token
	for _, t := range tokens {
		for len(bySample) <= t.Sample {
			bySample = append(bySample, nil)
		}
		bySample[t.Sample] = append(bySample[t.Sample], t)
	}
	var texts []Text
	for _, tokens := range bySample {
		t, err := textOf(m, start, tokens)
		if err != nil {
			return err
		}
		texts = append(texts, t)
	}
	if r.Texts = texts; len(texts) == 1 {
		r.Text, r.Texts = &texts[0], nil
	}
	return nil
}

// checkFiles refuses files that JSON has no room for.
func (r *Receipt) checkFiles() error {
	for name, text := range r.Files {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s: want UTF-8 for a receipt", name)
		}
	}
	return nil
}

// textOf returns what a receipt has of the tokens of a text.
func textOf(m *model.Model, start []int, tokens []decode.Token) (Text, error) {
	rows, err := logitsBefore(m, start, tokens)
	if err != nil {
		return Text{}, err
	}
	made := Text{IDs: []int{}, TokenLogits: []string{}}
	whole := sha256.New()
	for i, t := range tokens {
		if t.Finish != decode.FinishEndOfText {
			made.IDs = append(made.IDs, t.ID)
		}
		made.FinishReason, made.Budget = t.Finish, made.Budget.Add(t)
		whole.Write(rows[i][:])
		made.TokenLogits = append(made.TokenLogits, hex.EncodeToString(rows[i][:4]))
	}
	made.Logits = hex.EncodeToString(whole.Sum(nil))
	return made, nil
}

// logitsBefore returns the SHA-256 of the logits that the model gave before each token, as float32
// in little-endian order. They are computed again, all positions together, which gives the same
// bits as when the tokens were chosen one by one.
func logitsBefore(m *model.Model, prompt []int, tokens []decode.Token) ([][32]byte, error) {
	rows := make([][32]byte, len(tokens))
	err := visitRows(m, prompt, tokens, func(i int, logits []float32) { rows[i] = rowDigest(logits) })
	return rows, err
}

// rowDigest returns the SHA-256 of logits.
func rowDigest(logits []float32) (sum [32]byte) {
	h, b := sha256.New(), make([]byte, 0, 1<<12)
	for part := range slices.Chunk(logits, cap(b)/4) {
		b = b[:0]
		for _, x := range part {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		h.Write(b)
	}
	h.Sum(sum[:0])
	return sum
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
		// Up to the next token before which the context was cut, the tokens are one text.
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

// evalOnce evaluates tokens in a new session.
func evalOnce(m *model.Model, in model.Input) error {
	in.Session = m.NewSession()
	defer in.Session.Release()
	err := m.Eval(context.Background(), in)
	if input, ok := errors.AsType[*model.InputError](err); ok {
		return input.Err
	}
	return err
}
