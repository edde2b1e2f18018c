// Package cli parses command lines, and writes their help, their mistakes and their completions.
//
// A program is a tree of commands. Flags and words may stand in any order: the first word names the
// command, wherever flags stand, and where it names none the default command takes it. A line is read
// once, from left to right: one name is one kind of flag in all commands, so that it is known what
// belongs to a flag before it is known which command it is for.
package cli

// Commands, and their arguments.

import (
	"cmp"
	"slices"
	"strings"
)

// A Command is a command of a program, or the program itself: the root, which has the others below
// it.
type Command struct {
	Name  string
	Short string // its help in one line, without a full stop
	Long  string // paragraphs of its page; see help.go
	Group string // of the commands beside it in the overview

	Args  []Arg
	Flags func(*Flags) // adds the flags; nil: there are none
	Run   func(*Flags) error

	// Check tells what is wrong with flags together. It is called where the words are a mistake, to
	// tell a mistake in the flags first. The root's is called for each command. nil: nothing is.
	Check func(f *Flags, words []string) error

	Settings *Settings // nil: its flags stand on the command line only

	Commands []*Command
	Default  *Command // one of Commands, which runs where no word names one; nil: there is none

	// Instead are hints for flags that other commands have and this one has not, by their names.
	Instead map[string]string

	// Of the root only.
	Overview  string      // paragraphs above the commands of the overview
	More      string      // paragraphs below them
	Topics    []Topic     // pages of flags of the default command
	Manual    []Topic     // sections of the manual page only, each a name and paragraphs
	Elsewhere []Elsewhere // what flags are called in other programs
	Words     []Elsewhere // what commands are called there

	parent *Command
	made   *Flags // see flags
}

// A Topic is a page of help with some groups of the default command's flags, which are then not on
// the page of that command.
type Topic struct {
	Name, Short string
	Long        string   // paragraphs; see help.go
	Groups      []string // of flags
}

// An Arg is an argument that is no flag.
type Arg struct {
	Name     string // in lower case; help has it in upper case
	Help     string
	Required bool
	Many     bool     // takes all further words
	Hidden   bool     // not in help
	Values   []string // those that it may have; nil: any
	Set      func(word string)
}

// Word is an argument that must be there.
func Word(p *string, name, help string) Arg {
	return Arg{Name: name, Help: oneLine(help), Required: true, Set: func(word string) { *p = word }}
}

// OptionalWord is an argument that may be there; else *p stays nil.
func OptionalWord(p **string, name, help string) Arg {
	return Arg{Name: name, Help: oneLine(help), Set: func(word string) { *p = &word }}
}

// Words is any number of arguments, the last ones of a command.
func Words(p *[]string, name, help string) Arg {
	add := func(word string) { *p = append(*p, word) }
	return Arg{Name: name, Help: oneLine(help), Many: true, Set: add}
}

// New links a tree of commands. Call it with the root before any other function.
func New(root *Command) *Command {
	for _, c := range root.Commands {
		c.parent = root
		New(c)
	}
	return root
}

// flags returns a command's flags, and makes them in the first call: a line needs those of one
// command, and all of them take longer than most of the rest of a short command.
func (c *Command) flags() *Flags {
	if c.made == nil {
		f := NewFlags(c.Flags)
		f.Group(General)
		if c.Settings != nil {
			c.Settings.flags(f)
		}
		f.Add(new(bool), "-h, --help", "print this help")
		f.Add(&f.version, "--version", "print the version")
		c.made = f
	}
	return c.made
}

// Path is the names of the commands from below the root to c, with spaces between them: "" for the
// root.
func (c *Command) Path() string {
	if c.parent == nil {
		return ""
	}
	return strings.TrimSpace(c.parent.Path() + " " + c.Name)
}

// Child returns the command of a name below c, or nil.
func (c *Command) Child(name string) *Command {
	at := slices.IndexFunc(c.Commands, func(c *Command) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return c.Commands[at]
}

// All calls visit with c and the commands below it, one after the other.
func (c *Command) All(visit func(*Command)) {
	visit(c)
	for _, below := range c.Commands {
		below.All(visit)
	}
}

// Own are the flags of a command, or of its default command if it has one.
func (c *Command) Own() *Flags { return c.main().flags() }

// main is the command that runs where a word names none below c.
func (c *Command) main() *Command { return cmp.Or(c.Default, c) }

func (c *Command) root() *Command {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// program is the command as a user types it: gpt eval.
func (c *Command) program() string { return strings.TrimSpace(c.root().Name + " " + c.Path()) }

// usage is a command with the names of its arguments.
func (c *Command) usage() string {
	line := c.program()
	switch {
	case c.Default != nil:
		line += " [COMMAND]"
	case len(c.Commands) > 0:
		line += " COMMAND"
	}
	for _, a := range c.Args {
		name := strings.ToUpper(a.Name)
		if a.Many {
			name += "..."
		}
		if !a.Required {
			name = "[" + name + "]"
		}
		if !a.Hidden {
			line += " " + name
		}
	}
	return line + " [flags]"
}
