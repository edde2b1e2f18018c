package main

// The options of a chat: which flags it has, what is set, and what that means to package decode.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/option"
)

// inChat reports whether gpt chat has a flag of gpt generate: those that say which tokens follow,
// but for searches, whose texts do not come as they are made, and what chats have in their own way.
func inChat(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Chat != 0
	}
	return f.Name == "draft" || f.Name != "heal" && recordable(f)
}

// addChatFlags adds the flags of gpt generate that gpt chat takes.
func addChatFlags(f *cli.Flags) {
	for _, flag := range generateFlags(new(generateCommand)).All {
		if flag.Name == "max-tokens" {
			flag.Help = fmt.Sprintf("end an answer after N tokens; default: %d", longestAnswer)
		}
		if inChat(flag) {
			f.AddFlag(flag)
		}
	}
}

// optionsOfAnswer are decode's options for the next answer.
func (c *chat) optionsOfAnswer() (decode.Options, error) {
	o := c.decode
	o.Seed, o.Vocabulary, o.Overflow = c.seed, c.tokenizer, decode.OverflowSlide
	if o.MaxTokens == 0 {
		o.MaxTokens = longestAnswer
	}
	return o, c.writer.openTexts(c.app, c.model(), c.tokenizer, &o)
}

// longestAnswer is the default of --max-tokens.
const longestAnswer = 256

// setOptions makes options the flags that choose tokens, or changes nothing.
func (c *chat) setOptions(options []string) error {
	w, f, err := parseOptions(options, inChat)
	if err != nil {
		return err
	}
	o, err := w.settle(f.Given())
	if err != nil {
		return err
	}
	if flag := w.Form.ofStdin(); flag != "" {
		return usagef("%s -: want a file, because stdin has the lines", flag)
	}
	tried := o
	if err := w.openTexts(c.app, c.model(), c.tokenizer, &tried); err != nil {
		return err
	}
	release, err := w.openDraft(c.app, c.model(), &o)
	if err != nil {
		return err
	}
	c.close()
	c.options, c.writer, c.decode, c.close = options, w, o, release
	c.noteIdle(f.Given())
	return nil
}

// noteIdle tells of the flags that have no effect, each once. Where flags are set one after the
// other, one that needs another may come first.
func (c *chat) noteIdle(given map[string]bool) {
	table := c.decode.Table()
	notes := withoutEffect(table, &c.decode, given, false)
	wanting(table, given, func(flag, want string) {
		notes = append(notes, flag+", because it wants "+want+" with it")
	})
	c.noteWithout(slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
		return slices.Contains(c.idle, note)
	}))
	c.idle = notes
}

// recorded are the options that a save has.
func (c *chat) recorded() []string {
	flags := generateFlags(new(generateCommand))
	return slices.DeleteFunc(append([]string{}, c.options...), func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
		return !recordable(flags.Find(name))
	})
}

// without are the options but for those of one flag.
func without(options []string, flag string) (others []string) {
	others = []string{}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); name != flag {
			others = append(others, option)
		}
	}
	return others
}
