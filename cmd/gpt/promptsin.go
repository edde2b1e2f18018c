package main

// What gpt generate --prompts reads: prompts from JSON objects, one a line.

import (
	"encoding/json"
	"io"
	"iter"
	"sync/atomic"

	"picogpt/internal/promptlines"
	"picogpt/internal/resume"
	"picogpt/internal/rows"
)

// A promptInput reads prompts from rows.
type promptInput struct {
	*rows.Reader
	prompts promptlines.Input
	from    resume.Mark  // lines up to here have results already
	known   atomic.Int64 // bytes of the file up to there
	err     error        // of reading; after the last line
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
				line.ask(&in.prompts)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// ask fills in what the line's object asks for.
func (line *promptLine) ask(in *promptlines.Input) {
	p, err := in.Object(line.Object)
	if line.ids, line.Err = p.IDs, err; p.Seed != nil {
		line.seed = *p.Seed
	}
}
