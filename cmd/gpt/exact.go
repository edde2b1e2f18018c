package main

// --exact of gpt generate: what it does not go with.

import (
	"errors"

	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/search"
)

func (c *generateCommand) exactOptions() search.ExactOptions {
	return search.ExactOptions{MaxDraws: c.MaxDraws, Samples: max(1, c.Samples)}
}

// checkExact refuses flags that --exact does not go with. c is as it is meant.
func (c *generateCommand) checkExact(given map[string]bool) error {
	switch {
	case !c.Exact && given["max-draws"]:
		return usagef("--max-draws: want --exact too")
	case !c.Exact:
		return nil
	case given["max-draws"] && c.MaxDraws < 1:
		return usagef("--max-draws %d: want at least 1", c.MaxDraws)
	case c.Form.Asked() == "":
		return fault.Hint(usagef("--exact: want a form, found none"),
			"--choice, --choices, --regex, --json-schema and --grammar make one")
	case c.Search.asked() != "":
		return usagef("--exact and %s: want one of them", c.Search.asked())
	case c.Many.Prompts != nil:
		return usagef("--exact and --prompts: want one of them")
	case c.Heal:
		return usagef("--exact and --heal: want one of them")
	case c.Lookup > 0 || c.DraftName != nil:
		return usagef("--exact: want no --lookup or --draft, for nothing is guessed")
	}
	if err := search.CheckExact(c.exactOptions(), c.Options); err != nil {
		return fault.Usage{Err: option.ByFlag(err)}
	}
	return nil
}

// exactHint adds what helps where draws are not enough.
func exactHint(err error) error {
	var none *search.AcceptanceError
	if errors.As(err, &none) && none.Fit > 0 {
		return fault.Hint(err, "--max-draws N allows more; a prompt after which the form is likely needs fewer")
	}
	return err
}
