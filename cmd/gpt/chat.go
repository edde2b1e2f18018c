package main

// gpt chat: a conversation with a model, on a terminal or line by line through a pipe.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"picogpt/decode"
	"picogpt/internal/chattemplate"
	"picogpt/internal/cli"
	"picogpt/internal/process"
	"picogpt/internal/rows"
	"picogpt/internal/textio"
	"picogpt/model"
	"picogpt/tokenizer"
)

type chatCommand struct {
	Template *string
}

func newChat(a *app) *cli.Command {
	c := &chatCommand{}
	return &cli.Command{
		Name: "chat", Group: "write",
		Short: "talk with a model, line by line",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Template, "--template NAME|FILE",
				`what stands around each line: dialogpt (turns end with the end-of-text token), or a
				file in the syntax of Go's text/template; default: nothing, so that the model
				continues one text`)
			addChatFlags(f)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
		Long: `
Each line is a turn: the model reads it after all that was said before, and answers. The
answer comes as it is made, and ends as the model ends it, after --max-tokens tokens (256 unless
given), or before a --stop string. On a terminal lines can be edited, the arrow keys bring back
earlier ones, and Ctrl-C stops an answer; Ctrl-C twice at the prompt, or Ctrl-D, ends the program,
and Ctrl-Z suspends it.
On a terminal without a cursor (TERM=dumb) all is the same but that lines cannot be edited. Where
stdin is no terminal, each line of it is a turn, empty lines are skipped, and the answers go to
stdout; the first mistake ends it.

A line that begins with / is a command (// begins a line with a slash):

/undo [N]	take the last turn back, or the last N
/retry	answer the last line again, with the next seed
/seed [N]	make N the seed of the next answer; without N, show the seeds
/set [NAME [VALUE]]	set a flag such as temp, or add to one that may be repeated, such as stop;
	without VALUE go back to its default; alone, show what is set
/save FILE	write the conversation: its ids and options; /save --force FILE writes over a file
/load FILE	go on with a saved conversation: the next answers are those that would have followed
/help	list the commands
/quit	end the program, as Ctrl-D does

The seed of the first answer is --seed, and each answer's is one more than the last one's: the
same lines with the same flags give the same conversation on every machine. Flags that choose
tokens are those of gpt generate. What no longer fits the model's context is dropped from the
beginning.

A base model such as GPT-2 continues a text. Without --template the conversation is that text:
each line begins a new line of it. A template makes of each line what the model is given, with
these fields; a newline at the end of the file is not part of it:

.Text	the line
.Turn	its number, from 0
.Ended	whether the answer before it ended with the end-of-text token, which the model has then read

Special tokens such as <|endoftext|> are read as such in the template, and are ordinary text in a
line. dialogpt is

  {{if and .Turn (not .Ended)}}<|endoftext|>{{end}}{{.Text}}<|endoftext|>

Examples:

  gpt chat
  gpt chat -m ~/models/DialoGPT-small --template dialogpt --top-p 0.9
  gpt chat --seed 1 < lines.txt > answers.txt`,
	}
}

// A chat is a conversation on its way.
type chat struct {
	*app
	conversation
	tokenizer *tokenizer.Tokenizer
	lines     chatLines
	interrupt chatInterrupt

	options []string // that were set, --seed not among them
	idle    []string // what was told of options without effect
	writer  *generateCommand
	decode  decode.Options // of writer
	close   func()         // of what writer has opened
	seed    uint64         // of the next answer
}

func (c *chatCommand) Run(a *app, f *cli.Flags) (err error) {
	given := f.Options(inChat)
	if _, _, err := parseOptions(given, inChat); err != nil {
		return err
	}
	if err := checkNeeds(new(decode.Options).Table(), f.Given()); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	t, err := a.openTokenizer()
	if err != nil {
		return err
	}
	chat := &chat{app: a, tokenizer: t, close: func() {}}
	chat.session = m.NewSession()
	if chat.template, err = a.readChatTemplate(c.Template, t); err != nil {
		return err
	}
	if err := chat.setOptions(given); err != nil {
		return err
	}
	defer func() { chat.close() }()
	chat.seed = chat.decode.Seed
	chat.options = without(given, "--seed")
	chat.logf("seed: %d", chat.seed)
	chat.lines = a.newChatLines()
	defer chat.lines.close()
	chat.watch()
	defer a.SetCancel(nil)
	return chat.run()
}

// run answers lines until there are no more.
func (c *chat) run() error {
	if c.lines.terminal() {
		c.Notef("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the program")
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
			c.report(err)
		}
	}
}

// line does what a line asks for.
func (c *chat) line(line string) error {
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
func (c *chat) answer(text string) error {
	ids, err := c.template.Encode(chattemplate.Turn{
		Text: text, Turn: len(c.turns), Ended: c.hasEnded(),
	})
	if err != nil {
		return err
	}
	if len(c.turns) == 0 {
		ids = c.tokenizer.WithStart(ids)
	}
	o, err := c.optionsOfAnswer()
	if err != nil {
		return err
	}
	t := turn{
		Text: text, PromptIDs: append([]int{}, ids...), Options: c.recorded(), Seed: c.seed,
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
	c.seed++
	c.turns = append(c.turns, t)
	return nil
}

// stream prints an answer as it comes, and adds it to t. An answer that is stopped counts as far as
// it came; without a token it is an error, and nothing has changed.
func (c *chat) stream(t *turn, o decode.Options) (err error) {
	ctx, done := c.interrupt.begin()
	defer done()
	stop := c.ShowProgress(func() string { return "reading" })
	defer stop()
	for token, failed := range c.writer.named(c.generate(ctx, t, o)) {
		if err = failed; err != nil {
			break
		}
		stop()
		t.add(token)
		if token.Incomplete {
			defer c.Notef("%s: the answer ended before it was complete", c.writer.Form.asked())
		}
		if _, err = c.stdout.WriteString(token.Text); err != nil {
			return err
		}
	}
	stop()
	if _, failed := c.stdout.WriteString("\n"); failed != nil {
		return failed
	}
	if err == nil && strings.TrimSpace(t.shown) == "" {
		c.Notef("the answer is empty: %s", c.whyEmpty(t))
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
func (c *chat) whyEmpty(t *turn) string {
	form := c.writer.Form.asked()
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

// model is the model that answers.
func (c *chat) model() *model.Model { return c.session.Model() }

// notice tells people, and no script, what was done.
func (c *chat) notice(format string, args ...any) {
	if c.lines.terminal() {
		fmt.Fprintf(c.Stderr, format+"\n", args...)
	}
}
