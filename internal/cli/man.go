package cli

// Manual pages in mdoc(7), from the texts that help has.

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ManualPages returns the manual pages of a program and of each of its commands, by file name:
// gpt.1, gpt-eval-lambada.1. The page of the default command has the topics too. version is the
// program's, and date that of the version, such as January 2, 2006.
func ManualPages(root *Command, version, date string) map[string]string {
	pages := map[string]string{}
	root.All(func(c *Command) {
		m := &manual{}
		m.macro("Dd", date)
		m.macro("Dt", strings.ToUpper(c.manualName()), "1")
		m.macro("Os", root.Name, strings.Trim(version, "()"))
		m.page(c)
		pages[c.manualName()+".1"] = m.String()
	})
	return pages
}

// manualName is the name of a command's manual page, without its section.
func (c *Command) manualName() string { return strings.ReplaceAll(c.program(), " ", "-") }

// manual is a page that is being written.
type manual struct{ strings.Builder }

func (m *manual) page(c *Command) {
	root := c.root()
	m.macro("Sh", "NAME")
	m.macro("Nm", arguments(c.manualName()))
	m.macro("Nd", arguments(c.Short))
	m.macro("Sh", "SYNOPSIS")
	m.macro("Nm", arguments(c.program()))
	m.words(strings.TrimSpace(strings.TrimPrefix(c.usage(), c.program())))
	m.macro("Sh", "DESCRIPTION")
	if c == root {
		m.prose(root.Overview)
		m.commands(c)
		m.macro("Pp")
		m.prose(root.More)
		for _, s := range root.Manual {
			m.macro("Sh", strings.ToUpper(s.Name))
			m.prose(s.Long)
		}
		return
	}
	main := c.main()
	m.prose(c.description())
	if len(c.Commands) > 0 {
		m.macro("Ss", "Commands")
		m.commands(c)
	}
	if rows := main.argumentRows(); rows != nil {
		m.macro("Ss", "Arguments")
		m.rows(rows)
	}
	inTopics := root.inTopics(c)
	m.flags(main.flags().groups(func(group string) bool { return !inTopics[group] }))
	if c == root.Default {
		for _, t := range root.Topics {
			m.macro("Sh", strings.ToUpper(t.Name))
			m.prose(t.Long)
			m.flags(main.flags().groups(func(group string) bool {
				return slices.Contains(t.Groups, group)
			}))
		}
	}
	m.macro("Sh", "SEE ALSO")
	m.macro("Xr", c.parent.manualName(), "1")
}

// description is the text of a command's page, or its one line where there is none.
func (c *Command) description() string {
	if long := c.main().Long; long != "" {
		return long
	}
	first, size := utf8.DecodeRuneInString(c.Short)
	return strings.ToUpper(string(first)) + c.Short[size:] + "."
}

// commands lists the commands below c, each with its page.
func (m *manual) commands(c *Command) {
	m.macro("Bl", "-tag", "-width", "Ds")
	for _, below := range c.Commands {
		m.macro("It Xr", below.manualName(), "1")
		m.words(below.Short)
	}
	m.macro("El")
}

func (m *manual) flags(groups []flagGroup) {
	for _, g := range groups {
		m.macro("Ss", arguments(strings.TrimSuffix(g.title, ":")))
		m.macro("Bl", "-tag", "-width", "Ds")
		for _, f := range g.flags {
			m.macro("It", f.manual())
			m.words(f.helpText())
		}
		m.macro("El")
	}
}

// prose writes paragraphs as Page.Prose has them.
func (m *manual) prose(text string) {
	for i, p := range paragraphs(text) {
		if i > 0 && p.rows == nil && !p.example {
			m.macro("Pp")
		}
		switch {
		case p.rows != nil:
			m.rows(p.rows)
		case p.example:
			m.macro("Bd", "-literal", "-offset", "indent")
			for line := range strings.SplitSeq(p.text, "\n") {
				m.line(strings.TrimPrefix(line, "  "))
			}
			m.macro("Ed")
		default:
			m.words(p.text)
		}
	}
}

// rows writes a list: the left column, and below each the right one.
func (m *manual) rows(rows [][2]string) {
	m.macro("Bl", "-tag", "-width", "Ds")
	for _, r := range rows {
		m.macro("It", arguments(r[0]))
		m.words(r[1])
	}
	m.macro("El")
}

// manual is a flag as the macros have it: Fl m , Fl -model Ar NAME.
func (f *Flag) manual() string {
	short := ""
	if f.Short != "" {
		short = "Fl " + f.Short + " , "
	}
	_, long, _ := strings.Cut(f.shown(), "--")
	name, placeholder, hasValue := strings.Cut(long, " ")
	if hasValue {
		placeholder = " Ar " + arguments(placeholder)
	}
	return short + `Fl \-` + escape(name) + placeholder
}

// macro writes the line of a macro, with arguments as mdoc reads them.
func (m *manual) macro(name string, arguments ...string) {
	m.WriteString(strings.TrimSpace("."+name+" "+strings.Join(arguments, " ")) + "\n")
}

// words writes a text, wrapped, each sentence on lines of its own as mdoc wants it.
func (m *manual) words(text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(escape(line+" "+word)) > 78 {
			m.line(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
		if endsSentence(word) {
			m.line(line)
			line = ""
		}
	}
	if line != "" {
		m.line(line)
	}
}

func endsSentence(word string) bool {
	word = strings.TrimRight(word, `)"'`)
	return word != "" && strings.Contains(".!?", word[len(word)-1:])
}

// line writes a line of text.
func (m *manual) line(text string) {
	text = escape(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	m.WriteString(text + "\n")
}

// arguments are words behind a macro, where they are neither macros nor punctuation of mdoc.
func arguments(text string) string {
	words := strings.Fields(escape(text))
	for i, w := range words {
		if len(w) == 1 || w[0] >= 'A' && w[0] <= 'Z' || w[0] == '"' {
			words[i] = `\&` + w
		}
	}
	return strings.Join(words, " ")
}

// escape returns a text in ASCII in which nothing is an escape of roff. Hyphens and quotes stay what
// they are, so that what is copied from a page can be typed.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch named := escapes[r]; {
		case named != "":
			b.WriteString(named)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var escapes = map[rune]string{
	'\\': `\e`, '-': `\-`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`,
}
