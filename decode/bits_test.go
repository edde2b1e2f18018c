package decode_test

// Promise 2 as a table: whatever a text is, the ways to compute it give the same bits. Each pair of
// values of two axes is in some cell.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/kernels"
)

// The axes of the table. The first is what is computed; the values of the others are ways to do it,
// of which the first is the baseline's: pure Go, one thread, alone.
const (
	text = iota
	kernel
	threads
	company // who runs in the same Evals
	cache   // what the session was before
	split   // how the prompt is divided
	saved   // whether the session was a file meanwhile
	steered // who has the edits
	drafted // who guesses tokens
	axes
)

// A way is a cell of the table: the index of a value for each axis, or open.
type way [axes]int

const open = -1

// valuesOf are the names of the values of each axis.
func valuesOf(texts []*subject) [axes][]string {
	names := make([]string, len(texts))
	for i, s := range texts {
		names[i] = s.name
	}
	all := slices.DeleteFunc(kernels.Variants(), func(name string) bool { return name == "go" })
	return [axes][]string{
		text:    names,
		kernel:  append([]string{"go"}, all...),
		threads: {"1 thread", "2 threads", "3 threads", "7 threads"},
		company: {"alone", "one of many samples", "in one Eval with others", "in a Batcher",
			"a caller's session in a Batcher"},
		cache:   {"a new session", "cut back", "a fork", "evicted", "a prefix of the Batcher's"},
		split:   {"whole", "one by one", "in pieces"},
		saved:   {"never saved", "saved and restored", "restored on another kernel"},
		steered: {"no edits", "edits of the text", "edits of the model"},
		drafted: {"no drafts", "drafts by lookup", "drafts of a model", "drafts of the form"},
	}
}

// A value is one of an axis.
type value struct{ axis, is int }

// apart reports whether two values cannot be in one cell.
func apart(texts []*subject, a, b value) bool {
	if a.axis > b.axis {
		a, b = b, a
	}
	is := func(axis, other int) bool { return a.axis == axis && b.axis == other }
	switch {
	case a.axis == b.axis:
		return a.is != b.is
	case is(text, kernel): // of the demo, pure Go would take seconds
		return texts[a.is].shape.Vocab == 0 && b.is == 0
	case is(text, steered):
		return (b.is == 0) != (texts[a.is].edits == nil)
	case is(text, drafted): // nothing is forced
		return b.is == 3 && texts[a.is].form == ""
	case is(text, saved): // Save refuses what was edited
		return b.is > 0 && texts[a.is].edits != nil && texts[a.is].edits[0].From == 0
	case is(saved, steered): // Restore refuses a model with edits
		return a.is > 0 && b.is == 2
	case is(company, cache): // a Batcher's own sessions are its own
		return (a.is == 3) != (b.is == 4) && (b.is > 0 || a.is != 3)
	case is(company, saved):
		return a.is == 3 && b.is > 0
	case is(cache, steered): // a model edits all texts alike, so that nothing is shared wrongly
		return a.is == 4 && b.is == 2
	case is(cache, saved):
		return a.is == 4 && b.is > 0
	case is(cache, drafted):
		return a.is == 4 && (b.is == 1 || b.is == 2)
	case is(company, drafted): // only Generate and Samples ask for guesses
		return a.is > 1 && (b.is == 1 || b.is == 2)
	}
	return false
}

// fits reports whether a value can be in a cell.
func (w *way) fits(texts []*subject, v value) bool {
	for axis, is := range w {
		if is != open && apart(texts, value{axis, is}, v) {
			return false
		}
	}
	return true
}

// A pair is what a cell shows together; one value twice where each shall be somewhere.
type pair [2]value

// pairs returns what cells together have to show.
func pairs(texts []*subject, values [axes][]string, single bool) (all []pair) {
	var list []value
	for axis, names := range values {
		for is := range names {
			list = append(list, value{axis, is})
		}
	}
	for i, a := range list {
		for _, b := range list[i:] {
			if single == (a == b) && !apart(texts, a, b) {
				all = append(all, pair{a, b})
			}
		}
	}
	return all
}

// cover returns few cells that show all pairs: each begins with one that is missing, and then has
// the values that show the most others.
func cover(t *testing.T, texts []*subject, values [axes][]string, all []pair) (cells []way) {
	missing := map[pair]bool{}
	for _, p := range all {
		missing[p] = true
	}
	shows := func(w *way, f func(pair)) {
		for i, a := range w {
			for j, b := range w[i:] {
				if a != open && b != open {
					f(pair{{i, a}, {i + j, b}})
				}
			}
		}
	}
	var fill func(w *way, turn int) bool
	fill = func(w *way, turn int) bool {
		axis := slices.Index(w[:], open)
		if axis < 0 {
			return true
		}
		type choice struct{ is, gain int }
		var choices []choice
		for i := range values[axis] {
			is := (i + turn) % len(values[axis])
			if !w.fits(texts, value{axis, is}) {
				continue
			}
			with, gain := *w, 0
			with[axis] = is
			shows(&with, func(p pair) {
				if missing[p] {
					gain++
				}
			})
			choices = append(choices, choice{is, gain})
		}
		slices.SortStableFunc(choices, func(a, b choice) int { return b.gain - a.gain })
		for _, c := range choices {
			if w[axis] = c.is; fill(w, turn) {
				return true
			}
		}
		w[axis] = open
		return false
	}
	for _, p := range all {
		if !missing[p] {
			continue
		}
		var w way
		for i := range w {
			w[i] = open
		}
		w[p[0].axis], w[p[1].axis] = p[0].is, p[1].is
		if !fill(&w, len(cells)) {
			t.Errorf("no cell has %s with %s", values[p[0].axis][p[0].is], values[p[1].axis][p[1].is])
		}
		shows(&w, func(p pair) { delete(missing, p) })
		cells = append(cells, w)
	}
	return cells
}

// base returns the baseline of a text.
func (l *lab) base(is int) (w way) {
	if w[text] = is; l.texts[is].edits != nil {
		w[steered] = 1
	}
	return w
}

// name says what a cell has that the baseline of its text has not.
func (w way) name(l *lab, values [axes][]string) string {
	list, base := []string{values[text][w[text]]}, l.base(w[text])
	for axis := range axes {
		if w[axis] != base[axis] {
			list = append(list, values[axis][w[axis]])
		}
	}
	return strings.Join(list, ", ")
}

// TestTheSameBits compares each cell with the baseline of its text: each token with its
// log-probability and its alternatives, and rows of logits. Each of the first cells that differ is
// computed again with one value of the baseline, and with one value of its own.
func TestTheSameBits(t *testing.T) {
	l := newLab(t)
	values := valuesOf(l.texts)
	cells := cover(t, l.texts, values, pairs(l.texts, values, cases.Short()))
	t.Logf("%d cells", len(cells))
	for r := rand.New(rand.NewPCG(1, 1)); cases.Long && len(cells) < 3000; { // any values together
		var w way
		for axis := range w {
			w[axis] = r.IntN(len(values[axis]))
		}
		if l.possible(w) {
			cells = append(cells, w)
		}
	}
	wrong := 0
	for _, w := range cells {
		t.Run(w.name(l, values), func(t *testing.T) {
			err := l.compute(w)
			if err == nil {
				return
			}
			var blamed []string
			base := l.base(w[text])
			wrong++
			for axis := range axes {
				if w[axis] == base[axis] || wrong > 5 { // of all cells it would take long
					continue
				}
				without, only := w, base
				without[axis], only[axis] = base[axis], w[axis]
				what := values[axis][w[axis]]
				if l.possible(without) && l.compute(without) == nil {
					blamed = append(blamed, fmt.Sprintf("right with %q for %q", values[axis][base[axis]], what))
				}
				if l.possible(only) && l.compute(only) != nil {
					blamed = append(blamed, fmt.Sprintf("wrong with %q alone", what))
				}
			}
			t.Errorf("%v\n%s", err, strings.Join(blamed, "\n"))
		})
	}
	if !cases.Short() {
		l.checkUse(t)
	}
}
