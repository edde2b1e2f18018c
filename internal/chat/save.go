package chat

// Saved chats: ids and options, from which the conversation goes on with the same bits.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/chattemplate"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/receipt"
	"picogpt/internal/strictjson"
	"picogpt/internal/textio"
)

// A savedChat is the one JSON object of a save.
type savedChat struct {
	Model    string            `json:"model"` // the digest
	Formats  receipt.Formats   `json:"formats"`
	Template string            `json:"template"`
	Options  []string          `json:"options"`
	Files    map[string]string `json:"files,omitempty"`
	Seed     uint64            `json:"seed"` // of the next answer
	Turns    []turn            `json:"turns"`
	Digest   *string           `json:"digest,omitempty"` // of all that; nil in older ones
}

// content is what the digest of a saved chat is of.
func (s savedChat) content() savedChat {
	s.Digest = nil
	return s
}

// save writes the conversation.
func (c *Chat) save(rest string) error {
	path, force := strings.CutPrefix(rest, "--force ")
	if path = strings.TrimSpace(path); path == "" || path == "--force" {
		return fault.Usagef("/save: want a file, found none")
	}
	o := c.Writing(force)
	err := outfile.Check(path, o)
	var b []byte
	if err == nil {
		if b, err = c.saved(); err != nil {
			return err
		}
		err = outfile.WriteFile(context.Background(), path, o, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
	}
	if err != nil {
		err = outfile.FlagError("/save", err)
		if fault.Hinted(err) {
			err = fault.Hint(err, "/save --force "+path+" writes over it")
		}
		return err
	}
	c.notice("saved %s to %s", amount.Count(len(c.turns), "turn"), path)
	return nil
}

// saved is the conversation as JSON.
func (c *Chat) saved() ([]byte, error) {
	digest, err := c.Digest()
	if err != nil {
		return nil, err
	}
	s := savedChat{
		Model: digest, Formats: receipt.FormatsOf(c.model()),
		Template: c.Template.Source, Options: c.Settings.Recorded(), Files: c.Settings.Files(),
		Seed: c.Seed, Turns: append([]turn{}, c.turns...),
	}
	for i := range s.Turns { // the ids are what counts
		s.Turns[i].Text = strings.ToValidUTF8(s.Turns[i].Text, "\uFFFD")
	}
	for _, text := range append(slices.Clone(s.Options), s.Template) {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("/save: %s: want UTF-8", quote.Short(text, 40))
		}
	}
	if s.Digest, err = receipt.Digest(s); err != nil {
		return nil, err
	}
	return strictjson.Line(s)
}

// load goes on with a saved conversation, or changes nothing.
func (c *Chat) load(path string) error {
	if path == "" {
		return fault.Usagef("/load: want a file, found none")
	}
	if path == "-" {
		return fault.Usagef("/load -: want a file, because stdin has the lines")
	}
	text, err := c.Files.Limited(path, outfile.Continued, receipt.Longest)
	if err != nil {
		return err
	}
	s, err := parseSavedChat(text)
	if err != nil {
		return fmt.Errorf("%s: want a conversation that /save wrote: %w", path, err)
	}
	if err := c.take(path, s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.notice("loaded %s from %s", amount.Count(len(c.turns), "turn"), path)
	return nil
}

// take makes the saved conversation of a file this one.
func (c *Chat) take(path string, s *savedChat) error {
	digest, err := c.Digest()
	if err != nil {
		return err
	}
	m := c.model()
	switch own := receipt.FormatsOf(m); {
	case digest != s.Model:
		return fault.Hint(fmt.Errorf("model: %s has the digest %s, want %s", c.ModelName, digest,
			quote.Short(s.Model, 40)), "gpt chat -m DIR opens another checkpoint")

	case own != s.Formats:
		return fault.Hint(fmt.Errorf("formats: weights %s and cache %s here, want %s and %s",
			own.Weights, own.Cache, quote.Short(s.Formats.Weights, 40),
			quote.Short(s.Formats.Cache, 40)),
			"--dtype and --cache-dtype choose them")
	}
	for i := range s.Turns {
		if err := s.Turns[i].check(m.Config().VocabSize); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	if s.Digest == nil {
		c.Console.Notef(receipt.NoDigest, path)
	}
	if err := receipt.CheckDigest(s.content(), s.Digest); err != nil {
		return err
	}
	t, err := chattemplate.New(s.Template, c.Tokenizer)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	if err := c.Settings.Load(s.Options, s.Files); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	c.Template, c.Seed, c.turns = t, s.Seed, s.Turns
	return nil
}

// check refuses a turn that no chat could have.
func (t *turn) check(vocabulary int) error {
	for _, ids := range [][]int{t.PromptIDs, t.IDs} {
		for _, id := range ids {
			if id >= vocabulary {
				return fmt.Errorf("id %d, want 0 to %d", id, vocabulary-1)
			}
		}
	}
	reasons := []string{decode.FinishStop, decode.FinishEndOfText, decode.FinishLength,
		textio.Interrupted, ""}
	if !slices.Contains(reasons, t.FinishReason) {
		return fmt.Errorf("finish_reason: %s, want that of an answer, such as %s",
			quote.Short(t.FinishReason, 40), reasons[0])
	}
	return nil
}

// parseSavedChat reads an object with the keys of a save, and no others.
func parseSavedChat(text string) (*savedChat, error) {
	s := &savedChat{}
	turns := strictjson.ListField("turns", "an array of turns", &s.Turns, readTurn)
	return s, strictjson.ParseFields(text, []strictjson.Field{
		strictjson.StringField("model", &s.Model),
		s.Formats.Field(),
		strictjson.StringField("template", &s.Template),
		strictjson.StringsField("options", &s.Options),
		strictjson.TextsField("files", &s.Files),
		strictjson.SeedField("seed", &s.Seed),
		turns,
		strictjson.OptionalStringField("digest", &s.Digest),
	})
}

// readTurn reads an object with the keys of a turn, and no others.
func readTurn(r *strictjson.Reader, t *turn) error {
	return strictjson.ReadFields(r, []strictjson.Field{
		strictjson.StringField("text", &t.Text),
		strictjson.IDsField("prompt_ids", &t.PromptIDs),
		strictjson.StringsField("options", &t.Options),
		strictjson.SeedField("seed", &t.Seed),
		strictjson.IDsField("ids", &t.IDs),
		strictjson.NaturalField("dropped", &t.Dropped),
		strictjson.StringField("finish_reason", &t.FinishReason),
	})
}
