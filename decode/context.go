package decode

// What fits the context, and what is dropped where it does not.

import (
	"fmt"

	"picogpt/model"
)

// limits is what the rules need to know of a model. first is the token that an empty prompt stands for, -1 if none can.
type limits struct {
	context, vocabulary, first int
	endOfText                  []int
}

// plan is what one evaluation makes of a session: its first keep tokens, then tokens.
type plan struct {
	keep    int
	tokens  []int
	dropped int // how many of the oldest tokens are not among them
}

// newPlan settles, before anything runs, what the model sees of a session that holds held and of the prompt after it.
func newPlan(l limits, held, prompt []int, o *Options) (plan, error) {
	if len(held)+len(prompt) == 0 {
		if l.first < 0 {
			return plan{}, fmt.Errorf("empty prompt: want a bos_token_id or eos_token_id in the vocabulary to start from, found none")
		}
		prompt = []int{l.first}
	}
	length := len(held) + len(prompt)
	switch o.Overflow {
	case OverflowTruncate:
		if o.MaxTokens > 0 && o.MaxTokens <= l.context {
			if fits := l.context - o.MaxTokens + 1; length > fits {
				return dropOldest(held, prompt, length-fits), nil
			}
			break
		}
		fallthrough
	case OverflowSlide:
		if length > l.context {
			return dropOldest(held, prompt, length-newestHalf(l.context)), nil
		}
	default:
		if length > l.context {
			return plan{}, fmt.Errorf("prompt of %d tokens: %w", len(prompt), &model.ContextError{Held: len(held), Added: len(prompt), Positions: l.context})
		}
		if o.MaxTokens-1 > l.context-length {
			return plan{}, fmt.Errorf("prompt of %d tokens and %d new ones, the last of which needs no room: %w",
				len(prompt), o.MaxTokens, &model.ContextError{Held: length, Added: o.MaxTokens - 1, Positions: l.context})
		}
	}
	return plan{keep: len(held), tokens: prompt}, nil
}

// newestHalf is how many tokens stay when the context is full.
func newestHalf(context int) int { return max(1, context/2) }

// dropOldest plans to begin again without the oldest n tokens of held and prompt. Positions are absolute in GPT-2, so
// all that stays is evaluated anew.
func dropOldest(held, prompt []int, n int) plan {
	all := append(append(make([]int, 0, len(held)+len(prompt)), held...), prompt...)
	return plan{tokens: all[n:], dropped: n}
}
