package main

// Hints: the likely mend of an error that the packages return.

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"picogpt/model"
)

// hintFor returns the hint that an error carries, or the one that its kind calls for, or "".
func hintFor(err error) string {
	var own hinted
	switch {
	case errors.As(err, &own):
		return own.hint
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "config.json"):
		return "-m wants a directory with config.json and *.safetensors, as Hugging Face stores GPT-2"
	}
	return ""
}

// overflowHint adds what --overflow and -n can do about a context that is too short.
func overflowHint(err error) error {
	var context *model.ContextError
	switch {
	case !errors.As(err, &context):
		return err
	case context.Held > 0 && context.Held <= context.Positions:
		return hinted{err, fmt.Sprintf("-n %d fits; --overflow=truncate drops the oldest tokens of the prompt, --overflow=slide goes on past the context's end",
			context.Positions-context.Held+1)}
	}
	return hinted{err, "--overflow=truncate and --overflow=slide drop the oldest tokens of the prompt"}
}
