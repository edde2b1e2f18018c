package cli

// Pages of help: the overview of a program, the page of a command, that of a topic.

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// General is the heading of the flags that every command has.
const General = "General:"

// groupOwn is the heading of flags that have none of their own.
const groupOwn = "Flags:"

// Help is the page of a command, or the overview for the root, in lines of at most width columns.
func (c *Command) Help(width int) string {
	p := &Page{Width: width}
	if c.parent == nil {
		p.overview(c)
	} else {
		p.command(c)
	}
	return p.String()
}

// help is the page of a topic of the program root.
func (t *Topic) help(root *Command, width int) string {
	p := &Page{Width: width}
	p.Prose(root.Name + " help " + t.Name + ": " + t.Short + ".\n\n" + t.Long)
	p.flags(root.Default.flags(), func(group string) bool {
		return slices.Contains(t.Groups, group)
	})
	return p.String()
}

// Find returns what writes the page of the command, or of the topic, that words name. Its error is a
// fault.Usage.
func (c *Command) Find(words []string) (page func(width int) string, err error) {
	if len(words) == 0 {
		return c.Help, nil
	}
	if below := c.Child(words[0]); below != nil {
		return below.Find(words[1:])
	}
	var topics []string
	for _, t := range c.Topics {
		if t.Name == words[0] && len(words) == 1 {
			return func(width int) string { return t.help(c, width) }, nil
		}
		topics = append(topics, t.Name)
	}
	if c.calledElsewhere(words[0]) != "" {
		s := newScan(c)
		if err := s.takeOther(words[0]); err != nil {
			return nil, err
		}
		return s.command.Find(words[1:])
	}
	near := c.nearest(words[0])
	if topic := Nearest(words[0], topics); near == "" && topic != "" {
		near = "help " + topic
	}
	return nil, c.notACommand(words[0], near, "")
}

// overview writes a line for each command, with the groups of commands on the left.
func (p *Page) overview(root *Command) {
	p.Prose(root.Overview)
	p.WriteString("\n")
	left, group := 0, ""
	for _, c := range root.Commands {
		left = max(left, utf8.RuneCountInString(c.Group))
	}
	var rows [][2]string
	for _, c := range root.Commands {
		shown := ""
		if c.Group != group {
			group, shown = c.Group, c.Group
		}
		pad := strings.Repeat(" ", left-utf8.RuneCountInString(shown))
		rows = append(rows, [2]string{shown + pad + "  " + c.Name, c.Short})
	}
	p.Rows(rows)
	p.WriteString("\n")
	p.Prose(root.More)
}

// command writes the page of one command. One that has a default command has its text and flags.
func (p *Page) command(c *Command) {
	main := c.main()
	p.Prose(c.program() + ": " + c.Short + ".")
	p.Wrap("\nUsage: ", 7, c.usage())
	if main.Long != "" {
		p.WriteString("\n")
		p.Prose(main.Long)
	}
	if len(c.Commands) > 0 {
		p.WriteString("\nCommands:\n")
		var rows [][2]string
		for _, below := range c.Commands {
			rows = append(rows, [2]string{below.Name, below.Short})
		}
		p.Rows(rows)
	}
	p.arguments(main)
	inTopics := c.root().inTopics(c)
	p.flags(main.flags(), func(group string) bool { return !inTopics[group] })
	if len(inTopics) > 0 {
		p.WriteString("\nMore flags:\n")
		var rows [][2]string
		for _, t := range c.root().Topics {
			rows = append(rows, [2]string{c.root().Name + " help " + t.Name, t.Short})
		}
		p.Rows(rows)
	}
}

// inTopics are the groups of a command's flags that topics have.
func (c *Command) inTopics(command *Command) map[string]bool {
	groups := map[string]bool{}
	if command == c.Default {
		for _, t := range c.Topics {
			for _, g := range t.Groups {
				groups[g] = true
			}
		}
	}
	return groups
}

func (p *Page) arguments(c *Command) {
	if rows := c.argumentRows(); rows != nil {
		p.WriteString("\nArguments:\n")
		p.Rows(rows)
	}
}

// argumentRows are the arguments that help explains.
func (c *Command) argumentRows() (rows [][2]string) {
	for _, a := range c.Args {
		if !a.Hidden && a.Help != "" {
			rows = append(rows, [2]string{strings.ToUpper(a.Name), a.Help})
		}
	}
	return rows
}

// flags writes the flags of the groups to keep, by their groups in order of appearance.
func (p *Page) flags(f *Flags, keep func(group string) bool) {
	for _, group := range f.groups(keep) {
		p.WriteString("\n" + group.title + "\n")
		var rows [][2]string
		for _, flag := range group.flags {
			rows = append(rows, [2]string{flag.shown(), flag.helpText()})
		}
		p.Rows(rows)
	}
}

// A flagGroup is flags below one heading.
type flagGroup struct {
	title string
	flags []*Flag
}

// groups returns the groups of flags to keep, in order of appearance.
func (f *Flags) groups(keep func(group string) bool) (all []flagGroup) {
	at := map[string]int{}
	for _, flag := range f.All {
		if !keep(flag.Group) {
			continue
		}
		if _, ok := at[flag.Group]; !ok {
			at[flag.Group] = len(all)
			all = append(all, flagGroup{title: cmp.Or(flag.Group, groupOwn)})
		}
		group := &all[at[flag.Group]]
		group.flags = append(group.flags, flag)
	}
	return all
}

// Laying out a page of help: paragraphs and rows of two columns, wrapped at a width.

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
