package main

// gpt chat: a conversation with a model, on a terminal or line by line through a pipe.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/talk"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
	"picogpt/model"
	"picogpt/tokenizer"
)

type chatCommand struct {
	Template *string
	System   *string
	Session  *string
	Force    bool
}

func newChat(a *app) *cli.Command {
	c := &chatCommand{}
	return &cli.Command{
		Name: "chat", Group: "write",
		Short: "talk with a model, line by line",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Template, "--template NAME|FILE", `what the model is given: plain, alpaca,
				vicuna, chatml, dialogpt, none (the lines as one text), or a file in Jinja or in
				the syntax of Go's text/template; default: the checkpoint's own, else none`)
			f.Add(&c.System, "--system TEXT", "begin the conversation with this message of the system")
			f.Add(&c.Session, "--session FILE", `continue the conversation that FILE keeps, and keep
				it there at the end, with what the model has computed of it`)
			f.Add(&c.Force, "--force",
				"write over the file of --session if it holds something else")
			a.addRawControls(f)
			for _, flag := range generateFlags(new(generateCommand)).All {
				if flag.Name == "max-tokens" {
					flag.Help = fmt.Sprintf("end an answer after N tokens; default: %d",
						chat.LongestAnswer)
				}
				if inChat(flag) {
					f.AddFlag(flag)
				}
			}
			a.flags(f, evaluates|edited|cjkSpaces|generationConfig)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

func (c *chatCommand) Run(a *app, f *cli.Flags) (err error) {
	given := f.Options(inChat)
	if _, _, err := parseOptions(given, inChat); err != nil {
		return err
	}
	if err := checkNeeds(option.Of(new(decode.Options)), f.Given()); err != nil {
		return err
	}
	var file *talk.SessionFile
	if c.Session != nil {
		if err := a.Edits.refuse("--session"); err != nil {
			return err
		}
		file = a.sessionFile(*c.Session, c.Force)
		if err := sessionError(file.Check()); err != nil {
			return err
		}
	} else if c.Force {
		return usagef("--force: want --session with it")
	}
	a.chooses = true
	m, err := a.openModel()
	if err != nil {
		return err
	}
	t, err := a.openTokenizer()
	if err != nil {
		return err
	}
	template, err := a.chatTemplate(c.Template, t)
	if template == nil && err == nil {
		template, err = chat.New(oneText, false, t)
	}
	if err != nil {
		return err
	}
	s := &chatSettings{app: a, model: m, tokenizer: t, close: func() {}}
	if err := s.Set(given); err != nil {
		return err
	}
	defer func() { s.close() }()
	s.options = talk.Without(given, "--seed")
	a.logf("seed: %d", s.decode.Seed)
	return (&talk.Chat{
		Console: &a.Console, Signals: &a.Signals, Out: a.stdout, Files: &a.files,
		Writing: func(force bool) outfile.Options { return a.writing(force, outfile.JSON) },
		Report:  a.report, AtEnd: a.atSignal,
		ModelName: a.modelName(),
		Dialog:    &chat.Chat{Session: m.NewSession(), Tokenizer: t, Template: template},
		Settings:  s, Seed: s.decode.Seed,
		File: file, Template: c.Template != nil, System: c.System, Seeded: f.Given()["seed"],
	}).Run()
}

// The names of --template that are no template's.
const (
	noTemplate = "none"
	oneText    = chat.Plain // what a conversation without a template is: one text
)

// chatTemplate returns the template that --template names, else the checkpoint's own. It is nil for
// none, and where there is none.
func (a *app) chatTemplate(name *string, t *tokenizer.Tokenizer) (*chat.Template, error) {
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	of := "default"
	if name != nil {
		of = *name
	}
	source, from, inJinja := "", "--template "+of, true
	own, err := c.Template(of)
	switch {
	case name == nil && err != nil:
		return nil, fault.Hint(err, chooseTemplate)
	case name == nil && own == nil, name != nil && of == noTemplate:
		return nil, nil
	case name == nil:
		source, from = own.Source, own.File
	default:
		if source, inJinja, err = a.chatTemplateSource(of, own); err != nil {
			return nil, err
		}
	}
	made, err := chat.New(source, inJinja, t)
	switch {
	case err != nil && name != nil:
		return nil, usagef("%s: %w", from, err)
	case err != nil:
		return nil, fault.Hint(fmt.Errorf("%s: %w", from, err), chooseTemplate)
	}
	tokens, err := c.TemplateTokens()
	made.Know(tokens, c.Config.EndTokens())
	return made, err
}

const chooseTemplate = "--template chooses another, or none"

// chatTemplateSource returns what --template names, and whether that is known to be in Jinja: own
// is the checkpoint's of that name.
func (a *app) chatTemplateSource(
	name string, own *checkpoint.Template,
) (source string, inJinja bool, err error) {
	for _, known := range chat.Named {
		if known.Name == name {
			return known.Source, false, nil
		}
	}
	names := namedTemplates()
	switch {
	case name == "":
		return "", false, usagef("--template: want %s or a file, found nothing", names)
	case name == "-":
		return "", false, usagef("--template -: want %s or a file", names)
	case own != nil:
		return own.Source, true, nil
	}
	text, err := a.files.Limited(name, "--template", chat.LongestInJinja)
	if err != nil {
		return "", false, fault.Hint(err, "--template takes "+names+" or a file")
	}
	source = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	return source, filepath.Ext(name) == ".jinja", nil
}

// namedTemplates lists the names of --template.
func namedTemplates() (names string) {
	for _, known := range chat.Named {
		names += known.Name + ", "
	}
	return names + noTemplate
}

// inChat reports whether gpt chat has a flag of gpt generate: those that say which tokens follow,
// but for searches, whose texts do not come as they are made, and what chats have in their own way.
func inChat(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Chat != 0
	}
	switch f.Name {
	case "draft":
		return true
	case "heal", "exact", "max-draws":
		return false
	}
	return recordable(f)
}

// chatSettings are the options that are set in a chat: see chat.Settings.
type chatSettings struct {
	app       *app
	model     *model.Model
	tokenizer *tokenizer.Tokenizer

	options []string // that were set, --seed not among them
	saved   []string // what the checkpoint says, as flags
	loaded  bool     // the options are all: nothing that the checkpoint says is taken
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
	var saved []string
	if !s.loaded {
		if saved, err = s.app.takeSaved(w.table(), w.outranked(f.Given())); err != nil {
			return err
		}
	}
	o, err := w.settle(f.Given())
	if err != nil {
		return err
	}
	if flag := w.Form.ofStdin(); flag != "" {
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
	s.options, s.saved, s.writer, s.decode, s.close = options, saved, w, o, release
	s.noteIdle(f.Given())
	return nil
}

// noteIdle tells of the flags that have no effect, each once. Where flags are set one after the
// other, one that needs another may come first.
func (s *chatSettings) noteIdle(given map[string]bool) {
	table := option.Of(&s.decode)
	notes := withoutEffect(table, &s.decode, given, false)
	wanting(table, given, func(flag, want string) {
		notes = append(notes, flag+", because it wants "+want+" with it")
	})
	s.app.noteWithout(slices.DeleteFunc(slices.Clone(notes), func(note string) bool {
		return slices.Contains(s.idle, note)
	}))
	s.idle = notes
}

func (s *chatSettings) Load(rules int, options []string, files map[string]string) error {
	if err := chat.CheckRules(rules); err != nil {
		return err
	}
	before, rulesBefore, loaded := s.app.optionFiles, s.app.rules, s.loaded
	s.app.optionFiles, s.app.rules, s.loaded = optionFiles{texts: files, all: true}, rules, true
	if err := s.Set(options); err != nil {
		s.app.optionFiles, s.app.rules, s.loaded = before, rulesBefore, loaded
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

func (s *chatSettings) Rules() int { return s.app.rules }

func (s *chatSettings) Recorded() []string {
	flags := generateFlags(new(generateCommand))
	all := append(append([]string{}, s.saved...), s.options...)
	return slices.DeleteFunc(all, func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
		return !recordable(flags.Find(name))
	})
}

func (s *chatSettings) Decode(seed uint64) (decode.Options, error) {
	o := s.decode
	o.Seed, o.Vocabulary = seed, s.tokenizer
	return o, s.writer.openTexts(s.app, s.model, s.tokenizer, &o)
}

func (s *chatSettings) Forms() []string { return s.writer.forms() }
