package main

// Guesses that make gpt generate faster: prompt lookup and draft models.

import (
	"context"
	"errors"
	"fmt"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/internal/fault"
	"picogpt/model"
	"picogpt/weights/demo"
)

// checkGuesses refuses what guessing does not go with.
func (c *generateCommand) checkGuesses() error {
	flag := "--lookup"
	switch {
	case c.DraftName != nil && *c.DraftName == "":
		return usagef("--draft: want a directory or a file, q8 or q4, found nothing")
	case c.DraftName != nil && c.Lookup > 0:
		return usagef("--draft and --lookup: want one of them")
	case c.DraftName != nil:
		flag = "--draft"
	case c.Lookup == 0:
		return nil
	}
	switch {
	case c.Search.asked() != "":
		return usagef("%s and %s: want one of them, for a search guesses nothing", flag,
			c.Search.asked())
	case c.Many.Prompts != nil:
		return fault.Hint(usagef("%s and --prompts: want one of them", flag),
			"texts that are written side by side share the work already")
	}
	return nil
}

// declareDraft remembers the files of the draft model.
func (c *generateCommand) declareDraft(a *app) {
	if c.DraftName == nil || *c.DraftName == "q8" || *c.DraftName == "q4" {
		return
	}
	if where, err := a.finder.Locate(*c.DraftName); err == nil { // else opening it reports the error
		a.finder.WillRead(where.Path, "--draft")
	}
}

// openDraft makes o guess with a draft model, which is only loaded when guessing seems to be worth
// it. Call release when the texts are written.
func (g *generateCommand) openDraft(
	a *app, m *model.Model, o *decode.Options,
) (release func(), err error) {
	if g.DraftName == nil {
		return func() {}, nil
	}
	c, options := a.opened, a.modelOptions()
	if name := *g.DraftName; name == "q8" || name == "q4" {
		if own := m.Format(); own == "q4" || own == name {
			return nil, usagef("--draft %s: the model is in %s, want fewer bits than its own", name,
				own)
		}
		options.Format = name
	} else {
		options.Format = "auto"
		if c, err = a.openDraftFile(name); err != nil {
			return nil, err
		}
	}
	closeFile := func() {
		if c != a.opened {
			c.Close()
		}
	}
	if got, want := c.Config.VocabSize, m.Config().VocabSize; got != want {
		closeFile()
		return nil, fmt.Errorf("--draft %s: a vocabulary of %d ids, want %d, the model's own",
			*g.DraftName, got, want)
	}
	var draft *model.Model
	o.Draft = &guess.Model{
		Size:    guess.SizeOf(c.Config, options.Format, m),
		Opening: guess.OpeningTime(c.Config, options.Format),
		Open: func(ctx context.Context) (*model.Model, error) {
			var err error
			if draft, err = model.New(ctx, c.Config, c.Tensors, options); err != nil {
				return nil, fmt.Errorf("%s: %w", *g.DraftName, err)
			}
			for _, note := range draft.Notes() {
				a.Notef("--draft %s: %s", *g.DraftName, note)
			}
			a.logf("draft: %s, %d layers of width %d, format %s", *g.DraftName, c.Config.Layer,
				c.Config.Embd, draft.Format())
			return draft, nil
		},
	}
	return func() {
		if draft != nil {
			draft.Close()
		}
		closeFile()
	}, nil
}

// openDraftFile opens the checkpoint of a draft model.
func (a *app) openDraftFile(name string) (*checkpoint.Checkpoint, error) {
	if checkpoints.IsDemo(name) {
		return checkpoint.OpenFS(demo.FS())
	}
	if err := a.offerPull(&name); err != nil {
		return nil, err
	}
	c, err := a.finder.Open(name, "--draft", checkpoint.Options{})
	if err == nil {
		return c, nil
	}
	const takes = "--draft takes a checkpoint, such as -m does, or q8 or q4"
	hint := hintFor(err)
	err = fmt.Errorf("--draft %s: %w", name, err)
	if hint == checkpoints.Hint {
		err = fault.Hint(err, takes)
	} else if errors.Is(err, hub.ErrAbsent) {
		err = fault.Hint(err, takes+"; "+hint)
	}
	return nil, err
}
