package textio

// Timings of a generation, for -v and for the line of progress.

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/decode"
	"picogpt/internal/quote"
)

// A Timing prints texts as their tokens arrive, in the order of the samples, and counts the tokens.
type Timing struct {
	Printer
	Out     *process.Output
	Console *terminal.Console
	Signals *process.Signals
	Cancel  func() // what Ctrl-C calls once there is output; before that, it ends the process

	Prompt int  // tokens
	Whole  bool // the tokens come when the text is complete
	Asks   bool // the run guesses tokens

	Bar *terminal.Bar // shown in place of the numbers of tokens; nil: none

	start  time.Time
	tokens atomic.Int64
	first  atomic.Int64 // nanoseconds from start to the first token, when the prompt is evaluated

	begun        map[int]bool // samples
	guessed      int
	dropped      int // tokens of the prompt
	slides, slid int // of the context, and the tokens dropped
}

// count counts a token, and returns how many there are.
func (t *Timing) count(token decode.Token) int64 {
	n := t.tokens.Add(1)
	if n == 1 {
		t.first.Store(int64(time.Since(t.start)))
		t.begun = map[int]bool{}
	}
	if token.Guessed {
		t.guessed++
	}
	switch {
	case !t.begun[token.Sample]:
		t.begun[token.Sample] = true
		t.dropped = token.Dropped // the same in each
	case token.Dropped > 0:
		t.slides++
		t.slid += token.Dropped
	}
	return n
}

// label returns the text of the line of progress; it may be called while t counts.
func (t *Timing) label() string {
	n, first := t.tokens.Load(), time.Duration(t.first.Load())
	if n == 0 && t.Whole {
		return "searching after " + quote.Count(t.Prompt, "token")
	}
	if n == 0 {
		return fmt.Sprintf("reading %s", quote.Count(t.Prompt, "token"))
	}
	return fmt.Sprintf("%s, %.1f tokens/s", quote.Count(int(n), "token"),
		quote.Rate(int(n), time.Since(t.start)-first))
}

// Begin shows the line of progress, until End.
func (t *Timing) Begin() {
	t.start = time.Now()
	if t.Bar == nil {
		t.Console.ShowProgress(t.label)
	} else {
		t.Console.ShowBar(t.Bar)
	}
}

// Token prints a token. Where the texts may be seen as they come, the line of progress ends with
// the first one, which would stand behind it.
func (t *Timing) Token(token decode.Token) error {
	if t.count(token) == 1 {
		t.Signals.SetCancel(t.Cancel)
		if t.Streams() && t.Out.Seen {
			t.Console.EndProgress()
		}
	}
	return t.Printer.Token(token)
}

// Fail ends the texts in progress with an error.
func (t *Timing) Fail(err error) error {
	t.Console.EndProgress()
	return errors.Join(t.Interrupt(), err)
}

// End ends what Begin has begun.
func (t *Timing) End() {
	t.Signals.SetCancel(nil)
	t.Console.EndProgress()
}

// Log notes how many tokens were dropped, and logs the timings. The process began at begun.
func (t *Timing) Log(notef, logf func(format string, args ...any), begun time.Time) {
	if t.dropped > 0 {
		notef("the prompt does not fit the context: its oldest %s dropped",
			quote.Count(t.dropped, "token"))
	}
	if t.slides > 0 {
		notef("the context slid on %s: %s dropped", quote.Count(t.slides, "time"),
			quote.Count(t.slid, "token"))
	}
	n, first := int(t.tokens.Load()), time.Duration(t.first.Load())
	if n == 0 {
		return
	}
	if t.Whole {
		logf("search: %s read and %s written in %s", quote.Count(t.Prompt, "token"),
			quote.Count(n, "token"), quote.Duration(first))
		logf("total: %s from the start", quote.Duration(time.Since(begun)))
		return
	}
	logf("prefill: %s in %s, %.0f tokens/s", quote.Count(t.Prompt, "token"),
		quote.Duration(first), quote.Rate(t.Prompt, first))
	rest := time.Since(t.start) - first
	if n > 1 {
		logf("decode: %s in %s, %s a token, %.1f tokens/s", quote.Count(n-1, "token"),
			quote.Duration(rest), quote.Duration(rest/time.Duration(n-1)), quote.Rate(n-1, rest))
	}
	if t.Asks {
		logf("guessed: %s of %d", quote.Count(t.guessed, "token"), n)
	}
	logf("total: %s from the start", quote.Duration(time.Since(begun)))
}
