package talk

// The lines of a chat: typed on a terminal, with editing and history, or read from stdin.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"picogpt/cmd/gpt/internal/lineedit"
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
	editor, err := lineedit.Open(c.Files.Stdin, c.Out.File)
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
	*lineedit.Editor
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
		case errors.Is(err, lineedit.ErrAborted) && time.Since(aborted) > soonAgain:
			t.note(endsAgain)
			aborted = time.Now()
		case errors.Is(err, lineedit.ErrAborted):
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
