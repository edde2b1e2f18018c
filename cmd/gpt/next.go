package main

// gpt next: the distribution of the next token, as a table or as JSON.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/strictjson"
	"picogpt/internal/textio"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

type nextCommand struct {
	Prompt promptSource

	Top  int
	JSON bool

	decode.Options // as flags say them
}

func newNext(a *app) *cli.Command {
	c := &nextCommand{}
	return &cli.Command{
		Name: "next", Group: "look",
		Short: "show which tokens may come next, and how likely each is",
		Args:  []cli.Arg{c.Prompt.Text.arg()},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Top, "--top N [10]", "show the N likeliest tokens; 0 is all")
			f.Add(&c.Generated, "--new N [0]", "count the last N tokens of the prompt as generated ones")
			f.Add(&c.JSON, "--json", "print one JSON object")
			f.AddOptions(option.In(c.Options.Table(), option.Next), false)
			seed := f.Find("seed")
			seed.Help, seed.Default = "the seed of the coin of --xtc-probability", "0"
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
		Long: `
Shows from which tokens gpt generate would choose the next one, and how likely each is. The
flags are those of gpt generate, but all of them are off unless given, and the temperature is 1: so
that without flags the table shows the model's own distribution. Below it stands how many tokens
each filter left.

With --ban S the tokens are left out that would complete S at once, in their own bytes or together
with the --new tokens before them. gpt generate also goes back to where S began.

--json prints one object:

prompt_ids	the ids of the prompt
candidates	the tokens that are left, the likeliest first, at most --top of them, as objects
id	the token
text	its text; null where the checkpoint has no tokenizer
logit	what the model says of it
logprob	the natural logarithm of the probability that the model gives it
prob	its probability after everything that is asked for

The prompt is TEXT, the text of a file (-f FILE; -f - is stdin), or what comes through a pipe; or
ids, with --tokens.

Examples:

  gpt next "The cat"
  gpt next --top-p 0.9 --temp 0.7 "Once upon a"
  gpt next --json --top 0 --min-p 0.01 --tokens 464,3797`,
	}
}

// settle checks the flags and makes decode's options of them. Vocabulary is left open.
func (c *nextCommand) settle(given map[string]bool) (decode.Options, error) {
	o := c.Options
	o.MaxTokens = 1
	table := o.Table()
	err := fault.First(fault.NotNegative("--top", c.Top), fault.NotNegative("--new", c.Generated),
		settle(table, given), checkEnds(&o), checkListed(&o, table, given))
	return o, err
}

func (c *nextCommand) Run(a *app, f *cli.Flags) error {
	given := f.Given()
	if err := checkNeeds(c.Table(), given); err != nil {
		return err
	}
	o, err := c.settle(given)
	if err != nil {
		return err
	}
	a.noteWithout(withoutEffect(o.Table(), &o, given, false))
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	if len(p.ids) == 0 && !p.asText {
		return usagef("--tokens: want at least one id, found none")
	}
	tok, err := c.tokenizer(a, &p)
	if err != nil {
		return err
	}
	if c.Generated > len(p.ids) {
		return usagef("--new %d: want at most %d, the tokens of the prompt", c.Generated, len(p.ids))
	}
	if tok != nil {
		o.Vocabulary = tok
	}
	if err := openOptions(a, tok, &o); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := c.look(m, p.ids, o)
	if err != nil {
		return err
	}
	t.name(tok)
	if c.JSON {
		return strictjson.Print(a.stdout, t)
	}
	_, err = a.stdout.WriteString(t.table())
	return err
}

// tokenizer returns the tokenizer, nil where ids were given and there is none, and encodes p if it
// is a text.
func (c *nextCommand) tokenizer(a *app, p *prompt) (*tokenizer.Tokenizer, error) {
	tok, err := a.openTokenizer()
	switch {
	case !p.asText && errors.Is(err, checkpoint.ErrNoTokenizer):
		return nil, nil
	case err == nil && p.asText:
		err = p.encode(tok.ForPrompts(), c.Prompt.Special)
	}
	return tok, err
}

// A nextTable is what gpt next shows.
type nextTable struct {
	PromptIDs  []int         `json:"prompt_ids"`
	Candidates []nextToken   `json:"candidates"`
	steps      []sample.Step // and how many ids each left
	left       int           // candidates in all
}

// A nextToken is a token that may come next.
type nextToken struct {
	ID      int     `json:"id"`
	Text    *string `json:"text"`
	Logit   float32 `json:"logit"`
	LogProb float64 `json:"logprob"`
	Prob    float64 `json:"prob"`
}

// look evaluates the prompt and finds the distribution after it.
func (c *nextCommand) look(m *model.Model, ids []int, o decode.Options) (*nextTable, error) {
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
	t := &nextTable{ids, []nextToken{}, d.Steps, len(d.Chances)}
	for i, k := range d.Chances {
		if c.Top > 0 && i == c.Top {
			break
		}
		x := logits[k.ID]
		t.Candidates = append(t.Candidates,
			nextToken{ID: k.ID, Logit: x, LogProb: float64(x) - sum, Prob: k.Prob})
	}
	return t, nil
}

// name gives the tokens their texts, if there is a tokenizer.
func (t *nextTable) name(tok *tokenizer.Tokenizer) {
	if tok == nil {
		return
	}
	for i := range t.Candidates {
		text, _ := tok.Text(t.Candidates[i].ID) // a row beyond the vocabulary has none
		t.Candidates[i].Text = &text
	}
}

// table is the tokens with bars, and what each sampler left.
func (t *nextTable) table() string {
	const columns = 30
	names, width := make([]string, len(t.Candidates)), 5
	for i, k := range t.Candidates {
		if k.Text != nil {
			names[i] = quoteShort(*k.Text)
		}
		width = max(width, len([]rune(names[i])))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%7s  %-*s  %7s  %8s\n", "id", width, "token", "prob", "logit")
	for i, k := range t.Candidates {
		pad := strings.Repeat(" ", width-len([]rune(names[i])))
		bar := strings.Repeat("█", int(k.Prob/t.Candidates[0].Prob*columns+0.5))
		line := fmt.Sprintf("%7d  %s%s  %6.2f%%  %8.3f  %s", k.ID, names[i], pad, 100*k.Prob,
			k.Logit, bar)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if more := t.left - len(t.Candidates); more > 0 {
		rest := 1.0
		for _, k := range t.Candidates {
			rest -= k.Prob
		}
		fmt.Fprintf(&b, "%7s  %s with %.2f%% together\n", "", amount.Count(more, "more token"),
			100*max(0, rest))
	}
	if len(t.steps) > 0 {
		b.WriteString("\ntokens left after each step:\n\n")
	}
	for _, s := range t.steps {
		fmt.Fprintf(&b, "  %-16s  %d\n", s.Name, s.Left)
	}
	return b.String()
}
