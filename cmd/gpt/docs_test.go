package main

// README.md and docs/ name commands, targets and packages that are there. What they show with its
// output, docs_unix_test.go runs.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/docs"
)

// project is the root of the module.
const project = "../.."

// documents are README.md and docs/*.md, with their blocks.
func documents(t *testing.T) map[string][]docs.Block {
	t.Helper()
	files, err := docs.Files(project)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]docs.Block{}
	for _, file := range files {
		name, _ := filepath.Rel(project, file)
		if all[name], err = docs.Read(file); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestCommandsOfTheDocumentsAreThere(t *testing.T) {
	checked := 0
	for name, blocks := range documents(t) {
		for _, b := range blocks {
			if b.Lang != "" && b.Lang != "sh" {
				continue
			}
			dir := project
			for _, line := range b.Typed() {
				for _, words := range docs.Simple(line.Text) {
					if words[0] == "cd" && len(words) > 1 {
						dir = filepath.Join(project, words[1])
						continue
					}
					known, err := checkCommand(dir, words)
					if err != nil {
						t.Errorf("%s:%d: %s: %v", name, line.Line, strings.Join(words, " "), err)
					}
					if known {
						checked++
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d commands were checked, want more", checked)
	}
}

// checkCommand says what is wrong with a command line, and whether it is of a kind that is checked.
func checkCommand(dir string, words []string) (known bool, err error) {
	switch words[0] {
	case "gpt", "./gpt":
		_, err = parse(newApp(), words[1:])
		if errors.Is(err, fs.ErrNotExist) { // the file of --config, which the reader writes
			err = nil
		}
	case "go":
		err = checkGo(dir, words[1:])
	case "make":
		err = checkMake(dir, words[1:])
	case "curl":
		err = checkCurl(words[1:])
	default:
		return false, nil
	}
	return true, err
}

// checkGo wants the folders and packages that the go command is to work on.
func checkGo(dir string, words []string) error {
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "./"):
			if err := isFolder(filepath.Join(dir, strings.TrimSuffix(word, "..."))); err != nil {
				return err
			}
		case word == "picogpt" || strings.HasPrefix(word, "picogpt/"):
			if err := isFolder(filepath.Join(project, strings.TrimPrefix(word, "picogpt"))); err != nil {
				return err
			}
		}
		if words[0] == "run" && word == "./cmd/gpt" {
			_, err := parse(newApp(), words[i+1:])
			return err
		}
	}
	return nil
}

func isFolder(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: a file, want a folder", name)
	}
	return err
}

var targets = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)

func checkMake(dir string, words []string) error {
	makefile, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if err != nil {
		return err
	}
	var names []string
	for _, target := range targets.FindAllStringSubmatch(string(makefile), -1) {
		names = append(names, target[1])
	}
	for _, word := range words {
		if !strings.ContainsAny(word, "=-") && !slices.Contains(names, word) {
			return fmt.Errorf("no target %s in %s", word, names)
		}
	}
	return nil
}

// checkCurl wants JSON in requests.
func checkCurl(words []string) error {
	for i, word := range words[:max(len(words)-1, 0)] {
		if word == "-d" && !strings.Contains(words[i+1], docs.Any) && !json.Valid([]byte(words[i+1])) {
			return fmt.Errorf("-d: %s is no JSON", words[i+1])
		}
	}
	return nil
}

func TestWrongCommandsAreFound(t *testing.T) {
	for _, line := range []string{
		"gpt --no-such-flag x", "gpt quantise a b", "./gpt next --samples 3 x", "gpt --output xml x",
		"go run ./cmd/gtp x", "go run ./cmd/gpt --no-such-flag x", "go doc picogpt/modell",
		"make distt", "curl -d '{' 127.0.0.1:8080",
	} {
		if known, err := checkCommand(project, docs.Simple(line)[0]); !known || err == nil {
			t.Errorf("%s: checked %v, no error", line, known)
		}
	}
}
