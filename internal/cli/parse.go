package cli

// Parsing: flags and words may stand in any order, and the first word names the command.

import (
	"cmp"
	"slices"
	"strings"

	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
)

// A Line is what a command line asks for.
type Line struct {
	Command *Command
	Flags   *Flags // of Command, or of its default command, as Run is
	Run     func(*Flags) error
	Help    bool   // the page of Command is asked for; else
	Version bool   // the program's version is; else Command is to run
	Bare    string // the first word, where it may be the name of a command, and is none

	// Other is the first word where other programs call Command so: what it means, and the word
	// after the path of the command that it stood below.
	Other Elsewhere
}

// Parse sets the flags and arguments of the command that args name. The command is the default one
// where there is no word, or where the first one is no command's name; whether it may then be an
// argument of the default command, refused says. A word of other programs is taken for the command
// that it means. A word after -- names no command. Underscores in flags' names become hyphens.
// Mistakes are fault.Usage errors, of which those in a command that is known come with the line.
func Parse(root *Command, args []string) (*Line, error) {
	s := newScan(root)
	for i := 0; i < len(args); i++ {
		taken, err := s.take(args[i], args[i+1:])
		if err != nil {
			return nil, err
		}
		i += taken
	}
	if s.unknown != "" {
		meant := s.command.Child(s.command.nearest(s.bare))
		return nil, cmp.Or(meant, s.command).unknownFlag(s.unknown, "")
	}
	if s.refused() {
		return nil, s.refusal()
	}
	line := &Line{Command: s.command, Flags: s.command.Own(), Bare: s.bare, Other: s.other}
	// --help=no is a wish for help too
	line.Help = slices.ContainsFunc(s.given, func(g given) bool { return g.flag.Name == "help" })
	if s.command == root && (len(s.words) > 0 || !line.Help) {
		line.Command = root.main()
	}
	line.Run = line.Command.main().Run
	return line, line.settle(s)
}

// settle sets the flags and arguments.
func (l *Line) settle(s *scan) error {
	if err := s.apply(l.Command); err != nil {
		return err
	}
	command := l.Command.main()
	if command.Settings != nil && !l.Help && !l.Flags.version {
		if err := command.Settings.take(l.Flags); err != nil {
			return err
		}
		l.Run = func(f *Flags) error { return f.inPlace(command.Run(f)) }
	}
	late := l.Flags.checkListed() // which counts less than a wish for help
	arguments := command.Args
	for i, word := range s.words {
		last := len(arguments) - 1
		if i > last && (last < 0 || !arguments[last].Many) {
			hint := "usage: " + command.usage()
			if last < 0 && command.has("model") {
				hint = "-m NAME names the model; " + hint
			}
			return fault.Hint(fault.Usagef("%s: %s is an argument too many", command.Path(),
				quote.Short(word, 40)), hint)
		}
		arg := arguments[min(i, last)]
		if arg.Values != nil && !slices.Contains(arg.Values, word) && late == nil {
			late = fault.Usagef("%s: want %s, found %q", arg.Name, option.Either(arg.Values), word)
		}
		arg.Set(word)
	}
	l.Version = l.Flags.version
	switch {
	case l.Help || l.Version:
		return nil
	case late != nil:
		return late
	case l.Run == nil:
		return fault.Hint(fault.Usagef("%s: want one of its commands, found none", l.Command.Path()),
			l.Command.program()+" --help lists them")
	}
	if err := l.Command.missing(len(s.words)); err != nil {
		return err
	}
	return l.Flags.inPlace(l.Command.root().check(l.Flags, s.words))
}

// missing is the error of arguments that must be there and are not among so many words.
func (c *Command) missing(words int) error {
	var names []string
	for _, a := range c.main().Args[min(words, len(c.main().Args)):] {
		if a.Required {
			names = append(names, strings.ToUpper(a.Name))
		}
	}
	if names == nil {
		return nil
	}
	return fault.Hint(fault.Usagef("%s: want %s, found none", c.Path(), strings.Join(names, " ")),
		"usage: "+c.usage())
}

func (c *Command) check(f *Flags, words []string) error {
	if c.Check == nil {
		return nil
	}
	return c.Check(f, words)
}

// A scan is a command line on its way, from left to right.
type scan struct {
	all     map[string]*Flag // see find; nil until a flag is not of the command so far
	command *Command         // so far
	given   []given
	words   []string
	unknown string // the first flag that no command has; it may own the next word
	bare    string // the first word, where it may be the name of a command, and is none
	other   Elsewhere
}

func newScan(root *Command) *scan { return &scan{command: root} }

// find returns the flag of a name as it is typed, --name or -n, or nil if no command has it. One
// name is one kind of flag in all commands, so that of the command so far will do, and the flags of
// all others need not be made.
func (s *scan) find(typed string) *Flag {
	if f := s.command.Own().typed(typed); f != nil {
		return f
	}
	if s.all == nil {
		s.all = map[string]*Flag{}
		s.command.root().All(func(c *Command) {
			for name, f := range c.flags().names {
				s.all["--"+name] = f
				if f.Short != "" {
					s.all["-"+f.Short] = f
				}
			}
		})
	}
	return s.all[typed]
}

// apply sets the given flags of a command.
func (s *scan) apply(c *Command) error {
	for _, g := range s.given {
		name := g.flag.Name
		if g.flag = c.Own().Find(name); g.flag == nil {
			return c.unknownFlag(g.typed, name)
		}
		if err := c.Own().set(g); err != nil {
			return err
		}
	}
	return nil
}

// take adds one argument, and says how many of the next arguments belong to it.
func (s *scan) take(arg string, next []string) (taken int, err error) {
	free := s.command.parent == nil && s.command.Default != nil
	switch first := len(s.words) == 0; {
	case s.hasDash(arg):
		return 0, fault.Hint(fault.Usagef("unknown flag %s", arg),
			"flags begin with hyphens (-), as in --temp and -n")
	case arg == "--":
		s.words = append(s.words, next...)
		return len(next), nil
	case len(arg) > 1 && arg[0] == '-':
		return s.flag(arg, next)
	case first && s.command.Child(arg) != nil:
		s.command = s.command.Child(arg)
	case first && s.command.calledElsewhere(arg) != "":
		return 0, s.takeOther(arg)
	case first && (free && looksLikeCommand(arg) || !free && len(s.command.Commands) > 0):
		s.bare = arg
		fallthrough
	default:
		s.words = append(s.words, arg)
	}
	return 0, nil
}

// hasDash reports whether an argument is a flag that begins with another dash than the hyphen, as
// programs for writing make them.
func (s *scan) hasDash(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "–—−"), "=")
	return !strings.HasPrefix(arg, name) && (s.find("-"+name) != nil || s.isName(name))
}

// flag adds one argument that begins with -, and says how many of the next arguments it took as its
// value.
func (s *scan) flag(arg string, next []string) (taken int, err error) {
	name, value, hasValue := strings.Cut(arg, "=")
	if at := strings.IndexAny(name, " \t\n"); at > 0 {
		hint := "a prompt that begins with - goes after --"
		if s.find(name[:at]) != nil {
			hint = "a flag and its value are two words, without quotes around both, or " + name[:at] + "=..."
		}
		return 0, fault.Hint(fault.Usagef("%s is no flag", quote.Short(arg, 40)), hint)
	}
	if !strings.HasPrefix(arg, "--") {
		return s.shortFlags(arg, next)
	}
	name = strings.ReplaceAll(name, "_", "-")
	switch f := s.find(name); {
	case f == nil:
		s.noteUnknown(name)
	case hasValue:
		s.given = append(s.given, newGiven(f, name, value, true))
	case f.Bool:
		s.given = append(s.given, newGiven(f, name, "", false))
		return 0, checkYesNo(f, next)
	default:
		return s.flagWithNext(f, name, next)
	}
	return 0, nil
}

// checkYesNo refuses true and false as words of their own after a flag that takes them after =.
func checkYesNo(f *Flag, next []string) error {
	if f.YesNo && len(next) > 0 && (next[0] == "true" || next[0] == "false") {
		return fault.Usagef("--%s %s: want --%[1]s=%[2]s, with =", f.Name, next[0])
	}
	return nil
}

// shortFlags adds flags of one letter, of which the last may have a value: -v, -vn5, -n 5, -n=5.
func (s *scan) shortFlags(arg string, next []string) (taken int, err error) {
	if name, _, _ := strings.Cut(arg, "="); len(name) > 2 && s.isName(name[1:]) {
		s.noteUnknown(name) // -model is no -m odel
		return 0, nil
	}
	for at, letter := range arg[1:] {
		typed, value := "-"+string(letter), arg[1+at+len(string(letter)):]
		switch f := s.find(typed); {
		case f == nil && at == 0:
			s.noteUnknown(arg)
			return 0, nil
		case f == nil:
			s.noteUnknown(typed)
			return 0, nil
		case f.Bool:
			s.given = append(s.given, newGiven(f, typed, "", false))
		case value != "":
			s.given = append(s.given, newGiven(f, typed, strings.TrimPrefix(value, "="), true))
			return 0, nil
		default:
			return s.flagWithNext(f, typed, next)
		}
	}
	return 0, nil
}

// isName reports whether a word is a flag's name, here or in other programs.
func (s *scan) isName(word string) bool {
	word = strings.ReplaceAll(word, "_", "-")
	return s.find("--"+word) != nil || s.command.root().isElsewhere(word)
}

func (s *scan) noteUnknown(flag string) {
	s.unknown = cmp.Or(s.unknown, flag)
}

// flagWithNext adds a flag whose value is the next argument, whatever that looks like.
func (s *scan) flagWithNext(f *Flag, typed string, next []string) (taken int, err error) {
	if len(next) == 0 {
		return 0, fault.Usagef("--%s: want a value, found none", f.Name)
	}
	s.given = append(s.given, newGiven(f, typed, next[0], true))
	return 1, nil
}
