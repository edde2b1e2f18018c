package main

// docs/corpora.md names commands and flags that are there.

import (
	"flag"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"picogpt/dev/docs"
)

func TestFlagsOfTheDocumentAreThere(t *testing.T) {
	var c commands
	k, err := kong.New(&c, kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	known, first := map[string]bool{}, map[string]bool{}
	names(k.Model.Node, known)
	for _, n := range k.Model.Children {
		first[n.Name] = true
	}
	blocks, err := docs.Read("../../docs/corpora.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, b := range blocks {
		for _, line := range b.Typed() {
			for _, words := range docs.Simple(line.Text) {
				if words[0] != "./corpus" {
					continue
				}
				lines++
				if !first[words[1]] {
					t.Errorf("docs/corpora.md:%d: no command %s", line.Line, words[1])
				}
				for _, word := range words[2:] {
					name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
					if name != word && !known[name] && flag.Lookup(name) == nil {
						t.Errorf("docs/corpora.md:%d: no flag --%s", line.Line, name)
					}
				}
			}
		}
	}
	if lines < 8 {
		t.Errorf("%d command lines, want 8 or more", lines)
	}
}
