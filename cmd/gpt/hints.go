package main

// Hints: what a user may do about an error.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"

	"picogpt/decode"
	"picogpt/hub"
	"picogpt/internal/chattemplate"
	"picogpt/internal/checkpoints"
	"picogpt/internal/fault"
	"picogpt/model"
)

// hintFor returns the hint that an error carries, or one for its kind, or "".
func hintFor(err error) string {
	var template *chattemplate.Error
	switch {
	case fault.HintOf(err) != "":
		return fault.HintOf(err)
	case errors.As(err, &template):
		return "the fields are .Text, .Turn and .Ended; the syntax is that of Go's text/template"
	case errors.Is(err, model.ErrCacheFull):
		return "--cache-bytes gives the cache more memory; " +
			"--cache-dtype f16 halves what it needs, and shorter or fewer texts need less"
	case errors.Is(err, hub.ErrNoCache):
		return "HF_HOME or HF_HUB_CACHE names one, and so does a home folder"
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "~/"):
		return checkpoints.TildeHint
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "config.json") &&
		!strings.Contains(err.Error(), "put the model's config.json"): // it has a hint of its own
		return checkpoints.Hint
	}
	return ""
}

// overflowHint adds what --overflow and -n can do about a context that is too short.
func overflowHint(err error) error {
	var context *model.ContextError
	var long *promptTooLong
	var negative *decode.NegativeError
	switch {
	case !errors.As(err, &context) && !errors.As(err, &long):
		return err
	case errors.As(err, &negative):
		return fault.Hint(err, "--negative and the new tokens share a context of their own: a shorter TEXT "+
			"or a smaller -n fits; --overflow=slide drops the oldest tokens of TEXT")

	case context != nil && context.Held > 0 && context.Held <= context.Positions:
		fits := context.Positions - context.Held + 1
		return fault.Hint(err, fmt.Sprintf("-n %d fits; --overflow=truncate drops the oldest tokens of "+
			"the prompt, --overflow=slide writes on past the context's end", fits))

	}
	return fault.Hint(err,
		"--overflow=truncate and --overflow=slide drop the oldest tokens of the prompt")

}

// hintAtFile says that a text in the arguments is a file's name too, or - for stdin. What would
// read the file is reads and the name.
func (a *app) hintAtFile(text, reads string) {
	if text == "-" {
		a.Notef(`hint: "-" is taken as text; %s - reads stdin`, reads)
	} else if info, err := os.Stat(text); err == nil && !info.IsDir() {
		a.Notef("hint: %s is taken as text; %s FILE reads the file of that name",
			quoteShort(text), reads)
	}
}

// notACommand is the error of a word that stands where a command of node is wanted. The hint names
// near, the command that was likely meant, if there is one, and ends with more.
func notACommand(node *kong.Node, word, near, more string) error {
	gpt, err := "gpt ", usagef("%s is not a command", quoteShort(word))
	if node.Parent != nil {
		gpt += node.Path() + " "
		err = usagef("%s is not a command of gpt %s", quoteShort(word), node.Path())
	}
	hint := gpt + "--help lists the commands."
	if near != "" {
		hint = "did you mean " + gpt + near + "?"
	}
	return fault.Hint(err, strings.TrimSuffix(hint+more, "."))
}

// nearestCommand returns the command of node whose name a word is most like, or "".
func nearestCommand(node *kong.Node, word string) string {
	if name := misspelt(node, word); name != "" {
		return name
	}
	var names []string
	for _, c := range node.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return nearest(word, names)
}

// nearest returns the name that a misspelt, shortened or lengthened word is most like, or "".
func nearest(word string, names []string) (nearest string) {
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
