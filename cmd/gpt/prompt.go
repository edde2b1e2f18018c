package main

// Where text and ids come from: the arguments, a file, or stdin.

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/infile"
	"picogpt/internal/quote"
	"picogpt/internal/scorelines"
	"picogpt/internal/textio"
	"picogpt/tokenizer"
)

// A textSource is text in the arguments, in a file, or on stdin if that is no terminal. Every byte
// counts, a newline at the end included, but for a byte order mark. What is not asked for is not
// read.
type textSource struct {
	Words []string
	File  *string
}

func (s *textSource) arg() cli.Arg {
	return cli.Words(&s.Words, "text", "the text; several words are joined by single spaces")
}

func (s *textSource) flags(f *cli.Flags) {
	f.Add(&s.File, "-f, --file FILE", "read the text from FILE; - is stdin")
}

// addSpecial adds --special.
func addSpecial(f *cli.Flags, p *bool) {
	f.Add(p, "--special", "read <|endoftext|> and other special tokens in the text as such")
}

// declare remembers the file that open will open.
func (s *textSource) declare(a *app) {
	switch {
	case s.File != nil:
		a.files.WillRead(*s.File, "")
	case len(s.Words) == 0 && infile.Readable(a.files.Stdin):
		a.files.WillRead("-", "")
	}
}

// read returns the text, and false if there is none.
func (s *textSource) read(a *app) (text string, given bool, err error) {
	r, err := s.open(a, false)
	if r == nil || err != nil {
		return "", false, err
	}
	defer r.Close()
	text, err = infile.Whole(r)
	return text, true, err
}

// open returns a reader of the text, nil if there is none.
func (s *textSource) open(a *app, mark bool) (io.ReadCloser, error) {
	switch {
	case len(s.Words) > 0 && s.File != nil:
		return nil, usagef("text in the arguments and --file: want one of them")
	case len(s.Words) > 0:
		text := strings.Join(s.Words, " ")
		a.hintAtFile(text, "-f")
		a.files.LeaveStdin()
		return io.NopCloser(strings.NewReader(text)), nil
	case s.File != nil:
		return a.files.OpenText(*s.File, "", mark)
	case !infile.Readable(a.files.Stdin):
		return nil, nil
	}
	return a.files.OpenText("-", "", mark)
}

// A promptSource is a text, or ids in its place.
type promptSource struct {
	Text    textSource
	Tokens  *string
	Special bool
}

func (s *promptSource) flags(f *cli.Flags) {
	s.Text.flags(f)
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
	text, _, err := s.Text.read(a)
	return prompt{text: text, asText: text != ""}, err
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

// tokenizer returns the tokenizer that shows tokens, and encodes p if it is a text. Where ids were
// given and the checkpoint has no tokenizer, missing stands in for it.
func (s *promptSource) tokenizer(a *app, p *prompt, missing scorelines.IDs) (eval.Tokenizer, error) {
	t, err := a.openTokenizer()
	switch {
	case !p.asText && errors.Is(err, checkpoint.ErrNoTokenizer):
		return missing, nil
	case err == nil && p.asText:
		err = p.encode(t, s.Special)
	}
	return t, err
}

// A generateSource is what gpt generate writes on from. A file and a text in the arguments are one
// prompt there.
type generateSource struct {
	Prompt *string
	promptSource
}

func (s *generateSource) flags(f *cli.Flags) {
	f.Group("Prompt:")
	s.Text.flags(f)
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

// errPromptAndText and errTokensAndText are of words in the arguments that are a part of what a flag
// should have.
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
	if s.Text.File == nil || len(words) == 0 {
		return s.Text.open(a, false)
	}
	file, err := a.files.OpenText(*s.Text.File, "", false)
	if err != nil {
		return nil, err
	}
	both := io.MultiReader(textio.Line(file), strings.NewReader(strings.Join(words, " ")))
	return struct {
		io.Reader
		io.Closer
	}{both, file}, nil
}

// encode fills in the ids of a text.
func (p *prompt) encode(t *tokenizer.Tokenizer, special bool) error {
	ids, err := encode(t, p.text, special)
	p.ids = ids
	return err
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
