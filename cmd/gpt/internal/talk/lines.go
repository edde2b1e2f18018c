package talk

// The lines of a chat: typed on a terminal or read from stdin; and what Ctrl-C does to them.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/rows"
)

// lines are where the lines come from.
type lines interface {
	next() (string, error)   // without its end; io.EOF after the last one
	terminal() bool          // a person types them
	located(err error) error // an error of the line that was read last
	close()                  // gives the terminal back
}

// prompt stands before what is typed.
const prompt = "> "

// newLines reads from the terminal, if stdin and stdout are one, else from stdin.
func (c *Chat) newLines() lines {
	c.Files.WillRead("-", "")
	s := rows.NewSource("stdin", c.Files.Stdin)
	if !terminal.Is(c.Files.Stdin) {
		return &scriptLines{source: s}
	}
	editor, err := terminal.OpenEditor(c.Files.Stdin, c.Out.File)
	if err != nil {
		return &plainLines{scriptLines{source: s}, c.Console.Stderr}
	}
	editor.Complete = func(line string) (names []string) {
		for _, known := range commands {
			if strings.HasPrefix(known.name, line) {
				names = append(names, known.name)
			}
		}
		return names
	}
	return &typedLines{editor, c.Console.Notef}
}

// scriptLines are the lines of a file or a pipe.
type scriptLines struct{ source *rows.Source }

func (s *scriptLines) next() (string, error) {
	line, err := s.source.Next()
	if s.source.Line == 1 && err == nil {
		if line, err = rows.TrimMark(line); err != nil {
			err = textio.Error(s.source.Name, err)
		}
	}
	return string(rows.TrimEnd(line)), err
}

func (s *scriptLines) terminal() bool { return false }
func (s *scriptLines) close()         {}

func (s *scriptLines) located(err error) error {
	if errors.Is(err, process.ErrClosedPipe) || errors.Is(err, errEnded) {
		return err
	}
	return fmt.Errorf("line %d: %w", s.source.Line, err)
}

// plainLines are lines that are typed where they cannot be edited.
type plainLines struct {
	scriptLines
	prompt io.Writer
}

func (p *plainLines) terminal() bool { return true }

func (p *plainLines) next() (string, error) {
	io.WriteString(p.prompt, prompt)
	return p.scriptLines.next()
}

// typedLines are lines that are typed on a terminal.
type typedLines struct {
	*terminal.Editor
	note func(format string, args ...any)
}

func (t *typedLines) terminal() bool          { return true }
func (t *typedLines) located(err error) error { return err }
func (t *typedLines) close()                  { t.Close() }

// endsAgain is said after Ctrl-C at the prompt.
const endsAgain = "Ctrl-C again or Ctrl-D ends the program"

// soonAgain is within what time a second Ctrl-C ends the program: one that comes later forgets
// another line.
const soonAgain = 5 * time.Second

// next reads a line. Ctrl-C, which is a key here where lines can be edited and a signal else,
// forgets what was typed, and ends the lines when it comes twice.
func (t *typedLines) next() (string, error) {
	for aborted := (time.Time{}); ; {
		line, err := t.Line(prompt)
		switch {
		case errors.Is(err, terminal.ErrAborted) && time.Since(aborted) > soonAgain:
			t.note(endsAgain)
			aborted = time.Now()
		case errors.Is(err, terminal.ErrAborted):
			return "", io.EOF
		case err == io.EOF:
			return "", err
		default:
			if strings.TrimSpace(line) != "" {
				t.Remember(line)
			}
			return line, err
		}
	}
}

// Ctrl-C in a chat: it stops the answer and not the program.

// errEnded says that a signal ends the program, in an orderly way.
var errEnded = fmt.Errorf("ended by a signal: %w", context.Canceled)

// A interrupt is what signals do at the moment.
type interrupt struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of the answer that is being made, or nil
	end    bool               // the program ends when the answer has stopped

	prompting bool // for a line
	warned    bool // Ctrl-C has come since the last line
}

// begin returns the context of an answer. Call done after it.
func (i *interrupt) begin() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	i.set(cancel)
	return ctx, func() {
		i.set(nil)
		cancel()
	}
}

func (i *interrupt) set(cancel context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
}

// stop stops the answer, if there is one.
func (i *interrupt) stop(end bool) (stopped bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel == nil || i.end { // a second signal does not wait
		return false
	}
	i.end = end
	i.cancel()
	return true
}

func (i *interrupt) ended() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.end
}

// prompts says that a line is waited for, or that it came.
func (i *interrupt) prompts(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.prompting = on
	i.warned = i.warned && on
}

// warn reports whether Ctrl-C comes for the first time since the last line, and whether a line is
// waited for.
func (i *interrupt) warn() (first, prompting bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first = !i.warned
	i.warned = true
	return first, i.prompting
}

// watch makes signals stop answers. Ctrl-C stops the answer alone where a person types the lines;
// in a script, and other signals everywhere, it ends the program. Where there is no answer to stop,
// a second Ctrl-C ends it.
func (c *Chat) watch() {
	c.Signals.SetCancel(func() {
		c.watch()
		stays := c.Signals.CtrlC() && c.lines.terminal()
		if c.interrupt.stop(!stays) {
			return
		}
		first, prompting := c.interrupt.warn()
		if stays && first {
			fmt.Fprintln(c.Console.Stderr) // after ^C
			c.Console.Notef(endsAgain)
			if prompting {
				io.WriteString(c.Console.Stderr, prompt)
			}
			return
		}
		c.Console.EndProgress()
		if c.busy.TryLock() { // a line is waited for
			if err := c.keep(); err != nil {
				c.Report(err)
			}
		}
		c.lines.close()
		c.AtEnd()
		if stays { // as at a prompt where lines can be edited
			fmt.Fprintln(c.Console.Stderr)
			os.Exit(0)
		}
		os.Exit(c.Signals.Status())
	})
}
