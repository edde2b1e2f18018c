package main

// The command line: commands, names that are used elsewhere, parsing, help and completion.

import (
	"cmp"
	"context"
	"embed"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
)

// The list of commands, what they and flags are called elsewhere, and parsing.

// commands are the commands of gpt, in the order of its help.
func commands(a *app) *cli.Command {
	generate := newGenerate(a)
	root := &cli.Command{
		Name: "gpt", Short: "write text with GPT-2 models",
		Elsewhere: elsewhere(), Words: inElsewhere("words"),
		Check:   func(*cli.Flags, []string) error { return a.validate() },
		Default: generate,
		Commands: []*cli.Command{
			generate, newChat(a), newServe(a), newVerify(a),
			newNext(a), newChoose(a), newTree(a), newLogits(a), newTrace(a), newSurprise(a),
			newLens(a), newAttention(a), newAttribute(a), newPatch(a), newSaliency(a),
			newEdges(a), newAblate(a), newCircuit(a), newNeuron(a), newSteer(a), newFeatures(a),
			newExplain(a),
			newTokenize(a),
			newPerplexity(a), newCompare(a), newScore(a), newEmbed(a), newClassify(a), newEval(a),
			newCheck(a), newBench(a),
			newCompress(a), newDecompress(a),
			newPull(a), newModels(a), newInspect(a), newQuantize(a), newConvert(a),
			newDevices(a), newVersion(a),
		},
	}
	root.Commands = append(root.Commands, newHelp(a, root), newCompletion(a, root))
	cli.New(root)
	explain(root)
	return root
}

// parse returns what a command line asks for.
func parse(a *app, args []string) (*cli.Line, error) {
	line, err := cli.Parse(commands(a), args)
	if line != nil && line.Other[0] != "" && !line.Help {
		a.noteOther(line.Other[0], line.Other[1])
	}
	switch {
	case err != nil:
		return nil, err
	case line.Help:
		line.Run = func(*cli.Flags) error { return a.printPage(line.Command.Help) }
	case line.Version:
		line.Run = func(*cli.Flags) error { return printVersion(a, false) }
	default:
		a.bareWord = line.Bare
	}
	return line, nil
}

// elsewhereText says what flags and words of other programs mean here. The flags are those that are
// no option's, whose table has its own. A word that gpt has as a command runs, and so is no prompt;
// what would destroy something, and what only looks like a command of gpt, is explained.
//
//go:embed elsewhere.txt
var elsewhereText string

// inElsewhere is a part of elsewhereText.
func inElsewhere(part string) (all []cli.Elsewhere) {
	_, text, _ := strings.Cut(elsewhereText, "["+part+"]\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for line := range strings.Lines(text) {
		means, names, _ := strings.Cut(line, " | ")
		all = append(all, cli.Elsewhere{means, names})
	}
	return all
}

// noteOther tells what a word of another program means here.
func (a *app) noteOther(means, word string) {
	switch {
	case means == "gpt generate":
		a.Notef("%s is %s here: the prompt is what follows it, and -m NAME names the model", word,
			means)
	case strings.Contains(word, " "):
		a.Notef("%s is %s here", word, means)
	default:
		a.Notef("%s is %s here; as a prompt: gpt generate %[1]s", word, means)
	}
}

// elsewhere are all flags of other programs, those of options before the others.
func elsewhere() []cli.Elsewhere {
	all := cli.OfOptions(new(generateCommand).table())
	for i, e := range all {
		all[i][0] = strings.Replace(e[0], "--max-tokens", "--max-tokens|--gen-tokens", 1)
	}
	return slices.Concat(all, inElsewhere("flags"))
}

// gpt help: the overview, the page of a command, that of a topic, and the manual pages.

// helpTexts are the texts of help/: of each command, by its name with hyphens
// (help/models-list.txt), of each topic, of the sections that the manual page has and help has not,
// and of the overview.
//
//go:embed help
var helpTexts embed.FS

// helpText is a text of help/, "" where there is none. The paragraphs are those of cli.Page.
func helpText(name string) string {
	text, err := helpTexts.ReadFile("help/" + strings.ReplaceAll(name, " ", "-") + ".txt")
	if err != nil {
		return ""
	}
	return string(text)
}

// explain gives the program its texts.
func explain(root *cli.Command) {
	root.Overview, root.More = helpText("overview"), helpText("more")
	root.All(func(c *cli.Command) { c.Long = cmp.Or(c.Long, helpText(c.Path())) })
	// The topics are the pages of gpt help that have more of the flags of gpt generate.
	root.Topics = []cli.Topic{
		topic("sampling", "more filters, repetition, single tokens",
			option.Filters, option.Repetition, option.Wanted),
		topic("forms", "texts that fit a choice, a regex, a JSON Schema, a grammar",
			"A form for the text:"),
		topic("search", "beams, contrastive search; guesses that make texts faster",
			option.Searches, option.Guessing),
		topic("prompts", "where prompts come from; many prompts", otherPrompts),
		topic("output", "JSON, ids, tokens as they come; receipts", option.Output),
		topic("inside", "heads switched off, tokens hidden, control vectors", editGroup),
	}
	root.Manual = []cli.Topic{topic("environment", ""), topic("exit status", "")}
}

func topic(name, short string, groups ...string) cli.Topic {
	return cli.Topic{Name: name, Short: short, Long: helpText(name), Groups: groups}
}

// helpCommand is gpt help, which prints what --help does.
type helpCommand struct {
	Of    []string
	Man   *string
	Force bool
}

func newHelp(a *app, root *cli.Command) *cli.Command {
	c := &helpCommand{}
	return &cli.Command{
		Name: "help", Group: "about",
		Short: "explain a command, as gpt COMMAND --help does, or a topic",
		Args: []cli.Arg{cli.Words(&c.Of, "command",
			"the command or the topic to explain; default: an overview of all")},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Man, "--man DIR",
				"write the manual pages into DIR: gpt.1, and one for each command")
			f.Add(&c.Force, "--force", "write over manual pages that are there")
		},
		Run: func(*cli.Flags) error { return c.Run(a, root) },
	}
}

func (c *helpCommand) Run(a *app, root *cli.Command) error {
	if c.Man != nil {
		ctx, release := a.Graceful()
		defer release()
		return c.writeManual(ctx, a, root)
	}
	help, err := root.Find(c.Of)
	if err != nil {
		return err
	}
	return a.printPage(help)
}

// writeManual writes the manual pages, all or none.
func (c *helpCommand) writeManual(ctx context.Context, a *app, root *cli.Command) error {
	if len(c.Of) > 0 {
		return usagef("--man: writes all pages, want no name of one, found %s", quoteShort(c.Of[0]))
	}
	pages := manualPages(root)
	names := slices.Sorted(maps.Keys(pages))
	f, err := outfile.NewFolder(*c.Man, names, a.writing(c.Force, outfile.Directory))
	if err != nil {
		return outfile.FlagError("--man", err)
	}
	defer f.Close()
	for _, name := range names {
		err := f.Write(ctx, name, func(w io.Writer) error {
			_, err := io.WriteString(w, pages[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return f.Commit(ctx)
}

// manualPages are the manual pages, dated by the build's commit: the same build gives the same
// pages.
func manualPages(root *cli.Command) map[string]string {
	b := thisBuild()
	day, err := time.Parse(time.DateOnly, cmp.Or(b.Date, "2026-01-01"))
	if err != nil {
		day = time.Time{} // only a linker flag can be so wrong
	}
	return cli.ManualPages(root, b.Version, day.Format("January 2, 2006"))
}

// printPage prints a page of help as wide as the terminal.
func (a *app) printPage(page func(width int) string) error {
	return a.printText(page(terminal.Columns(a.stdout.File)))
}

// gpt completion: what the shell offers for the word under the cursor.

type completionCommand struct {
	Shell string
	Words []string
}

func newCompletion(a *app, root *cli.Command) *cli.Command {
	c := &completionCommand{}
	shell := cli.Word(&c.Shell, "shell", "bash, zsh or fish")
	shell.Values = cli.Shells()
	words := cli.Words(&c.Words, "words", "")
	words.Hidden = true
	return &cli.Command{
		Name: "completion", Group: "about",
		Short: "print a script that completes command lines",
		Args:  []cli.Arg{shell, words},
		Run:   func(*cli.Flags) error { return c.Run(a, root) },
	}
}

func (c *completionCommand) Run(a *app, root *cli.Command) error {
	if len(c.Words) == 0 {
		script, err := cli.Script(c.Shell)
		if err != nil {
			return err
		}
		return a.printText(string(script))
	}
	done := cli.Complete(root, c.Shell, c.Words)
	if done.Models {
		all, _ := hub.List(a.finder.CacheOptions())
		for _, s := range all {
			done.Add(done.Before, s.Name.String(), "in the Hugging Face cache")
		}
	}
	var b strings.Builder
	for _, w := range done.Words {
		b.WriteString(w.Word + "\t" + w.Help + "\n")
	}
	if done.Files {
		b.WriteString(":files\n")
	}
	return a.printText(b.String())
}
