package decode

// What fits the context, and which tokens are dropped where it does not.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// limits holds the properties of a model that streams need. first is the token that an empty prompt
// stands for, or -1 if there is none.
type limits struct {
	context, vocabulary, first int
	endOfText                  []int
	leaves                     kernels.Leaves // the kernels that the model computes with
}

// limitsOf returns the limits of a model, as the options change them.
func limitsOf(m *model.Model, o *Options) limits { return limitsBy(m.Config(), m.Leaves(), o) }

func limitsBy(c model.Config, leaves kernels.Leaves, o *Options) limits {
	l := limits{context: c.Positions, vocabulary: c.VocabSize, first: -1, endOfText: o.EndOfText,
		leaves: leaves}
	if id, ok := c.StartToken(); ok {
		l.first = id
	}
	if o.EndOfText == nil {
		l.endOfText = c.EndTokens()
	}
	return l
}

// check returns an error for ids that the vocabulary does not have.
func (l *limits) check(o *Options) error {
	in := func(what string, ids []int) error {
		for _, id := range ids {
			if id < 0 || id >= l.vocabulary {
				return fmt.Errorf("%s id %d: want 0 to %d", what, id, l.vocabulary-1)
			}
		}
		return nil
	}
	err := in("end-of-text", l.endOfText)
	err = cmp.Or(err, in("allowed", o.Allowed))
	for _, b := range o.Bias {
		err = cmp.Or(err, in("bias of", b.IDs))
	}
	for _, b := range o.SequenceBias {
		err = cmp.Or(err, in("sequence bias of", b.IDs))
	}
	return err
}

// fit returns, before anything runs, the context of the first new token: the tokens that the
// session held, then the prompt, without the dropped tokens, which are the oldest.
func fit(l limits, held, prompt []int, o *Options) (context []int, dropped int, err error) {
	if len(held)+len(prompt) == 0 {
		if l.first < 0 {
			return nil, 0, errors.New("empty prompt: want a bos_token_id or eos_token_id in the " +
				"vocabulary to start from, found none")
		}
		prompt = []int{l.first}
	}
	length := len(held) + len(prompt)
	switch o.Overflow {
	case OverflowTruncate:
		if o.MaxTokens > 0 && o.MaxTokens <= l.context {
			dropped = max(0, length-(l.context-o.MaxTokens+1))
			break
		}
		fallthrough
	case OverflowSlide:
		if length > l.context {
			dropped = length - newestHalf(l.context)
		}
	default:
		if err := checkRoom(l, len(held), len(prompt), o.MaxTokens); err != nil {
			return nil, 0, err
		}
	}
	return slices.Concat(held, prompt)[dropped:], dropped, nil
}

// checkRoom returns an error if a prompt and new tokens do not fit the context after the tokens
// held.
func checkRoom(l limits, held, prompt, maxTokens int) error {
	length := held + prompt
	if length > l.context {
		full := &model.ContextError{Held: held, Added: prompt, Positions: l.context}
		return fmt.Errorf("prompt of %d tokens: %w", prompt, full)
	}
	if maxTokens-1 > l.context-length {
		full := &model.ContextError{Held: length, Added: maxTokens - 1, Positions: l.context}
		return fmt.Errorf("prompt of %d tokens and %d new ones (the last takes no position): %w",
			prompt, maxTokens, full)
	}
	return nil
}

// extend appends id to the context. If that is full, the context restarts with its newest half.
func (s *Stream) extend(id int) {
	s.guide.extend(id, &s.limits)
	s.context = append(s.context, id)
	if len(s.context) <= s.limits.context {
		return
	}
	s.dropped = len(s.context) - newestHalf(s.limits.context)
	if s.bans != nil { // the text may go back to dropped tokens
		s.context = slices.Clone(s.context)
		s.bans.slides++
	}
	s.context = append(s.context[:0], s.context[s.dropped:]...)
	if s.access == AccessNever {
		s.Release()
	} else {
		s.renew(0)
	}
}

// newestHalf returns how many tokens stay when the context is full. Positions are absolute in
// GPT-2, so all that stays is evaluated again.
func newestHalf(context int) int { return max(1, context/2) }

// newest returns the last n of the tokens, or all if there are fewer.
func newest(tokens []int, n int) []int { return tokens[max(0, len(tokens)-n):] }
