package main

// Arranging the arguments: flags and words may stand in any order, and the first word names the
// command.

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// An arrangement is the arguments in one canonical order: the command, the flags in the form
// --name=value, then after -- the other words.
type arrangement struct {
	flagsByName           map[string]*kong.Flag
	command, flags, words []string
	unknown               string // the first flag that no command has; it may own the next word
}

// arrange brings the arguments into the order that kong is given. The first word names the command,
// wherever flags stand. The command is generate where there is no word, or where the first one does
// not look like a command's name (see looksLikeCommand). A word after -- names no command.
// Underscores in flags' names become hyphens. Flags that another command has are left for kong to
// refuse.
func arrange(root *kong.Node, args []string) ([]string, error) {
	a := arrangement{flagsByName: map[string]*kong.Flag{}}
	listFlags(root, a.flagsByName)
	node := root
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			a.words = append(a.words, args[i+1:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			taken, err := a.flag(arg, args[i+1:])
			if err != nil {
				return nil, err
			}
			i += taken
		case len(a.words) == 0 && child(node, arg) != nil:
			node = child(node, arg)
			a.command = append(a.command, arg)
		case len(a.words) == 0 && a.unknown == "" && node == root && looksLikeCommand(arg):
			return nil, noFirstCommand(root, arg)
		case len(a.words) == 0 && a.unknown == "" && node != root && len(node.Children) > 0:
			return nil, notACommand(node, arg, "")
		default:
			a.words = append(a.words, arg)
		}
	}
	if a.unknown != "" {
		return nil, unknownFlag(node, a.unknown)
	}
	if node == root && (len(a.words) > 0 || !slices.Contains(a.flags, "--help")) {
		a.command = []string{"generate"}
	}
	return append(append(append(a.command, a.flags...), "--"), a.words...), nil
}

// looksLikeCommand reports whether a first word can only be meant as a command's name: it is made
// of lower-case ASCII letters, digits and hyphens alone. Such a word is never taken for a prompt, so
// that a misspelt command does not generate text.
func looksLikeCommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// flag adds one argument that begins with -, and says how many of the next arguments it took as its
// value.
func (a *arrangement) flag(arg string, next []string) (taken int, err error) {
	name, value, hasValue := strings.Cut(arg, "=")
	if strings.ContainsAny(name, " \t\n") {
		return 0, hinted{usagef("%s is no flag", quoteShort(arg)),
			"a prompt that begins with - goes after --"}
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
	default:
		return a.flagWithNext(f, next)
	}
	return 0, nil
}

// shortFlags adds flags of one letter, of which the last may have a value: -v, -vn5, -n 5, -n=5.
func (a *arrangement) shortFlags(arg string, next []string) (taken int, err error) {
	for at, letter := range arg[1:] {
		f, value := a.flagsByName["-"+string(letter)], arg[1+at+len(string(letter)):]
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
