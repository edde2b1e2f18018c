package main

// --json, which every command has that prints what a program may read.

import "picogpt/internal/cli"

// jsonAlready adds --json to a command that prints JSON in any case.
func jsonAlready(f *cli.Flags) { f.Add(new(bool), "--json", "no effect: what is printed is JSON") }
