package automaton

// Machine: a network as an automaton whose states are made when a text first reaches them.

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"
)

// Bounds of machines.
const (
	// states that are stored; if there are more, all are dropped and made again
	maxStates = 4096
	maxMasks  = 512     // masks that are stored
	maxItems  = 8192    // positions in the network that one state may hold
	maxHeld   = 1 << 20 // positions of all stored states
	maxSeen   = 1 << 12 // positions for which a machine keeps memory
	MaxWork   = 1 << 20 // positions that may be visited for one mask
)

// A Machine runs a network. Its states are sets of positions, as in any automaton that is made from
// rules. A position is a node and the stacks of nodes at which the calling rules continue. States
// and their steps are made when they are first needed, and their number is bounded. One goroutine
// at a time may use a machine.
type Machine struct {
	net     *Network
	Alpha   *Alphabet
	reads   [][]uint64 // [charset] bit class: the charset contains these characters
	tooMuch error      // the error for a text
	meter   *Meter     // while a table is made from the machine
	First   *State     // the state at the beginning of a text
	Not     bool       // for a table: what does not match
	fixed   int        // bytes of memory of the fields above

	age    int // how often all states were dropped
	states map[string]*State
	stacks map[stackKey]*stack
	unions [2]map[[2]*stack]*stack // new ones, and older ones
	made   uint32                  // number of stacks and states so far
	masks  int                     // stored ones
	kept   int                     // positions of all states
	Work   int
	pause  int   // the work at which other goroutines may run
	most   int   // bound of the work of this call
	over   error // the error beyond that bound
	Err    error
	// Of the current search. A place is twice a node, and 1 if its rule was called in the search, so
	// that it has read nothing.
	todo  []int32  // places that were reached, each again if its stacks are more
	calls []int32  // those of them that call rules
	found []int32  // those of them that read, or end rules
	now   uint32   // in at: the place waits; now+1: it was followed
	at    []uint32 // [place]
	of    []*stack // [place] its stacks
	list  []position
	key   []byte
}

// A position is one place of a text in the rules.
type position struct {
	node  int32
	stack *stack
}

// A State is a state of a machine: the positions whose nodes read something, sorted.
type State struct {
	positions []position
	Accepts   bool
	tokens    bool // some position reads a whole token, or a text of a form
	age       int
	next      []*State // by class; nil if not known
	masks     []Mask
	key       string
	ids       int32  // 1 + those of its end, of Ends; 0: not known
	number    uint32 // no other has it
}

// A Mask holds the ids that may follow a state, if the text may have so many after them: at least
// Least and fewer than Under, or any number from Least on if Under is math.MaxInt.
type Mask struct {
	Least, Under int
	Open         []uint64
}

// A Window is a number of ids that may follow, and those for which what is open is the same: at least
// Least and fewer than Under.
type Window struct{ Left, Least, Under int }

// Has reports whether an id is open after which a text needs so many others.
func (w *Window) Has(need int) bool {
	if need > w.Left {
		w.Under = min(w.Under, need)
		return false
	}
	w.Least = max(w.Least, need)
	return true
}

// Mask returns the mask that is stored for so many ids, or nil.
func (s *State) Mask(left int) []uint64 {
	for _, m := range s.masks {
		if m.Least <= left && (left < m.Under || m.Under == math.MaxInt) {
			return m.Open
		}
	}
	return nil
}

// Roomy reports whether a mask is stored for so many ids that leaves none out.
func (s *State) Roomy(left int) bool {
	return slices.ContainsFunc(s.masks, func(m Mask) bool {
		return m.Least <= left && m.Under == math.MaxInt
	})
}

// Dead is the state in which nothing can follow.
var Dead = &State{}

// NewMachine returns the machine of a network. what is for errors.
func NewMachine(what string, n *Network, meter *Meter) (*Machine, error) {
	m := newMachine(what, n, meter)
	if m == nil {
		meter.Fail(fmt.Errorf("%s: no text can match it", what))
	}
	return m, meter.Failed()
}

// newMachine is NewMachine, but for networks without texts, of which it returns nil.
func newMachine(what string, n *Network, meter *Meter) *Machine {
	n.prune()
	if n.Check(what) != nil || !n.nodes[n.rules[0].start].alive {
		return nil
	}
	n.calls()
	alpha := NewAlphabet(what, n.sets, meter)
	m := &Machine{net: n, Alpha: alpha}
	words := (len(alpha.Members) + 63) / 64
	m.reads = make([][]uint64, len(n.sets))
	for i, s := range n.sets {
		if meter.Charge(4+words) != nil {
			return nil
		}
		m.reads[i] = make([]uint64, words)
		for _, r := range s {
			pieces := alpha.Classes(r.Lo, r.Hi)
			meter.Charge(8 + len(pieces))
			for _, class := range pieces {
				m.reads[i][class/64] |= 1 << (class % 64)
			}
		}
	}
	m.at, m.of = make([]uint32, 2*len(n.nodes)), make([]*stack, 2*len(n.nodes))
	m.Forget()
	m.tooMuch = fmt.Errorf("%s: one token needs more than %d places or %d steps of the rules",
		what, maxItems, MaxWork)
	m.fixed = m.weigh()
	m.meter = meter
	m.Begin()
	m.First = m.closure([]position{{node: n.rules[0].start}})
	m.meter = nil
	meter.Fail(m.Err)
	return m
}

// Forget drops all states. States that texts hold stay valid: Current adds them again.
func (m *Machine) Forget() {
	for _, s := range m.states {
		s.next, s.masks = nil, nil
	}
	m.age++
	m.masks, m.kept = 0, 0
	m.states, m.stacks = map[string]*State{}, map[stackKey]*stack{}
	m.unions = [2]map[[2]*stack]*stack{{}, m.unions[0]}
	clear(m.of)
}

// Current returns a state of the current age that equals s.
func (m *Machine) Current(s *State) *State {
	if s.age == m.age || s == Dead {
		return s
	}
	if known := m.states[s.key]; known != nil {
		return known
	}
	return m.newState(State{positions: s.positions, Accepts: s.Accepts, tokens: s.tokens, key: s.key})
}

// Begin starts counting the work of a call.
func (m *Machine) Begin() {
	m.Work, m.pause, m.most, m.over, m.Err = 0, PauseWork, MaxWork, m.tooMuch, nil
	if len(m.states) > maxStates || m.masks > maxMasks || len(m.stacks) > maxStacks {
		m.Forget()
	}
	if len(m.unions[0]) > maxUnions {
		m.unions = [2]map[[2]*stack]*stack{{}, m.unions[0]}
	}
	if m.now > math.MaxUint32/2 {
		m.now = 0
		clear(m.at)
	}
}

// Limit sets the bound of the work of a call, and the error beyond it.
func (m *Machine) Limit(most int, over error) { m.most, m.over = most, over }

// Step returns the state after a character of a class: Dead if none can follow.
func (m *Machine) Step(s *State, class uint16) *State {
	s = m.Current(s)
	if s == Dead {
		return s
	}
	if s.next == nil {
		s.next = make([]*State, len(m.Alpha.Members))
		m.meter.Charge(len(s.next))
		m.kept += len(s.next) / 2
	}
	next := s.next[class]
	if next == nil {
		m.meter.Charge(8 + len(s.positions))
		m.list = m.list[:0]
		for _, p := range s.positions {
			if n := &m.net.nodes[p.node]; n.kind == readNode && m.reads[n.set][class/64]>>(class%64)&1 != 0 {
				m.list = append(m.list, position{n.to, p.stack})
			}
		}
		// If the closure failed its result is not known, and s may have been dropped.
		if next = m.closure(m.list); m.Err == nil && s.next != nil {
			s.next[class] = next
		}
	}
	return next
}

// Only returns the character that all positions of a state read; ok is false if there is none, and
// where a text may end or a whole token is read.
func (m *Machine) Only(s *State) (only rune, ok bool) {
	if s.Accepts || s.tokens {
		return 0, false
	}
	for i, p := range s.positions {
		reads := m.net.sets[m.net.nodes[p.node].set]
		if len(reads) != 1 || reads[0].Lo != reads[0].Hi || i > 0 && reads[0].Lo != only {
			return 0, false
		}
		only = reads[0].Lo
	}
	return only, len(s.positions) > 0
}

// Spend counts work, and reports whether there may be more of it.
func (m *Machine) Spend(work int) bool {
	if m.Work += work; m.Work >= m.pause {
		m.pause = m.Work + PauseWork
		runtime.Gosched() // other texts are being written
	}
	if err := m.meter.Charge(8 * work); m.Err == nil {
		switch {
		case err != nil:
			m.Err = err
		case m.Work > MaxWork:
			m.Err = m.tooMuch
		case m.Work > m.most:
			m.Err = m.over
		}
	}
	return m.Err == nil
}

// closure follows all edges that read nothing and returns the state of the positions that it
// reaches.
func (m *Machine) closure(from []position) *State {
	if m.kept > maxHeld { // also in the middle of a mask
		m.Forget()
	}
	positions, accepts := m.follow(from)
	if m.Err == nil && len(positions) > maxItems {
		m.Err = m.tooMuch
	}
	if m.Err != nil || len(positions) == 0 && !accepts {
		return Dead
	}
	return m.intern(positions, accepts)
}

// follow returns the positions that some others lead to without reading anything, and whether a
// text may end there. Rules are called when nothing else is left to follow, all at once, and a
// call of a rule that may read nothing leads past it: so few places are followed again.
func (m *Machine) follow(from []position) (found []position, accepts bool) {
	m.todo, m.calls, m.found, m.now = m.todo[:0], m.calls[:0], m.found[:0], m.now+2
	for _, p := range from {
		m.visit(p.node<<1, p.stack)
	}
	for m.Err == nil {
		if len(m.todo) == 0 {
			for _, at := range m.calls {
				n, s := &m.net.nodes[at>>1], m.of[at]
				if !n.tail {
					s = m.push(n.ret, s, none)
				}
				m.visit(n.to<<1|1, s)
			}
			if m.calls = m.calls[:0]; len(m.todo) == 0 {
				break
			}
		}
		at := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.at[at] = m.now + 1
		n, s, work := &m.net.nodes[at>>1], m.of[at], 1
		if s != nil {
			work += stackWork * (1 + len(n.more)/2)
		}
		m.Spend(work)
		switch n.kind {
		case splitNode:
			for _, to := range n.more {
				m.visit(to<<1|at&1, s)
			}
		case callNode:
			if m.calls = append(m.calls, at); n.empty {
				m.visit(n.ret<<1|at&1, s)
			}
		default:
			if m.found = append(m.found, at); len(m.found) > maxItems {
				m.Err = m.tooMuch
			}
		}
	}
	if cap(m.todo)+cap(m.calls) > maxSeen {
		m.todo, m.calls = nil, nil // they would hold the memory of their largest size
	}
	if m.Err != nil {
		return nil, false
	}
	var ends []*stack
	found = make([]position, 0, len(m.found))
	for _, at := range m.found {
		if p := (position{at >> 1, m.of[at]}); m.net.nodes[p.node].kind != endNode {
			found = append(found, p)
		} else if at&1 == 0 { // otherwise the call has led past the rule
			ends = append(ends, p.stack)
		}
	}
	for _, s := range ends {
		more, end := m.ended(s)
		found, accepts = append(found, more...), accepts || end
	}
	return m.joined(found), accepts
}

// joined sorts positions. Those of one node become one.
func (m *Machine) joined(list []position) []position {
	slices.SortFunc(list, func(p, q position) int { return int(p.node) - int(q.node) })
	n := 0
	for _, p := range list {
		if n > 0 && list[n-1].node == p.node {
			list[n-1].stack = m.union(list[n-1].stack, p.stack)
			continue
		}
		list[n] = p
		n++
	}
	return list[:n]
}

// visit adds a place with some stacks to those that are followed.
func (m *Machine) visit(at int32, s *stack) {
	kind := m.net.nodes[at>>1].kind
	switch when := m.at[at]; {
	case !m.net.nodes[at>>1].alive:
		return
	case when&^1 != m.now:
		m.of[at] = s
	default:
		before := m.of[at]
		m.of[at] = m.union(before, s)
		if m.of[at] == before || when == m.now || kind != splitNode && kind != callNode {
			return
		}
	}
	m.at[at] = m.now
	m.todo = append(m.todo, at)
}

// intern returns the only state for some positions.
func (m *Machine) intern(positions []position, accepts bool) *State {
	m.key = append(m.key[:0], 0)
	if accepts {
		m.key[0] = 1
	}
	tokens := false
	for _, p := range positions {
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(p.node))
		m.key = binary.LittleEndian.AppendUint32(m.key, p.stack.number())
		kind := m.net.nodes[p.node].kind
		tokens = tokens || kind == idNode || kind == formNode
	}
	s := m.states[string(m.key)]
	if s == nil {
		m.kept += len(positions)
		s = m.newState(State{positions: positions, Accepts: accepts, tokens: tokens, key: string(m.key)})
	}
	return s
}

func (m *Machine) newState(s State) *State {
	m.made++
	s.age, s.number = m.age, m.made
	m.states[s.key] = &s
	return &s
}

// Keep stores a mask of a state until the states are dropped.
func (m *Machine) Keep(s *State, mask Mask) {
	s.masks = append(s.masks, mask)
	m.masks++
}

// EachToken calls f with the tokens that the positions of a state read whole, and what a text needs
// after each, 0 without ends; not stands for all others.
func (m *Machine) EachToken(s *State, e *Ends, f func(id int32, not bool, need int)) {
	if !s.tokens {
		return
	}
	for _, p := range s.positions {
		if n := &m.net.nodes[p.node]; n.kind == idNode && e == nil {
			f(n.id, n.not, 0)
		} else if n.kind == idNode {
			f(n.id, n.not, int(e.tokensOf(n.to)+e.up(p.stack)))
		}
	}
}

// AfterToken returns the state after a token that is read as a whole, if reads says so of what a
// position reads.
func (m *Machine) AfterToken(s *State, reads func(id int32, not bool) bool) *State {
	if !s.tokens {
		return Dead
	}
	return m.past(s, func(n *node) bool { return n.kind == idNode && reads(n.id, n.not) })
}

// past returns the state after what those nodes of a state read for which is holds.
func (m *Machine) past(s *State, is func(*node) bool) *State {
	m.list = m.list[:0]
	for _, p := range s.positions {
		if n := &m.net.nodes[p.node]; is(n) {
			m.list = append(m.list, position{n.to, p.stack})
		}
	}
	return m.closure(m.list)
}

// Matches reports whether the rules of a machine for tables match a string.
func (m *Machine) Matches(text string) bool {
	m.Begin()
	s := m.First
	for _, r := range text {
		s = m.Step(s, m.Alpha.Of(r))
	}
	m.meter.Fail(m.Err)
	return s.Accepts
}

// Bytes returns the memory of a machine, where a mask has some words.
func (m *Machine) Bytes(words int) int {
	const ofState, ofPlace, ofStack, ofUnion = 160, 24, 100, 50
	return m.fixed + ofState*len(m.states) + ofPlace*m.kept + ofStack*len(m.stacks) +
		ofUnion*(len(m.unions[0])+len(m.unions[1])) + 8*m.masks*words
}

// weigh returns the memory of the immutable parts.
func (m *Machine) weigh() int {
	n := len(m.net.nodes)*(int(unsafe.Sizeof(node{}))+24) +
		m.Alpha.Size()*6 + len(m.reads)*(24+(len(m.Alpha.Members)+63)/64*8)
	for i := range m.net.nodes {
		n += 4 * len(m.net.nodes[i].more)
	}
	for _, s := range m.net.sets {
		n += 8*len(s) + 120
	}
	return n
}
