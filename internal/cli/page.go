package cli

// Laying out a page of help: paragraphs and rows of two columns, wrapped at a width.

import (
	"strings"
	"unicode/utf8"
)

// A Page collects text whose lines have at most Width columns.
type Page struct {
	strings.Builder
	Width int
}

// Prose writes paragraphs, which empty lines separate. A paragraph is wrapped anew, unless its
// first line begins with a space: such lines are examples and stay as they are. Lines with a tab
// in them are rows of two columns; a line that begins with a tab continues the row before it.
func (p *Page) Prose(text string) {
	for i, paragraph := range paragraphs(text) {
		if i > 0 {
			p.WriteString("\n")
		}
		switch {
		case paragraph.rows != nil:
			p.Rows(paragraph.rows)
		case paragraph.example:
			p.WriteString(paragraph.text + "\n")
		default:
			p.Wrap("", 0, paragraph.text)
		}
	}
}

// A paragraph is rows, an example or words, as Prose says.
type paragraph struct {
	rows    [][2]string
	example bool
	text    string
}

// paragraphs returns those of a text.
func paragraphs(text string) (all []paragraph) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		part = strings.TrimRight(part, "\n")
		p := paragraph{text: part, example: strings.HasPrefix(part, " ")}
		if strings.Contains(part, "\t") {
			for line := range strings.Lines(strings.ReplaceAll(part, "\n\t", " ")) {
				left, right, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
				p.rows = append(p.rows, [2]string{left, right})
			}
		}
		all = append(all, p)
	}
	return all
}

// Rows writes two columns, the second wrapped. Where the first would leave little of the width, the
// second begins below it.
func (p *Page) Rows(rows [][2]string) {
	left := 0
	for _, r := range rows {
		left = max(left, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		if left > p.Width/2 {
			p.Wrap("  "+r[0], 6, "")
			p.Wrap("      ", 6, r[1])
			continue
		}
		pad := strings.Repeat(" ", left-utf8.RuneCountInString(r[0]))
		p.Wrap("  "+r[0]+pad+"  ", left+4, r[1])
	}
}

// Wrap writes words after first, and continues with lines that begin with indent spaces.
func (p *Page) Wrap(first string, indent int, words string) {
	line, empty := first, true
	for _, word := range strings.Fields(words) {
		switch {
		case empty:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.Width:
			p.WriteString(line + "\n")
			line = strings.Repeat(" ", indent) + word
		default:
			line += " " + word
		}
		empty = false
	}
	p.WriteString(strings.TrimRight(line, " ") + "\n")
}
