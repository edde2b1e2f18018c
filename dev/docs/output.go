package docs

// What a command printed, compared with what the text shows.

import (
	"os"
	"regexp"
	"strings"
)

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
