package main

// What a terminal gets: colours, and control characters of texts.

import (
	"os"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
)

// addColor adds --color.
func addColor(f *cli.Flags, p *string) {
	f.Add(p, "--color WHEN [auto]",
		"when to use colours: auto (on a terminal, unless $NO_COLOR is set), always or never").
		OneOf("auto", "always", "never")
}

// addRawControls adds --raw-control-chars.
func (a *app) addRawControls(f *cli.Flags) {
	f.Add(&a.stdout.Raw, "--raw-control-chars",
		`on a terminal, write control characters of texts as they are, not as \x1b; pipes and files
		always get them so`)
}

// colored reports whether to use colours on stdout, as a value of --color has it.
func (a *app) colored(when string) bool {
	return when == "always" || when == "auto" && a.stdout.Terminal && os.Getenv("NO_COLOR") == ""
}

// columns returns how many columns stdout has; 0 means any number, of a pipe or a file.
func (a *app) columns() int {
	if a.stdout.Terminal {
		return terminal.Columns(a.stdout.File)
	}
	return 0
}
