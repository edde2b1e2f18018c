package main

// gpt tokenize: text to ids, and back.

import (
	"io"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
)

type tokenizeCommand struct {
	Text    textio.Source
	Decode  bool
	Special bool
	JSON    bool
}

func newTokenize(a *app) *cli.Command {
	c := &tokenizeCommand{}
	return &cli.Command{
		Name: "tokenize", Group: "look",
		Short: "turn a text into token ids, or ids into text",
		Args:  []cli.Arg{wordsArg(&c.Text)},
		Flags: func(f *cli.Flags) {
			fileFlag(f, &c.Text)
			f.Add(&c.Decode, "--decode", "read ids, and print the text that they stand for")
			addSpecial(f, &c.Special)
			f.Add(&c.JSON, "--json", "with --decode: print the text as a JSON string; ids are JSON already")
			a.addRawControls(f)
			a.flags(f, modelFlag|adapterFlag|engineFlag|cjkSpaces|verbose)
		},
		Run: func(f *cli.Flags) error {
			if a.asReference() {
				err := onlyReference(f.Given(), "file", "decode", "special", "json",
					"raw-control-chars", "model", "verbose")
				if err != nil {
					return err
				}
			}
			return c.Run(a)
		},
		Long: `
Prints the ids of the text as one JSON array. With --decode it reads such an array, and
prints exactly the bytes that the ids stand for; a newline is added on a terminal only.

The text is TEXT, the text of a file (-f FILE; -f - is stdin), or what comes through a pipe. Every
byte counts, those of a byte order mark too. The tokenizer is the checkpoint's own; where it has
none, and its vocabulary is large enough, it is GPT-2's. gpt inspect says of which kind it is.

Some vocabularies of byte-level BPE have no token for some bytes, because their training text had
none. Such bytes are dropped, as Hugging Face's library does, or become the token for unknown text
if the file names one; a note says which, and gpt inspect lists all of them.

The text of a WordPiece vocabulary, as Chinese models have, has a space between the characters; with
--cjk-spaces=false it is as gpt generate writes it. [CLS] and its like in the text are single ids
there, and other special tokens only with --special. gpt generate puts a [CLS] before a prompt that
has none; gpt tokenize does not.

Examples:

  gpt tokenize "Hello, world"
  gpt tokenize --decode 15496,11,995
  gpt tokenize < book.txt | gpt tokenize --decode | cmp - book.txt
  gpt -m ~/models/codeparrot tokenize --special "<|endoftext|>def"`,
	}
}

func (c *tokenizeCommand) Run(a *app) error {
	text, err := c.Text.Open(&a.files, !c.Decode)
	if err != nil {
		return err
	}
	if text == nil {
		return fault.Hint(usagef("nothing to tokenize"), textHint)
	}
	defer text.Close()
	if a.asReference() {
		return c.runReference(a, text)
	}
	t, err := a.openOnlyTokenizer()
	if err != nil {
		return err
	}
	if a.CJKSpaces != nil && !*a.CJKSpaces {
		t = t.JoinCJK()
	}
	switch {
	case c.Decode:
		return c.decode(a, t, text)
	case c.Special:
		t = t.WithSpecial()
	}
	return textio.WriteIDs(a.stdout, a.noteMissing(t), text)
}

// runReference does it with the reference's encoder.
func (c *tokenizeCommand) runReference(a *app, text io.Reader) error {
	e, err := a.referenceEncoder()
	switch {
	case err != nil:
		return err
	case c.Decode:
		return c.decode(a, e, text)
	case c.Special:
		e = e.WithSpecial()
	}
	whole, err := textio.Whole(text)
	if err != nil {
		return err
	}
	ids, err := e.Encode(whole)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(strictjson.AppendIDs(nil, ids), '\n'))
	return err
}

// decode prints the text of ids.
func (c *tokenizeCommand) decode(a *app, t decoder, list io.Reader) error {
	written, err := textio.Whole(list)
	if err != nil {
		return err
	}
	ids, err := textio.ParseIDs(written)
	if err != nil {
		return err
	}
	text, err := t.Decode(ids)
	if err != nil {
		return err
	}
	if c.JSON {
		return strictjson.Print(a.stdout, text)
	}
	if a.stdout.Terminal {
		text += "\n"
	}
	_, err = a.stdout.WriteString(text)
	return err
}
