package cli

// The first word: a command, what other programs call one, an argument of the default command, or a
// command's name misspelt.

import (
	"errors"
	"slices"
	"strings"

	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// looksLikeCommand reports whether a word is made as the names of commands are: of lower-case ASCII
// letters, digits and hyphens alone.
func looksLikeCommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// calledElsewhere returns what a word of other programs means where a command of c may stand, or "".
func (c *Command) calledElsewhere(word string) string {
	root := c.root()
	if len(c.Commands) == 0 {
		return ""
	}
	for _, other := range root.Words {
		if slices.Contains(other.names(), word) &&
			(c == root || strings.HasPrefix(other.means(), c.program()+" ")) {
			return other.means()
		}
	}
	return ""
}

// takeOther takes the first word for the command, and for its flag if there is one, that the word
// means. Where it means none here, the error says what there is.
func (s *scan) takeOther(word string) error {
	root := s.command.root()
	means := s.command.calledElsewhere(word)
	path, isCommand := strings.CutPrefix(means, root.Name+" ")
	if !isCommand {
		return fault.Hint(fault.Usagef("%s is not a command", quote.Short(word, 40)),
			means+". To use the word as a prompt: "+root.Default.program()+" "+word)
	}
	s.other = Elsewhere{means, strings.TrimSpace(s.command.Path() + " " + word)}
	s.command = root
	for name := range strings.FieldsSeq(path) {
		if flag, isFlag := strings.CutPrefix(name, "--"); isFlag {
			f := s.command.Own().Find(flag)
			s.given = append(s.given, newGiven(f, name, "", false))
			continue
		}
		s.command = s.command.Child(name)
	}
	return nil
}

// refused reports whether the first word is a mistake, and no argument: it is made as the names of
// commands are, and other words follow, or it is a command's name misspelt. So no misspelt command
// runs another one.
func (s *scan) refused() bool {
	switch c := s.command; {
	case s.bare == "" || s.unknown != "": // the value of that flag, perhaps
		return false
	case c.parent != nil || c.Default == nil || len(s.words) > 1 || strings.Trim(s.bare, "-") == "":
		return true
	}
	return s.command.misspelt(s.bare) != ""
}

// refusal is the error of a first word that is refused, or of a flag that is wrong for whatever
// command was meant.
func (s *scan) refusal() error {
	c, near, more := s.command, s.command.nearest(s.bare), ""
	if err := s.wrongFlag(near); err != nil {
		return err
	}
	if c.parent == nil && c.Default != nil {
		more = " To use the word as a prompt: " + c.Default.program() + " " + s.bare
	}
	if strings.Trim(s.bare, "-") == "" && more != "" {
		return fault.Hint(fault.Usagef("%s is not a command", quote.Short(s.bare, 40)),
			c.program()+" -f - reads the prompt from stdin")
	}
	return c.notACommand(s.bare, near, more)
}

// wrongFlag returns the mistake in the flags, nil if near takes them, or the default command does.
func (s *scan) wrongFlag(near string) (wrong error) {
	meant := []*Command{s.command.Child(near)}
	if meant[0] == nil {
		meant[0] = s.command
	}
	if s.command.parent == nil && meant[0] != s.command {
		meant = append(meant, s.command)
	}
	for _, c := range meant {
		err := s.apply(c)
		if err == nil {
			err = c.Own().checkListed()
		}
		for _, check := range []*Command{c.main(), c.root()} {
			if err == nil {
				err = check.check(c.Own(), s.words)
			}
		}
		if err == nil {
			return nil
		}
		// that another command has the flag says less than what is wrong with its value
		if wrong == nil || isUnknownFlag(wrong) && !isUnknownFlag(err) {
			wrong = err
		}
	}
	return wrong
}

// notACommand is the error of a word that stands where a command below c is wanted. The hint names
// near, the command that was likely meant, if there is one, and ends with more.
func (c *Command) notACommand(word, near, more string) error {
	err := fault.Usagef("%s is not a command", quote.Short(word, 40))
	if c.parent != nil {
		err = fault.Usagef("%s is not a command of %s", quote.Short(word, 40), c.program())
	}
	hint := c.program() + " --help lists the commands."
	if near != "" {
		hint = "did you mean " + c.program() + " " + near + "?"
	}
	return fault.Hint(err, strings.TrimSuffix(hint+more, "."))
}

// misspelt returns the command below c that a word is a misspelling of, or "". What differs more is
// likelier a word: hello is not help, and text is not next.
func (c *Command) misspelt(word string) (name string) {
	for _, below := range c.Commands {
		n, edits := len(below.Name), edits(word, below.Name)
		switch {
		case n < 5 && slices.Contains(exchanges(below.Name), word), n >= 5 && edits <= 1:
			return below.Name
		case n >= 8 && edits <= 2 && name == "":
			name = below.Name
		}
	}
	return name
}

// nearest returns the command below c whose name a word is most like, or "".
func (c *Command) nearest(word string) string {
	if name := c.misspelt(word); name != "" {
		return name
	}
	var names []string
	for _, below := range c.Commands {
		names = append(names, below.Name)
	}
	return Nearest(word, names)
}

// isUnknownFlag reports whether an error is of a flag that a command does not have.
func isUnknownFlag(err error) bool {
	var unknown *unknownFlagError
	return errors.As(err, &unknown)
}
