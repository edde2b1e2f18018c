package show

// Logits as JSON.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/sample"
)

// Logits writes one object of ids and what follows them.
type Logits struct {
	Top       int   // the likeliest ids in place of all logits; 0 means all
	Tokenizer Texts // for Top
}

// Texts gives the text of an id.
type Texts interface {
	Text(id int) (string, error)
}

// begin is the object up to the logits.
func (w *Logits) begin(ids []int) []byte {
	name := `,"logits":`
	if w.Top > 0 {
		name = `,"top":`
	}
	return append(strictjson.AppendIDs([]byte(`{"tokens":`), ids), name...)
}

// append appends all logits [vocab_size], or the likeliest as objects.
func (w *Logits) append(b []byte, m *model.Model, logits []float32) ([]byte, error) {
	return appendLogits(b, w, logits, m.Leaves().LogSumExp)
}

func appendLogits[T float32 | float64](
	b []byte, w *Logits, logits []T, logSumExp func([]T) float64,
) ([]byte, error) {
	if w.Top == 0 {
		return strictjson.AppendFloats(b, logits), nil
	}
	type likely struct {
		ID      int     `json:"id"`
		Text    string  `json:"text"`
		Logit   T       `json:"logit"`
		LogProb float64 `json:"logprob"`
	}
	ids := sample.Likeliest(logits, w.Top)
	top, sum := make([]likely, len(ids)), logSumExp(logits)
	for i, id := range ids {
		text, _ := w.Tokenizer.Text(id) // a row beyond the vocabulary has no text
		top[i] = likely{id, text, logits[id], float64(logits[id]) - sum}
	}
	line, err := strictjson.Line(top)
	return append(b, bytes.TrimSuffix(line, []byte("\n"))...), err
}

// WriteLast writes the logits after the last of the ids.
func (w *Logits) WriteLast(
	ctx context.Context, out io.Writer, s *model.Session, ids []int,
) error {
	if err := evalOne(ctx, model.Input{Session: s, Tokens: ids}); err != nil {
		return err
	}
	b, err := w.append(w.begin(ids), s.Model(), s.Logits())
	if err != nil {
		return err
	}
	_, err = out.Write(append(b, "}\n"...))
	return err
}

// Write writes rows of logits [vocab_size] that another program has computed: an array of them, or
// the one that there is.
func (w *Logits) Write(out io.Writer, ids []int, rows iter.Seq[[]float64], array bool) error {
	b, end := w.begin(ids), "}\n"
	if array {
		b, end = append(b, '['), "]}\n"
	}
	first := true
	for row := range rows {
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = appendLogits(b, w, row, floats.LogSumExp); err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := out.Write(append(b, end...))
	return err
}

// WriteAll writes the logits after each of the ids. It evaluates a few at a time, which changes no
// bit, so that memory does not grow with their number, and counts those that are written.
func (w *Logits) WriteAll(
	ctx context.Context, out io.Writer, s *model.Session, ids []int, written *atomic.Int64,
) error {
	const few = 32
	// Each Eval sees only its own tokens, and nothing is to be printed of what another refuses.
	if err := CheckTokens(s.Model().Config(), ids); err != nil {
		return err
	}
	b := append(w.begin(ids), '[')
	rows := make([][]float32, few) // [few, vocab_size]
	for from := 0; from < len(ids); from += few {
		part := ids[from:min(from+few, len(ids))]
		visit := func(r model.Row) { rows[r.Index] = append(rows[r.Index][:0], r.Logits...) }
		err := evalOne(ctx, model.Input{Session: s, Tokens: part, Visit: visit})
		for i := 0; i < len(part) && err == nil; i++ {
			if from+i > 0 {
				b = append(b, ',')
			}
			b, err = w.append(b, s.Model(), rows[i])
		}
		if err == nil {
			_, err = out.Write(b)
		}
		if err != nil {
			return err
		}
		b = b[:0]
		written.Add(int64(len(part)))
	}
	_, err := io.WriteString(out, "]}\n")
	return err
}

// evalOne is Eval of one input, whose errors need not say which one they are about.
func evalOne(ctx context.Context, in model.Input) error {
	err := in.Session.Model().Eval(ctx, in)
	var refused *model.InputError
	if errors.As(err, &refused) {
		return refused.Err
	}
	return err
}

// CheckTokens says what Eval would say of all ids at once.
func CheckTokens(c model.Config, ids []int) error {
	if err := CheckIDs(c, ids); err != nil {
		return err
	}
	if len(ids) > c.Positions {
		return &model.ContextError{Added: len(ids), Positions: c.Positions}
	}
	return nil
}

// CheckIDs refuses ids that the vocabulary does not have.
func CheckIDs(c model.Config, ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= c.VocabSize {
			return fmt.Errorf("token %d: id %d, want 0 to %d", i, id, c.VocabSize-1)
		}
	}
	return nil
}
