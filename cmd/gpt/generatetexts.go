package main

// What gpt generate needs of a tokenizer: texts in flags, and a vocabulary for the output.

import (
	"errors"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/internal/genflags"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// openTexts gives o what texts of the flags mean in the model's tokens. t is the tokenizer, if one
// is open.
func (c *generateCommand) openTexts(
	a *app, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
) error {
	if err := c.Steering.open(a, t, o); err != nil {
		return err
	}
	return c.Form.open(a, m, t, o)
}

// needsText reports whether flags need the tokens' text, whatever the prompt and the output are.
func (c *generateCommand) needsText() bool {
	return len(c.Stop) > 0 || c.Form.asked() != "" || c.Steering.needsText() != ""
}

// vocabulary finds the tokenizer that the prompt and the output need, nil if ids will do, and gives
// o its vocabulary. The ids that may be drawn are those of the tokenizer in every form of output,
// so that the same seed draws the same.
func (c *generateCommand) vocabulary(
	a *app, p *prompt, o *decode.Options,
) (*tokenizer.Tokenizer, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	if c.Output == "ids" && !p.asText && !c.needsText() {
		size, gaps, err := ck.Vocabulary()
		if err == nil {
			o.Vocabulary = genflags.OnlyIDs(size, gaps)
		}
		a.noteWithoutText(err)
		return nil, nil
	}
	tok, err := a.openTokenizer()
	switch {
	case err == nil:
		o.Vocabulary = tok
		return tok, nil
	case p.asText || c.Output == "text" || c.needsText():
		return nil, err
	}
	a.noteWithoutText(err)
	return nil, nil
}

// noteWithoutText says why there is no text, only ids. Where there is no tokenizer, that needs no
// word.
func (a *app) noteWithoutText(err error) {
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		a.Notef("no text, only ids: %s", quote.OneLine(err))
	}
}
