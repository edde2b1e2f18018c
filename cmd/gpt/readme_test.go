package main

// README.md, docs/, help and hints name flags that are there, and no others.

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/docs"
	"picogpt/internal/cli"
)

// elsewhereFlags are flags of other programs that README.md and docs/ name.
var elsewhereFlags = []string{"tasks", "local-dir", "remote", "soak", "from-literal", "cpunodebind",
	"membind", "interleave"}

func TestFlagsThatAreNamedAreThere(t *testing.T) {
	root := commands(newApp())
	known := map[string]bool{}
	texts := map[string]string{}
	root.All(func(c *cli.Command) {
		for _, f := range c.Own().All {
			known[f.Name] = true
			for _, alias := range f.Aliases {
				known[alias] = true
			}
			texts["gpt "+c.Path()+" --"+f.Name] = f.Help
		}
		texts["gpt "+c.Path()+" --help"] = c.Long
	})
	for _, topic := range root.Topics {
		texts["gpt help "+topic.Name] = topic.Long
	}
	for _, e := range root.Elsewhere {
		texts["hint "+e[0]] = e[0]
	}
	files, err := docs.Files(project)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) == "corpora.md" {
			continue // its flags are those of module corpus, which has a test of its own
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	flags := regexp.MustCompile(`(?:^|[\s\x60(|])--([a-z][a-z0-9-]*)`)
	found := 0
	for where, text := range texts {
		for _, m := range flags.FindAllStringSubmatch(text, -1) {
			found++
			if !known[m[1]] && !(strings.HasSuffix(where, ".md") && slices.Contains(elsewhereFlags, m[1])) {
				t.Errorf("%s names --%s, which no command has", where, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("%d flags are named, want more", found)
	}
}

// A reader who types the first line of README.md gets the story that it shows first, which
// TestDocumentsShowWhatCommandsPrint holds to what gpt prints.
func TestTheFirstCommandWritesTheFirstStory(t *testing.T) {
	blocks, err := docs.Read(filepath.Join(project, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var typed, shown []string
	for _, b := range blocks {
		if commands := b.Typed(); b.Lang == "" && typed == nil {
			typed = docs.Simple(commands[0].Text)[0]
		}
		if commands := b.Commands(); b.Lang == "console" && shown == nil {
			shown = docs.Simple(commands[0].Text)[0]
		}
	}
	run := []string{"go", "run", "./cmd/gpt"}
	if len(shown) < 2 || shown[0] != "gpt" || !slices.Equal(typed, append(run, shown[1:]...)) {
		t.Errorf("the first command is %q, and the first story that of %q", typed, shown)
	}
}
