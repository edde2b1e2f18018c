package grammar

// Masks of grammars: one walk over the trie with a machine, stored with its states.

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/charset"
	"picogpt/constrain/internal/meter"
	"picogpt/constrain/internal/trie"
	"picogpt/internal/quote"
)

// A Form follows texts of a network: of a regex, a grammar or choices. Any number of texts
// may use it concurrently.
type Form struct {
	vocab   *trie.Trie
	plainly []uint16 // the classes that have characters of plain ids
	size    atomic.Int64
	long    atomic.Int32 // masks that are being computed and may take long

	mu sync.Mutex // for the machine
	m  *automaton.Machine
}

// A place is a state of a text: a set and an incomplete character.
type place struct {
	set *automaton.State
	charset.Partial
}

// newForm returns the form of a network. Characters that no id stands for are not in its texts.
func newForm(what string, v *trie.Trie, n *automaton.Network, meter *meter.Meter) (*Form, error) {
	if len(v.Lost) > 0 {
		n.Only(v.Lost.Not())
	}
	m, err := automaton.NewMachine(what, n, meter)
	if err != nil {
		return nil, err
	}
	f := &Form{vocab: v, m: m, plainly: m.Alpha.Those(v.Plainly)}
	f.measure()
	return f, nil
}

// measure records the memory. The caller holds f.mu, or nobody else has the form yet.
func (f *Form) measure() { f.size.Store(int64(f.m.Bytes(f.vocab.Words()))) }

func (f *Form) Bytes() int { return int(f.size.Load()) }

func (f *Form) Busy() bool { return f.long.Load() > 0 }

// Start returns the state of an empty text. If a token can be read both as its bytes and as a whole,
// a text has several states.
func (f *Form) Start() any { return []place{{set: f.m.First}} }

func (f *Form) Accepts(state any) bool {
	return slices.ContainsFunc(state.([]place), func(s place) bool {
		return s.Form == charset.Border && s.set.Accepts
	})
}

func (f *Form) Mask(state any, open []uint64, steps int) error {
	quick := steps < automaton.MaxWork
	switch {
	case !quick:
		f.long.Add(1)
		defer f.long.Add(-1)
		f.mu.Lock()
		steps = math.MaxInt // the machine has its own bound
	case !f.mu.TryLock():
		return meter.ErrSteps
	}
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	if quick {
		f.m.Limit(steps, meter.ErrSteps)
	}
	for _, s := range state.([]place) {
		if s.set != automaton.Dead {
			f.maskOf(s, open, steps)
		}
		if f.m.Err != nil {
			return f.m.Err
		}
	}
	return nil
}

// maskOf sets the ids that may follow a state. It stores them if no character is incomplete.
func (f *Form) maskOf(s place, open []uint64, steps int) {
	s.set = f.m.Current(s.set)
	if s.Form != charset.Border {
		f.walk(f.vocab.Nodes, s, open, steps)
		return
	}
	if s.set.Mask == nil {
		mask := make([]uint64, len(open))
		f.vocab.WalkPlain(f.ahead(s.set), mask, func(nodes []trie.Node) { f.walk(nodes, s, mask, steps) })
		f.m.EachToken(s.set, func(id int32, not bool) { f.openToken(mask, id, not) })
		if f.m.Err != nil {
			return
		}
		f.m.Keep(s.set, mask)
	}
	for i, w := range s.set.Mask {
		open[i] |= w
	}
}

// ahead looks ahead from a state. It does so only if the machine distinguishes few characters.
func (f *Form) ahead(s *automaton.State) trie.LookAhead {
	if len(f.plainly) > trie.MaxAbreast {
		return trie.LookAhead{}
	}
	return trie.Ahead(s, len(f.vocab.Plain)-1, func(s *automaton.State, _ int, to func(*automaton.State, bool)) {
		if f.m.Work > automaton.MaxWork/8 { // the walk needs the rest
			to(s, true)
			to(automaton.Dead, false)
			return
		}
		for _, class := range f.plainly {
			next := f.m.Step(s, class)
			to(next, next != automaton.Dead)
		}
	})
}

// walk sets the ids whose bytes may follow a state.
func (f *Form) walk(nodes []trie.Node, s place, open []uint64, steps int) {
	v := f.vocab
	path := make([]place, v.Longest+1) // the state after each byte of the node
	path[0] = s
	visited := 0
	for i := 1; i < len(nodes) && f.m.Err == nil; {
		if visited++; visited > steps {
			f.m.Err = meter.ErrSteps
			return
		}
		n := &nodes[i]
		next, ok := f.stepByte(path[n.Depth-1], n.Byte)
		if !ok {
			i += int(n.Size)
			continue
		}
		path[n.Depth] = next
		v.Open(open, n.ID)
		i++
	}
}

// stepByte returns the state after a byte; ok is false if no text of the form has it there.
func (f *Form) stepByte(s place, b byte) (next place, ok bool) {
	if s.Form != charset.Border {
		p, ok := s.NextUTF8(b)
		if !ok {
			return s, false
		}
		return f.arrive(s.set, p)
	}
	if b < 0x80 {
		next.set = f.m.Step(s.set, f.m.Alpha.ASCII[b])
		return next, next.set != automaton.Dead
	}
	p, ok := charset.StartUTF8(b)
	if !ok {
		return s, false
	}
	return f.arrive(s.set, p)
}

// arrive checks that an incomplete character can become one that may follow.
func (f *Form) arrive(s *automaton.State, p charset.Partial) (place, bool) {
	lo, hi := p.Runes()
	if p.Left == 0 {
		next := f.m.Step(s, f.m.Alpha.Of(lo))
		return place{set: next}, next != automaton.Dead
	}
	live := f.m.Alpha.Any(lo, hi, func(class uint16) bool { return f.m.Step(s, class) != automaton.Dead })
	return place{s, p}, live
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

func (f *Form) Accept(state any, id int) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	var after []place
	add := func(s place) {
		if !slices.Contains(after, s) {
			after = append(after, s)
		}
	}
	bytes := f.vocab.Bytes[id]
	for _, s := range state.([]place) {
		if next, ok := f.run(s, bytes); ok {
			add(next)
		}
		if s.Form != charset.Border {
			continue
		}
		whole := f.m.AfterToken(s.set, func(token int32, not bool) bool {
			return (id == int(token)) != not && (!not || len(bytes) > 0)
		})
		if whole != automaton.Dead {
			add(place{set: whole})
		}
	}
	if f.m.Err != nil || len(after) == 0 {
		return nil, f.m.Err
	}
	return after, nil
}

// run returns the state after some bytes.
func (f *Form) run(s place, bytes []byte) (place, bool) {
	if len(bytes) == 0 || s.set == automaton.Dead {
		return s, false
	}
	for _, b := range bytes {
		next, ok := f.stepByte(s, b)
		if !ok {
			return s, false
		}
		s = next
	}
	return s, true
}

// Regex returns the form of texts that match a regex.
func Regex(v *trie.Trie, re string, m *meter.Meter) (*Form, error) {
	what := "regex " + quote.Short(re, 60)
	n, err := automaton.Regex(what, re, m)
	if err != nil {
		return nil, m.Named(what, err)
	}
	f, err := newForm(what, v, n, m)
	return f, m.Named(what, err)
}
