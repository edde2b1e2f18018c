package cli

// Flags that a command does not have: what their users may have meant.

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"picogpt/internal/fault"
)

// An unknownFlagError is the error of a flag that a command does not have.
type unknownFlagError struct{ flag string }

func (e *unknownFlagError) Error() string { return "unknown flag " + e.flag }

// unknownFlag is the error of a flag, as it was typed, that c does not have. full is its long name,
// where it is another command's. The hint says where to look for it.
func (c *Command) unknownFlag(flag, full string) error {
	if c.parent == nil {
		c = c.main()
	}
	help, name := c.program()+" --help", strings.TrimLeft(flag, "-")
	hint := help + " lists the flags"
	if c.root().Default != nil {
		hint += "; a text that begins with - goes after --"
	}
	owners := c.root().owners(flag)
	instead := c.main().Instead[full]
	switch meant, near := c.meaning(name), c.nearestFlag(flag); {
	case instead != "":
		hint = instead
	case flag == "--output" && c.has("json"):
		hint = "--json prints JSON"
	case (flag == "--file" || flag == "-f") && len(c.main().Args) > 0:
		hint = "the file is an argument: " + c.usage()
	case meant != "":
		hint = meant
	case len(owners) > 0:
		hint = flag + " is a flag of " + c.root().Name + " " + c.root().list(owners) + "; " + help +
			" lists the flags here"
	case near != "":
		hint = near
	}
	return fault.Hint(fault.Usage{Err: &unknownFlagError{flag}}, hint)
}

// list names commands: "a", "a and gpt b", "a, b and c".
func (c *Command) list(paths []string) string {
	last := len(paths) - 1
	switch last {
	case 0:
		return paths[0]
	case 1:
		return paths[0] + " and " + c.Name + " " + paths[1]
	}
	return strings.Join(paths[:last], ", ") + " and " + paths[last]
}

// has reports whether a command has a flag.
func (c *Command) has(name string) bool { return c.Own().Find(name) != nil }

// owners are the paths of the commands from c down that have a flag, --name or -n.
func (c *Command) owners(flag string) (paths []string) {
	c.All(func(c *Command) {
		for _, f := range c.flags().All {
			if "--"+f.Name == flag || f.Short != "" && "-"+f.Short == flag {
				paths = append(paths, c.Path())
			}
		}
	})
	return slices.Compact(paths)
}

// nearestFlag says which flag of a command a misspelt one is most like, or "".
func (c *Command) nearestFlag(flag string) string {
	word := strings.TrimLeft(flag, "-")
	var names []string
	for _, f := range c.Own().All {
		if len(word) == 1 && strings.HasPrefix(flag, "--") && word == f.Short {
			return "did you mean -" + word + "?"
		}
		names = append(append(names, f.Name), f.Aliases...)
	}
	own := len(names)
	for _, other := range c.root().Elsewhere {
		if others := other.names(); c.meaning(others[0]) != "" {
			names = append(names, others...)
		}
	}
	switch near := Nearest(word, names); {
	case near == "":
		return ""
	case slices.Contains(names[:own], near):
		return "did you mean --" + near + "?"
	default:
		return c.meaning(near)
	}
}

// An Elsewhere is what flags of other programs are here, and their names there, without hyphens
// before them. What they are here is a flag, with a value perhaps, or several with | between them, of
// which the first that a command has is meant; a command, after the program's name; or a sentence.
type Elsewhere [2]string

func (e Elsewhere) means() string   { return e[0] }
func (e Elsewhere) names() []string { return strings.Fields(e[1]) }

// isElsewhere reports whether a flag of that name, without hyphens before it, is one elsewhere.
func (c *Command) isElsewhere(name string) bool {
	return len(name) > 1 && slices.ContainsFunc(c.Elsewhere, func(other Elsewhere) bool {
		return slices.Contains(other.names(), name)
	})
}

// meaning says what a flag of other programs is here, for a command that has it, or "".
func (c *Command) meaning(name string) string {
	program := c.root().Name + " "
	for _, other := range c.root().Elsewhere {
		if !slices.Contains(other.names(), name) {
			continue
		}
		if !strings.HasPrefix(other.means(), "--") && !strings.HasPrefix(other.means(), program) {
			return other.means()
		}
		for means := range strings.SplitSeq(other.means(), "|") {
			flag, _, _ := strings.Cut(strings.TrimPrefix(means, "--"), " ")
			if strings.HasPrefix(means, program) || c.has(flag) {
				return "did you mean " + means + "?"
			}
		}
	}
	return ""
}

// Names that a misspelt one is like.

// Nearest returns the name that a misspelt, shortened or lengthened word is most like, or "".
func Nearest(word string, names []string) (nearest string) {
	least := len(word)
	for _, name := range names {
		most := (len(name) + 1) / 3 // edits; more make another word
		edits := edits(word, name)
		switch {
		case len(word) > 1 && strings.HasPrefix(name, word):
			edits = 0
		case alike(word, name):
			edits = min(edits, most)
		}
		if edits <= most && edits < least {
			nearest, least = name, edits
		}
	}
	return nearest
}

// alike reports whether two words have the same beginning of at least four letters, which is all of
// name or half of the longer one: scoring is like score.
func alike(word, name string) bool {
	n := 0
	for n < min(len(word), len(name)) && word[n] == name[n] {
		n++
	}
	return n >= 4 && (n == len(name) || 2*n >= max(len(word), len(name)))
}

// edits is how many letters changed, added or lost, or neighbours exchanged, make name of word:
// exact up to 2.
func edits(word, name string) int {
	if len(word) > 2*len(name) {
		return len(word) // and no work that grows with the square of what was typed
	}
	least := levenshtein.ComputeDistance(word, name)
	if least > 4 { // an exchange counts as two there
		return least
	}
	for i, w := range exchanges(word) {
		for j, n := range exchanges(name) {
			least = min(least, min(i, 1)+levenshtein.ComputeDistance(w, n)+min(j, 1))
		}
	}
	return least
}

// exchanges are a word, and those in which two neighbours of it are exchanged.
func exchanges(word string) []string {
	all := []string{word}
	for i := range max(0, len(word)-1) {
		if word[i] != word[i+1] {
			all = append(all, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
		}
	}
	return all
}
