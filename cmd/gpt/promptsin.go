package main

// What gpt generate --prompts reads: prompts from JSON objects, one a line.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"sync/atomic"

	"picogpt/internal/resume"
	"picogpt/internal/rows"
	"picogpt/tokenizer"
)

// A promptInput reads prompts from rows.
type promptInput struct {
	*rows.Reader
	tokenizer *tokenizer.Tokenizer // nil where there is none
	missing   error                // why
	special   bool                 // special tokens in a prompt count as such
	from      resume.Mark          // lines up to here have results already
	known     atomic.Int64         // bytes of the file up to there
	err       error                // of reading; after the last line
}

// A promptLine is what a line asks for.
type promptLine struct {
	rows.Row      // Err says why it is no prompt
	parsed   bool // it is an object
	id       json.RawMessage
	ids      []int
	seed     uint64
}

// lines are the prompts. Line i has the seed `first` + i − 1, unless it names one.
func (in *promptInput) lines(first uint64) iter.Seq[promptLine] {
	return func(yield func(promptLine) bool) {
		if in.err = skip(in.Reader, in.from); in.err != nil {
			return
		}
		in.known.Store(in.Read.Load())
		for {
			w, err := in.Next()
			if err != nil {
				if err != io.EOF {
					in.err = err
				}
				return
			}
			if w.Object == nil && w.Err == nil {
				continue // an empty line
			}
			line := promptLine{Row: w, parsed: w.Err == nil, seed: first + uint64(w.First) - 1}
			if line.parsed {
				line.id = w.Object.Get("id")
				line.Err = in.request(&line)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// request fills in what the line's object asks for.
func (in *promptInput) request(line *promptLine) error {
	text, errText := line.Object.Text("prompt")
	tokens, errTokens := rows.List[int](line.Object, "tokens", "whole numbers")
	errSeed := in.seed(line)
	if err := joinErrors(errText, errTokens, errSeed); err != nil {
		return err
	}
	var err error
	switch {
	case text != nil && tokens != nil, text == nil && tokens == nil:
		return errors.New("want prompt, or tokens")
	case tokens != nil:
		line.ids = tokens
	case *text == "": // no ids, and none are missing
	case in.tokenizer == nil:
		return in.missing
	default:
		line.ids, err = encode(in.tokenizer.ForPrompts(), *text, in.special)
	}
	return err
}

// seed reads the line's own seed, if it has one.
func (in *promptInput) seed(line *promptLine) error {
	v := string(line.Object.Get("seed"))
	if v == "" || v == "null" {
		return nil
	}
	seed, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return fmt.Errorf("seed: want a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	line.seed = seed
	return nil
}
