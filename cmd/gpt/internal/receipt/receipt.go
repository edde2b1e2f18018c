// Package receipt records how the texts of a prompt were generated: the options, the ids, and digests
// of the logits before each of them; or what may come next. gpt generate --receipt and gpt next
// --receipt write receipts, and gpt verify makes the same again.
package receipt

import (
	"fmt"

	"picogpt/internal/chat"
	"picogpt/internal/engine"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Longest is the most bytes of a receipt that is read: the ids of a very long text.
const Longest = 256 << 20

// A Receipt records what came of one prompt: one text, several texts, or what may come next.
type Receipt struct {
	Model      string            `json:"model"` // its digest
	Formats    chat.Formats      `json:"formats"`
	Arithmetic int               `json:"arithmetic,omitempty"` // version; 0 in older files
	Rules      int               `json:"rules,omitempty"`      // 0 in older files
	PromptIDs  []int             `json:"prompt_ids"`
	Options    []string          `json:"options"` // the flags as given, such as --temp=0.9
	Files      map[string]string `json:"files,omitempty"`
	Edits      []model.Edit      `json:"edits,omitempty"` // of the model, such as steering's
	Seed       uint64            `json:"seed"`
	*Text                        // nil: Texts or Next has what came
	Texts      []Text            `json:"texts,omitempty"`
	Next       *Next             `json:"next,omitempty"`
	Digest     *string           `json:"digest,omitempty"` // nil in files of older versions
}

// A Text is one text that continues the prompt.
type Text struct {
	IDs          []int    `json:"ids"` // without the one that ended the text
	FinishReason string   `json:"finish_reason"`
	Logits       string   `json:"logits"`       // the digest of all rows
	TokenLogits  []string `json:"token_logits"` // the beginning of each row's digest
}

// All returns the texts of the receipt.
func (r *Receipt) All() []Text {
	if r.Text != nil {
		return []Text{*r.Text}
	}
	return r.Texts
}

// Tokens counts the ids of all texts.
func (r *Receipt) Tokens() (n int) {
	for _, t := range r.All() {
		n += len(t.IDs)
	}
	return n
}

// CheckArithmetic returns an error if this program's bits are others than the receipt's.
func (r *Receipt) CheckArithmetic() error {
	if r.Arithmetic != 0 && r.Arithmetic != engine.Arithmetic {
		return fmt.Errorf("arithmetic: version %d, this program computes version %d", r.Arithmetic,
			engine.Arithmetic)
	}
	return nil
}

// content returns the receipt without its digest, of which the digest is.
func (r Receipt) content() Receipt {
	r.Digest = nil
	return r
}

// Check returns an error if a receipt was changed since it was written. One without a digest
// passes.
func (r *Receipt) Check() error { return strictjson.CheckDigest(r.content(), r.Digest) }

// Line returns the receipt as a line of JSON, with its digest.
func (r *Receipt) Line() (line []byte, err error) {
	if r.Digest, err = strictjson.Digest(r.content()); err != nil {
		return nil, err
	}
	return strictjson.Line(r)
}
