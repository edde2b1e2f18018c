package show

// Logits as JSON, and the distribution of the next token.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
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

// appendLogits appends all logits [vocab_size], or the likeliest as objects.
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

// Rows are rows of logits [vocab_size], each valid until the next, or the error that ends them.
type Rows[T float32 | float64] = iter.Seq2[[]T, error]

// Write writes rows of the model's logits as JSON: an array of them, or the one that there is.
func (w *Logits) Write(
	out io.Writer, m *model.Model, ids []int, rows Rows[float32], array bool,
) error {
	return writeLogits(w, out, ids, rows, array, m.Leaves().LogSumExp)
}

// WriteReference is Write of what the reference has computed.
func (w *Logits) WriteReference(out io.Writer, ids []int, rows Rows[float64], array bool) error {
	return writeLogits(w, out, ids, rows, array, floats.LogSumExp)
}

func writeLogits[T float32 | float64](
	w *Logits, out io.Writer, ids []int, rows Rows[T], array bool, logSumExp func([]T) float64,
) error {
	b, end := w.begin(ids), "}\n"
	if array {
		b, end = append(b, '['), "]}\n"
	}
	first := true
	for row, err := range rows {
		if !first {
			b = append(b, ',')
		}
		first = false
		if err == nil {
			b, err = appendLogits(b, w, row, logSumExp)
		}
		if err == nil {
			_, err = out.Write(b)
		}
		if err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := out.Write(append(b, end...))
	return err
}

// LastLogits are the logits after the last of the ids.
func LastLogits(ctx context.Context, s *model.Session, ids []int) Rows[float32] {
	return func(yield func([]float32, error) bool) {
		err := evalOne(ctx, model.Input{Session: s, Tokens: ids})
		yield(s.Logits(), err)
	}
}

// AllLogits are the logits after each of the ids. It evaluates a few at a time, which changes no
// bit, so that memory does not grow with their number, and counts those that are used.
func AllLogits(
	ctx context.Context, s *model.Session, ids []int, used *atomic.Int64,
) Rows[float32] {
	const few = 32
	return func(yield func([]float32, error) bool) {
		// Each Eval sees only its own tokens, and nothing is to be written of what another refuses.
		err := CheckTokens(s.Model().Config(), ids)
		rows := make([][]float32, few) // [few, vocab_size]
		for from := 0; from < len(ids) && err == nil; from += few {
			part := ids[from:min(from+few, len(ids))]
			visit := func(r model.Row) { rows[r.Index] = append(rows[r.Index][:0], r.Logits...) }
			err = evalOne(ctx, model.Input{Session: s, Tokens: part, Visit: visit})
			for i := 0; i < len(part) && err == nil; i++ {
				if !yield(rows[i], nil) {
					return
				}
				used.Add(1)
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// evalOne is Eval of one input, whose errors need not say which one they are about.
func evalOne(ctx context.Context, in model.Input) error {
	return model.Cause(in.Session.Model().Eval(ctx, in))
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

// A Next is what gpt next shows.
type Next struct {
	PromptIDs  []int         `json:"prompt_ids"`
	Candidates []NextToken   `json:"candidates"`
	Logits     []float32     `json:"-"` // [vocabulary], the model's own
	steps      []sample.Step // and how many ids each left
	left       int           // candidates in all
	rest       float64       // the probability of those that are not shown
}

// A NextToken is a token that may come next.
type NextToken struct {
	ID      int     `json:"id"`
	Text    *string `json:"text"`
	Logit   float32 `json:"logit"`
	LogProb float64 `json:"logprob"`
	Prob    float64 `json:"prob"`
}

// LookNext evaluates a prompt and finds the distribution after it, with at most so many candidates;
// 0 means all.
func LookNext(m *model.Model, ids []int, o decode.Options, top int) (*Next, error) {
	s := m.NewSession()
	st, err := decode.NewStream(s, ids, o)
	if _, ok := errors.AsType[*decode.NegativeError](err); ok {
		err = fault.Hint(err, "a shorter --negative TEXT fits")
	}
	if err != nil {
		return nil, err
	}
	defer st.Stop()
	for _, input := range []func(rows int) (model.Input, bool){st.Input, st.Guide} {
		if in, ok := input(0); ok {
			if err := evalOne(context.Background(), in); err != nil { // Ctrl-C ends the process
				return nil, err
			}
		}
	}
	d, err := st.Distribution()
	if err != nil {
		return nil, textio.ByFlags(err, nil)
	}
	logits, sum := s.Logits(), m.Leaves().LogSumExp(s.Logits())
	t := &Next{PromptIDs: ids, Candidates: []NextToken{}, Logits: logits, steps: d.Steps,
		left: len(d.Chances)}
	for i, k := range d.Chances {
		if top > 0 && i >= top {
			t.rest += k.Prob
			continue
		}
		x := logits[k.ID]
		t.Candidates = append(t.Candidates,
			NextToken{ID: k.ID, Logit: x, LogProb: float64(x) - sum, Prob: k.Prob})
	}
	return t, nil
}

// Name gives the tokens their texts, if there is a tokenizer.
func (t *Next) Name(tok *tokenizer.Tokenizer) {
	if tok == nil {
		return
	}
	for i := range t.Candidates {
		text, _ := tok.Text(t.Candidates[i].ID) // a row beyond the vocabulary has none
		t.Candidates[i].Text = &text
	}
}

// Table is the tokens with bars, and what each sampler left.
func (t *Next) Table() string {
	const columns = 30
	names, width := make([]string, len(t.Candidates)), 5
	probs, widest := make([]string, len(t.Candidates)), 7
	for i, k := range t.Candidates {
		probs[i] = Percent(k.Prob, 2)
		widest = max(widest, len(probs[i]))
		if k.Text != nil {
			names[i] = quote.Short(*k.Text, 40)
		}
		width = max(width, len([]rune(names[i])))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%7s  %-*s  %*s  %8s\n", "id", width, "token", widest, "prob", "logit")
	for i, k := range t.Candidates {
		pad := strings.Repeat(" ", width-len([]rune(names[i])))
		bar := strings.Repeat("█", int(k.Prob/t.Candidates[0].Prob*columns+0.5))
		line := fmt.Sprintf("%7d  %s%s  %*s  %8.3f  %s", k.ID, names[i], pad, widest, probs[i],
			k.Logit, bar)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if more := t.left - len(t.Candidates); more > 0 {
		fmt.Fprintf(&b, "%7s  %s with %s together\n", "", quote.Count(more, "more token"),
			Percent(t.rest, 2))
	}
	if len(t.steps) > 0 {
		b.WriteString("\ntokens left after each step:\n\n")
	}
	for _, s := range t.steps {
		fmt.Fprintf(&b, "  %-16s  %d\n", s.Name, s.Left)
	}
	return b.String()
}
