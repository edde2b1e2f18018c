package automaton

// Machine: a network as an automaton whose states are made when a text first reaches them.

import (
	"encoding/binary"
	"fmt"
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
	// positions without a stack that are visited in the time of one that has a stack, or of making
	// a stack
	stackWork = 2
)

// A Machine runs a network. Its states are sets of positions, as in any automaton that is made from
// rules. A position is a node and the stack of nodes at which the calling rules continue. States
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
	made   uint32 // number of stacks so far
	masks  int    // stored ones
	kept   int    // positions of all states
	Work   int
	pause  int   // the work at which other goroutines may run
	most   int   // bound of the work of this call
	over   error // the error beyond that bound
	Err    error
	seen   map[position]bool // positions with a stack that the closure has visited
	// the number of the closure that visited each node without a stack last
	at   []uint32
	now  uint32 // the number of the current closure
	list []position
	todo []position
}

// A position is one place of a text in the rules.
type position struct {
	node  int32
	stack *stack
}

// A stack says where the text continues when the rule ends. Equal stacks are one pointer.
type stack struct {
	ret int32
	up  *stack
	id  uint32

	bytes, ids int32 // 1 + those of its end, of Ends; 0: not known
}

type stackKey struct {
	ret int32
	up  *stack
}

// A State is a state of a machine: the positions whose nodes read something, sorted.
type State struct {
	positions []position
	Accepts   bool
	tokens    bool // some position reads a whole token, or a text of a form
	age       int
	next      []*State // by class; nil if not known
	Mask      []uint64
	Need      int32 // 1 + the most that Ends.Need says after an id of Mask; 0: not known
	key       string

	bytes, ids int32 // 1 + those of its end, of Ends; 0: not known
}

// Dead is the state in which nothing can follow.
var Dead = &State{}

// NewMachine returns the machine of a network. what is for errors.
func NewMachine(what string, n *Network, meter *Meter) (*Machine, error) {
	m, err := newMachine(what, n, meter)
	if m == nil && err == nil {
		err = fmt.Errorf("%s: no text can match it", what)
	}
	return m, err
}

// newMachine is NewMachine, but for networks without texts, of which it returns nil.
func newMachine(what string, n *Network, meter *Meter) (*Machine, error) {
	if err := n.prune(); err != nil {
		return nil, err
	}
	if err := n.Check(what); err != nil {
		return nil, err
	}
	if !n.nodes[n.rules[0].start].alive {
		return nil, nil
	}
	n.tails()
	alpha, err := NewAlphabet(what, n.sets, meter)
	if err != nil {
		return nil, err
	}
	m := &Machine{net: n, Alpha: alpha}
	words := (len(alpha.Members) + 63) / 64
	m.reads = make([][]uint64, len(n.sets))
	for i, s := range n.sets {
		if err := meter.Charge(4 + words); err != nil {
			return nil, err
		}
		m.reads[i] = make([]uint64, words)
		for _, r := range s {
			pieces := alpha.Classes(r.Lo, r.Hi)
			if err := meter.Charge(8 + len(pieces)); err != nil {
				return nil, err
			}
			for _, class := range pieces {
				m.reads[i][class/64] |= 1 << (class % 64)
			}
		}
	}
	m.at = make([]uint32, len(n.nodes))
	m.Forget()
	m.tooMuch = fmt.Errorf("%s: one token needs more than %d places or %d steps of the rules",
		what, maxItems, MaxWork)
	m.fixed = m.weigh()
	m.meter = meter
	m.Begin()
	m.First = m.closure([]position{{node: n.rules[0].start}})
	m.meter = nil
	return m, m.Err
}

// Forget drops all states. States that texts hold stay valid: Current adds them again.
func (m *Machine) Forget() {
	for _, s := range m.states {
		s.next, s.Mask = nil, nil
	}
	m.age++
	m.masks, m.kept = 0, 0
	m.states, m.stacks = map[string]*State{}, map[stackKey]*stack{}
}

// Current returns a state of the current age that equals s.
func (m *Machine) Current(s *State) *State {
	if s.age == m.age || s == Dead {
		return s
	}
	if known := m.states[s.key]; known != nil {
		return known
	}
	s = &State{positions: s.positions, Accepts: s.Accepts, tokens: s.tokens, key: s.key, age: m.age}
	m.states[s.key] = s
	return s
}

// Begin starts counting the work of a call.
func (m *Machine) Begin() {
	m.Work, m.pause, m.most, m.over, m.Err = 0, PauseWork, MaxWork, m.tooMuch, nil
	if len(m.states) > maxStates || m.masks > maxMasks || len(m.stacks) > 16*maxStates {
		m.Forget()
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

// closure follows all edges that read nothing and returns the state of the positions that it
// reaches.
func (m *Machine) closure(from []position) *State {
	if m.kept > maxHeld { // also in the middle of a mask
		m.Forget()
	}
	if m.now++; m.seen == nil {
		m.seen = map[position]bool{}
	}
	clear(m.seen)
	var positions []position
	accepts := false
	todo := append(m.todo[:0], from...)
	defer func() {
		if m.todo = todo[:0]; len(m.seen) > maxSeen {
			m.seen, m.todo = nil, nil // they would hold the memory of their largest size
		}
	}()
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := &m.net.nodes[p.node]
		if !n.alive || m.visited(p) {
			continue
		}
		work, made := 1, m.made
		if n.kind == callNode {
			todo = append(todo, position{n.to, m.push(n.ret, p.stack)})
		}
		if work += stackWork * int(m.made-made); p.stack != nil {
			work += stackWork * (1 + len(n.more)/2)
		}
		if m.Work += work; m.Work >= m.pause {
			m.pause = m.Work + PauseWork
			runtime.Gosched() // other texts are being written
		}
		if err := m.meter.Charge(8 * work); err != nil {
			m.Err = err
			return Dead
		}
		switch n.kind {
		case splitNode:
			for _, to := range n.more {
				todo = append(todo, position{to, p.stack})
			}
		case callNode:
		case endNode:
			if p.stack == nil {
				accepts = true
			} else {
				todo = append(todo, position{p.stack.ret, p.stack.up})
			}
		default:
			positions = append(positions, p)
		}
		switch {
		case len(positions) > maxItems || m.Work > MaxWork:
			m.Err = m.tooMuch
			return Dead
		case m.Work > m.most:
			m.Err = m.over
			return Dead
		}
	}
	return m.intern(positions, accepts)
}

// visited reports whether the closure has visited a position before, and records the visit.
func (m *Machine) visited(p position) bool {
	if p.stack != nil {
		was := m.seen[p]
		m.seen[p] = true
		return was
	}
	was := m.at[p.node] == m.now
	m.at[p.node] = m.now
	return was
}

func (m *Machine) push(ret int32, up *stack) *stack {
	if ret < 0 {
		return up
	}
	key := stackKey{ret, up}
	s := m.stacks[key]
	if s == nil {
		m.made++
		s = &stack{ret: ret, up: up, id: m.made}
		m.stacks[key] = s
	}
	return s
}

// intern returns the only state for some positions.
func (m *Machine) intern(positions []position, accepts bool) *State {
	if len(positions) == 0 && !accepts {
		return Dead
	}
	slices.SortFunc(positions, func(p, q position) int {
		if p.node != q.node {
			return int(p.node) - int(q.node)
		}
		return int(p.stack.number()) - int(q.stack.number())
	})
	key := make([]byte, 1, 1+8*len(positions))
	if accepts {
		key[0] = 1
	}
	tokens := false
	for _, p := range positions {
		key = binary.LittleEndian.AppendUint32(key, uint32(p.node))
		key = binary.LittleEndian.AppendUint32(key, p.stack.number())
		kind := m.net.nodes[p.node].kind
		tokens = tokens || kind == idNode || kind == formNode
	}
	s := m.states[string(key)]
	if s == nil {
		m.kept += len(positions)
		s = &State{positions: positions, Accepts: accepts, tokens: tokens, age: m.age, key: string(key)}
		m.states[s.key] = s
	}
	return s
}

func (s *stack) number() uint32 {
	if s == nil {
		return 0
	}
	return s.id
}

// Keep stores the mask of a state until the states are dropped.
func (m *Machine) Keep(s *State, mask []uint64) {
	s.Mask = mask
	m.masks++
}

// EachToken calls f with the tokens that the positions of a state read whole; not stands for all
// others.
func (m *Machine) EachToken(s *State, f func(id int32, not bool)) {
	if !s.tokens {
		return
	}
	for _, p := range s.positions {
		if n := &m.net.nodes[p.node]; n.kind == idNode {
			f(n.id, n.not)
		}
	}
}

// AfterToken returns the state after a token that is read as a whole, if reads says so of what a
// position reads.
func (m *Machine) AfterToken(s *State, reads func(id int32, not bool) bool) *State {
	if !s.tokens {
		return Dead
	}
	m.list = m.list[:0]
	for _, p := range s.positions {
		if n := &m.net.nodes[p.node]; n.kind == idNode && reads(n.id, n.not) {
			m.list = append(m.list, position{n.to, p.stack})
		}
	}
	return m.closure(m.list)
}

// Matches reports whether the rules match a string.
func (m *Machine) Matches(text string) (bool, error) {
	m.Begin()
	s := m.First
	for _, r := range text {
		s = m.Step(s, m.Alpha.Of(r))
	}
	return s.Accepts, m.Err
}

// Bytes returns the memory of a machine, where a mask has some words.
func (m *Machine) Bytes(words int) int {
	const ofState, ofPlace, ofStack = 160, 24, 64
	return m.fixed + ofState*len(m.states) + ofPlace*m.kept + ofStack*len(m.stacks) + 8*m.masks*words
}

// weigh returns the memory of the immutable parts.
func (m *Machine) weigh() int {
	n := len(m.net.nodes)*(int(unsafe.Sizeof(node{}))+int(unsafe.Sizeof(position{}))+4) +
		m.Alpha.Size()*6 + len(m.reads)*(24+(len(m.Alpha.Members)+63)/64*8)
	for i := range m.net.nodes {
		n += 4 * len(m.net.nodes[i].more)
	}
	for _, s := range m.net.sets {
		n += 8*len(s) + 120
	}
	return n
}
