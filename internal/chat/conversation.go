package chat

// The turns of a chat. The session holds a beginning of their ids, or something else that they have
// a beginning in common with: it is brought into line before each answer.

import (
	"context"
	"iter"
	"slices"
	"strings"

	"picogpt/decode"
)

// A turn is a line and its answer.
type turn struct {
	Text         string   `json:"text"`
	PromptIDs    []int    `json:"prompt_ids"` // of the line, with what the template puts around it
	Options      []string `json:"options"`
	Seed         uint64   `json:"seed"`
	IDs          []int    `json:"ids"`     // of the answer, and the end-of-text token if that ended it
	Dropped      int      `json:"dropped"` // the oldest tokens of the conversation, by this turn
	FinishReason string   `json:"finish_reason"`

	shown string // the text of the answer
}

// add adds a token to the answer.
func (t *turn) add(token decode.Token) {
	t.IDs = append(t.IDs, token.ID)
	t.Dropped += token.Dropped
	t.FinishReason = token.Finish
	t.shown += token.Text
}

// ids are the ids of all turns that are in the context.
func (c *Chat) ids() (ids []int) {
	dropped := 0
	for i := range c.turns {
		ids = append(append(ids, c.turns[i].PromptIDs...), c.turns[i].IDs...)
		dropped += c.turns[i].Dropped
	}
	return ids[min(dropped, len(ids)):]
}

// hasEnded reports whether the last answer ended with the end-of-text token.
func (c *Chat) hasEnded() bool {
	n := len(c.turns)
	return n > 0 && c.turns[n-1].FinishReason == decode.FinishEndOfText
}

// generate streams the answer to t.
func (c *Chat) generate(
	ctx context.Context, t *turn, o decode.Options,
) iter.Seq2[decode.Token, error] {
	ids := append(c.ids(), t.PromptIDs...)
	held, same := c.Session.Tokens(), 0
	for same < min(len(held), len(ids)-1) && held[same] == ids[same] {
		same++
	}
	c.Session.Truncate(max(0, same))
	return decode.Generate(ctx, c.Session, slices.Clone(ids[c.Session.Len():]), o)
}

// cutStop returns the ids of an answer without its stop string. Where that begins inside a token,
// the rest of the text before it is encoded anew.
func (c *Chat) cutStop(t *turn) ([]int, error) {
	d := c.Tokenizer.NewDecoder(append(c.ids(), t.PromptIDs...))
	text, kept, n := "", "", 0
	for i, id := range t.IDs {
		part, err := d.Push(id)
		if err != nil {
			return nil, err
		}
		if text += part; len(text) > len(t.shown) {
			break
		}
		if strings.HasPrefix(t.shown, text) {
			kept, n = text, i+1
		}
	}
	rest, err := c.Tokenizer.Encode(t.shown[len(kept):])
	return append(slices.Clone(t.IDs[:n]), rest...), err
}
