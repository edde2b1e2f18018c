package main

import (
	"testing"

	"picogpt/internal/cli"
)

// noJSON are the commands without --json, and why they have none.
var noJSON = map[string]string{
	"chat":       "a conversation; /save writes it as JSON",
	"serve":      "its answers are JSON, its log has --log json",
	"explain":    "a lesson, page by page",
	"trace":      "writes arrays, and prints nothing",
	"compress":   "writes a file; gpt inspect --json says what is in it",
	"decompress": "the output is the text",
	"quantize":   "writes a checkpoint, and prints nothing",
	"convert":    "writes a checkpoint, and prints nothing",
	"help":       "pages for people",
	"completion": "a script for a shell",
}

// One habit everywhere: what prints results takes --json.
func TestEveryCommandTakesJSON(t *testing.T) {
	seen := 0
	commands(newApp()).All(func(c *cli.Command) {
		flag, why := c.Own().Find("json"), noJSON[c.Path()]
		switch {
		case c.Run == nil && c.Default == nil: // its commands have it
		case flag == nil && why == "":
			t.Errorf("gpt %s: want --json, or a reason why there is none", c.Path())
		case flag != nil && why != "":
			t.Errorf("gpt %s: has --json; want none, because: %s", c.Path(), why)
		case flag != nil && !flag.Bool:
			t.Errorf("gpt %s: --json takes a value", c.Path())
		default:
			seen++
		}
	})
	if seen < 40 {
		t.Errorf("%d commands, want all", seen)
	}
}
