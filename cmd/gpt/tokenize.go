package main

// gpt tokenize: text to ids, and back.

type tokenizeCommand struct {
	Text    textSource `embed:""`
	Decode  bool       `help:"read ids, and print the text that they stand for"`
	Special bool       `help:"read <|endoftext|> and other special tokens in the text as such"`
}

func (c *tokenizeCommand) Help() string {
	return `Prints the ids of the text as one JSON array. With --decode it reads such an array, and
prints exactly the bytes that the ids stand for; a newline is added on a terminal only.

The text is TEXT, the text of a file (-f FILE; -f - is stdin), or what comes through a pipe. Every
byte counts. The tokenizer is the checkpoint's own; where it has none, and its vocabulary is large
enough, it is GPT-2's. gpt inspect says of which kind it is.

The text of a WordPiece vocabulary, as Chinese models have, has a space between the characters; with
--cjk-spaces=false it is as gpt generate writes it. [CLS] and its like in the text are single ids
there, and other special tokens only with --special. gpt generate puts a [CLS] before a prompt that
has none; gpt tokenize does not.

Examples:

  gpt tokenize "Hello, world"
  gpt tokenize --decode 15496,11,995
  gpt tokenize < book.txt | gpt tokenize --decode | cmp - book.txt
  gpt -m ~/models/codeparrot tokenize --special "<|endoftext|>def"`
}

func (c *tokenizeCommand) Run(a *app) error {
	text, given, err := c.Text.read(a)
	if err != nil {
		return err
	}
	if !given {
		return hinted{usagef("nothing to tokenize"), textHint}
	}
	t, err := a.openOnlyTokenizer()
	if err != nil {
		return err
	}
	if a.CJKSpaces != nil && !*a.CJKSpaces {
		t = t.JoinCJK()
	}
	if c.Decode {
		ids, err := parseIDs(text)
		if err != nil {
			return err
		}
		text, err := t.Decode(ids)
		if err != nil {
			return err
		}
		if a.stdout.terminal {
			text += "\n"
		}
		_, err = a.stdout.WriteString(text)
		return err
	}
	ids, err := encode(t, text, c.Special)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(appendIDs(nil, ids), '\n'))
	return err
}
