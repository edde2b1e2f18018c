package main

// The options of a chat: which flags it has, what is set, and what that means to package decode.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/tokenizer"
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

// longestAnswer is the default of --max-tokens.
const longestAnswer = 256

// chatSettings are the options that are set in a chat: see chat.Settings.
type chatSettings struct {
	app       *app
	model     *model.Model
	tokenizer *tokenizer.Tokenizer

	options []string // that were set, --seed not among them
	idle    []string // what was told of options without effect
	writer  *generateCommand
	decode  decode.Options // of writer
	close   func()         // of what writer has opened
}

func (s *chatSettings) Options() []string { return s.options }

func (s *chatSettings) Set(options []string) error {
	w, f, err := parseOptions(options, inChat)
	if err != nil {
		return err
	}
	o, err := w.settle(f.Given())
	if err != nil {
		return err
	}
	if flag := w.Form.OfStdin(); flag != "" {
		return usagef("%s -: want a file, because stdin has the lines", flag)
	}
	tried := o
	if err := w.openTexts(s.app, s.model, s.tokenizer, &tried); err != nil {
		return err
	}
	release, err := w.openDraft(s.app, s.model, &o)
	if err != nil {
		return err
	}
	s.close()
	s.options, s.writer, s.decode, s.close = options, w, o, release
	s.noteIdle(f.Given())
	return nil
}

// noteIdle tells of the flags that have no effect, each once. Where flags are set one after the
// other, one that needs another may come first.
func (s *chatSettings) noteIdle(given map[string]bool) {
	table := s.decode.Table()
	notes := withoutEffect(table, &s.decode, given, false)
	wanting(table, given, func(flag, want string) {
		notes = append(notes, flag+", because it wants "+want+" with it")
	})
	s.app.noteWithout(slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
		return slices.Contains(s.idle, note)
	}))
	s.idle = notes
}

func (s *chatSettings) Load(options []string, files map[string]string) error {
	before := s.app.optionFiles
	s.app.optionFiles = optionFiles{texts: files, all: true}
	if err := s.Set(options); err != nil {
		s.app.optionFiles = before
		return err
	}
	s.app.optionFiles.all = false
	return nil
}

func (s *chatSettings) Find(name string) (flag string, repeats, ok bool) {
	f := generateFlags(new(generateCommand)).Find(name)
	if f == nil || !inChat(f) {
		return "", false, false
	}
	return f.Name, f.Repeats, true
}

func (s *chatSettings) Forget(file string) { delete(s.app.optionFiles.texts, file) }

func (s *chatSettings) Files() map[string]string { return s.app.optionFiles.texts }

func (s *chatSettings) Recorded() []string {
	flags := generateFlags(new(generateCommand))
	return slices.DeleteFunc(append([]string{}, s.options...), func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
		return !recordable(flags.Find(name))
	})
}

func (s *chatSettings) Decode(seed uint64) (decode.Options, error) {
	o := s.decode
	o.Seed, o.Vocabulary, o.Overflow = seed, s.tokenizer, decode.OverflowSlide
	if o.MaxTokens == 0 {
		o.MaxTokens = longestAnswer
	}
	return o, s.writer.openTexts(s.app, s.model, s.tokenizer, &o)
}

func (s *chatSettings) Forms() []string { return s.writer.forms() }
