package main

// Where text and ids come from: the arguments, a file, or stdin.

import (
	"bufio"
	"errors"
	"io"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

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
}

func (s *promptSource) flags(f *cli.Flags) {
	fileFlag(f, &s.Text)
	s.addTokens(f)
	addSpecial(f, &s.Special)
}

func (s *promptSource) addTokens(f *cli.Flags) {
	f.Add(&s.Tokens, "--tokens IDS", "token ids in place of a text: 1,2,3 or [1,2,3]")
}

// A prompt is what the model starts from.
type prompt struct {
	text   string
	ids    []int
	asText bool // ids are to be made from text

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
		return prompt{ids: ids}, nil
	}
	text, _, err := s.Text.Read(&a.files)
	return prompt{text: text, asText: text != ""}, err
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
	case !p.asText && errors.Is(err, checkpoint.ErrNoTokenizer):
		return nil, nil
	case err == nil && p.asText && continued:
		p.ids, err = encode(t.ForPrompts(), p.text, special)
	case err == nil && p.asText:
		p.ids, err = encode(t, p.text, special)
	}
	return t, err
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
	text, err := s.promptText(a)
	if s.Tokens != nil && err == nil {
		p, err = s.promptSource.read(a)
	}
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

// promptText returns a reader of the prompt's text, nil if there is none.
func (s *generateSource) promptText(a *app) (io.ReadCloser, error) {
	words := s.Text.Words
	if s.Prompt != nil {
		if len(words) > 0 {
			return nil, errPromptAndText()
		}
		words = []string{*s.Prompt}
	}
	s.Text.Words = words
	if s.Tokens != nil {
		return nil, nil
	}
	return s.Text.OpenBoth(&a.files)
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
