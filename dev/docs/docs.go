// Package docs reads the project's Markdown for tests: blocks of code, the commands in them, and
// what the commands are said to print.
package docs

import (
	"os"
	"path/filepath"
	"strings"
)

// A Block is the code between two fences.
type Block struct {
	File string
	Line int    // of the first line of code, from 1
	Lang string // the word after the fence, "" where there is none
	Code []string
}

// Files returns README.md and the Markdown in docs/ of a folder.
func Files(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	return append([]string{filepath.Join(root, "README.md")}, files...), err
}

// Read returns the blocks of a file. The indentation of a fence, as in a list, belongs to no line.
func Read(file string) ([]Block, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []Block
	indent, inside := "", false
	for i, line := range Lines(string(text)) {
		code := strings.TrimPrefix(line, indent)
		lang, fence := strings.CutPrefix(strings.TrimLeft(line, " \t"), "```")
		switch {
		case inside && fence && lang == "":
			inside, indent = false, ""
		case inside:
			b := &all[len(all)-1]
			b.Code = append(b.Code, code)
		case fence:
			inside, indent = true, line[:len(line)-len("```"+lang)]
			all = append(all, Block{File: file, Line: i + 2, Lang: strings.TrimSpace(lang)})
		}
	}
	return all, nil
}

// Lines returns the lines of a text, without their ends.
func Lines(text string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// A Command is one that a block shows with its output.
type Command struct {
	Line  int    // of the file, from 1
	Text  string // for a shell; may have several lines
	Want  []string
	First int // the line of the output's first line
}

// Commands returns the commands of a console block: lines that begin with "$ ", with the lines that
// their quotes, backslashes and here-documents go on for. The lines after one, up to the next, are its
// output.
func (b *Block) Commands() []Command {
	var all []Command
	for i := 0; i < len(b.Code); i++ {
		text, found := strings.CutPrefix(b.Code[i], "$ ")
		if !found {
			if n := len(all); n > 0 {
				all[n-1].Want = append(all[n-1].Want, b.Code[i])
			}
			continue
		}
		line := b.Line + i
		for i+1 < len(b.Code) && unfinished(text) {
			i++
			text += "\n" + b.Code[i]
		}
		all = append(all, Command{Line: line, Text: text, First: b.Line + i + 1})
	}
	return all
}

// Typed returns the command lines of a block without outputs, each whole, with their line numbers.
func (b *Block) Typed() []Command {
	var all []Command
	for i := 0; i < len(b.Code); i++ {
		line, text := b.Line+i, b.Code[i]
		for i+1 < len(b.Code) && unfinished(text) {
			i++
			text += "\n" + b.Code[i]
		}
		if strings.TrimSpace(text) != "" {
			all = append(all, Command{Line: line, Text: text})
		}
	}
	return all
}
