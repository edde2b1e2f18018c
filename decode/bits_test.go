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

// The values of axes, but for the baseline's, which are 0.
const (
	asSample, inEval, inBatcher, lentToBatcher = 1, 2, 3, 4    // company
	cutBack, aFork, evicted, aPrefix, cutWhole = 1, 2, 3, 4, 5 // cache
	restored, moved                            = 1, 2          // saved
	byText, byModel                            = 1, 2          // steered
	byLookup, byDraft, byForm                  = 1, 2, 3       // drafted
)

// A way is a cell of the table: the index of a value for each axis, or open.
type way [axes]int

const open = -1

// teams are numbers of threads.
var teams = []int{1, 2, 3, 7}

// valuesOf are the names of the values of each axis.
func valuesOf(texts []*subject) [axes][]string {
	names, threaded := make([]string, len(texts)), make([]string, len(teams))
	for i, s := range texts {
		names[i] = s.name
	}
	for i, n := range teams {
		threaded[i] = fmt.Sprint(n, " threads")
	}
	all := slices.DeleteFunc(kernels.Variants(), func(name string) bool { return name == "go" })
	return [axes][]string{
		text:    names,
		kernel:  append([]string{"go"}, all...),
		threads: threaded,
		company: {"alone", "one of many samples", "in one Eval with others", "in a Batcher",
			"a caller's session in a Batcher"},
		cache: {"a new session", "cut back", "a fork", "evicted", "a prefix of the Batcher's",
			"cut back to the whole prompt"},
		split:   {"whole", "one by one", "in pieces"},
		saved:   {"never saved", "saved and restored", "restored on another kernel"},
		steered: {"no edits", "edits of the text", "edits of the model"},
		drafted: {"no drafts", "drafts by lookup", "drafts of a model", "drafts of the form"},
	}
}

// A value is one of an axis.
type value struct{ axis, is int }

// apart reports whether two values cannot be in one cell.
func (l *lab) apart(a, b value) bool {
	if a.axis > b.axis {
		a, b = b, a
	}
	is := func(axis, other int) bool { return a.axis == axis && b.axis == other }
	switch {
	case a.axis == b.axis:
		return a.is != b.is
	case is(text, kernel): // of the demo, pure Go would take seconds
		return l.texts[a.is].shape.Vocab == 0 && b.is == 0
	case is(text, steered):
		return (b.is == 0) != (l.texts[a.is].edits == nil)
	case is(text, drafted): // nothing is forced
		return b.is == byForm && l.texts[a.is].form == ""
	case is(text, cache): // it would hold what edits change, and not be saved
		return b.is == cutWhole && l.texts[a.is].edits != nil
	case is(text, saved): // Save refuses what was edited
		return b.is > 0 && l.texts[a.is].edits != nil && l.texts[a.is].edits[0].From == 0
	case is(saved, steered): // Restore refuses a model with edits
		return a.is > 0 && b.is == byModel
	case is(company, cache): // a Batcher's own sessions are its own
		if a.is == inBatcher {
			return b.is != 0 && b.is != aPrefix
		}
		return b.is == aPrefix
	case is(company, saved):
		return a.is == inBatcher && b.is > 0
	case is(cache, steered): // a model edits all texts alike, so that nothing is shared wrongly
		return a.is == aPrefix && b.is == byModel || a.is == cutWhole && b.is > 0
	case is(cache, saved):
		return a.is == aPrefix && b.is > 0
	case is(cache, drafted):
		return a.is == aPrefix && (b.is == byLookup || b.is == byDraft)
	case is(company, drafted): // only Generate and Samples ask for guesses
		return a.is > asSample && (b.is == byLookup || b.is == byDraft)
	}
	return false
}

// fits reports whether a value can be in a cell.
func (l *lab) fits(w *way, v value) bool {
	for axis, is := range w {
		if is != open && l.apart(value{axis, is}, v) {
			return false
		}
	}
	return true
}

// A pair is what a cell shows together; one value twice where each shall be somewhere.
type pair [2]value

// pairs returns what cells together have to show.
func (l *lab) pairs(single bool) (all []pair) {
	var list []value
	for axis, names := range l.values {
		for is := range names {
			list = append(list, value{axis, is})
		}
	}
	for i, a := range list {
		for _, b := range list[i:] {
			if single == (a == b) && !l.apart(a, b) {
				all = append(all, pair{a, b})
			}
		}
	}
	return all
}

// cover returns few cells that show all pairs: each begins with one that is missing, and then has
// the values that show the most others.
func (l *lab) cover(t *testing.T, all []pair) (cells []way) {
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
		for i := range l.values[axis] {
			is := (i + turn) % len(l.values[axis])
			if !l.fits(w, value{axis, is}) {
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
			t.Errorf("no cell has %s with %s", l.values[p[0].axis][p[0].is],
				l.values[p[1].axis][p[1].is])
		}
		shows(&w, func(p pair) { delete(missing, p) })
		cells = append(cells, w)
	}
	return cells
}

// base returns the baseline of a text.
func (l *lab) base(is int) (w way) {
	if w[text] = is; l.texts[is].edits != nil {
		w[steered] = byText
	}
	return w
}

// name says what a cell has that the baseline of its text has not.
func (l *lab) name(w way) string {
	list, base := []string{l.values[text][w[text]]}, l.base(w[text])
	for axis := range axes {
		if w[axis] != base[axis] {
			list = append(list, l.values[axis][w[axis]])
		}
	}
	return strings.Join(list, ", ")
}

// TestTheSameBits compares each cell with the baseline of its text: each token with its
// log-probability and its alternatives, and rows of logits. Each of the first cells that differ is
// computed again with one value of the baseline, and with one value of its own.
func TestTheSameBits(t *testing.T) {
	l := newLab(t)
	cells := l.cover(t, l.pairs(cases.Short()))
	t.Logf("%d cells", len(cells))
	for r := rand.New(rand.NewPCG(1, 1)); cases.Long && len(cells) < 3000; { // any values together
		var w way
		for axis := range w {
			w[axis] = r.IntN(len(l.values[axis]))
		}
		if l.possible(w) {
			cells = append(cells, w)
		}
	}
	wrong := 0
	for _, w := range cells {
		t.Run(l.name(w), func(t *testing.T) {
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
				what, usual := l.values[axis][w[axis]], l.values[axis][base[axis]]
				if l.possible(without) && l.compute(without) == nil {
					blamed = append(blamed, fmt.Sprintf("right with %q for %q", usual, what))
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
