package main

// gpt generate --heal: prompts that end inside a word.

import (
	"errors"
	"strings"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A healer takes back the ends of prompts.
type healer struct {
	tokenizer *tokenizer.Tokenizer
	tokens    [][]byte
	least     int // tokens that stay
}

// newHealer returns a healer for a model that can begin from nothing, or not.
func (a *app) newHealer(fromNothing bool) (*healer, error) {
	t, err := a.openTokenizer()
	if err != nil {
		return nil, err
	}
	h := &healer{tokenizer: t}
	if !fromNothing {
		h.least = 1
	}
	h.tokens, err = t.Bytes()
	return h, err
}

// heal takes back the end of a prompt, with its bytes at the beginning of the new text.
func (h *healer) heal(prompt []int) (*decode.Healing, error) {
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

// healIfAsked takes back the end of p, with --heal.
func (c *generateCommand) healIfAsked(
	a *app, m *model.Model, p *prompt, o *decode.Options,
) error {
	if !c.Heal {
		return nil
	}
	_, fromNothing := m.Config().StartToken()
	h, err := a.newHealer(fromNothing)
	if err != nil {
		return err
	}
	if o.Healing, err = h.heal(p.ids); err != nil {
		return err
	}
	p.ids = o.Healing.Prompt
	end := string(o.Healing.Bytes)
	if text, found := strings.CutSuffix(p.text, end); found {
		p.text = text
	} else if p.asText { // the end of a long text, which was printed while it was read
		p.printed = len(end)
	}
	return nil
}
