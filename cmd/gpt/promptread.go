package main

// Reading the prompt of gpt generate, whatever its length, in memory that does not grow with it.

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/tokenizer"
)

const (
	// shownIDs is how many ids of a prompt output in ids or JSON has at most, the newest.
	shownIDs = 1 << 20

	// heldText is how many bytes of a prompt are held to be printed before each text.
	heldText = 16 << 20
)

// A promptReader encodes a prompt while it is read.
type promptReader struct {
	*app
	encoder *tokenizer.Encoder
	context int  // n_positions
	refuse  bool // more tokens than fit the context
	show    bool // print the text, or hold it to be printed
	bytes   atomic.Int64

	held    strings.Builder
	printed bool // all that was held, and what came after it
}

// readText reads the text of p to its end, and fills in its ids. With --overflow error it stops as
// soon as the text is certain to have more tokens than the context.
func (c *generateCommand) readText(a *app, tok *tokenizer.Tokenizer, context int, p *prompt) error {
	if c.Prompt.Special {
		tok = tok.WithSpecial()
	}
	r := &promptReader{
		app: a, context: context, refuse: c.Overflow == string(decode.OverflowError),
		// one more than fits, to be seen not to fit
		encoder: tok.ForPrompts().NewEncoder(max(shownIDs, context+1)),
		show:    !c.NoDisplayPrompt && (c.Output == "text" || c.Output == "auto"),
	}
	defer a.ShowProgress(func() string { return "reading the prompt, " + amount.LongSize(r.bytes.Load()) })()
	if _, err := io.CopyBuffer(struct{ io.Writer }{r}, struct{ io.Reader }{p.source},
		make([]byte, 1<<16)); err != nil {
		return overflowHint(err)
	}
	ids, total, err := r.encoder.End()
	p.text = r.held.String()
	p.ids, p.dropped = ids, total-len(ids)
	return err
}

// Write takes the next bytes of the prompt.
func (r *promptReader) Write(b []byte) (int, error) {
	r.bytes.Add(int64(len(b)))
	if _, err := r.encoder.Write(b); err != nil {
		return 0, err
	}
	if r.refuse && r.encoder.AtLeast() > r.context {
		return 0, &promptTooLong{r.context}
	}
	switch {
	case !r.show:
		return len(b), nil
	case !r.printed && r.held.Len()+len(b) <= heldText:
		return r.held.Write(b)
	case !r.printed:
		r.printed = true
		if r.stdout.Terminal {
			r.EndProgress()
		}
		if _, err := r.stdout.WriteString(r.held.String()); err != nil {
			return 0, err
		}
		r.held.Reset()
	}
	return r.stdout.Write(b)
}

// A promptTooLong says that a prompt was not read to its end.
type promptTooLong struct{ context int }

func (e *promptTooLong) Error() string {
	return fmt.Sprintf("prompt of more than %d tokens: want at most %d (n_positions)", e.context,
		e.context)
}

// withDropped adds the tokens of the prompt that were dropped while it was read to those that each
// text reports.
func withDropped(
	tokens iter.Seq2[decode.Token, error], dropped int,
) iter.Seq2[decode.Token, error] {
	if dropped == 0 {
		return tokens
	}
	return func(yield func(decode.Token, error) bool) {
		begun := map[int]bool{}
		for t, err := range tokens {
			if err == nil && !begun[t.Sample] {
				begun[t.Sample] = true
				t.Dropped += dropped
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// A lineReader is a file's text and a newline, unless the text ends in one.
type lineReader struct {
	file io.Reader
	last byte
	done bool
}

func (r *lineReader) Read(b []byte) (int, error) {
	if r.done || len(b) == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(b)
	if n > 0 {
		r.last = b[n-1]
	}
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if n > 0 {
		return n, nil // the end comes again
	}
	r.done = true
	if r.last == '\n' {
		return 0, io.EOF
	}
	b[0] = '\n'
	return 1, nil
}
