// Package chat is a conversation with a model: turns of ids, a template around each line
// (template.go), and the session that has read them. Ids are kept, not text, which may have other
// ids when it is encoded again. A conversation is saved as an object of JSON (saved.go).
package chat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A Chat is a conversation. The session holds a beginning of the turns' ids, or something else that
// they have a beginning in common with: it is brought into line before each answer. One goroutine
// may use a Chat at a time.
type Chat struct {
	Session   *model.Session
	Tokenizer *tokenizer.Tokenizer
	Template  *Template
	System    string    // what the conversation begins with; "" for nothing
	Clock     time.Time // that a template tells; set by the first line
	Turns     []Turn    // the oldest first
}

// A Turn is a line and its answer. One without an answer is what was read before the first line.
type Turn struct {
	Text         string   `json:"text"`
	Cut          int      `json:"cut,omitempty"` // the newest tokens that it replaces
	PromptIDs    []int    `json:"prompt_ids"`    // of the line, with what the template puts around it
	Options      []string `json:"options"`
	Seed         uint64   `json:"seed"`
	IDs          []int    `json:"ids"`     // of the answer, and the end-of-text token if that ended it
	Dropped      int      `json:"dropped"` // the oldest tokens of the conversation, by this turn
	FinishReason string   `json:"finish_reason"`

	Answer string `json:"-"` // the text; "" in a turn that was loaded
}

// Interrupted is the FinishReason of an answer that was stopped.
const Interrupted = "interrupted"

// LongestAnswer is the most tokens of an answer where decode.Options.MaxTokens is 0. One of a form
// has more where the context has room, so that it ends as it would by itself.
const LongestAnswer = 256

// IDs returns the ids of all turns that are in the context.
func (c *Chat) IDs() (ids []int) {
	for i := range c.Turns {
		t := &c.Turns[i]
		ids = append(append(ids[:max(0, len(ids)-t.Cut)], t.PromptIDs...), t.IDs...)
		ids = ids[min(t.Dropped, len(ids)):]
	}
	return ids
}

// held returns the ids before the answer to t.
func (c *Chat) held(t *Turn) []int {
	ids := c.IDs()
	return append(ids[:max(0, len(ids)-t.Cut)], t.PromptIDs...)
}

// Undo takes the last n turns back.
func (c *Chat) Undo(n int) error {
	if n < 1 || n > len(c.Turns) {
		return fmt.Errorf("undo of %d turns, want 1 to %d", n, len(c.Turns))
	}
	c.Turns = c.Turns[:len(c.Turns)-n]
	return nil
}

// Begin makes ids that were read before what the conversation begins with.
func (c *Chat) Begin(ids []int) {
	t := Turn{PromptIDs: slices.Clone(ids), Options: []string{}, IDs: []int{}}
	if n := len(ids); n > 0 && slices.Contains(c.Session.Model().Config().EndTokens(), ids[n-1]) {
		t.FinishReason = decode.FinishEndOfText
	}
	c.Turns = []Turn{t}
}

// Answer streams the answer to a line, and adds a turn when the loop ends. An answer that ctx or a
// break stops counts as far as it came. After another error, or without a token, nothing has
// changed. What no longer fits the context is dropped from the beginning.
func (c *Chat) Answer(
	ctx context.Context, line string, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		t := Turn{Text: line, Options: []string{}, Seed: o.Seed, IDs: []int{}}
		err := c.read(&t)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		o.Overflow = decode.OverflowSlide
		o.Stop = slices.Concat(o.Stop, c.Template.Stop)
		if o.MaxTokens == 0 || o.Unasked && o.Constraint != nil && !o.MayCut {
			o.Unasked = false
			if o.MaxTokens = LongestAnswer; o.Constraint != nil && !o.MayCut {
				held := c.Session.Len() - t.Cut + len(t.PromptIDs)
				o.MaxTokens = max(LongestAnswer, c.Session.Model().Config().Positions-held+1)
			}
		}
		more := true
		for token, failed := range c.generate(ctx, &t, o) {
			if err = failed; err != nil {
				break
			}
			t.add(token)
			if more = yield(token, nil); !more {
				break
			}
		}
		if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			if failed := c.end(&t); failed != nil {
				err = failed
			}
		}
		if err != nil && more {
			yield(decode.Token{}, err)
		}
	}
}

// read sets the ids of a line. A template in Jinja makes them anew of the whole conversation, of
// which the turn keeps what is new. Where they are too many, the oldest messages are left out.
func (c *Chat) read(t *Turn) (err error) {
	n := len(c.Turns)
	if !c.Template.Whole() {
		if n == 0 && c.System != "" {
			t.PromptIDs, err = c.Template.Encode(Line{Text: c.System, Role: System})
		}
		ids, failed := c.Template.Encode(Line{
			Text: t.Text, Turn: n, Ended: n > 0 && c.Turns[n-1].FinishReason == decode.FinishEndOfText,
		})
		t.PromptIDs = append(append([]int{}, t.PromptIDs...), ids...)
		if err = errors.Join(err, failed); err == nil && n == 0 {
			t.PromptIDs = c.Tokenizer.WithStart(t.PromptIDs)
		}
		return err
	}
	var messages []Message
	if c.System != "" {
		messages = append(messages, Message{Role: System, Text: c.System})
	}
	first := len(messages)
	for i := range c.Turns {
		if old := &c.Turns[i]; len(old.IDs) > 0 {
			messages = append(messages, Message{Role: User, Text: old.Text},
				Message{Role: Assistant, Text: c.Text(old)})
		}
	}
	messages = append(messages, Message{Role: User, Text: t.Text})
	if c.Clock.IsZero() {
		c.Clock = time.Now().Truncate(time.Second)
	}
	positions := c.Session.Model().Config().Positions
	var whole []int
	fits := func(without int) bool {
		some := slices.Concat(messages[:first], messages[first+2*without:])
		whole, err = c.Template.Conversation(some, Ask{Answer: true, Now: c.Clock})
		return err != nil || len(whole) <= positions-min(LongestAnswer, positions/4)
	}
	if pairs := (len(messages) - first) / 2; !fits(0) && pairs > 0 {
		fits(1 + sort.Search(pairs-1, func(i int) bool { return fits(1 + i) }))
	}
	if err != nil {
		return err
	}
	held := c.IDs()
	kept := 0
	for kept < min(len(held), len(whole)) && held[kept] == whole[kept] {
		kept++
	}
	t.Cut, t.PromptIDs = len(held)-kept, append([]int{}, whole[kept:]...)
	return nil
}

// add adds a token to the answer.
func (t *Turn) add(token decode.Token) {
	t.IDs = append(t.IDs, token.ID)
	t.Dropped += token.Dropped
	t.FinishReason = token.Finish
	t.Answer += token.Text
}

// end adds a turn whose answer has ended, unless it has no token.
func (c *Chat) end(t *Turn) (err error) {
	switch {
	case len(t.IDs) == 0:
		return nil
	case t.FinishReason == "":
		t.FinishReason = Interrupted
	case t.FinishReason == decode.FinishStop:
		if t.IDs, err = c.cutStop(t); err != nil {
			return err
		}
	}
	c.Turns = append(c.Turns, *t)
	return nil
}

// generate streams the answer to t.
func (c *Chat) generate(
	ctx context.Context, t *Turn, o decode.Options,
) iter.Seq2[decode.Token, error] {
	ids := c.held(t)
	c.Session.Truncate(c.Session.Matches(ids[:max(0, len(ids)-1)]))
	return decode.Generate(ctx, c.Session, ids[c.Session.Len():], o)
}

// Text returns the text of a turn's answer.
func (c *Chat) Text(t *Turn) string {
	if t.Answer != "" {
		return t.Answer
	}
	ids := t.IDs
	if n := len(ids); n > 0 && t.FinishReason == decode.FinishEndOfText {
		ids = ids[:n-1]
	}
	text, err := c.Tokenizer.Decode(ids)
	if err != nil {
		return "" // ids beyond the tokenizer's have no text
	}
	return text
}

// cutStop returns the ids of an answer without its stop string. Where that begins inside a token,
// the rest of the text before it is encoded anew.
func (c *Chat) cutStop(t *Turn) ([]int, error) {
	d := c.Tokenizer.NewDecoder(c.held(t))
	text, kept, n := "", "", 0
	for i, id := range t.IDs {
		part, err := d.Push(id)
		if err != nil {
			return nil, err
		}
		if text += part; len(text) > len(t.Answer) {
			break
		}
		if strings.HasPrefix(t.Answer, text) {
			kept, n = text, i+1
		}
	}
	rest, err := c.Tokenizer.Encode(t.Answer[len(kept):])
	return append(slices.Clone(t.IDs[:n]), rest...), err
}
