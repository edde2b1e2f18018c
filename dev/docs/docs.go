// Package docs reads the project's Markdown for tests: blocks of code, the commands in them, and
// what the commands are said to print.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
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

// What a command printed, compared with what the text shows.

// Any stands for a part of a line, or alone for any number of lines.
const Any = "…"

// wrapped is the least width of a shown line that may be the first part of a longer one.
const wrapped = 60

// Matches reports whether a command printed what the text shows. A line that is shown in several has
// its breaks at spaces or anywhere else. Spaces at the ends of lines and empty lines at the end do not
// count.
func (c *Command) Matches(got string) bool {
	var pattern strings.Builder
	want := trimmed(c.Want)
	for i, line := range want {
		if line == Any {
			pattern.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		parts := strings.Split(line, Any)
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		pattern.WriteString(strings.Join(parts, `[^\n]*`))
		if len([]rune(line)) >= wrapped && i+1 < len(want) && want[i+1] != Any {
			pattern.WriteString(`[ \n]?`)
		} else {
			pattern.WriteString(`\n`)
		}
	}
	text := strings.Join(append(trimmed(Lines(got)), ""), "\n")
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(text)
}

// trimmed returns lines without spaces at their ends and empty lines at the end of all.
func trimmed(lines []string) []string {
	out, last := make([]string, len(lines)), 0
	for i, line := range lines {
		if out[i] = strings.TrimRight(line, " \t"); out[i] != "" {
			last = i + 1
		}
	}
	return out[:last]
}

// Columns is the width of the documents' lines.
const Columns = 100

// Replace writes outputs into a file in the place of those that it shows: got[i] is that of
// commands[i]. Commands are in the order of the file, and no fence is indented.
func Replace(file string, commands []Command, got []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var out []string
	lines, at := Lines(string(text)), 0
	for i, c := range commands {
		out = append(out, lines[at:c.First-1]...)
		for _, line := range trimmed(Lines(got[i])) {
			out = append(out, wrap(line)...)
		}
		at = c.First - 1 + len(trimmed(c.Want))
	}
	out = append(out, lines[at:]...)
	return os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o666)
}

// wrap cuts a line at spaces, or anywhere where one has none, into lines of Columns.
func wrap(line string) (parts []string) {
	r := []rune(line)
	for len(r) > Columns {
		at := strings.LastIndexByte(string(r[wrapped:Columns+1]), ' ')
		if at < 0 {
			parts, r = append(parts, string(r[:Columns])), r[Columns:]
			continue
		}
		at = wrapped + len([]rune(string(r[wrapped : Columns+1])[:at]))
		parts, r = append(parts, string(r[:at])), r[at+1:]
	}
	return append(parts, string(r))
}
