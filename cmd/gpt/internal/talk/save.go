package talk

// Saved chats: ids and options, from which the conversation goes on with the same bits, and the
// file of --session, which has what the model has computed of them, too.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/chat"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"

	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
)

// save writes the conversation.
func (c *Chat) save(rest string) error {
	if len(c.model().Edits()) > 0 {
		return fault.Usagef("/save: the model is changed inside, which a saved conversation does not say")
	}
	path, force := strings.CutPrefix(rest, "--force ")
	if path = strings.TrimSpace(path); path == "" && c.File != nil {
		if err := c.write(); err != nil {
			return err
		}
		c.notice("saved %s to %s", quote.Count(len(c.Dialog.Turns), "turn"), c.File.Path)
		return nil
	}
	if path == "" || path == "--force" {
		return fault.Usagef("/save: want a file, found none")
	}
	o := c.Writing(force)
	err := outfile.Check(path, o)
	var b []byte
	if err == nil {
		if b, err = c.saved(); err != nil {
			return err
		}
		err = outfile.WriteFile(context.Background(), path, o, outfile.Bytes(b))
	}
	if err != nil {
		err = outfile.FlagError("/save", err)
		if fault.Hinted(err) {
			err = fault.Hint(err, "/save --force "+path+" writes over it")
		}
		return err
	}
	c.notice("saved %s to %s", quote.Count(len(c.Dialog.Turns), "turn"), path)
	return nil
}

// saved is the conversation as JSON.
func (c *Chat) saved() ([]byte, error) {
	digest, err := c.digest()
	if err != nil {
		return nil, err
	}
	s := c.Dialog.Saved(digest)
	s.Rules, s.Seed = c.Settings.Rules(), c.Seed
	s.Options, s.Files = c.Settings.Recorded(), c.Settings.Files()
	line, err := s.Line()
	if err != nil {
		err = fmt.Errorf("/save: %w", err)
	}
	return line, err
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
	s, err := chat.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: want a conversation that /save wrote: %w", path, err)
	}
	if err := c.take(path, s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.changed = true
	c.notice("loaded %s from %s", quote.Count(len(c.Dialog.Turns), "turn"), path)
	return nil
}

// take makes the saved conversation of a file this one.
func (c *Chat) take(path string, s *chat.Saved) error {
	digest, err := c.digest()
	if err != nil {
		return err
	}
	m := c.model()
	switch own := chat.FormatsOf(m); {
	case digest != s.Model:
		return fault.Hint(fmt.Errorf("model: %s has the digest %s, want %s", c.ModelName, digest,
			quote.Short(s.Model, 40)), "gpt chat -m DIR opens another checkpoint")

	case own != s.Formats:
		return fault.Hint(fmt.Errorf("formats: weights %s and cache %s here, want %s and %s",
			own.Weights, own.Cache, quote.Short(s.Formats.Weights, 40),
			quote.Short(s.Formats.Cache, 40)),
			"--dtype and --cache-dtype choose them")
	}
	if err := s.Check(m.Config().VocabSize); err != nil {
		return err
	}
	if s.Digest == nil {
		c.Console.Notef(strictjson.NoDigest, path)
	}
	taken := *c.Dialog
	if err := taken.Take(s); err != nil {
		return err
	}
	if err := c.Settings.Load(s.Rules, s.Options, s.Files); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	*c.Dialog, c.Seed = taken, s.Seed
	return nil
}

// resume continues the conversation of the file, if there is one. What was asked for takes the place
// of what the file has.
func (c *Chat) resume() error {
	if c.File == nil {
		return nil
	}
	end := c.Console.ShowProgress(func() string { return "reading " + c.File.Path })
	restored, file, problem, err := c.File.Restore(context.Background(), c.model())
	end()
	if err != nil {
		return outfile.FlagError("--session", err)
	}
	if file == nil && problem == "" {
		return nil
	}
	var s *chat.Saved
	own := c.Dialog.Template
	if file != nil {
		s, err = c.Dialog.Resume(context.Background(), file, restored)
	}
	if file == nil || errors.Is(err, chat.ErrOther) {
		c.Console.Notef("%s: a conversation begins anew, and takes its place", problem)
		return nil
	}
	if problem != "" {
		c.Console.Notef("%s", Anew(problem, c.Dialog.Session))
	}
	if err == nil && s != nil {
		err = c.resumeSettings(s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File.Path, err)
	}
	if c.Template {
		c.Dialog.Template = own
	}
	if s != nil && !c.Seeded {
		c.Seed = s.Seed
	}
	c.notice("%s from %s", quote.Count(len(c.Dialog.Turns), "turn"), c.File.Path)
	return nil
}

// digest is the digest of the model.
func (c *Chat) digest() (string, error) {
	defer c.Console.ShowProgress(func() string { return "reading " + c.ModelName })()
	return c.model().Digest(context.Background())
}

// resumeSettings takes the options of a conversation, but for those that are set.
func (c *Chat) resumeSettings(s *chat.Saved) error {
	given := c.Settings.Options()
	if err := c.Settings.Load(s.Rules, s.Options, s.Files); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	options := c.Settings.Options()
	for _, option := range given {
		name, _, _ := strings.Cut(option, "=")
		options = Without(options, name)
	}
	return c.Settings.Set(slices.Concat(options, given))
}

// keep writes the file at the end, if the conversation has changed.
func (c *Chat) keep() error {
	if c.File == nil || !c.changed {
		return nil
	}
	return c.write()
}

// write writes the file.
func (c *Chat) write() error {
	note, err := c.saved()
	if err == nil {
		defer c.Console.ShowProgress(func() string { return "writing " + c.File.Path })()
		c.Dialog.Align()
		err = c.File.Save(context.Background(), c.Dialog.Session, note)
	}
	if err == nil {
		c.changed = false
	}
	return outfile.FlagError("--session", err)
}
