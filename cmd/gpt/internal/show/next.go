package show

// The distribution of the next token.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

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
	var negative *decode.NegativeError
	if errors.As(err, &negative) {
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
