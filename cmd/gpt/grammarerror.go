package main

// Mistakes in the command line that kong finds, in this program's words: what is named, what was
// wanted, what was found.

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/internal/fault"
	"picogpt/internal/process"
)

// grammarError turns an error of kong's Parse into a fault.Usage, with a hint where one is known.
func (a *arrangement) grammarError(err error) error {
	var own fault.Usage
	var parse *kong.ParseError
	if errors.As(err, &own) || errors.Is(err, process.ErrClosedPipe) || !errors.As(err, &parse) {
		return err
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parse.Context.Model.Node
	}
	message, _, _ := strings.Cut(err.Error(), ", did you mean ")
	switch {
	case strings.HasPrefix(message, "unknown flag "):
		flag := strings.TrimPrefix(message, "unknown flag ")
		return unknownFlag(node, cmp.Or(a.typed[flag], flag))
	case strings.HasPrefix(message, "expected one of "): // commands
		return fault.Hint(usagef("%s: want one of its commands, found none", node.Path()),
			"gpt "+node.Path()+" --help lists them")

	case strings.HasPrefix(message, "expected "): // <argument> ...
		bare := strings.NewReplacer("expected ", "", "<", "", ">", "", `"`, "")
		missing := bare.Replace(message)
		return fault.Hint(usagef("%s: want %s, found none", node.Path(), strings.ToUpper(missing)),
			"usage: "+usage(node))

	case strings.HasPrefix(message, "unexpected argument "):
		extra := strings.TrimPrefix(message, "unexpected argument ")
		return fault.Hint(usagef("%s: %s is an argument too many", node.Path(), quoteShort(extra)),
			"usage: "+usage(node))

	}
	return fault.Usage{Err: errors.New(reworded(message))}
}

// unknownFlag is the error of a flag, as it was typed, that a command does not have. The hint says
// where to look for it.
func unknownFlag(node *kong.Node, flag string) error {
	help := strings.TrimSpace("gpt "+node.Path()) + " --help"
	hint := help + " lists the flags; a text that begins with - goes after --"
	owners := commandsWithFlag(rootOf(node), flag)
	switch meant, near := meaning(node, strings.TrimLeft(flag, "-")), nearestFlag(node, flag); {
	case flag == "--json" && hasFlag(node, "output"):
		hint = "--output json prints JSON"
	case flag == "--output" && hasFlag(node, "json"):
		hint = "--json prints JSON"
	case (flag == "--file" || flag == "-f") && len(node.Positional) > 0:
		hint = "the file is an argument: " + usage(node)
	case meant != "":
		hint = meant
	case len(owners) > 2:
		hint = fmt.Sprintf("other commands have %s; %s lists the flags here", flag, help)
	case len(owners) > 0:
		hint = fmt.Sprintf("%s is a flag of gpt %s; %s lists the flags here",
			flag, strings.Join(owners, " and gpt "), help)
	case near != "":
		hint = near
	}
	return fault.Hint(usagef("unknown flag %s", flag), hint)
}

// flagsFor are the flags of a command, or generate for the root, and those of every command.
func flagsFor(node *kong.Node) []*kong.Flag {
	return slices.Concat(mainOf(node).Flags, rootOf(node).Flags)
}

// hasFlag reports whether a command, or generate for the root, has a flag.
func hasFlag(node *kong.Node, name string) bool {
	return slices.ContainsFunc(flagsFor(node), func(f *kong.Flag) bool { return f.Name == name })
}

// nearestFlag says which flag of a command a misspelt one is most like, or "".
func nearestFlag(node *kong.Node, flag string) string {
	word := strings.TrimLeft(flag, "-")
	var names []string
	for _, f := range flagsFor(node) {
		if len(word) == 1 && strings.HasPrefix(flag, "--") && word == string(f.Short) {
			return "did you mean -" + word + "?"
		}
		names = append(append(names, f.Name), f.Aliases...)
	}
	own := len(names)
	for _, other := range otherNames {
		if meaning(node, strings.Fields(other.names)[0]) != "" {
			names = append(names, strings.Fields(other.names)...)
		}
	}
	switch near := nearest(word, names); {
	case near == "":
		return ""
	case slices.Contains(names[:own], near):
		return "did you mean --" + near + "?"
	default:
		return meaning(node, near)
	}
}

func rootOf(node *kong.Node) *kong.Node {
	for node.Parent != nil {
		node = node.Parent
	}
	return node
}

// commandsWithFlag lists the commands from node down that have a flag, --name or -n.
func commandsWithFlag(node *kong.Node, flag string) (paths []string) {
	for _, f := range node.Flags {
		if "--"+f.Name == flag || f.Short != 0 && "-"+string(f.Short) == flag {
			paths = append(paths, node.Path())
		}
	}
	for _, c := range node.Children {
		paths = append(paths, commandsWithFlag(c, flag)...)
	}
	return paths
}

// reworded is a message about a flag's value.
func reworded(message string) string {
	for _, r := range [][2]string{
		{`expected a valid \d+ bit int but got (.*)`, "want a whole number, found $1"},
		{`expected a valid \d+ bit uint but got (.*)`, "want a whole number, 0 or more, found $1"},
		{`expected a float but got (.*) \(string\)`, "want a number, found $1"},
		{`bool value must be .* but got (.*)`, "want true or false, found $1"},
	} {
		if from := regexp.MustCompile("(?s)" + r[0] + "$"); from.MatchString(message) {
			return from.ReplaceAllString(message, r[1])
		}
	}
	one := regexp.MustCompile(`(?s)^(\S+) must be one of (\S+) but got (.*)$`)
	enum := one.FindStringSubmatch(message)
	if enum == nil {
		return message
	}
	values := strings.Split(strings.TrimPrefix(strings.ReplaceAll(enum[2], `"`, ""), ","), ",")
	last := len(values) - 1
	return fmt.Sprintf("%s: want %s or %s, found %s",
		strings.Trim(enum[1], "<>"), strings.Join(values[:last], ", "), values[last], enum[3])
}
