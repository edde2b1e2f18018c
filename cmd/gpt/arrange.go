package main

// Arranging the arguments: flags and words may come in any order, and the command is generate unless the first word names another.

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// arrange returns the arguments in one canonical order: the command, the flags in the form --name=value, then after -- the
// other words. The first word may name a command, wherever flags stand; a word after -- never does. Underscores in flags'
// names become hyphens. Flags that nobody knows are left as they are, for kong to name.
func arrange(root *kong.Node, args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "help" && len(args) < 3 && (len(args) == 1 || child(root, args[1]) != nil) {
		args = append(args[1:len(args):len(args)], "--help") // gpt help, gpt help tokenize
	}
	names := map[string]*kong.Flag{}
	listFlags(root, names)
	var path, flags, words []string
	node := root
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			words = append(words, args[i+1:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			arranged, taken, err := arrangeFlag(names, arg, args[i+1:])
			if err != nil {
				return nil, err
			}
			flags = append(flags, arranged...)
			i += taken
		case len(words) == 0 && child(node, arg) != nil:
			node = child(node, arg)
			path = append(path, arg)
		default:
			words = append(words, arg)
		}
	}
	if len(path) == 0 && (len(words) > 0 || !slices.Contains(flags, "--help")) {
		path = []string{"generate"}
	}
	return append(append(append(path, flags...), "--"), words...), nil
}

// arrangeFlag rewrites one argument that begins with -, and says how many of the next arguments it took as its value.
func arrangeFlag(names map[string]*kong.Flag, arg string, next []string) (arranged []string, taken int, err error) {
	name, value, hasValue := strings.Cut(arg, "=")
	if strings.ContainsAny(name, " \t\n") {
		return nil, 0, hinted{usagef("%s is no flag", quoteShort(arg)), "a prompt that begins with - goes after --"}
	}
	if strings.HasPrefix(arg, "--") {
		name = strings.ReplaceAll(name, "_", "-")
		switch f := names[name]; {
		case hasValue:
			return []string{name + "=" + value}, 0, nil
		case f == nil || f.IsBool():
			return []string{name}, 0, nil
		default:
			return takeValue(f, nil, next)
		}
	}
	for at, letter := range arg[1:] { // -v, -vn5, -n 5
		f, value := names["-"+string(letter)], arg[1+at+len(string(letter)):]
		switch {
		case f == nil:
			return append(arranged, "-"+arg[1+at:]), 0, nil
		case f.IsBool():
			arranged = append(arranged, "--"+f.Name)
		case value != "":
			return append(arranged, "--"+f.Name+"="+strings.TrimPrefix(value, "=")), 0, nil
		default:
			return takeValue(f, arranged, next)
		}
	}
	return arranged, 0, nil
}

// takeValue appends a flag with the next argument as its value, whatever that looks like.
func takeValue(f *kong.Flag, arranged, next []string) ([]string, int, error) {
	if len(next) == 0 {
		return nil, 0, usagef("--%s: want a value, found none", f.Name)
	}
	return append(arranged, "--"+f.Name+"="+next[0]), 1, nil
}

// listFlags maps --name and -n to the flags of all commands. One name means one kind of flag throughout.
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
