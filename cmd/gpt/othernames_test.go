package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestFlagsOfOtherProgramsAreExplained(t *testing.T) {
	for line, want := range map[string]string{
		"--length 5": "did you mean --max-tokens?", "--max-length 5": "did you mean --max-tokens?",
		"--max_new_tokens 5": "did you mean --max-tokens?", "--n-predict 5": "did you mean --max-tokens?",
		"--num_beams=5": "did you mean --beams?", "--num-beam=5": "did you mean --beams?",
		"--repetition-penalty 2": "did you mean --repeat-penalty?", "-ngl 9": "did you mean --device auto?",
		"-model gpt2": "did you mean --model?", "-prompt Lily": "did you mean --prompt?",
		"-output json": "did you mean --output?", "--temprature 1": "did you mean --temp?",
		"-t 4": "did you mean --threads?", "-i": "did you mean gpt chat?",
		"--do_sample":     "tokens are drawn, but for --temp 0, which takes the likeliest",
		"-c 1":            "the context is the model's own; --overflow slide writes on past its end",
		"next -n 2":       "-n is a flag of gpt generate and gpt chat; gpt next --help lists the flags here",
		"score -f x":      "the file is an argument: gpt score [FILE] [flags]",
		"serve --port 80": "did you mean --addr HOST:PORT?", "chat --length 5": "did you mean --max-tokens?",
		"bench --length 5": "did you mean --gen-tokens?", "perplexity --ctx-size 5": "did you mean --window?",
		"inspect --length 5": "gpt inspect --help lists the flags; a text that begins with - goes after --",
	} {
		app := newApp()
		_, err := parse(app, strings.Fields(line))
		if got := hintFor(err); got != want {
			t.Errorf("%s: %v, hint %q, want %q", line, err, got, want)
		}
		flag := strings.ReplaceAll(strings.Trim(line[strings.Index(" "+line, " -"):], " "), "_", "-")
		flag, _, _ = strings.Cut(strings.Fields(flag)[0], "=")
		if err == nil || err.Error() != "unknown flag "+flag {
			t.Errorf("%s: %v, want an unknown flag %s", line, err, flag)
		}
	}
}

// What is suggested is there, and no flag is in the table that a command has beside what it means.
func TestTheTableOfOtherNames(t *testing.T) {
	root := grammar(t)
	flags := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, f := range flagsFor(n) {
			flags[f.Name] = true
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(root)
	for _, other := range otherNames {
		for means := range strings.SplitSeq(other.means, "|") {
			name, isFlag := strings.CutPrefix(strings.Fields(means)[0], "--")
			command, isCommand := strings.CutPrefix(means, "gpt ")
			if isFlag && !flags[name] || isCommand && child(root, strings.Fields(command)[0]) == nil {
				t.Errorf("%s: there is none", means)
			}
			for _, name := range strings.Fields(other.names) {
				if hasFlag(root, name) || strings.ContainsAny(name, "_=") ||
					strings.HasPrefix(name, "-") {
					t.Errorf("%s: want a name that gpt generate does not have, with hyphens", name)
				}
				if isFlag && hasFlag(root, strings.Fields(means[2:])[0]) && meaning(root, name) == "" {
					t.Errorf("%s: no meaning", name)
				}
			}
		}
	}
}
