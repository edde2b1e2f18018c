// Package chat is a conversation with a model: lines are read, answered and remembered, and lines
// that begin with / are commands.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"picogpt/decode"
	"picogpt/internal/chattemplate"
	"picogpt/internal/infile"
	"picogpt/internal/outfile"
	"picogpt/internal/process"
	"picogpt/internal/rows"
	"picogpt/internal/terminal"
	"picogpt/internal/textio"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A Chat is a conversation on its way. Its fields are set before Run.
type Chat struct {
	Console *terminal.Console
	Signals *process.Signals
	Out     *process.Output
	Files   *infile.Files                    // stdin, and what /load reads
	Writing func(force bool) outfile.Options // the rules for what /save writes
	Report  func(error) int                  // tells the user of an error
	AtEnd   func()                           // is called before a signal ends the process

	ModelName string
	Digest    func() (string, error) // of the model's files

	Tokenizer *tokenizer.Tokenizer
	Template  *chattemplate.Template
	Session   *model.Session
	Settings  Settings
	Seed      uint64 // of the next answer

	turns     []turn
	lines     lines
	interrupt interrupt
}

// Settings are the flags that say which tokens an answer has, as "--temp=0.9".
type Settings interface {
	// Options returns what is set, the seed not among it.
	Options() []string

	// Set makes options those that are set, or changes nothing.
	Set(options []string) error

	// Load is Set with the texts of the files that options name.
	Load(options []string, files map[string]string) error

	// Find returns the name of a flag, and whether it may be set several times. ok says whether it
	// is a flag of a chat.
	Find(name string) (flag string, repeats, ok bool)

	// Forget has a file read again that an option named before.
	Forget(file string)

	// Recorded returns the options that a saved chat has, Files the texts of the files that they
	// name.
	Recorded() []string
	Files() map[string]string

	// Decode returns what an answer of this seed is made with.
	Decode(seed uint64) (decode.Options, error)

	// Forms returns the flag of the form that answers have, nil for none.
	Forms() []string
}

// Run answers lines until there are no more.
func (c *Chat) Run() error {
	c.lines = c.newLines()
	defer func() { c.lines.close() }()
	c.watch()
	defer c.Signals.SetCancel(nil)
	return c.run()
}

// run answers lines until there are no more.
func (c *Chat) run() error {
	if c.lines.terminal() {
		c.Console.Notef("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the program")
	}
	for {
		c.interrupt.prompts(true)
		line, err := c.lines.next()
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
	ids, err := c.Template.Encode(chattemplate.Turn{
		Text: text, Turn: len(c.turns), Ended: c.hasEnded(),
	})
	if err != nil {
		return err
	}
	if len(c.turns) == 0 {
		ids = c.Tokenizer.WithStart(ids)
	}
	o, err := c.Settings.Decode(c.Seed)
	if err != nil {
		return err
	}
	t := turn{
		Text: text, PromptIDs: append([]int{}, ids...), Options: c.Settings.Recorded(), Seed: c.Seed,
		IDs: []int{},
	}
	if err := c.stream(&t, o); err != nil {
		return err
	}
	if t.FinishReason == decode.FinishStop {
		if t.IDs, err = c.cutStop(&t); err != nil {
			return err
		}
	}
	c.Seed++
	c.turns = append(c.turns, t)
	return nil
}

// stream prints an answer as it comes, and adds it to t. An answer that is stopped counts as far as
// it came; without a token it is an error, and nothing has changed.
func (c *Chat) stream(t *turn, o decode.Options) (err error) {
	ctx, done := c.interrupt.begin()
	defer done()
	stop := c.Console.ShowProgress(func() string { return "reading" })
	defer stop()
	for token, failed := range textio.WithFlags(c.generate(ctx, t, o), c.Settings.Forms()) {
		if err = failed; err != nil {
			break
		}
		stop()
		t.add(token)
		if token.Incomplete {
			defer c.Console.Notef("%s: the answer ended before it was complete", c.form())
		}
		if _, err = c.Out.WriteString(token.Text); err != nil {
			return err
		}
	}
	stop()
	if _, failed := c.Out.WriteString("\n"); failed != nil {
		return failed
	}
	if err == nil && strings.TrimSpace(t.shown) == "" {
		c.Console.Notef("the answer is empty: %s", c.whyEmpty(t))
	}
	switch {
	case c.interrupt.ended():
		return errEnded
	case errors.Is(err, context.Canceled) && len(t.IDs) > 0:
		t.FinishReason = textio.Interrupted
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("stopped before the first token: the line is taken back")
	}
	return err
}

// whyEmpty says why nothing is to be seen of an answer.
func (c *Chat) whyEmpty(t *turn) string {
	form := c.form()
	switch {
	case form != "" && t.FinishReason == decode.FinishEndOfText:
		return "that is a text of " + form
	case t.FinishReason == decode.FinishEndOfText && len(t.IDs) == 1:
		return "the model ended the text at once; /retry takes the next seed"
	case t.FinishReason == decode.FinishEndOfText:
		return "the model wrote only space before the end of the text"
	case t.FinishReason == decode.FinishStop:
		return "a stop string came first"
	}
	return "the tokens that came, " + strconv.Itoa(len(t.IDs)) + ", are only space"
}

// form is the flag of the form that answers have, "" for none.
func (c *Chat) form() string { return strings.Join(c.Settings.Forms(), "") }

// model is the model that answers.
func (c *Chat) model() *model.Model { return c.Session.Model() }

// notice tells people, and no script, what was done.
func (c *Chat) notice(format string, args ...any) {
	if c.lines.terminal() {
		fmt.Fprintf(c.Console.Stderr, format+"\n", args...)
	}
}
