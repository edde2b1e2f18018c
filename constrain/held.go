package constrain

// Held: the approximate memory of a constraint.

import "unsafe"

// bytes returns the memory of a machine, where a mask has some words.
func (m *machine) bytes(words int) int {
	const ofState, ofPlace, ofStack = 160, 24, 64
	return m.fixed + ofState*len(m.states) + ofPlace*m.kept + ofStack*len(m.stacks) + 8*m.masks*words
}

// weigh returns the memory of the immutable parts.
func (m *machine) weigh() int {
	n := len(m.net.nodes)*(int(unsafe.Sizeof(netNode{}))+int(unsafe.Sizeof(position{}))+4) +
		m.alpha.size()*6 + len(m.reads)*(24+(len(m.alpha.members)+63)/64*8)
	for i := range m.net.nodes {
		n += 4 * len(m.net.nodes[i].more)
	}
	for _, s := range m.net.sets {
		n += 8*len(s) + 120
	}
	return n
}

// held returns the memory in bytes, approximately.
func (j *jsonAutomaton) held() int { return j.fixed + int(j.masks.held.Load()) }

// weigh returns the memory of some values; it counts each once.
func weigh(values []*value) (n int) {
	tables := map[*table]bool{}
	ofString := func(s *stringSpec) {
		if n += 160; s.table != nil && !tables[s.table] {
			tables[s.table] = true
			n += s.table.weigh()
		}
		for i := range s.texts {
			n += 32 + len(s.texts[i]) + len(s.escaped[i])
		}
	}
	for _, v := range values {
		n += 240
		for _, s := range v.numbers {
			if n += 1000; s.multiple > 1 {
				n += 80 * maxReachable
			}
			for _, text := range s.texts {
				n += 16 + len(text)
			}
		}
		for _, s := range v.strings {
			ofString(s)
		}
		for _, s := range v.arrays {
			n += 64 + 8*len(s.prefix)
		}
		for _, s := range v.objects {
			n += 240 + 8*len(s.values)
			for i := range s.names {
				n += 120 + 2*len(s.names[i].name)
			}
			if s.others != nil {
				ofString(s.others)
			}
		}
	}
	return n
}

func (t *table) weigh() int {
	n := 4*len(t.next) + 20*t.states() + 6*t.alpha.size()
	for _, lengths := range t.lengths {
		n += 24 + 8*len(lengths)
	}
	if t.loose != nil { // it shares everything else
		n += 4 * t.states()
	}
	return n
}
