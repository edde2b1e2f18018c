package textio

// Reads a prompt of any length, in memory that does not grow with it.

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/decode"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

const (
	// ShownIDs is how many ids of a prompt an output of ids or JSON has at most: the newest.
	ShownIDs = 1 << 20

	// HeldText is how many bytes of a prompt are held at most, to be printed before each text.
	HeldText = 16 << 20
)

// A Prompt says how a prompt is read.
type Prompt struct {
	Tokenizer *tokenizer.Tokenizer
	Context   int  // n_positions
	Refuse    bool // refuse more tokens than fit the context, as soon as that is certain
	Show      bool // print the text, or hold it to be printed

	Out     *process.Output
	Console *terminal.Console
}

// Read reads a text to its end. It returns the ids, only the newest if there are very many; how
// many were dropped before them; and the text, if it is to be printed before each text that
// follows. It prints a longer text while it reads.
func (p Prompt) Read(source io.Reader) (ids []int, dropped int, text string, err error) {
	// one more than the context, so that a prompt that does not fit is recognised
	encoder := p.Tokenizer.ForPrompts().NewEncoder(max(ShownIDs, p.Context+1))
	r := &promptReader{Prompt: p, encoder: encoder}
	defer p.Console.ShowProgress(func() string {
		return "reading the prompt, " + quote.LongSize(r.bytes.Load())
	})()
	if _, err := io.CopyBuffer(struct{ io.Writer }{r}, struct{ io.Reader }{source},
		make([]byte, 1<<16)); err != nil {
		return nil, 0, "", err
	}
	ids, total, err := encoder.End()
	return ids, total - len(ids), r.held.String(), err
}

// A promptReader encodes a prompt while it is read.
type promptReader struct {
	Prompt
	encoder *tokenizer.Encoder
	bytes   atomic.Int64
	held    strings.Builder
	printed bool // the held text is printed, and further text is printed as it arrives
}

// Write takes the next bytes of the prompt.
func (r *promptReader) Write(b []byte) (int, error) {
	r.bytes.Add(int64(len(b)))
	if _, err := r.encoder.Write(b); err != nil {
		return 0, err
	}
	if r.Refuse && r.encoder.AtLeast() > r.Context {
		return 0, &PromptTooLong{r.Context}
	}
	switch {
	case !r.Show:
		return len(b), nil
	case !r.printed && r.held.Len()+len(b) <= HeldText:
		return r.held.Write(b)
	case !r.printed:
		r.printed = true
		if r.Out.Terminal {
			r.Console.EndProgress()
		}
		if _, err := r.Out.WriteString(r.held.String()); err != nil {
			return 0, err
		}
		r.held.Reset()
	}
	return r.Out.Write(b)
}

// A PromptTooLong says that a prompt was not read to its end.
type PromptTooLong struct{ context int }

func (e *PromptTooLong) Error() string {
	return fmt.Sprintf("prompt of more than %d tokens: want at most %d (n_positions)", e.context,
		e.context)
}

// WithDropped adds the tokens that were dropped while the prompt was read to the number that each
// text reports.
func WithDropped(
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

// line returns a file's text and a newline, unless the text ends in one.
func line(file io.Reader) io.Reader { return &lineReader{file: file} }

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
		return n, nil // the next call returns the end
	}
	r.done = true
	if r.last == '\n' {
		return 0, io.EOF
	}
	b[0] = '\n'
	return 1, nil
}
