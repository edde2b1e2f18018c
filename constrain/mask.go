package constrain

// Masks of grammars: one walk over the trie with a machine, stored with its states.

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"picogpt/internal/quote"
)

// A grammarForm follows texts of a network: of a regex, a grammar or choices. Any number of texts
// may use it concurrently.
type grammarForm struct {
	vocab   *trie
	plainly []uint16 // the classes that have characters of plain ids
	size    atomic.Int64
	long    atomic.Int32 // masks that are being computed and may take long

	mu sync.Mutex // for the machine
	m  *machine
}

// A grammarState is a state of a text: a set and an incomplete character.
type grammarState struct {
	set *set
	partial
}

// newForm returns the form of a network. Characters that no id stands for are not in its texts.
func newForm(what string, v *trie, n *network, meter *meter) (*grammarForm, error) {
	if len(v.lost) > 0 {
		n.only(v.lost.not())
	}
	m, err := newMachine(what, n, meter)
	if err != nil {
		return nil, err
	}
	f := &grammarForm{vocab: v, m: m, plainly: m.alpha.those(v.plainly)}
	f.measure()
	return f, nil
}

// measure records the memory. The caller holds f.mu, or nobody else has the form yet.
func (f *grammarForm) measure() { f.size.Store(int64(f.m.bytes(f.vocab.words()))) }

func (f *grammarForm) held() int { return int(f.size.Load()) }

func (f *grammarForm) busy() bool { return f.long.Load() > 0 }

// start returns the state of an empty text. If a token can be read both as its bytes and as a whole,
// a text has several states.
func (f *grammarForm) start() any { return []grammarState{{set: f.m.first}} }

func (f *grammarForm) accepts(state any) bool {
	return slices.ContainsFunc(state.([]grammarState), func(s grammarState) bool {
		return s.form == border && s.set.accepts
	})
}

func (f *grammarForm) mask(state any, open []uint64, steps int) error {
	quick := steps < maxWork
	switch {
	case !quick:
		f.long.Add(1)
		defer f.long.Add(-1)
		f.mu.Lock()
		steps = math.MaxInt // the machine has its own bound
	case !f.mu.TryLock():
		return errSteps
	}
	defer f.mu.Unlock()
	defer f.measure()
	f.m.begin()
	if quick {
		f.m.most, f.m.over = steps, errSteps
	}
	for _, s := range state.([]grammarState) {
		if s.set != deadSet {
			f.maskOf(s, open, steps)
		}
		if f.m.err != nil {
			return f.m.err
		}
	}
	return nil
}

// maskOf sets the ids that may follow a state. It stores them if no character is incomplete.
func (f *grammarForm) maskOf(s grammarState, open []uint64, steps int) {
	s.set = f.m.current(s.set)
	if s.form != border {
		f.walk(f.vocab.nodes, s, open, steps)
		return
	}
	if s.set.mask == nil {
		mask := make([]uint64, len(open))
		f.vocab.walkPlain(f.ahead(s.set), mask, func(nodes []node) { f.walk(nodes, s, mask, steps) })
		f.m.eachToken(s.set, func(id int32, not bool) { f.openToken(mask, id, not) })
		if f.m.err != nil {
			return
		}
		f.m.keep(s.set, mask)
	}
	for i, w := range s.set.mask {
		open[i] |= w
	}
}

// ahead looks ahead from a state. It does so only if the machine distinguishes few characters.
func (f *grammarForm) ahead(s *set) lookAhead {
	if len(f.plainly) > maxAbreast {
		return lookAhead{}
	}
	return aheadOf(s, len(f.vocab.plain)-1, func(s *set, _ int, to func(*set, bool)) {
		if f.m.work > maxWork/8 { // the walk needs the rest
			to(s, true)
			to(deadSet, false)
			return
		}
		for _, class := range f.plainly {
			next := f.m.step(s, class)
			to(next, next != deadSet)
		}
	})
}

// walk sets the ids whose bytes may follow a state.
func (f *grammarForm) walk(nodes []node, s grammarState, open []uint64, steps int) {
	v := f.vocab
	path := make([]grammarState, v.longest+1) // the state after each byte of the node
	path[0] = s
	visited := 0
	for i := 1; i < len(nodes) && f.m.err == nil; {
		if visited++; visited > steps {
			f.m.err = errSteps
			return
		}
		n := &nodes[i]
		next, ok := f.stepByte(path[n.depth-1], n.b)
		if !ok {
			i += int(n.size)
			continue
		}
		path[n.depth] = next
		v.open(open, n.id)
		i++
	}
}

// stepByte returns the state after a byte; ok is false if no text of the form has it there.
func (f *grammarForm) stepByte(s grammarState, b byte) (next grammarState, ok bool) {
	if s.form != border {
		p, ok := s.nextUTF8(b)
		if !ok {
			return s, false
		}
		return f.arrive(s.set, p)
	}
	if b < 0x80 {
		next.set = f.m.step(s.set, f.m.alpha.ascii[b])
		return next, next.set != deadSet
	}
	p, ok := startUTF8(b)
	if !ok {
		return s, false
	}
	return f.arrive(s.set, p)
}

// arrive checks that an incomplete character can become one that may follow.
func (f *grammarForm) arrive(s *set, p partial) (grammarState, bool) {
	lo, hi := p.runes()
	if p.left == 0 {
		next := f.m.step(s, f.m.alpha.of(lo))
		return grammarState{set: next}, next != deadSet
	}
	live := f.m.alpha.any(lo, hi, func(class uint16) bool { return f.m.step(s, class) != deadSet })
	return grammarState{s, p}, live
}

// openToken sets the id of a token that is read as a whole, or all others that have bytes.
func (f *grammarForm) openToken(open []uint64, token int32, not bool) {
	if !not {
		open[token>>6] |= 1 << (token & 63)
		return
	}
	for id := range f.vocab.size {
		if id != int(token) && len(f.vocab.bytes[id]) > 0 {
			open[id>>6] |= 1 << (id & 63)
		}
	}
}

func (f *grammarForm) accept(state any, id int) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.measure()
	f.m.begin()
	var after []grammarState
	add := func(s grammarState) {
		if !slices.Contains(after, s) {
			after = append(after, s)
		}
	}
	bytes := f.vocab.bytes[id]
	for _, s := range state.([]grammarState) {
		if next, ok := f.run(s, bytes); ok {
			add(next)
		}
		if s.form != border {
			continue
		}
		whole := f.m.afterToken(s.set, func(token int32, not bool) bool {
			return (id == int(token)) != not && (!not || len(bytes) > 0)
		})
		if whole != deadSet {
			add(grammarState{set: whole})
		}
	}
	if f.m.err != nil || len(after) == 0 {
		return nil, f.m.err
	}
	return after, nil
}

// run returns the state after some bytes.
func (f *grammarForm) run(s grammarState, bytes []byte) (grammarState, bool) {
	if len(bytes) == 0 || s.set == deadSet {
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

// newRegexForm returns the form of texts that match a regex.
func newRegexForm(v *trie, re string, m *meter) (*grammarForm, error) {
	what := "regex " + quote.Short(re, 60)
	n, err := newRegex(what, re, m)
	if err != nil {
		return nil, m.named(what, err)
	}
	f, err := newForm(what, v, n, m)
	return f, m.named(what, err)
}
