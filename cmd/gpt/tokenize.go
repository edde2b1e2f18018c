package main

// gpt tokenize: text to ids, and back.

type tokenizeCommand struct {
	Text    textSource `embed:""`
	Decode  bool       `help:"the other way: print the bytes that a JSON array of ids stands for"`
	Special bool       `help:"special tokens in the text, such as <|endoftext|>, count as such"`
}

func (c *tokenizeCommand) Help() string {
	return `Prints one JSON array. The text is the words of the command line or --file, else stdin where that is no terminal,
byte for byte. --decode reads the array from the same places and prints exactly the bytes it stands for, with no
newline added (but on a terminal). The tokenizer is the checkpoint's own, else GPT-2's if the model's vocabulary has
room for it.

  gpt tokenize "Hello, world"
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
