package main

// gpt completion: what the shell offers for the word under the cursor.

import (
	"strings"

	"picogpt/checkpoint/hub"
	"picogpt/internal/cli"
)

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
		Long: `
Prints a script. With it the shell completes commands, flags, their values, the names of files, and
those of models that were pulled.

source <(gpt completion bash)	now, or always as a line of ~/.bashrc
gpt completion zsh > "${fpath[1]}/_gpt"	always in zsh
gpt completion fish > ~/.config/fish/completions/gpt.fish	always in fish`,
	}
}

func (c *completionCommand) Run(a *app, root *cli.Command) error {
	if len(c.Words) == 0 {
		script, err := cli.Script(c.Shell)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(script)
		return err
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
	_, err := a.stdout.WriteString(b.String())
	return err
}
