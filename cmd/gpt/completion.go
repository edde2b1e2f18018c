package main

// gpt completion: what the shell offers for the word under the cursor.

import (
	"embed"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/hub"
)

//go:embed completion
var completionScripts embed.FS

type completionCommand struct {
	Shell string   `arg:"" name:"shell" enum:"bash,zsh,fish" help:"bash, zsh or fish"`
	Words []string `arg:"" name:"words" optional:"" sep:"none" hidden:""`
}

func (c *completionCommand) Help() string {
	return `Prints a script. With it the shell completes commands, flags, their values, the names of
files, and those of models that were pulled.

source <(gpt completion bash)	now, or always as a line of ~/.bashrc
gpt completion zsh > "${fpath[1]}/_gpt"	always in zsh
gpt completion fish > ~/.config/fish/completions/gpt.fish	always in fish`
}

func (c *completionCommand) Run(a *app, ctx *kong.Context) error {
	if len(c.Words) == 0 {
		script, err := completionScripts.ReadFile("completion/gpt." + c.Shell)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(script)
		return err
	}
	words, before := c.Words, ""
	if c.Shell == "bash" {
		words, before = joinAtEquals(words)
	}
	done := complete(ctx.Model.Node, words)
	if done.models {
		done.words = append(done.words, a.cachedNames(done.before, done.current)...)
	}
	var b strings.Builder
	for _, w := range done.words {
		b.WriteString(strings.TrimPrefix(w.word, before) + "\t" + w.help + "\n")
	}
	if done.files {
		b.WriteString(":files\n")
	}
	_, err := a.stdout.WriteString(b.String())
	return err
}

// joinAtEquals undoes that bash makes three words of --flag=value. It returns before, what the last
// word has gained at its beginning.
func joinAtEquals(words []string) (joined []string, before string) {
	for i, w := range words {
		last := len(joined) - 1
		switch {
		case w == "=" && last >= 0 && strings.HasPrefix(joined[last], "--"):
			joined[last] += "="
		case i > 0 && words[i-1] == "=" && last >= 0 && strings.HasSuffix(joined[last], "="):
			joined[last] += w
		default:
			joined = append(joined, w)
		}
	}
	last := joined[len(joined)-1]
	if name, _, found := strings.Cut(last, "="); found && last != words[len(words)-1] {
		before = name + "="
	}
	return joined, before
}

// completions are what may stand in a place.
type completions struct {
	words []completion
	files bool // names of files too

	models          bool // names of models in the Hugging Face cache too
	before, current string
}

type completion struct{ word, help string }

// complete returns what the last of the words may become.
func complete(root *kong.Node, words []string) (c completions) {
	before, current := words[:len(words)-1], words[len(words)-1]
	a := newArrangement(root)
	dashes := false // after --, nothing is a flag
	for i := 0; i < len(before); i++ {
		if dashes = before[i] == "--"; dashes {
			a.words = append(a.words, before[i+1:]...)
			break
		}
		taken, err := a.take(before[i], words[i+1:])
		if err != nil {
			return c // a mistake, which completing does not mend
		}
		if i += taken; i == len(before) { // the last word is a flag's value
			name, _, _ := strings.Cut(a.flags[len(a.flags)-1], "=")
			return valueOf(a.flagsByName[name].Value, "", current)
		}
	}
	if a.refused() {
		return c
	}
	name, value, hasValue := strings.Cut(current, "=")
	switch flag := a.flagsByName[strings.ReplaceAll(name, "_", "-")]; {
	case !dashes && strings.HasPrefix(current, "--") && hasValue && flag != nil:
		return valueOf(flag.Value, name+"=", value)
	case !dashes && strings.HasPrefix(current, "-"):
		return flagsOf(a.node, current)
	case len(a.words) == 0 && len(a.node.Children) > 0 && !dashes:
		for _, child := range a.node.Children {
			if !child.Hidden && strings.HasPrefix(child.Name, current) {
				c.words = append(c.words, completion{child.Name, child.Help})
			}
		}
	}
	if a.node != root {
		at := argumentAt(mainOf(a.node), a.words, current)
		at.words = append(c.words, at.words...)
		return at
	}
	return c
}

// mainOf returns the command that runs where a word names none of node's own commands.
func mainOf(node *kong.Node) *kong.Node {
	switch {
	case node.Parent == nil:
		return child(node, "generate")
	case node.DefaultCmd != nil:
		return node.DefaultCmd
	}
	return node
}

// flagsOf returns the flags of a command that begin with current.
func flagsOf(node *kong.Node, current string) (c completions) {
	flags := slices.Concat(mainOf(node).Flags, rootOf(node).Flags)
	for _, f := range flags {
		if name := "--" + f.Name; !f.Hidden && strings.HasPrefix(name, current) {
			c.words = append(c.words, completion{name, f.Help})
		}
	}
	return c
}

// argumentAt returns what the argument after words may be.
func argumentAt(node *kong.Node, words []string, current string) (c completions) {
	arguments := node.Positional
	last := len(arguments) - 1
	switch {
	case node.Name == "help":
		return complete(rootOf(node), append(slices.Clip(words), current))
	case last < 0, len(words) > last && !arguments[last].IsCumulative():
		return c
	}
	return valueOf(arguments[min(len(words), last)], "", current)
}

// valueOf returns what the value of a flag or an argument may be, each with before in front of it.
func valueOf(v *kong.Value, before, current string) (c completions) {
	if v.Enum != "" {
		for _, word := range strings.Split(v.Enum, ",") {
			if word != "" && strings.HasPrefix(word, current) {
				c.words = append(c.words, completion{before + word, ""})
			}
		}
		return c
	}
	kind := v.Name // of an argument
	if v.Flag != nil {
		kind = strings.ToLower(v.Flag.PlaceHolder)
	}
	for _, name := range []string{"file", "dir", "model", "out"} {
		c.files = c.files || strings.Contains(kind, name)
	}
	c.models = strings.Contains(kind, "dir|") && strings.Contains(kind, "|name") ||
		v.Flag == nil && (kind == "model" || kind == "name")
	c.before, c.current = before, current
	return c
}

// cachedNames are the models in the Hugging Face cache that current may become.
func (a *app) cachedNames(before, current string) (words []completion) {
	all, _ := hub.List(a.finder.CacheOptions())
	for _, s := range all {
		if name := s.Name.String(); strings.HasPrefix(name, current) {
			words = append(words, completion{before + name, "in the Hugging Face cache"})
		}
	}
	return words
}
