package main

// Arranging the arguments: flags and words may stand in any order, and the first word names the
// command.

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/internal/fault"
)

// An arrangement is the arguments in one canonical order: the command, the flags in the form
// --name=value, then after -- the other words.
type arrangement struct {
	flagsByName           map[string]*kong.Flag
	node                  *kong.Node // the command so far
	command, flags, words []string
	unknown               string            // the first flag that no command has; it may own the next word
	typed                 map[string]string // flags of one letter as they were typed, by their names
	bare                  string            // the first word, where it names no command
}

func newArrangement(root *kong.Node) *arrangement {
	a := &arrangement{
		flagsByName: map[string]*kong.Flag{}, node: root, typed: map[string]string{},
	}
	listFlags(root, a.flagsByName)
	return a
}

// arrange brings the arguments into the order that kong is given. The first word names the command,
// wherever flags stand. The command is generate where there is no word, or where the first one is no
// command's name; whether it may then be a prompt, refused says. A word after -- names no command.
// Underscores in flags' names become hyphens. Flags that another command has are left for kong to
// refuse.
func arrange(root *kong.Node, args []string) (*arrangement, error) {
	a := newArrangement(root)
	for i := 0; i < len(args); i++ {
		taken, err := a.take(args[i], args[i+1:])
		if err != nil {
			return nil, err
		}
		i += taken
	}
	if a.unknown != "" {
		meant := child(a.node, nearestCommand(a.node, a.bare))
		return nil, unknownFlag(cmp.Or(meant, a.node), a.unknown)
	}
	if a.node == root && (len(a.words) > 0 || !slices.Contains(a.flags, "--help")) {
		a.command = []string{"generate"}
	}
	return a, nil
}

// args are the arguments in their order.
func (a *arrangement) args() []string {
	return slices.Concat(a.command, a.flags, []string{"--"}, a.words)
}

// take adds one argument, and says how many of the next arguments belong to it.
func (a *arrangement) take(arg string, next []string) (taken int, err error) {
	switch first := len(a.words) == 0; {
	case a.hasDash(arg):
		return 0, fault.Hint(usagef("unknown flag %s", arg), "flags begin with hyphens (-), as in --temp and -n")
	case arg == "--":
		a.words = append(a.words, next...)
		return len(next), nil
	case len(arg) > 1 && arg[0] == '-':
		return a.flag(arg, next)
	case first && child(a.node, arg) != nil:
		a.node = child(a.node, arg)
		a.command = append(a.command, arg)
	case first && (a.node.Parent == nil && looksLikeCommand(arg) ||
		a.node.Parent != nil && len(a.node.Children) > 0):
		a.bare = arg
		fallthrough
	default:
		a.words = append(a.words, arg)
	}
	return 0, nil
}

// hasDash reports whether an argument is a flag that begins with another dash than the hyphen, as
// programs for writing make them.
func (a *arrangement) hasDash(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "–—−"), "=")
	return !strings.HasPrefix(arg, name) && (a.flagsByName["-"+name] != nil || a.isName(name))
}

// looksLikeCommand reports whether a word is made as the names of commands are: of lower-case ASCII
// letters, digits and hyphens alone.
func looksLikeCommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// flag adds one argument that begins with -, and says how many of the next arguments it took as its
// value.
func (a *arrangement) flag(arg string, next []string) (taken int, err error) {
	name, value, hasValue := strings.Cut(arg, "=")
	if at := strings.IndexAny(name, " \t\n"); at > 0 {
		hint := "a prompt that begins with - goes after --"
		if a.flagsByName[name[:at]] != nil {
			hint = "a flag and its value are two words, without quotes around both, or " + name[:at] + "=..."
		}
		return 0, fault.Hint(usagef("%s is no flag", quoteShort(arg)), hint)
	}
	if !strings.HasPrefix(arg, "--") {
		return a.shortFlags(arg, next)
	}
	name = strings.ReplaceAll(name, "_", "-")
	switch f := a.flagsByName[name]; {
	case f == nil:
		a.noteUnknown(name)
	case hasValue:
		a.flags = append(a.flags, name+"="+value)
	case f.IsBool():
		a.flags = append(a.flags, name)
		return 0, checkYesNo(f, next)
	default:
		return a.flagWithNext(f, next)
	}
	return 0, nil
}

// takesYesNo reports whether a flag may be true, false or not there.
func takesYesNo(f *kong.Flag) bool { return f.IsBool() && f.Target.Kind() == reflect.Pointer }

// checkYesNo refuses true and false as words of their own after a flag that takes them after =.
func checkYesNo(f *kong.Flag, next []string) error {
	if takesYesNo(f) && len(next) > 0 && (next[0] == "true" || next[0] == "false") {
		return usagef("--%s %s: want --%[1]s=%[2]s, with =", f.Name, next[0])
	}
	return nil
}

// shortFlags adds flags of one letter, of which the last may have a value: -v, -vn5, -n 5, -n=5.
func (a *arrangement) shortFlags(arg string, next []string) (taken int, err error) {
	if name, _, _ := strings.Cut(arg, "="); len(name) > 2 && a.isName(name[1:]) {
		a.noteUnknown(name) // -model is no -m odel
		return 0, nil
	}
	for at, letter := range arg[1:] {
		f, value := a.flagsByName["-"+string(letter)], arg[1+at+len(string(letter)):]
		if f != nil {
			a.typed["--"+f.Name] = "-" + string(letter)
		}
		switch {
		case f == nil && at == 0:
			a.noteUnknown(arg)
			return 0, nil
		case f == nil:
			a.noteUnknown("-" + string(letter))
			return 0, nil
		case f.IsBool():
			a.flags = append(a.flags, "--"+f.Name)
		case value != "":
			a.flags = append(a.flags, "--"+f.Name+"="+strings.TrimPrefix(value, "="))
			return 0, nil
		default:
			return a.flagWithNext(f, next)
		}
	}
	return 0, nil
}

// isName reports whether a word is a flag's name, here or in other programs.
func (a *arrangement) isName(word string) bool {
	word = strings.ReplaceAll(word, "_", "-")
	return a.flagsByName["--"+word] != nil || isOtherName(word)
}

func (a *arrangement) noteUnknown(flag string) {
	if a.unknown == "" {
		a.unknown = flag
	}
}

// flagWithNext adds a flag whose value is the next argument, whatever that looks like.
func (a *arrangement) flagWithNext(f *kong.Flag, next []string) (taken int, err error) {
	if len(next) == 0 {
		return 0, usagef("--%s: want a value, found none", f.Name)
	}
	a.flags = append(a.flags, "--"+f.Name+"="+next[0])
	return 1, nil
}

// listFlags maps --name and -n to the flags of all commands. One name means one kind of flag
// throughout.
func listFlags(node *kong.Node, names map[string]*kong.Flag) {
	for _, f := range node.Flags {
		names["--"+f.Name] = f
		for _, alias := range f.Aliases {
			names["--"+alias] = f
		}
		if f.Short != 0 {
			names["-"+string(f.Short)] = f
		}
	}
	for _, c := range node.Children {
		listFlags(c, names)
	}
}

func child(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}
