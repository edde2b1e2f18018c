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
	"picogpt/model"
)

// hintFor returns the hint that an error carries, or one for its kind, or "".
func hintFor(err error) string {
	var own hinted
	var template *chattemplate.Error
	switch {
	case errors.As(err, &own):
		return own.hint
	case errors.As(err, &template):
		return "the fields are .Text, .Turn and .Ended; the syntax is that of Go's text/template"
	case errors.Is(err, model.ErrCacheFull):
		return "--cache-bytes gives the cache more memory; " +
			"--cache-dtype f16 halves what it needs, and shorter or fewer texts need less"
	case errors.Is(err, hub.ErrNoCache):
		return "HF_HOME or HF_HUB_CACHE names one, and so does a home folder"
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "config.json") &&
		!strings.Contains(err.Error(), "put the model's config.json"): // it has a hint of its own
		return checkpointHint
	}
	return ""
}

// checkpointHint says what -m takes.
const checkpointHint = "a checkpoint is a directory with config.json and *.safetensors or " +
	"pytorch_model.bin, as Hugging Face stores GPT-2, or nanoGPT's ckpt.pt, a .gguf file, OpenAI's " +
	"TensorFlow files, llm.c's model.bin; gpt pull NAME downloads one"

// overflowHint adds what --overflow and -n can do about a context that is too short.
func overflowHint(err error) error {
	var context *model.ContextError
	var long *promptTooLong
	var negative *decode.NegativeError
	switch {
	case !errors.As(err, &context) && !errors.As(err, &long):
		return err
	case errors.As(err, &negative):
		return hinted{err, "--negative and the new tokens share a context of their own: a shorter TEXT " +
			"or a smaller -n fits; --overflow=slide drops the oldest tokens of TEXT"}
	case context != nil && context.Held > 0 && context.Held <= context.Positions:
		fits := context.Positions - context.Held + 1
		return hinted{err, fmt.Sprintf("-n %d fits; --overflow=truncate drops the oldest tokens of "+
			"the prompt, --overflow=slide writes on past the context's end", fits)}
	}
	return hinted{err,
		"--overflow=truncate and --overflow=slide drop the oldest tokens of the prompt"}
}

// hintAtFile says that a text in the arguments is a file's name too, or - for stdin. What would
// read the file is reads and the name.
func (a *app) hintAtFile(text, reads string) {
	if text == "-" {
		a.notef(`hint: "-" is taken as text; %s - reads stdin`, reads)
	} else if info, err := os.Stat(text); err == nil && !info.IsDir() {
		a.notef("hint: %s is taken as text; %s FILE reads the file of that name",
			quoteShort(text), reads)
	}
}

// notACommand is the error of a word that stands where a command of node is wanted. The hint names
// the command that was likely meant, and ends with more.
func notACommand(node *kong.Node, word, more string) error {
	gpt, err := "gpt ", usagef("%s is not a command", quoteShort(word))
	if node.Parent != nil {
		gpt += node.Path() + " "
		err = usagef("%s is not a command of gpt %s", quoteShort(word), node.Path())
	}
	hint := gpt + "--help lists the commands."
	if near := nearestCommand(node, word); near != "" {
		hint = "did you mean " + gpt + near + "?"
	}
	return hinted{err, strings.TrimSuffix(hint+more, ".")}
}

// noFirstCommand is the error of a first word that looks like a command's name and is none.
func noFirstCommand(root *kong.Node, word string) error {
	if strings.Trim(word, "-") == "" {
		return hinted{usagef("%s is not a command", quoteShort(word)),
			"gpt -f - reads the prompt from stdin"}
	}
	return notACommand(root, word, " To use the word as a prompt: gpt generate "+word)
}

// nearestCommand returns the command of node whose name a word is most like, or "".
func nearestCommand(node *kong.Node, word string) string {
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
	const alike = 4 // words that share that many letters at the beginning count as near
	least := len(word)
	for _, name := range names {
		most := (len(name) + 2) / 3 // edits; more make another word
		edits := levenshtein.ComputeDistance(name, word)
		switch {
		case len(word) > 1 && strings.HasPrefix(name, word):
			edits = 0
		case len(word) > alike && strings.HasPrefix(name, word[:alike]):
			edits = min(edits, most)
		}
		if edits <= most && edits < least {
			nearest, least = name, edits
		}
	}
	return nearest
}
