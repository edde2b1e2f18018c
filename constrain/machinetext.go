package constrain

// Machine, for one text: the masks of its states, and the tokens that it accepts.

import "slices"

// machineStates implements state.
type machineStates []machineState

func (s machineStates) dead() bool { return len(s) == 0 }

// root implements automaton.
func (m *machine) root() (state, error) { return machineStates{{set: m.first}}, nil }

func (m *machine) vocabulary() *Vocabulary { return m.vocab }

// accepts implements automaton.
func (m *machine) accepts(s state) bool {
	return slices.ContainsFunc(s.(machineStates), func(s machineState) bool {
		return s.form == border && s.set.accepts
	})
}

// mask implements automaton.
func (m *machine) mask(s state, open []uint64, steps int) error {
	quick := steps < maxWork
	switch {
	case !quick:
		m.long.Add(1)
		defer m.long.Add(-1)
		m.mu.Lock()
	case !m.mu.TryLock():
		return errSteps
	}
	defer m.mu.Unlock()
	defer m.measure()
	m.begin()
	if quick {
		m.most, m.over = steps, errSteps
	}
	for _, s := range s.(machineStates) {
		if s.set != deadSet {
			m.maskOf(s, open)
		}
		if m.err != nil {
			return m.err
		}
	}
	return nil
}

// maskOf sets the ids that may follow a state. It stores them if no character is incomplete.
func (m *machine) maskOf(s machineState, open []uint64) {
	s.set = m.current(s.set)
	if s.form != border {
		m.walk(m.vocab.nodes, s, open)
		return
	}
	if s.set.mask == nil {
		mask := make([]uint64, len(open))
		m.vocab.walkPlain(m.ahead(s.set), mask, func(nodes []node) { m.walk(nodes, s, mask) })
		m.tokens(s.set, mask)
		if m.err != nil {
			return
		}
		s.set.mask = mask
		m.masks++
	}
	for i, w := range s.set.mask {
		open[i] |= w
	}
}

// ahead looks ahead from a state. It does so only if the machine distinguishes few characters.
func (m *machine) ahead(s *set) lookAhead {
	if len(m.plainly) > maxAbreast {
		return lookAhead{}
	}
	return aheadOf(s, len(m.vocab.plain)-1, func(s *set, _ int, to func(*set, bool)) {
		if m.work > maxWork/8 { // the walk needs the rest
			to(s, true)
			to(deadSet, false)
			return
		}
		for _, class := range m.plainly {
			next := m.step(s, class)
			to(next, next != deadSet)
		}
	})
}

// walk sets the ids whose bytes may follow a state.
func (m *machine) walk(nodes []node, s machineState, open []uint64) {
	v := m.vocab
	path := make([]machineState, v.longest+1) // the state after each byte of the node
	path[0] = s
	visited := 0
	for i := 1; i < len(nodes) && m.err == nil; {
		if visited++; visited > m.most && m.over == errSteps {
			m.err = m.over
			return
		}
		n := &nodes[i]
		next, ok := m.stepByte(path[n.depth-1], n.b)
		if !ok {
			i += int(n.size)
			continue
		}
		path[n.depth] = next
		v.open(open, n.id)
		i++
	}
}

// tokens sets the ids that positions read as whole tokens.
func (m *machine) tokens(s *set, open []uint64) {
	if !s.tokens {
		return
	}
	for _, p := range s.positions {
		n := &m.net.nodes[p.node]
		switch {
		case n.kind != idNode:
		case !n.not:
			open[n.id>>6] |= 1 << (n.id & 63)
		default:
			for id := range m.vocab.size {
				if m.readsToken(n, id) {
					open[id>>6] |= 1 << (id & 63)
				}
			}
		}
	}
}

// readsToken reports whether a node that reads whole tokens reads this one.
func (m *machine) readsToken(n *netNode, id int) bool {
	if n.kind != idNode {
		return false
	}
	if n.not {
		return id != int(n.id) && len(m.vocab.bytes[id]) > 0
	}
	return id == int(n.id)
}

// busy implements automaton.
func (m *machine) busy() bool { return m.long.Load() > 0 }

// accept implements automaton.
func (m *machine) accept(s state, id int) (state, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.measure()
	m.begin()
	var after []machineState
	for _, s := range s.(machineStates) {
		if next, ok := m.run(s, m.vocab.bytes[id]); ok {
			after = append(after, next)
		}
		if next := m.whole(s, id); next != deadSet {
			after = append(after, machineState{set: next})
		}
	}
	return machineStates(distinct(after)), m.err
}

// run returns the state after some bytes.
func (m *machine) run(s machineState, bytes []byte) (machineState, bool) {
	if len(bytes) == 0 || s.set == deadSet {
		return s, false
	}
	for _, b := range bytes {
		next, ok := m.stepByte(s, b)
		if !ok {
			return s, false
		}
		s = next
	}
	return s, true
}

// whole returns the state after an id that is read as a whole token.
func (m *machine) whole(s machineState, id int) *set {
	if s.form != border || !s.set.tokens {
		return deadSet
	}
	m.list = m.list[:0]
	for _, p := range s.set.positions {
		if n := &m.net.nodes[p.node]; m.readsToken(n, id) {
			m.list = append(m.list, position{n.to, p.stack})
		}
	}
	return m.closure(m.list)
}

func distinct(states []machineState) []machineState {
	var once []machineState
	for _, s := range states {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}
