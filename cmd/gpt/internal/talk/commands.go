package talk

// The commands of a chat: lines that begin with /.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
)

// errQuit is the error of /quit.
var errQuit = errors.New("quit")

// commands are the names of the commands, in the order of the help, with what follows them and
// what they do.
var commands = [...]struct{ name, takes, does string }{
	{"/undo", "[N]", "take the last turn back, or the last N"},
	{"/retry", "", "answer the last line again, with the next seed"},
	{"/seed", "[N]", "make N the seed of the next answer; alone: show the seeds"},
	{"/set", "[NAME [VALUE]]", "set a flag; without VALUE, its default; alone: show all"},
	{"/system", "[TEXT]", "begin with this message of the system; alone: show it"},
	{"/save", "[FILE]", "write ids and options (--force FILE); alone: to --session"},
	{"/load", "FILE", "go on with a saved conversation"},
	{"/help", "", "list the commands"},
	{"/quit", "", "end the program"},
}

// command does what a line that begins with / says.
func (c *Chat) command(line string) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	for _, known := range commands {
		if known.name == name && known.takes == "" && rest != "" {
			return fault.Usagef("%s %s: want nothing after %s", name, quote.Short(rest, 40), name)
		}
	}
	switch name {
	case "/undo":
		return c.undo(rest)
	case "/retry":
		return c.retry()
	case "/seed":
		return c.setSeed(rest)
	case "/set":
		return c.set(rest)
	case "/system":
		if rest != "" {
			return c.setSystem(name, rest)
		}
		_, err := c.Out.WriteString(c.Dialog.System + "\n")
		return err
	case "/save":
		return c.save(rest)
	case "/load":
		return c.load(rest)
	case "/help":
		return c.help()
	case "/quit", "/exit":
		return errQuit
	}
	var names []string
	for _, known := range commands {
		names = append(names, known.name)
	}
	hint := "/help lists the commands; a line that begins with // is text"
	if near := cli.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? A line that begins with // is text"
	}
	return fault.Hint(fault.Usagef("%s is not a command of gpt chat", quote.Short(name, 40)), hint)
}

func (c *Chat) help() error {
	var b strings.Builder
	for _, known := range commands {
		fmt.Fprintf(&b, "%-21s %s\n", known.name+" "+known.takes, known.does)
	}
	_, err := c.Out.WriteString(b.String())
	return err
}

func (c *Chat) undo(rest string) error {
	n := 1
	if rest != "" {
		var err error
		if n, err = strconv.Atoi(rest); err != nil || n < 1 {
			return fault.Usagef("/undo %s: want a number of turns, 1 or more",
				quote.Short(rest, 40))
		}
	}
	if n > len(c.Dialog.Turns) {
		return fault.Usagef("/undo: want %s to take back, found %d", quote.Count(n, "turn"),
			len(c.Dialog.Turns))
	}
	last := c.Dialog.Turns[len(c.Dialog.Turns)-n]
	c.changed = true
	if err := c.Dialog.Undo(n); err != nil {
		return err
	}
	c.notice("taken back from %s on; %s left", quote.Short(last.Text, 40),
		quote.Count(len(c.Dialog.Turns), "turn"))
	return nil
}

// retry answers the last line again. If that fails, the turn stays as it was.
func (c *Chat) retry() error {
	n := len(c.Dialog.Turns)
	if n == 0 || len(c.Dialog.Turns[n-1].IDs) == 0 {
		return fault.Usagef("/retry: want a line that was answered, found none")
	}
	last := c.Dialog.Turns[n-1]
	c.Dialog.Turns = c.Dialog.Turns[:n-1]
	err := c.answer(last.Text)
	if len(c.Dialog.Turns) < n {
		c.Dialog.Turns = append(c.Dialog.Turns, last)
	}
	return err
}

// setSystem sets the message of the system. Where the model has read the lines one by one, it cannot
// come before them any more.
func (c *Chat) setSystem(from, text string) error {
	if len(c.Dialog.Turns) > 0 && !c.Dialog.Template.Whole() {
		return fault.Usagef("%s: want it before the first line, or a template in Jinja", from)
	}
	c.Dialog.System, c.changed = text, true
	return nil
}

func (c *Chat) setSeed(rest string) error {
	if rest == "" {
		text := fmt.Sprintf("the next answer's seed is %d", c.Seed)
		if n := len(c.Dialog.Turns); n > 0 {
			text += fmt.Sprintf(", the last one's was %d", c.Dialog.Turns[n-1].Seed)
		}
		_, err := c.Out.WriteString(text + "\n")
		return err
	}
	seed, err := option.ParseSeed(rest, 10)
	if err != nil {
		return fault.Usagef("/seed %s: want %s", quote.Short(rest, 40), option.WantSeed)
	}
	c.Seed = seed
	return nil
}

// set sets a flag, adds to one that may be repeated, sets it back, or shows what is set. A value
// that begins with " is a string as Go writes it.
func (c *Chat) set(rest string) error {
	set := c.Settings.Options()
	if rest == "" {
		text := "nothing is set: every flag has its default\n"
		if len(set) > 0 {
			text = strings.Join(set, "\n") + "\n"
		}
		_, err := c.Out.WriteString(text)
		return err
	}
	name, value, hasValue := strings.Cut(rest, " ")
	name = strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	value = strings.TrimSpace(value)
	flag, repeats, ok := c.Settings.Find(name)
	switch {
	case name == "seed":
		return c.setSeed(value)
	case !ok:
		return fault.Hint(fault.Usagef("/set %s: not a flag that chooses tokens", name),
			"gpt chat --help lists them")
	case !hasValue:
		return c.Settings.Set(Without(set, "--"+flag))
	}
	if strings.HasPrefix(value, `"`) {
		unquoted, err := strconv.Unquote(value)
		if err != nil {
			return fault.Usagef("/set %s: want a string with a quote at its end", flag)
		}
		value = unquoted
	}
	options := slices.Clone(set)
	if !repeats {
		options = Without(set, "--"+flag)
	}
	c.Settings.Forget(value) // it may have changed
	return c.Settings.Set(append(options, "--"+flag+"="+value))
}

// Without returns the options but for those of one flag.
func Without(options []string, flag string) (others []string) {
	others = []string{}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); name != flag {
			others = append(others, option)
		}
	}
	return others
}
