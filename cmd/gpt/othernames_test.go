package main

import (
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
)

func TestFlagsOfOtherProgramsAreExplained(t *testing.T) {
	cases.NotShort(t)
	for line, want := range map[string]string{
		"--length 5": "did you mean --max-tokens?", "--max-length 5": "did you mean --max-tokens?",
		"--max_len 5": "did you mean --max-tokens?", "--num-tokens 5": "did you mean --max-tokens?",
		"--num_beams=5": "did you mean --beams?", "--num-beam=5": "did you mean --beams?",
		"--repetition-penalty 2": "did you mean --repeat-penalty?", "-ngl 9": "did you mean --device auto?",
		"-model gpt2": "did you mean --model?", "-prompt Lily": "did you mean --prompt?",
		"-output json": "did you mean --output?", "--temprature 1": "did you mean --temp?",
		"--cores 4": "did you mean --threads?", "-i": "did you mean gpt chat?",
		"--do_sample":       "tokens are drawn, but for --temp 0, which takes the likeliest",
		"-c 1":              "the context is the model's own; --overflow slide writes on past its end",
		"next -n 2":         "-n is a flag of gpt generate, chat, tree and check; gpt next --help lists the flags here",
		"score -f x":        "the file is an argument: gpt score [FILE] [flags]",
		"serve --listen 80": "did you mean --addr HOST:PORT?", "chat --length 5": "did you mean --max-tokens?",
		"bench --length 5": "did you mean --gen-tokens?", "perplexity --ctx-size 5": "did you mean --window?",
		"-hf gpt2": "did you mean --model?", "--lora x": "did you mean --adapter?",
		"serve --lora-modules a=b": "did you mean --adapter?", "-V": "did you mean --version?",
		"--no-mmap":          "there is no such flag here, and no need of one",
		"inspect --length 5": "gpt inspect --help lists the flags; a text that begins with - goes after --",
	} {
		err := parseLine(line)
		if got := fault.HintOf(err); got != want {
			t.Errorf("%s: %v, hint %q, want %q", line, err, got, want)
		}
		flag := strings.ReplaceAll(strings.Trim(line[strings.Index(" "+line, " -"):], " "), "_", "-")
		flag, _, _ = strings.Cut(strings.Fields(flag)[0], "=")
		if err == nil || err.Error() != "unknown flag "+flag {
			t.Errorf("%s: %v, want an unknown flag %s", line, err, flag)
		}
	}
}

// What is suggested is there, and no flag is in the table that gpt generate has beside what it
// means.
func TestTheTableOfOtherNames(t *testing.T) {
	cases.NotShort(t)
	root := commands(newApp())
	flags := map[string]bool{}
	root.All(func(c *cli.Command) {
		for _, f := range c.Own().All {
			flags[f.Name] = true
		}
	})
	generate := root.Own()
	for _, other := range elsewhere() {
		for means := range strings.SplitSeq(other[0], "|") {
			flag, isFlag := strings.CutPrefix(strings.Fields(means)[0], "--")
			command, isCommand := strings.CutPrefix(means, "gpt ")
			if isFlag && !flags[flag] || isCommand && root.Child(strings.Fields(command)[0]) == nil {
				t.Errorf("%s: there is none", means)
			}
			for _, name := range strings.Fields(other[1]) {
				if generate.Find(name) != nil || strings.ContainsAny(name, "_=") ||
					strings.HasPrefix(name, "-") {
					t.Errorf("%s: want a name that gpt generate does not have, with hyphens", name)
				}
				if isFlag && generate.Find(flag) != nil && flags[name] == false &&
					!strings.HasPrefix(fault.HintOf(parseLine("--"+name+" 1")), "did you mean --") {
					t.Errorf("%s: no meaning", name)
				}
			}
		}
	}
}

// Each word of other programs means a command that is there, or is explained, and none is one of
// ours.
func TestTheTableOfOtherWords(t *testing.T) {
	root := commands(newApp())
	seen := map[string]bool{}
	for _, other := range inElsewhere("words") {
		for _, word := range strings.Fields(other[1]) {
			if root.Child(word) != nil || seen[word] {
				t.Errorf("%s: want a word that no command and no other row has", word)
			}
			seen[word] = true
			line, err := cli.Parse(commands(newApp()), []string{word, "--help"})
			path, isCommand := strings.CutPrefix(other[0], "gpt ")
			path, _, _ = strings.Cut(path, " --")
			switch {
			case !isCommand && !strings.HasPrefix(fault.HintOf(err), other[0]+". To use the word"):
				t.Errorf("%s: %v, hint %q", word, err, fault.HintOf(err))
			case isCommand && (err != nil || line.Command.Path() != path || line.Other[1] != word):
				t.Errorf("%s: %+v, %v, want %s", word, line, err, path)
			}
		}
	}
	if len(seen) < 35 {
		t.Errorf("%d words", len(seen))
	}
}
