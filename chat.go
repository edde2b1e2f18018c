package picogpt

// Chat: a conversation, kept as ids.

import (
	"cmp"
	"context"
	"io"
	"iter"

	"picogpt/internal/chat"
)

// A Chat is a conversation with a model. It keeps the ids of all turns, and what the model has
// computed of them, so that an answer costs no more than its own line. One goroutine may use it at
// a time; its evaluations take turns with the GPT's other texts.
type Chat struct {
	gpt    *GPT
	dialog *chat.Chat
}

// A Turn is a line and its answer.
type Turn struct {
	Text, Answer   string
	PromptIDs, IDs []int  // of the line in its template, and of the answer
	Seed           uint64 // of the answer
	Finish         string // as Token.Finish; "interrupted" if it was stopped
}

// NewChat returns a conversation without turns. The template makes of each line what the model is
// given, in the syntax of Go's text/template, with the fields .Text, .Turn, the number of the line
// from 0, and .Ended, whether the answer before it ended with the end-of-text token. "" is one text
// whose lines follow each other, as base models continue; "dialogpt" is DialoGPT's. Special tokens
// in the template are single ids; in a line they are text. A template in Jinja makes one text of all
// messages, as Hugging Face's do, without bos_token and eos_token; "plain", "alpaca", "vicuna" and
// "chatml" are such.
func (g *GPT) NewChat(template string) (*Chat, error) {
	template = cmp.Or(template, chat.Plain)
	for _, known := range chat.Named {
		if known.Name == template {
			template = known.Source
		}
	}
	t, err := chat.New(template, false, g.tokenizer)
	if err != nil {
		return nil, err
	}
	return &Chat{g, &chat.Chat{Session: g.model.NewSession(), Tokenizer: g.tokenizer,
		Template: t}}, nil
}

// Answer streams the answer to a line, of 256 tokens at most unless MaxTokens says another number,
// and adds a turn when the loop ends. An answer that ctx or a break stops counts as far as it came;
// after another error, or without a token, nothing has changed. What no longer fits the context is
// dropped from the beginning, whatever Overflow says. For the rest see [GPT.Generate].
func (c *Chat) Answer(ctx context.Context, line string, o Options) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		o, err := c.gpt.opened(ctx, o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		for t, err := range c.dialog.Answer(ctx, line, o) {
			if t.Finish != "" && o.Temperature != 0 {
				t.Seed = o.Seed
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Turns returns the turns, the oldest first. Text and Answer have what is valid UTF-8 of them.
func (c *Chat) Turns() []Turn {
	turns := make([]Turn, len(c.dialog.Turns))
	for i, t := range c.dialog.Turns {
		turns[i] = Turn{t.Text, c.dialog.Text(&t), t.PromptIDs, t.IDs, t.Seed, t.FinishReason}
	}
	return turns
}

// Undo takes the last n turns back. It is an error if there are fewer.
func (c *Chat) Undo(n int) error { return c.dialog.Undo(n) }

// Save writes the conversation, and what the model has computed of it: see [model.Session.Save].
// The file is one of gpt chat --session.
func (c *Chat) Save(ctx context.Context, w io.Writer) error { return c.dialog.Save(ctx, w) }

// Restore replaces the conversation by one that Save or gpt chat has written to a file of that
// size. With a *model.RestoreError the conversation is there, and what could not be restored is
// computed with the next answer; with another error nothing has changed.
func (c *Chat) Restore(ctx context.Context, r io.ReaderAt, size int64) error {
	return c.dialog.Restore(ctx, r, size)
}
