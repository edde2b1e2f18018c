package main

// The help of flags that is longer than a line: flags.txt has it, after the name of the flag, which
// is --flag in all commands, or COMMAND --flag in one. Package genflags has that of its own.

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/internal/genflags"
)

//go:embed flags.txt
var flagsText string

// flagTexts are the texts of flags.txt by the names before them, and those of package genflags.
// Several names may have one text.
func flagTexts() map[string]string {
	texts := genflags.Help()
	var names []string
	inText := false
	for line := range strings.Lines(flagsText) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case indented:
			for _, name := range names {
				texts[name] = strings.TrimSpace(texts[name] + " " + text)
			}
		case inText:
			names = []string{text}
		default:
			names = append(names, text)
		}
		inText = indented
	}
	return texts
}

// fillHelp gives the flags and arguments from node down the help that does not stand beside them: a
// text of their command, or of their name in all commands.
func fillHelp(node *kong.Node, texts map[string]string) {
	fill := func(v *kong.Value, name string) {
		if v.Help != "" {
			return
		}
		if v.Help = texts[strings.TrimSpace(node.Path()+" "+name)]; v.Help == "" {
			v.Help = texts[name]
		}
	}
	for _, f := range node.Flags {
		fill(f.Value, "--"+f.Name)
	}
	for _, p := range node.Positional {
		fill(p, p.Name)
	}
	for _, c := range node.Children {
		fillHelp(c, texts)
	}
}
