// Package talk is a conversation with a model: lines are read, answered and remembered, and lines
// that begin with / are commands.
package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/model"
)

// A Chat is a conversation on its way. Its fields are set before Run.
type Chat struct {
	Console *terminal.Console
	Signals *process.Signals
	Out     *process.Output
	Files   *textio.Files                    // stdin, and what /load reads
	Writing func(force bool) outfile.Options // the rules for what /save writes
	Report  func(error) int                  // tells the user of an error
	AtEnd   func()                           // is called before a signal ends the process

	ModelName string

	Dialog   *chat.Chat
	Settings Settings
	Seed     uint64 // of the next answer

	File     *SessionFile // that keeps the conversation; nil: none
	Template bool         // the template was asked for: the file's does not matter
	System   *string      // so was this message of the system
	Seeded   bool         // so was the seed

	lines     lines
	interrupt interrupt
	busy      sync.Mutex // held while no line is waited for
	changed   bool       // a turn was made or taken back
}

// Settings are the flags that say which tokens an answer has, as "--temp=0.9".
type Settings interface {
	// Options returns what is set, the seed not among it.
	Options() []string

	// Set makes options those that are set, or changes nothing.
	Set(options []string) error

	// Load is Set by the rules of a saved chat, with the texts of the files that options name.
	Load(rules int, options []string, files map[string]string) error

	// Find returns the name of a flag, and whether it may be set several times. ok says whether it
	// is a flag of a chat.
	Find(name string) (flag string, repeats, ok bool)

	// Forget has a file read again that an option named before.
	Forget(file string)

	// Recorded returns the options that a saved chat has, Files the texts of the files that they
	// name.
	Recorded() []string
	Files() map[string]string

	// Rules is the version of what the options mean: chat.Rules, unless a saved chat is older.
	Rules() int

	// Decode returns what an answer of this seed is made with.
	Decode(seed uint64) (decode.Options, error)

	// Forms returns the flag of the form that answers have, nil for none.
	Forms() []string
}

// Run answers lines until there are no more, and keeps the conversation in its file.
func (c *Chat) Run() error {
	c.lines = c.newLines()
	defer func() { c.lines.close() }()
	if err := c.resume(); err != nil {
		return err
	}
	if c.System != nil && *c.System != c.Dialog.System {
		if err := c.setSystem("--system", *c.System); err != nil {
			return err
		}
	}
	c.watch()
	defer c.Signals.SetCancel(nil)
	err := c.run()
	return fault.First(c.keep(), err)
}

// run answers lines until there are no more.
func (c *Chat) run() error {
	c.busy.Lock() // for good: what follows uses the conversation, too
	if c.lines.terminal() {
		c.Console.Notef("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the program")
	}
	for {
		c.interrupt.prompts(true)
		c.busy.Unlock()
		line, err := c.lines.next()
		c.busy.Lock()
		c.interrupt.prompts(false)
		switch {
		case err == io.EOF:
			return nil
		case err == nil:
			err = c.line(line)
		case !errors.Is(err, rows.ErrLongLine):
			return c.lines.located(err) // there will be no more lines
		}
		switch {
		case err == errQuit:
			return nil
		case err == nil:
		case !c.lines.terminal() || errors.Is(err, process.ErrClosedPipe) || errors.Is(err, errEnded):
			return c.lines.located(err)
		default:
			c.Report(err)
		}
	}
}

// line does what a line asks for.
func (c *Chat) line(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return nil
	case strings.HasPrefix(line, "//"):
		line = line[1:]
	case strings.HasPrefix(line, "/"):
		return c.command(line)
	}
	return c.answer(line)
}

// answer adds a turn.
func (c *Chat) answer(text string) error {
	o, err := c.Settings.Decode(c.Seed)
	if err != nil {
		return err
	}
	n := len(c.Dialog.Turns)
	if err := c.stream(text, o); err != nil {
		return err
	}
	if len(c.Dialog.Turns) > n {
		c.Dialog.Turns[n].Options = c.Settings.Recorded()
		c.Seed++
		c.changed = true
	}
	return nil
}

// stream prints an answer as it comes. One that is stopped counts as far as it came; without a
// token that is an error.
func (c *Chat) stream(text string, o decode.Options) (err error) {
	ctx, done := c.interrupt.begin()
	defer done()
	stop := c.Console.ShowProgress(func() string { return "reading" })
	defer stop()
	var shown strings.Builder
	var last decode.Token
	n, narrowed := 0, 0
	for token, failed := range c.Dialog.Answer(ctx, text, o) {
		if err = textio.ByFlags(failed, c.Settings.Forms()); err != nil {
			break
		}
		stop()
		last = token
		n++
		if token.Incomplete {
			defer c.Console.Notef("%s: the answer ended before it was complete", c.form())
		}
		if token.Narrowed {
			narrowed++
		}
		shown.WriteString(token.Text)
		if _, err = c.Out.WriteString(token.Text); err != nil {
			return err
		}
	}
	stop()
	if _, failed := c.Out.WriteString("\n"); failed != nil {
		return failed
	}
	if narrowed > 0 {
		c.Console.Notef("%s: %s had to lead to an end in time; /set may-cut lets answers be cut",
			c.form(), quote.Count(narrowed, "token"))
	}
	if err == nil && strings.TrimSpace(shown.String()) == "" {
		c.Console.Notef("the answer is empty: %s", c.whyEmpty(last.Finish, n))
	}
	switch {
	case c.interrupt.ended():
		return errEnded
	case errors.Is(err, context.Canceled) && n > 0:
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("stopped before the first token: the line is taken back")
	}
	return err
}

// whyEmpty says why nothing is to be seen of an answer of n tokens.
func (c *Chat) whyEmpty(finish string, n int) string {
	form := c.form()
	switch {
	case form != "" && finish == decode.FinishEndOfText:
		return "that is a text of " + form
	case finish == decode.FinishEndOfText && n == 1:
		return "the model ended the text at once; /retry takes the next seed"
	case finish == decode.FinishEndOfText:
		return "the model wrote only space before the end of the text"
	case finish == decode.FinishStop:
		return "a stop string came first"
	}
	return "the tokens that came, " + strconv.Itoa(n) + ", are only space"
}

// form is the flag of the form that answers have, "" for none.
func (c *Chat) form() string { return strings.Join(c.Settings.Forms(), "") }

// model is the model that answers.
func (c *Chat) model() *model.Model { return c.Dialog.Session.Model() }

// notice tells people, and no script, what was done.
func (c *Chat) notice(format string, args ...any) {
	if c.lines.terminal() {
		fmt.Fprintf(c.Console.Stderr, format+"\n", args...)
	}
}
