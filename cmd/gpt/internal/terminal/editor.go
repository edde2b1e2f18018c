package terminal

// Lines that a user types, with the usual keys for editing and for earlier lines.
//
// Characters that arrive together, as in a paste, are drawn once: the work is proportional to their
// number. Ctrl-Z suspends the program and restores the state of the terminal.
//
// It needs a system with termios. See OpenEditor.

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrAborted is the error for a line that Ctrl-C has aborted.
var ErrAborted = errors.New("aborted")

// ErrUnsupported is the error of OpenEditor if lines cannot be edited.
var ErrUnsupported = errors.New("lines cannot be edited on this terminal")

const (
	// longestLine is the greatest number of characters in a line; more are ignored.
	longestLine = 16 << 20

	// mostAhead is approximately how many bytes are read before a line needs them.
	mostAhead = 1 << 20

	// mostLines is the number of lines in the history.
	mostLines = 1000
)

// An Editor edits lines. One goroutine at a time may call its methods; any goroutine may call
// Close.
type Editor struct {
	// Complete returns the completions of a line for the Tab key; nil completes nothing.
	Complete func(line string) []string

	terminal terminal

	queue struct { // what was typed and not used yet
		sync.Mutex
		changed *sync.Cond
		keys    []byte
		err     error // after the keys
	}

	mu      sync.Mutex // guards the fields below: Ctrl-Z may come at any time
	editing bool       // a line is being edited
	resumed bool       // suspend has drawn the line again, so that SIGCONT need not
	keys    []byte     // not used yet
	line    line
	screen  screen
	history []string
	killed  []rune // by the last Ctrl-K, Ctrl-U or Ctrl-W
}

// A terminal is what an Editor reads from and writes to.
type terminal interface {
	io.ReadWriter
	size() (columns, rows int)
	setMode(m mode) error
	suspend() // stops the process, and returns when it continues
}

// A mode says how the terminal treats what is typed.
type mode int

const (
	asItWas mode = iota
	quiet        // it shows nothing, and Ctrl-C is a signal: used between lines
	edited       // it shows nothing, and all keys are read
	closed       // as it was before OpenEditor, for good
)

// A line is the line that is being edited.
type line struct {
	text []rune
	at   int // the cursor, in text

	past   int    // index of the history line that is shown; len(history) for the new line
	typed  []rune // the new one, while another is shown
	choice int    // of completions
	tabbed []string
}

// OpenEditor takes over the terminal of in and out. Close gives it back.
func OpenEditor(in, out *os.File) (*Editor, error) {
	t, err := openTerminal(in, out)
	if err != nil {
		return nil, err
	}
	e := newEditor(t)
	e.watch()
	return e, nil
}

func newEditor(t terminal) *Editor {
	e := &Editor{terminal: t}
	e.queue.changed = sync.NewCond(&e.queue)
	t.setMode(quiet)
	go e.read()
	return e
}

// Close restores the state of the terminal, for good.
func (e *Editor) Close() { e.terminal.setMode(closed) }

// read reads what is typed, also between lines, so that Ctrl-Z works there too.
func (e *Editor) read() {
	const ctrlZ = 0x1a
	b := make([]byte, 1<<16)
	for {
		n, err := e.terminal.Read(b)
		keys := b[:n]
		if slices.Contains(keys, ctrlZ) {
			keys = slices.DeleteFunc(keys, func(key byte) bool { return key == ctrlZ })
			e.mu.Lock()
			e.suspend()
			e.mu.Unlock()
		}
		e.queue.Lock()
		e.queue.keys, e.queue.err = append(e.queue.keys, keys...), err
		e.queue.changed.Broadcast()
		for len(e.queue.keys) > mostAhead {
			e.queue.changed.Wait()
		}
		e.queue.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits for keys, and returns those that were typed since its last call.
func (e *Editor) wait() (keys []byte, err error) {
	e.queue.Lock()
	defer e.queue.Unlock()
	for len(e.queue.keys) == 0 {
		if e.queue.err != nil {
			return nil, e.queue.err
		}
		e.queue.changed.Wait()
	}
	keys, e.queue.keys = e.queue.keys, nil
	e.queue.changed.Broadcast() // there is room for more
	return keys, nil
}

// suspend restores the terminal, stops the process and, when it continues, takes the terminal
// again. The caller holds the lock.
func (e *Editor) suspend() {
	if e.editing {
		e.screen.end(e)
	}
	e.terminal.setMode(asItWas)
	e.terminal.suspend()
	e.resumed = true
	e.resume()
}

// resume sets the mode and draws the line on a new row. The caller holds the lock.
func (e *Editor) resume() {
	if !e.editing {
		e.terminal.setMode(quiet)
		return
	}
	e.terminal.setMode(edited)
	e.screen.begin(e.screen.prompt)
	e.screen.draw(e)
}

// continued is called when the process continues after a stop.
func (e *Editor) continued() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.resumed {
		e.resumed = false
		return
	}
	e.resume()
}

// Line reads a line, without its end. It returns io.EOF for Ctrl-D on an empty line, and at the
// terminal's end.
func (e *Editor) Line(prompt string) (string, error) {
	if err := e.start(prompt); err != nil {
		return "", err
	}
	defer e.stop()
	for {
		if text, done, err := e.advance(); done {
			return text, err
		}
		keys, err := e.wait()
		if err != nil {
			return "", err
		}
		e.mu.Lock()
		e.keys = append(e.keys, keys...)
		e.mu.Unlock()
	}
}

func (e *Editor) start(prompt string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.terminal.setMode(edited); err != nil {
		return err
	}
	e.editing = true
	e.line = line{past: len(e.history)}
	e.screen.begin(prompt)
	e.screen.draw(e)
	return nil
}

// advance handles the available keys, and draws the changed line.
func (e *Editor) advance() (text string, done bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	done, err = e.useKeys()
	if done {
		e.screen.end(e)
	} else {
		e.screen.draw(e)
	}
	return string(e.line.text), done, err
}

func (e *Editor) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.editing = false
	e.terminal.setMode(quiet)
}

// Remember adds a line to the history for the arrow keys.
func (e *Editor) Remember(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.history); n > 0 && e.history[n-1] == text {
		return
	}
	e.history = append(e.history, text)
	if len(e.history) > mostLines {
		e.history = slices.Delete(e.history, 0, 1)
	}
}

// showPast shows the next line of the history, in direction step, that begins with what was typed.
func (e *Editor) showPast(step int) {
	l := &e.line
	if l.past == len(e.history) {
		l.typed = l.text
	}
	for i := l.past + step; i >= 0 && i <= len(e.history); i += step {
		switch {
		case i == len(e.history):
			l.text = l.typed
		case strings.HasPrefix(e.history[i], string(l.typed)):
			l.text = []rune(e.history[i])
		default:
			continue
		}
		l.past, l.at = i, len(l.text)
		return
	}
}

// complete replaces the line by the next completion.
func (e *Editor) complete() {
	l := &e.line
	if l.tabbed == nil && e.Complete != nil {
		l.tabbed, l.choice = e.Complete(string(l.text)), 0
	}
	if len(l.tabbed) > 0 {
		l.text = []rune(l.tabbed[l.choice%len(l.tabbed)])
		l.at, l.choice = len(l.text), l.choice+1
	}
}
