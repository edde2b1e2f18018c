package main

// Hints: what a user may do about an error.

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/model"
)

// hintFor returns the hint that an error carries, or one for its kind, or "".
func hintFor(err error) string {
	var template *chat.Error
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
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), folder.Config) &&
		!strings.Contains(err.Error(), "put the model's config.json"): // it has a hint of its own
		return checkpoints.Hint
	}
	return ""
}

// overflowHint adds what --overflow and -n can do about a context that is too short.
func overflowHint(err error) error {
	var context *model.ContextError
	var long *textio.PromptTooLong
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
