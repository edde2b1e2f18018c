package main

// docs/corpora.md names commands and flags that are there.

import (
	"flag"
	"strings"
	"testing"

	"picogpt/dev/docs"
)

func TestFlagsOfTheDocumentAreThere(t *testing.T) {
	root := commandLine(new(command))
	known := names(root)
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
				if root.Child(words[1]) == nil {
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
