package constrain

// Forced: what every text of the form continues with, for guesses of the next tokens.

import (
	"iter"
	"slices"

	"picogpt/constrain/internal/grammar"
)

// Forced returns the bytes that must follow, at most so many and a character: every text of the
// form that begins like this one continues with them. It looks no further where the text may end,
// where it may continue in two ways, and where finding out takes long; so it may return fewer.
func (t *Text) Forced(most int) (forced []byte) {
	if t.ended {
		return nil
	}
	if f, ok := t.of.form.(*grammar.Form); ok {
		return f.Forced(t.now(), most)
	}
	v := t.of.vocab.ids
	ahead := &Text{of: t.of, ends: t.ends, states: []any{t.now()}}
	var open []uint64
	for len(forced) < most && !ahead.Busy() && !ahead.divided() {
		if open == nil {
			open = make([]uint64, v.Words())
		}
		if ahead.maskWithin(open, forcedSteps) != nil {
			break
		}
		b, ok := v.First(open)
		if !ok || ahead.Accept(v.Alone(b)) != nil {
			break
		}
		forced = append(forced, b)
	}
	return forced
}

// forcedSteps bounds the search for a mask.
const forcedSteps = 1 << 10

// divided reports whether the text may continue with two bytes of a few, which takes less time
// than its mask.
func (t *Text) divided() bool {
	v, ways := t.of.vocab.ids, 0
	for _, b := range []byte(`e1" ,]}0`) {
		id := v.Alone(b)
		if id < 0 {
			continue
		}
		if next, err := t.of.form.Accept(t.now(), id); err == nil && next != nil {
			if ways++; ways > 1 {
				return true
			}
		}
	}
	return false
}

// Prefixes yields the ids that may come next where some bytes are forced, those with which the bytes
// begin, and how many bytes each has: the shortest first.
func (t *Text) Prefixes(forced []byte) iter.Seq2[int, int] {
	return func(yield func(id, n int) bool) {
		v, at := t.of.vocab.ids, 0
		for i, b := range forced {
			if at = v.Child(at, b); at < 0 {
				return
			}
			for id := range v.Same(at) {
				if !slices.Contains(t.ends, id) && !yield(id, i+1) {
					return
				}
			}
		}
	}
}
