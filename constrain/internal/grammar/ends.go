package grammar

// The ends of a form's texts: how many ids complete one, and which.

import (
	"slices"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
)

// fits reports whether a text ends in time after a state.
func (w *walk) fits(s spot) bool {
	if w.f.ends == nil {
		return true
	}
	return w.Has(w.f.need(s, w.Left))
}

// need returns what a text needs after a state, or any number up to enough if that suffices.
func (f *Form) need(s spot, enough int) int {
	if s.Form == automaton.Border {
		return f.ends.Need(s.at)
	}
	_, least := f.character(s, enough-int(s.Left))
	return int(s.Left) + least
}

// character returns a character that an incomplete one can become, and what a text needs after it.
func (f *Form) character(s spot, enough int) (c rune, least int) {
	lo, hi := s.Runes()
	least = automaton.Never
	for piece, class := range f.m.Alpha.Pieces(lo, hi) {
		if next := f.m.Step(s.at, class); next != automaton.Dead {
			if need := f.ends.Need(next); need < least {
				c, least = piece.Lo, need
			}
			if least <= enough {
				break
			}
		}
	}
	return c, least
}

// Roomy reports whether each id that may come leaves a text that needs at most so many others. It is
// false where that takes long to find.
func (f *Form) Roomy(state any, left int) bool {
	if !f.mu.TryLock() { // the mask of another text may take long
		return false
	}
	defer f.mu.Unlock()
	return !slices.ContainsFunc(state.([]place), func(s place) bool {
		if s.form > 0 {
			return !f.roomyInside(s, left)
		}
		return s.at != automaton.Dead && (s.Form != automaton.Border || !f.m.Current(s.at).Roomy(left))
	})
}

// Need returns a number of ids with which a text can be completed, Never or more if none is known.
func (f *Form) Need(state any) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, need := f.nearest(state)
	return need
}

// nearest returns the place that needs the fewest ids. The caller holds f.mu.
func (f *Form) nearest(state any) (best place, least int) {
	defer f.measure()
	f.m.Begin()
	var forms [][]byte
	if f.ends == nil && !f.endless {
		forms = f.leastTexts()
	}
	if f.endless {
		return best, automaton.Never
	}
	if f.ends == nil {
		var others [2]int32
		for i := 1; i < len(f.vocab.Nodes) && others[1] == 0; i++ {
			if id := f.vocab.Nodes[i].ID; id >= 0 {
				others = [2]int32{id, others[0]}
			}
		}
		f.ends = automaton.NewEnds(f.m, others, forms, func(text []int32) int {
			if ids, ok := f.spell(text); ok {
				return len(ids)
			}
			return automaton.Never
		})
	}
	least = automaton.Never
	for _, s := range state.([]place) {
		if s.at != automaton.Dead {
			need := f.need(s.spot, -1)
			if s.form > 0 {
				need = min(f.inner[s.form-1].Need(s.in)+need, automaton.Never)
			}
			if need < least {
				best, least = s, need
			}
		}
	}
	if f.m.Err != nil {
		least = automaton.Never
	}
	return best, least
}

// End returns ids that complete a text, no more than Need says; nil if none are known.
func (f *Form) End(state any) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	best, least := f.nearest(state)
	if least == automaton.Never {
		return nil
	}
	var text []int32
	if best.form > 0 {
		after, _ := f.spell(f.ends.Text(best.at))
		return append(f.inner[best.form-1].End(best.in), after...)
	}
	if best.Form != automaton.Border {
		c, _ := f.character(best.spot, -1)
		bytes := utf8.AppendRune(nil, c)
		for _, b := range bytes[len(bytes)-int(best.Left):] {
			text = append(text, int32(b))
		}
		best.at = f.m.Step(best.at, f.m.Alpha.Of(c))
	}
	ids, _ := f.spell(append(text, f.ends.Text(best.at)...))
	return ids
}

// spell returns the ids of a text of Ends.
func (f *Form) spell(text []int32) (ids []int, ok bool) {
	var bytes []byte
	for i, c := range text {
		if c < 256 {
			bytes = append(bytes, byte(c))
		}
		if c < 256 && i+1 < len(text) {
			continue
		}
		part, ok := f.vocab.Spell(bytes)
		if !ok {
			return nil, false
		}
		if ids, bytes = append(ids, part...), bytes[:0]; c >= 256 {
			ids = append(ids, int(c-256))
		}
	}
	return ids, true
}
