package main

// One text: where it and its ids come from, tokens that flags name, and its page.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// Where text and ids come from: the arguments, a file, or stdin.

// wordsArg is the text in the arguments, fileFlag that of a file.
func wordsArg(s *textio.Source) cli.Arg {
	return cli.Words(&s.Words, "text", "the text; several words are joined by single spaces")
}

func fileFlag(f *cli.Flags, s *textio.Source) {
	f.Add(&s.File, "-f, --file FILE", "read the text from FILE; - is stdin")
}

// addSpecial adds --special.
func addSpecial(f *cli.Flags, p *bool) {
	f.Add(p, "--special", "read <|endoftext|> and other special tokens in the text as such")
}

// A promptSource is a text, or ids in its place.
type promptSource struct {
	Text    textio.Source
	Tokens  *string
	Special bool
	BOS     bool
}

func (s *promptSource) flags(f *cli.Flags) {
	fileFlag(f, &s.Text)
	s.addTokens(f)
	addSpecial(f, &s.Special)
}

func (s *promptSource) addTokens(f *cli.Flags) {
	f.Add(&s.Tokens, "--tokens IDS", "token ids in place of a text: 1,2,3 or [1,2,3]")
}

// addBOS adds --bos.
func (s *promptSource) addBOS(f *cli.Flags) {
	f.Add(&s.BOS, "--bos", `put the token that stands before a text first, GPT-2's <|endoftext|>, as
		TransformerLens does by default; it is at position 0`)
}

// A prompt is what the model starts from.
type prompt struct {
	text   string
	ids    []int
	asText bool // ids are to be made from text
	bos    bool // the token before a text is to come first

	// Of gpt generate only.
	source  io.Reader // of the text, if asText
	dropped int       // tokens before ids that were not kept
	printed int       // bytes at the beginning of the new text that are printed already
}

// read returns the prompt, with ids only if they were given as such.
func (s *promptSource) read(a *app) (prompt, error) {
	if s.Tokens != nil {
		if len(s.Text.Words) > 0 || s.Text.File != nil {
			return prompt{}, errTokensAndText()
		}
		a.files.LeaveStdin()
		ids, err := textio.ParseIDs(*s.Tokens)
		if err != nil {
			return prompt{}, usagef("--tokens: %w", err)
		}
		return prompt{ids: ids, bos: s.BOS}, nil
	}
	text, _, err := s.Text.Read(&a.files)
	return prompt{text: text, asText: text != "", bos: s.BOS}, err
}

// declare remembers the files that the prompt comes from, so that no output replaces them.
func (s *promptSource) declare(a *app) {
	if s.Tokens == nil {
		s.Text.Declare(&a.files)
	}
}

// given is read for commands that need a prompt.
func (s *promptSource) given(a *app) (prompt, error) {
	p, err := s.read(a)
	if err == nil && !p.asText && p.ids == nil {
		err = fault.Hint(usagef("no text"), textHint)
	}
	return p, err
}

// textHint says how a command gets its text.
const textHint = "give a text as an argument, with --file, or through a pipe"

// tokenizer returns the checkpoint's tokenizer, and encodes p if it is a text, as one that is to be
// continued or as a whole. Where ids were given and there is none, it is nil.
func (p *prompt) tokenizer(a *app, special, continued bool) (*tokenizer.Tokenizer, error) {
	t, err := a.openTokenizer()
	switch {
	case err == nil && p.asText && continued:
		p.ids, err = encode(t.ForPrompts(), p.text, special)
	case err == nil && p.asText:
		p.ids, err = encode(t, p.text, special)
	}
	if err == nil || errors.Is(err, checkpoint.ErrNoTokenizer) {
		if wrong := p.begin(a); wrong != nil {
			return nil, wrong
		}
	}
	if !p.asText && errors.Is(err, checkpoint.ErrNoTokenizer) {
		return nil, nil
	}
	return t, err
}

// begin puts the token before a text first, if that is wanted.
func (p *prompt) begin(a *app) error {
	if !p.bos {
		return nil
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	id, ok := ck.Config.StartToken()
	if !ok {
		return usagef("--bos: the checkpoint names no token that stands before a text")
	}
	p.ids, p.bos = slices.Insert(slices.Clone(p.ids), 0, id), false
	return nil
}

// shownBy is tokenizer for a text as a whole. Where it is nil, missing stands in for it.
func (p *prompt) shownBy(a *app, special bool, missing lines.IDs) (eval.Tokenizer, error) {
	if t, err := p.tokenizer(a, special, false); t != nil || err != nil {
		return t, err
	}
	return missing, nil
}

// A generateSource is what gpt generate writes on from. A file and a text in the arguments are one
// prompt there.
type generateSource struct {
	Prompt *string
	promptSource
}

func (s *generateSource) flags(f *cli.Flags) {
	f.Group("Prompt:")
	fileFlag(f, &s.Text)
	f.Add(&s.Prompt, "-p, --prompt TEXT", "take TEXT as the prompt, whatever it looks like")
	f.Group(otherPrompts)
	s.addTokens(f)
	addSpecial(f, &s.Special)
}

// otherPrompts is the heading of the flags about prompts that gpt help prompts has.
const otherPrompts = "Prompts:"

// open returns the prompt, with ids only if they were given as such, and with a text not yet read.
// Call close when it is.
func (s *generateSource) open(a *app) (p prompt, close func(), err error) {
	close = func() {}
	switch {
	case s.Prompt != nil && len(s.Text.Words) > 0:
		return p, close, errPromptAndText()
	case s.Prompt != nil:
		s.Text.Words = []string{*s.Prompt}
	}
	if s.Tokens != nil {
		p, err = s.read(a)
		return p, close, err
	}
	text, err := s.Text.OpenBoth(&a.files)
	if text == nil || err != nil {
		return p, close, err
	}
	first := bufio.NewReader(text)
	_, err = first.Peek(1) // an empty text is no prompt
	p.source, p.asText = first, err == nil
	if err == io.EOF {
		err = nil
	}
	return p, func() { text.Close() }, err
}

// errPromptAndText and errTokensAndText are of words in the arguments that are a part of what a
// flag should have.
func errPromptAndText() error {
	return fault.Hint(usagef("--prompt and a text in the arguments: want one of them"),
		"a prompt of several words goes into quotes: -p \"Once upon a time\"")
}

func errTokensAndText() error {
	return fault.Hint(usagef("--tokens and a text: want one of them"),
		"several ids are one word: --tokens 1,2,3")
}

// encode is the tokenizer's Encode, with special tokens in the text or without.
func encode(t *tokenizer.Tokenizer, text string, special bool) ([]int, error) {
	if special {
		t = t.WithSpecial()
	}
	return t.Encode(text)
}

// quoteShort quotes what a user wrote.
func quoteShort(s string) string { return quote.Short(s, 40) }

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

// findGiven is find of a flag that may be missing.
func (n *tokenNames) findGiven(flag string, value *string) (*int, error) {
	if value == nil {
		return nil, nil
	}
	id, err := n.find(flag, *value)
	return &id, err
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
func (f *focus) page(a *app, m *model.Model, add func(*pages.Picture) error) func(io.Writer) error {
	return func(w io.Writer) error {
		p := f.names.picture(a, m, f.ids)
		p.At = f.at
		if err := add(p); err != nil {
			return err
		}
		p.Attention = pages.NewAttention(p.Layers, p.Heads, len(f.ids))
		session := m.NewSession()
		defer session.Release()
		points := []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}}
		read := func(r model.Reading) { p.Attention.Take(r.At.Layer, r.Index, r.Data) }
		ctx := context.Background() // Ctrl-C ends the process
		err := m.Eval(ctx, model.Input{Session: session, Tokens: f.ids, NoLogits: true,
			Trace: &model.Trace{Points: points, Read: read}})
		if err != nil {
			return model.Cause(err)
		}
		return p.Page(w)
	}
}

// explain adds to a page what each layer would predict and, if it has not that, what adds to a logit.
func (f *focus) explain(m *model.Model, q inside.Metric, p *pages.Picture) error {
	ctx := context.Background() // Ctrl-C ends the process
	q.LogProb = false
	lens, err := inside.Lens(ctx, m, f.ids, inside.LensOptions{Top: 5, Target: &q.Target})
	if err != nil {
		return err
	}
	if p.Lens = f.names.lens(lens); p.Parts != nil {
		return nil
	}
	made, err := inside.Attribute(ctx, m, f.ids[:f.at+1], q, inside.AttributeOptions{})
	if err == nil {
		p.Parts = f.names.parts(made, f.at)
	}
	return err
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
	f.target, err = f.names.findGiven("--target", target)
	return f, err
}

// position returns the position of a token of n that a flag names, from 0; -1 is the last.
func position(flag string, at, n int) (int, error) {
	if at < -n || at >= n {
		return 0, usagef("%s %d: want 0 to %d, or -1 (the last) to %d", flag, at, n-1, -n)
	}
	return (at + n) % n, nil
}
