package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/model"
)

// parseLine is the error of a command line.
func parseLine(line string) error {
	_, err := parse(newApp(), strings.Fields(line))
	return err
}

// The word after a flag that no command has may be its value, so the flag is the mistake.
func TestAnUnknownFlagIsNamed(t *testing.T) {
	for line, want := range map[string][2]string{
		"--zebra 3":          {"unknown flag --zebra", "gpt generate --help lists the flags"},
		"--zebra once":       {"unknown flag --zebra", ""},
		"Lily --zebra=3 -q":  {"unknown flag --zebra", ""},
		"-z3 Lily":           {"unknown flag -z3", ""},
		"-vz Lily":           {"unknown flag -z", ""},
		"--tmep 1 Lily":      {"unknown flag --tmep", "did you mean --temp?"},
		"-temp 1 Lily":       {"unknown flag -temp", "did you mean --temp?"},
		"--topk 1 Lily":      {"unknown flag --topk", "did you mean --top-k?"},
		"--n 5 Lily":         {"unknown flag --n", "did you mean -n?"},
		"--new-tokens 5":     {"unknown flag --new-tokens", "did you mean --max-tokens?"},
		"tokenize --decod 1": {"unknown flag --decod", "did you mean --decode?"},
		"inspect --modle a":  {"unknown flag --modle", "did you mean --model?"},
		"tokenize -1": {"unknown flag -1",
			"gpt tokenize --help lists the flags; a text that begins with - goes after --"},
	} {
		err := parseLine(line)
		var usage fault.Usage
		if !errors.As(err, &usage) || err.Error() != want[0] ||
			!strings.HasPrefix(fault.HintOf(err), want[1]) {
			t.Errorf("%s: got %v, hint %q, want %q", line, err, fault.HintOf(err), want)
		}
	}
}

// A wrong flag is told before the word, unless the command that was likely meant takes it.
func TestFlagsAreCheckedBeforeTheFirstWord(t *testing.T) {
	for line, want := range map[string]string{
		"hello world --zebra":                "unknown flag --zebra",
		"hello world --length 5":             "unknown flag --length",
		"hello world --temp is":              `--temp: want a number, found "is"`,
		"--top-k five hello world":           `--top-k: want a whole number, found "five"`,
		"hello world --top-p 90":             "--top-p 90: want a number from 0 to 1 (off)",
		"hello world -n 0":                   "--max-tokens 0: want at least 1, or -1 for no limit",
		"hello world --return 2":             "--return: want --beams N with it",
		"hello world --threads -1":           "--threads -1: want 0 to 4096",
		"hello world --addr :80":             "unknown flag --addr",
		"hello world -n":                     "--max-tokens: want a value, found none",
		"quantise a b --dtype int3":          `--dtype: want auto, f32, f16, bf16, q8 or q4, found "int3"`,
		"tokenise --decode 1 --addr 2":       "unknown flag --addr",
		"scors --temp 3 --text a":            "unknown flag --temp",
		"serev --max-n x":                    `--max-n: want a whole number, found "x"`,
		"eval lamdba f --limit x":            `--limit: want a whole number, found "x"`,
		"eval lamdba --threads x":            `--threads: want a whole number, found "x"`,
		"hello world --temp 3":               `"hello" is not a command`,
		"hello world --help":                 `"hello" is not a command`,
		"quantise a b --dtype q8":            `"quantise" is not a command`,
		"tokenise --decode 1":                `"tokenise" is not a command`,
		"scor --temp 3":                      `"scor" is not a command`,
		"quantise":                           `"quantise" is not a command`,
		"eval lamdba f --limit 3":            `"lamdba" is not a command of gpt eval`,
		"perplexit --protocol hf --stride 2": `"perplexit" is not a command`,
	} {
		if err := parseLine(line); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}

// A command line is read before it is known which command it is for.
func TestAFlagIsOfOneKindInAllCommands(t *testing.T) {
	type kind struct{ takesNone, yesNo bool }
	kinds := map[string]kind{}
	commands(newApp()).All(func(c *cli.Command) {
		for _, f := range c.Own().All {
			is, names := kind{f.Bool, f.YesNo}, []string{"--" + f.Name}
			for _, alias := range f.Aliases {
				names = append(names, "--"+alias)
			}
			if f.Short != "" {
				names = append(names, "-"+f.Short)
			}
			for _, name := range names {
				if other, seen := kinds[name]; seen && other != is {
					t.Errorf("%s of %s: %+v, want %+v, as in other commands", name, c.Path(),
						is, other)
				}
				kinds[name] = is
			}
		}
	})
}

func TestDtypeTakesTheModelsFormats(t *testing.T) {
	f := commands(newApp()).Own().Find("dtype")
	if !slices.Equal(f.Values, model.Formats()) {
		t.Errorf("--dtype takes %q, want %q", f.Values, model.Formats())
	}
}
