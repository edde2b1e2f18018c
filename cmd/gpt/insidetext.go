package main

// What commands about the inside of a model share: tokens that flags name, and how a result is
// printed.

import (
	"context"
	"io"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/tokenizer"
)

// An insideOutput is how a command prints what it found: a table, JSON or a page.
type insideOutput struct {
	JSON bool
	Page pageFile
}

func (o *insideOutput) flags(f *cli.Flags) {
	f.Add(&o.JSON, "--json", "print one JSON object")
	o.Page.flags(f)
}

// checkOne refuses two forms.
func (o *insideOutput) checkOne() error {
	if o.JSON && o.Page.HTML != nil {
		return usagef("--json and --html: want one of them")
	}
	return nil
}

// check refuses two forms, and, before anything is read, a page that cannot be written. texts are
// what the command reads.
func (o *insideOutput) check(a *app, texts ...*promptSource) error {
	return fault.First(o.checkOne(), o.Page.check(a, texts...))
}

// checkInside is check of a command that looks inside of the model, such as "gpt lens".
func (o *insideOutput) checkInside(a *app, command string, texts ...*promptSource) error {
	return fault.First(o.checkOne(), a.onProcessor(command), o.Page.check(a, texts...))
}

// show prints what a command found: v as JSON, the page that page draws, or what text prints.
func (o *insideOutput) show(a *app, v any, page func(io.Writer) error, text func() error) error {
	switch {
	case o.JSON:
		return strictjson.Print(a.stdout, v)
	case o.Page.HTML != nil:
		return o.Page.write(a, page)
	}
	return text()
}

// onProcessor refuses a command that looks inside of the model, on a GPU.
func (a *app) onProcessor(command string) error {
	device, said, err := a.deviceName()
	if err == nil && device != "cpu" {
		err = usagef("%s and %s %s: a GPU shows nothing of its inside, want the processor "+
			"(--device cpu), whose numbers are the same", command, said, device)
	}
	return err
}

// tokenNames name tokens by their texts, or "#12" where there is none.
type tokenNames struct {
	tokenizer *tokenizer.Tokenizer // nil: the checkpoint has none
	byID      bool                 // flags name tokens by their ids, as the prompt does
}

// nameTokens opens the tokenizer, and encodes the prompts that are texts. Where all are ids, the
// checkpoint needs none.
func (a *app) nameTokens(special bool, prompts ...*prompt) (*tokenNames, error) {
	n := &tokenNames{byID: true}
	for _, p := range prompts {
		if p.asText {
			n.byID = false
		} else if len(p.ids) == 0 {
			return nil, usagef("--tokens: want at least one id, found none")
		}
	}
	for _, p := range prompts {
		var err error
		if n.tokenizer, err = p.tokenizer(a, special, true); err != nil {
			return n, err
		}
	}
	return n, nil
}

// name returns a token's text, as it stands in the middle of a text.
func (n *tokenNames) name(id int) string {
	if n.tokenizer != nil {
		if text, err := n.tokenizer.Text(id); err == nil {
			return text
		}
	}
	return "#" + strconv.Itoa(id)
}

// some names the first tokens, at most so many.
func (n *tokenNames) some(ids []int, most int) string {
	var list []string
	for _, id := range ids[:min(len(ids), most)] {
		list = append(list, quoteShort(n.name(id)))
	}
	if len(ids) > most {
		list = append(list, "…")
	}
	return strings.Join(list, " ")
}

// find returns the one token that a flag names: by its text, or by its id where the prompt came
// with --tokens.
func (n *tokenNames) find(flag, value string) (int, error) {
	if n.byID {
		id, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return 0, usagef("%s %s: want the id of a token, because the prompt was given as ids",
				flag, quoteShort(value))
		}
		return id, nil
	}
	ids, err := encode(n.tokenizer, value, true)
	if err != nil || len(ids) == 1 {
		return append(ids, 0)[0], err
	}
	if len(ids) == 0 {
		return 0, usagef("%s: want a token, found nothing", flag)
	}
	err = usagef("%s %s: want one token, found %d: %s", flag, quoteShort(value), len(ids),
		n.some(ids, 6))
	return 0, fault.Hint(err, `most tokens of words begin with their space: `+flag+` " dog"`)
}

// picture returns the page of a text, without what the command found. The last token has the focus.
func (n *tokenNames) picture(a *app, m *model.Model, ids []int) *pages.Picture {
	c := m.Config()
	p := &pages.Picture{Model: a.modelName(), Layers: c.Layer, Heads: c.Head, At: len(ids) - 1}
	if n.tokenizer != nil { // spans, because the first token may be written otherwise
		if text, spans, err := n.tokenizer.DecodeSpans(ids); err == nil {
			for i, s := range spans {
				p.Tokens = append(p.Tokens, pages.Token{ID: ids[i], Text: text[s.Start:s.End]})
			}
			return p
		}
	}
	for _, id := range ids {
		p.Tokens = append(p.Tokens, pages.Token{ID: id, Text: n.name(id)})
	}
	return p
}

// page draws the page of a text with what add adds to it, and the weights of all heads: a pass
// more, and on the page 1 MB for 100 tokens of GPT-2.
func (f *focus) page(a *app, m *model.Model, add func(*pages.Picture)) func(io.Writer) error {
	return func(w io.Writer) error {
		p := f.names.picture(a, m, f.ids)
		p.At = f.at
		add(p)
		p.Attention = pages.NewAttention(p.Layers, p.Heads, len(f.ids))
		session := m.NewSession()
		defer session.Release()
		points := []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}}
		read := func(r model.Reading) { p.Attention.Take(r.At.Layer, r.Index, r.Data) }
		err := m.Eval(context.Background(), model.Input{Session: session, Tokens: f.ids, NoLogits: true,
			Trace: &model.Trace{Points: points, Read: read}}) // Ctrl-C ends the process
		if err != nil {
			return model.Cause(err)
		}
		return p.Page(w)
	}
}

// A focus is a text, the position of one of its tokens, and the token that may follow it.
type focus struct {
	names  *tokenNames
	ids    []int
	at     int
	target *int // nil: none is named
}

// focus returns what --at and --target name in a text. at nil is the last token.
func (a *app) focus(text *promptSource, at *int, target *string) (f focus, err error) {
	p, err := text.given(a)
	if err != nil {
		return f, err
	}
	if f.names, err = a.nameTokens(text.Special, &p); err != nil {
		return f, err
	}
	if err := a.Edits.within(len(p.ids)); err != nil {
		return f, err
	}
	f.ids, f.at = p.ids, len(p.ids)-1
	if at != nil {
		if f.at, err = position("--at", *at, len(p.ids)); err != nil {
			return f, err
		}
	}
	if target != nil {
		id, err := f.names.find("--target", *target)
		if err != nil {
			return f, err
		}
		f.target = &id
	}
	return f, nil
}

// position returns the position of a token of n that a flag names, from 0; -1 is the last.
func position(flag string, at, n int) (int, error) {
	if at < -n || at >= n {
		return 0, usagef("%s %d: want 0 to %d, or -1 (the last) to %d", flag, at, n-1, -n)
	}
	return (at + n) % n, nil
}
