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
