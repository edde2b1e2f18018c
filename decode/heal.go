package decode

// Token healing: a prompt that ends inside a word goes on as if it had not been cut there.

import (
	"bytes"
	"fmt"
	"slices"

	"picogpt/constrain"
)

// A Healing takes back the last tokens of a prompt, because the text that follows may spell their
// bytes with longer tokens: a prompt that ends in " gi" is two tokens that seldom come before "rl",
// and " girl" is one.
//
// It goes back to the first token from which on some longer token begins with all bytes up to the
// prompt's end. The new text then begins with those bytes: until they are spelled, each token is
// the one that was taken back there, or one that begins with all bytes that are left. Where no
// token could go on beyond the prompt's end, nothing is taken back.
type Healing struct {
	Prompt []int  // what is left of the prompt
	Bytes  []byte // what is taken back, with which the new text begins

	taken []int      // ids taken back
	masks [][]uint64 // of the ids that may come at each of taken, and after them
}

// NewHealing heals a prompt, of which it keeps the first least tokens at least. tokens are the
// bytes of each id of the vocabulary, none for special ones, which are never taken back; see
// tokenizer.Tokenizer.Bytes.
func NewHealing(tokens [][]byte, prompt []int, least int) *Healing {
	longest := 0
	for _, t := range tokens {
		longest = max(longest, len(t))
	}
	cut, end := len(prompt), []byte{}
	for i := len(prompt) - 1; i >= least; i-- {
		id := prompt[i]
		if id < 0 || id >= len(tokens) || len(tokens[id]) == 0 || len(end)+len(tokens[id]) >= longest {
			break
		}
		end = slices.Concat(tokens[id], end)
		if slices.ContainsFunc(tokens, func(t []byte) bool {
			return len(t) > len(end) && bytes.HasPrefix(t, end)
		}) {
			cut = i
		}
	}
	h := &Healing{Prompt: prompt[:cut:cut], taken: slices.Clone(prompt[cut:])}
	for _, id := range h.taken {
		h.Bytes = append(h.Bytes, tokens[id]...)
	}
	h.mask(tokens)
	return h
}

// mask fills in masks.
func (h *Healing) mask(tokens [][]byte) {
	words := (len(tokens) + 63) / 64
	set := func(mask []uint64, id int) { mask[id/64] |= 1 << (id % 64) }
	left := h.Bytes
	for _, taken := range h.taken {
		mask := make([]uint64, words)
		set(mask, taken)
		for id, t := range tokens {
			if bytes.HasPrefix(t, left) {
				set(mask, id)
			}
		}
		h.masks = append(h.masks, mask)
		left = left[len(tokens[taken]):]
	}
	all := make([]uint64, words)
	for id := range tokens {
		set(all, id)
	}
	h.masks = append(h.masks, all)
}

// matcher returns the constraint that the new text is under.
func (h *Healing) matcher() constrain.Matcher { return &healed{Healing: h} }

// A healed follows one text.
type healed struct {
	*Healing
	places []int // in masks, after each token
}

func (t *healed) place() int {
	if n := len(t.places); n > 0 {
		return t.places[n-1]
	}
	return 0
}

// Mask implements constrain.Matcher.
func (t *healed) Mask(open []uint64) error {
	clear(open[copy(open, t.masks[t.place()]):])
	return nil
}

// Accept implements constrain.Matcher.
func (t *healed) Accept(id int) error {
	at := t.place()
	mask := t.masks[at]
	if id < 0 || id/64 >= len(mask) || mask[id/64]>>(id%64)&1 == 0 {
		return fmt.Errorf("id %d does not go on with %q, which was taken back", id, t.Bytes)
	}
	next := len(t.taken)
	if at < next && id == t.taken[at] {
		next = at + 1
	}
	t.places = append(t.places, next)
	return nil
}

// Rewind implements constrain.Matcher.
func (t *healed) Rewind(n int) error {
	if n < 0 || n > len(t.places) {
		return fmt.Errorf("rewind by %d tokens: want 0 to %d", n, len(t.places))
	}
	t.places = t.places[:len(t.places)-n]
	return nil
}

// Fork implements constrain.Matcher.
func (t *healed) Fork() constrain.Matcher {
	return &healed{t.Healing, slices.Clone(t.places)}
}
