// Package grammar has the forms whose texts are read by rules: regexes, grammars and choices. Their
// parsers make networks (gbnf.go, choice.go). A [Form] has the masks: each is a walk over the trie of
// the ids with a machine, stored with the state of the machine.
package grammar

// Form: texts of a network and their masks.

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
)

// A Form follows texts of a network: of a regex, a grammar or choices. Any number of texts
// may use it concurrently.
type Form struct {
	vocab   *trie.Trie
	plainly []uint16 // the classes that have characters of plain ids
	size    atomic.Int64
	long    atomic.Int32 // masks that are being computed and may take long

	mu   sync.Mutex // for the machine
	m    *automaton.Machine
	ends *automaton.Ends // nil: no text has asked for its end

	inner   []Inner           // by their numbers in the network
	first   []*[256]beginning // of each, once they are asked for
	priced  []bool            // whether they have needs
	start   []place
	tokens  bool // some are read as a whole
	endless bool // an inner form has no known end
}

// A spot is a state of the machine and an incomplete character.
type spot struct {
	at *automaton.State
	automaton.Partial
}

// A place is a spot; or the state of a form, and the spot after its end.
type place struct {
	spot
	form  int // 1 + its number; 0: none
	in    any
	begun bool // a byte of the form was read
}

// New returns the form of a network, with the forms that it reads. Characters that no id stands for
// are not in its texts.
func New(
	what string, v *trie.Trie, n *automaton.Network, inner []Inner, meter *automaton.Meter,
) (*Form, error) {
	surrogates := automaton.Range{Lo: 0xd800, Hi: 0xdfff} // which no text has
	n.Only(automaton.NormalSet(append(slices.Clone(v.Lost), surrogates)).Not())
	m, err := automaton.NewMachine(what, n, meter)
	if err != nil {
		return nil, err
	}
	if m.Crowded(maxPlaces - 1) {
		return nil, fmt.Errorf("%s: more than %d schemas may begin at one place: give them different "+
			"beginnings, or make them one schema with anyOf", what, maxPlaces-1)
	}
	f := &Form{vocab: v, m: m, plainly: m.Alpha.Those(v.Plainly), inner: inner,
		first: make([]*[256]beginning, len(inner)), priced: make([]bool, len(inner)), tokens: m.Tokens()}
	f.start = f.add(nil, place{spot: spot{at: m.First}})
	f.measure()
	meter.Fail(m.Err)
	return f, meter.Failed()
}

// measure records the memory. The caller holds f.mu, or nobody else has the form yet.
func (f *Form) measure() { f.size.Store(int64(f.m.Bytes(f.vocab.Words()))) }

// Bytes returns the memory in bytes, approximately.
func (f *Form) Bytes() int {
	n := int(f.size.Load())
	for _, in := range f.inner {
		n += in.Bytes()
	}
	return n
}

// Busy reports whether Accept may have to wait for the mask of another text.
func (f *Form) Busy() bool { return f.long.Load() > 0 }

// Start returns the state of an empty text: places, several if a token can be read both as its
// bytes and as a whole, or where forms may begin or end.
func (f *Form) Start() any { return f.start }

// Accepts reports whether a text may end.
func (f *Form) Accepts(state any) bool {
	return slices.ContainsFunc(state.([]place), func(s place) bool {
		return s.Form == automaton.Border && s.form == 0 && s.at.Accepts
	})
}

// Mask adds the open ids, except those that end a text, in some steps at most. Of ids after which
// the text needs more than left others, as far as is known, it adds none.
func (f *Form) Mask(state any, open []uint64, left, steps int) error {
	quick := steps < automaton.MaxWork
	switch {
	case !quick:
		f.long.Add(1)
		defer f.long.Add(-1)
		f.mu.Lock()
		steps = math.MaxInt // the machine has its own bound
	case !f.mu.TryLock():
		return automaton.ErrSteps
	}
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	if quick {
		f.m.Limit(steps, automaton.ErrSteps)
	}
	places := state.([]place)
	within := f.walk(open, left, steps) // of all inner forms
	if quick {
		within.steps /= len(places)
	}
	for _, inside := range []bool{false, true} {
		for _, s := range places {
			switch {
			case s.form > 0 != inside || s.at == automaton.Dead && !inside:
			case !inside:
				f.maskOf(s.spot, open, left, steps)
			case f.ends == nil && !f.tokens && f.vocab.All(open):
				return nil // a text ends in the same part of a character, however it is read
			default:
				f.maskInside(within, s)
			}
			if f.m.Err != nil {
				return f.m.Err
			}
		}
	}
	return nil
}

// maskOf sets the ids that may follow a state. It stores them, with the numbers of ids left for which
// they are the same, if no character is incomplete.
func (f *Form) maskOf(s spot, open []uint64, left, steps int) {
	s.at = f.m.Current(s.at)
	if s.Form != automaton.Border {
		f.walk(open, left, steps).below(f.vocab.Nodes, 0, s)
		return
	}
	mask := s.at.Mask(left)
	if mask == nil {
		w := f.walk(make([]uint64, len(open)), left, steps)
		f.vocab.WalkPlain(w.ahead(s.at), w.open, func(nodes []trie.Node) { w.below(nodes, 0, s) })
		w.tokens(s.at)
		w.beyond(0, s)
		if mask = w.open; f.m.Err != nil {
			return
		}
		if f.ends == nil {
			w.Least = anyNumber
		}
		f.m.Keep(s.at, automaton.Mask{Least: w.Least, Under: w.Under, Open: mask})
	}
	for i, w := range mask {
		open[i] |= w
	}
}

// anyNumber of ids may follow.
const anyNumber = math.MaxInt

// A walk sets the ids that may follow a state.
type walk struct {
	automaton.Window // if there are ends
	f                *Form
	open             []uint64
	steps            int
	seen             map[entry][]uint64
	begun            map[*automaton.State]*begun
}

func (f *Form) walk(open []uint64, left, steps int) *walk {
	window := automaton.Window{Left: left, Under: anyNumber}
	return &walk{f: f, open: open, steps: steps, Window: window}
}

// ahead looks ahead from a state. It does so only if the machine distinguishes few characters.
func (w *walk) ahead(s *automaton.State) trie.LookAhead {
	f := w.f
	if len(f.plainly) > trie.MaxAbreast {
		return trie.LookAhead{}
	}
	type follow = func(s *automaton.State, live, open bool)
	return trie.Ahead(s, len(f.vocab.Plain)-1, func(s *automaton.State, n int, to follow) {
		if f.m.Work > automaton.MaxWork/8 { // the walk needs the rest
			to(s, true, true)
			to(automaton.Dead, false, false)
			return
		}
		for _, class := range f.plainly {
			next := f.m.Step(s, class)
			live := next != automaton.Dead
			to(next, live, live && w.fits(spot{at: next}))
		}
	})
}

// below sets the ids below a node of a trie whose bytes the rules read after a state.
func (w *walk) below(nodes []trie.Node, from int, s spot) {
	w.nodes(nodes, from, s, func(i int, next spot) bool {
		if n := &nodes[i]; n.ID >= 0 && w.fits(next) {
			w.f.vocab.Open(w.open, n.ID)
		}
		return true
	})
}

// beyond sets those whose bytes go on in forms that begin there, of ids that are not open yet.
func (w *walk) beyond(from int, s spot) {
	if len(w.f.inner) == 0 || w.full(from) {
		return
	}
	w.nodes(w.f.vocab.Nodes, from, s, func(i int, next spot) bool {
		if w.full(i) {
			return false
		}
		if next.Form == automaton.Border {
			w.into(i, next.at)
		}
		return true
	})
}

// full reports whether all ids below a node are open.
func (w *walk) full(i int) bool {
	nodes := w.f.vocab.Nodes
	for _, n := range nodes[i+1 : i+int(nodes[i].Size)] {
		if n.ID >= 0 && w.open[n.ID>>6]>>(n.ID&63)&1 == 0 {
			return false
		}
	}
	return true
}

// nodes calls visit with the nodes below one whose bytes the rules read after a state, and the
// states after them: not with those below a node of which visit returns false.
func (w *walk) nodes(nodes []trie.Node, from int, s spot, visit func(i int, next spot) bool) {
	f, visited := w.f, 0
	trie.Walk(f.vocab, nodes, from, s, func(i int, before, next *spot) (ok bool) {
		if visited++; visited > w.steps && f.m.Err == nil {
			f.m.Err = automaton.ErrSteps
		}
		if f.m.Err == nil {
			*next, ok = f.stepByte(*before, nodes[i].Byte)
		}
		return ok && visit(i, *next)
	})
}

// tokens sets the ids that are read whole after a state.
func (w *walk) tokens(s *automaton.State) {
	w.f.m.EachToken(s, w.f.ends, func(id int32, not bool, need int) {
		if w.Has(need) {
			w.f.openToken(w.open, id, not)
		}
	})
}

// stepByte returns the state after a byte; ok is false if no text of the form has it there.
func (f *Form) stepByte(s spot, b byte) (next spot, ok bool) {
	if s.Form == automaton.Border && b < 0x80 {
		next.at = f.m.Step(s.at, f.m.Alpha.ASCII[b])
		return next, next.at != automaton.Dead
	}
	p, ok := s.NextUTF8(b)
	if !ok {
		return s, false
	}
	return f.arrive(s.at, p)
}

// arrive checks that an incomplete character can become one that may follow.
func (f *Form) arrive(s *automaton.State, p automaton.Partial) (spot, bool) {
	lo, hi := p.Runes()
	if p.Left == 0 {
		next := f.m.Step(s, f.m.Alpha.Of(lo))
		return spot{at: next}, next != automaton.Dead
	}
	live := f.m.Alpha.Any(lo, hi, func(class uint16) bool {
		return f.m.Step(s, class) != automaton.Dead
	})
	return spot{s, p}, live
}

// openToken sets the id of a token that is read as a whole, or all others that have bytes.
func (f *Form) openToken(open []uint64, token int32, not bool) {
	if !not {
		open[token>>6] |= 1 << (token & 63)
		return
	}
	for id := range f.vocab.Size {
		if id != int(token) && len(f.vocab.Bytes[id]) > 0 {
			open[id>>6] |= 1 << (id & 63)
		}
	}
}

// Accept returns the state after an id, or nil if the id is not open.
func (f *Form) Accept(state any, id int) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	bytes := f.vocab.Bytes[id]
	after := f.run(state.([]place), bytes)
	for _, s := range state.([]place) {
		if s.Form != automaton.Border || s.form > 0 {
			continue
		}
		whole := f.m.AfterToken(s.at, func(token int32, not bool) bool {
			return (id == int(token)) != not && (!not || len(bytes) > 0)
		})
		if whole != automaton.Dead {
			after = f.add(after, place{spot: spot{at: whole}})
		}
	}
	if f.m.Err != nil || len(after) == 0 {
		return nil, f.m.Err
	}
	return f.fewer(after), nil
}

// run returns the places after some bytes.
func (f *Form) run(places []place, bytes []byte) (after []place) {
	if f.Mixed() {
		return f.runMixed(places, bytes)
	}
	for _, s := range places {
		at, ok := s.spot, len(bytes) > 0 && s.at != automaton.Dead
		for i := 0; ok && i < len(bytes); i++ {
			at, ok = f.stepByte(at, bytes[i])
		}
		if ok {
			after = f.add(after, place{spot: at})
		}
	}
	return after
}

// Forced returns the bytes that must follow a state, at most so many and a character. It follows
// the rules while they read one character and nothing else.
func (f *Form) Forced(state any, most int) (forced []byte) {
	places := state.([]place)
	if len(places) != 1 || places[0].Form != automaton.Border || f.Busy() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	for at := places[0].at; len(forced) < most; {
		r, ok := f.m.Only(at)
		if !ok {
			break
		}
		at = f.m.Step(at, f.m.Alpha.Of(r))
		if f.m.Err != nil || at == automaton.Dead {
			break
		}
		forced = utf8.AppendRune(forced, r)
	}
	return forced
}
