package cli

// Completion: what may stand under the cursor.

import (
	"embed"
	"slices"
	"strings"
)

//go:embed completion
var scripts embed.FS

// Shells are the shells for which there is a script.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Script is the script that completes command lines of gpt in a shell.
func Script(shell string) ([]byte, error) { return scripts.ReadFile("completion/gpt." + shell) }

// Completions are what may stand in a place.
type Completions struct {
	Words []Completion
	Files bool // names of files too

	Models          bool   // names of models too
	Before, Current string // what is put before words, and what they begin with
}

// A Completion is a word that may stand in a place.
type Completion struct{ Word, Help string }

// Complete returns what the last of the words may become. Bash makes three words of --flag=value:
// they are joined first, and what the last word has gained by that is taken away again.
func Complete(root *Command, shell string, words []string) Completions {
	gained := ""
	if shell == "bash" {
		words, gained = joinAtEquals(words)
	}
	c := complete(root, words)
	c.Before = strings.TrimPrefix(c.Before, gained)
	for i := range c.Words {
		c.Words[i].Word = strings.TrimPrefix(c.Words[i].Word, gained)
	}
	return c
}

// Add adds a word, with before in front of it, if it begins with c.Current.
func (c *Completions) Add(before, word, help string) {
	if strings.HasPrefix(word, c.Current) {
		c.Words = append(c.Words, Completion{before + word, help})
	}
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

// complete returns what the last of the words may become.
func complete(root *Command, words []string) (c Completions) {
	before, current := words[:len(words)-1], words[len(words)-1]
	c.Current = current
	s := newScan(root)
	dashes := false // after --, nothing is a flag
	for i := 0; i < len(before); i++ {
		if dashes = before[i] == "--"; dashes {
			s.words = append(s.words, before[i+1:]...)
			break
		}
		taken, err := s.take(before[i], words[i+1:])
		if err != nil {
			return c // a mistake, which completing does not mend
		}
		if i += taken; i == len(before) { // the last word is a flag's value
			return s.given[len(s.given)-1].flag.complete("", current)
		}
	}
	if s.refused() {
		return c
	}
	name, value, hasValue := strings.Cut(current, "=")
	switch flag := s.find(strings.ReplaceAll(name, "_", "-")); {
	case !dashes && strings.HasPrefix(current, "--") && hasValue && flag != nil:
		return flag.complete(name+"=", value)
	case !dashes && strings.HasPrefix(current, "-"):
		for _, f := range s.command.Own().All {
			c.Add("", "--"+f.Name, f.Help)
		}
		return c
	case len(s.words) == 0 && !dashes:
		for _, below := range s.command.Commands {
			c.Add("", below.Name, below.Short)
		}
	}
	if s.command != root {
		at := s.command.main().completeArg(s.words, current)
		at.Words = append(c.Words, at.Words...)
		return at
	}
	return c
}

// completeArg returns what the argument after words may be.
func (c *Command) completeArg(words []string, current string) Completions {
	last := len(c.Args) - 1
	switch {
	case c.Name == "help":
		root := c.root()
		all := complete(root, append(slices.Clip(words), current))
		for _, t := range root.Topics {
			if len(words) == 0 {
				all.Add("", t.Name, t.Short)
			}
		}
		return all
	case last < 0, len(words) > last && !c.Args[last].Many:
		return Completions{}
	}
	arg := c.Args[min(len(words), last)]
	done := completeValue(arg.Name, arg.Values, "", current)
	done.Models = arg.Name == "model" || arg.Name == "name"
	return done
}

// complete returns what the value of a flag may be, each with before in front of it.
func (f *Flag) complete(before, current string) Completions {
	kind := strings.ToLower(f.Placeholder)
	c := completeValue(kind, f.Values, before, current)
	c.Models = strings.Contains(kind, "dir|") && strings.Contains(kind, "|name")
	return c
}

// completeValue returns what a value of a kind may be.
func completeValue(kind string, values []string, before, current string) (c Completions) {
	c.Before, c.Current = before, current
	for _, word := range values {
		c.Add(before, word, "")
	}
	for _, name := range []string{"file", "dir", "model", "out"} {
		c.Files = c.Files || values == nil && strings.Contains(kind, name)
	}
	return c
}
