package schema

// Held: the approximate memory of a form.

import "picogpt/constrain/internal/automaton"

// Bytes returns the memory in bytes, approximately.
func (j *Form) Bytes() int { return j.fixed + int(j.masks.held.Load()) }

// weigh returns the memory of some values; it counts each once.
func weigh(values []*value) (n int) {
	tables := map[*automaton.Table]bool{}
	ofString := func(s *stringSpec) {
		if n += 160; s.table != nil && !tables[s.table] {
			tables[s.table] = true
			n += s.table.Bytes()
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
