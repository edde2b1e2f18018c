package textio

// Prompts that end inside a word: gpt generate --heal.

import (
	"errors"

	"picogpt/decode"
	"picogpt/tokenizer"
)

// A Healer takes back the ends of prompts.
type Healer struct {
	tokenizer *tokenizer.Tokenizer
	tokens    [][]byte
	least     int // tokens that stay
}

// NewHealer returns a Healer for a model that can begin from nothing, or not.
func NewHealer(t *tokenizer.Tokenizer, fromNothing bool) (*Healer, error) {
	h := &Healer{tokenizer: t}
	if !fromNothing {
		h.least = 1
	}
	var err error
	h.tokens, err = t.Bytes()
	return h, err
}

// Heal takes back the end of a prompt, with its bytes at the beginning of the new text.
func (h *Healer) Heal(prompt []int) (*decode.Healing, error) {
	healing := decode.NewHealing(h.tokens, prompt, h.least)
	whole, err := h.tokenizer.Decode(prompt)
	if err != nil {
		return nil, err
	}
	left, err := h.tokenizer.Decode(healing.Prompt)
	if err != nil {
		return nil, err
	}
	if whole != left+string(healing.Bytes) {
		return nil, errors.New("--heal: want a tokenizer whose tokens have the same bytes " +
			"everywhere, found one where they depend on their neighbours")
	}
	return healing, nil
}
