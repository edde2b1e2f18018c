package constrain

// Within: texts that end in time. Of what the form opens, a mask leaves ids after which the text can
// be completed with the ids that are left.

import (
	"slices"

	"picogpt/constrain/internal/automaton"
)

// A limit is the bound of a text.
type limit struct {
	most int   // ids of the whole text; 0: no bound
	ends []end // those that are spelled out, by where they begin
	shut []uint64
	cut  bool // the newest mask shut the ids of shut

	asked, can bool // Bounded
}

// An end is ids that complete a text which has so many already. The next of them is always open.
type end struct {
	after int
	ids   []int
}

// Within bounds the text: it is to be complete after at most so many more ids; 0 takes the bound
// away. Then Mask leaves out ids after which no end in time is known, unless it would leave none. So
// a text that is within its bound, as Least says, is complete in time. Which ids are left depends on
// the ids of the text and on its bound only.
//
// An end need not be the nearest one: Mask may leave out an id after which the text could end in
// time. Forms of which no ends are known, and texts that no id without bytes ends, have no bound.
func (t *Text) Within(ids int) {
	if t.within.most = 0; ids > 0 && t.Bounded() {
		t.within.most = len(t.states) - 1 + ids
	}
}

// Bounded reports whether Within can bound the text.
func (t *Text) Bounded() bool {
	if t.within.asked {
		return t.within.can
	}
	t.within.asked, t.within.can = true, false
	for _, id := range t.ends {
		if len(t.of.vocab.Bytes(id)) > 0 { // which the ends may spell
			return false
		}
	}
	t.within.can = len(t.ends) > 0 && t.of.form.Need(t.of.form.Start()) < never
	return t.within.can
}

// never is more ids than a text has; of ends longer than mostSpelled, only their length is known.
const (
	never       = automaton.Never
	mostSpelled = 1 << 15
)

// Least returns a number of ids with which the text can be completed, not counting one that ends it;
// ok is false if none is known.
func (t *Text) Least() (ids int, ok bool) {
	if t.ended {
		return 0, true
	}
	ids = t.of.form.Need(t.now())
	if rest := t.within.rest(len(t.states) - 1); rest != nil {
		ids = min(ids, len(rest))
	}
	if ids > 0 && ids < mostSpelled {
		ids = min(ids, len(t.of.form.End(t.now())))
	}
	return ids, ids < never
}

// Shut returns the ids that the form leaves open and the newest Mask left out because of Within; nil
// if there are none. It is valid until the next call of Mask.
func (t *Text) Shut() []uint64 {
	if !t.within.cut {
		return nil
	}
	return t.within.shut
}

// rest returns what is left of the end that is spelled out for a text of so many ids, if there is one.
func (w *limit) rest(at int) []int {
	if n := len(w.ends); n > 0 {
		if e := &w.ends[n-1]; at-e.after < len(e.ids) {
			return e.ids[at-e.after:]
		}
	}
	return nil
}

// follow forgets an end that the text does not follow.
func (t *Text) follow(id int) {
	w := &t.within
	if rest := w.rest(len(t.states) - 1); len(rest) > 0 && rest[0] != id {
		w.ends = append(w.ends, end{after: len(t.states)})
	}
}

// inTime removes the ids after which the text has no end in time.
func (t *Text) inTime(open []uint64, steps int) error {
	w, form, at := &t.within, t.of.form, len(t.states)-1
	w.cut = false
	left := w.most - at - 1
	if w.most == 0 || left < 0 || form.Roomy(t.now(), left) {
		return nil
	}
	fit := make([]uint64, len(open))
	if err := form.Mask(t.now(), fit, left, steps); err != nil {
		return err
	}
	rest := w.rest(at)
	if rest == nil && !slices.ContainsFunc(fit, func(word uint64) bool { return word != 0 }) &&
		!form.Accepts(t.now()) {
		if rest = form.End(t.now()); len(rest) == 0 || len(rest) > left+1 {
			return nil // a token that was not open has come
		}
		w.ends = append(w.ends, end{at, rest})
	}
	if len(rest) > 0 {
		fit[rest[0]>>6] |= 1 << (rest[0] & 63)
	}
	if w.shut == nil {
		w.shut = make([]uint64, len(open))
	}
	for i := range open {
		w.shut[i] = open[i] &^ fit[i]
		w.cut = w.cut || w.shut[i] != 0
		open[i] &= fit[i]
	}
	return nil
}
