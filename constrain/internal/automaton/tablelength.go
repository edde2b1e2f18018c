package automaton

// Table: the lengths of the strings that follow a state.

import (
	"encoding/binary"
	"fmt"
	"slices"

	"picogpt/constrain/internal/meter"
)

// Measure computes the lengths of strings from each state, up to most characters (-1: all lengths).
func (t *Table) Measure(what string, most int, m *meter.Meter) error {
	loose := *t
	words := (t.states() + 63) / 64
	ending := make([]uint64, words) // the states from which a string ends after n characters
	for s, k := range t.Kind {
		if k >= 0 {
			ending[s/64] |= 1 << (s % 64)
		}
	}
	everywhere := !slices.ContainsFunc(t.Kind, func(k int32) bool { return k < 0 })
	after, edges := t.after()
	rows, seen := [][]uint64{ending}, map[string]int{bitKey(ending): 0}
	t.loop = -1
	for n := 0; most < 0 || n < most; n++ {
		if err := m.Charge(16 + edges/2 + 8*words); err != nil {
			return err
		}
		set := make([]uint64, words)
		for s, states := range after {
			for _, to := range states {
				if ending[to/64]>>(to%64)&1 != 0 {
					set[s/64] |= 1 << (s % 64)
					break
				}
			}
		}
		key := bitKey(set)
		if i, ok := seen[key]; ok {
			if t.loop = i; n == 0 && everywhere {
				return nil // any number of characters may follow any state
			}
			break
		}
		if len(rows)*words > 1<<17 || n > 1<<14 {
			return fmt.Errorf("%s: pattern and length together are too much", what)
		}
		seen[key] = n + 1
		rows, ending = append(rows, set), set
	}
	t.Loose, t.rows = &loose, len(rows)
	t.Lengths = make([][]uint64, t.states())
	for s := range t.Lengths {
		if err := m.Charge(4 + t.rows/8); err != nil {
			return err
		}
		t.Lengths[s] = make([]uint64, (t.rows+63)/64)
		for n, row := range rows {
			t.Lengths[s][n/64] |= row[s/64] >> (s % 64) & 1 << (n % 64)
		}
	}
	return nil
}

// after returns the successors of each state, without duplicates, and the number of all of them.
func (t *Table) after() (after [][]int32, edges int) {
	after = make([][]int32, t.states())
	for s := range after {
		states := slices.Clone(t.Row(int32(s)))
		slices.Sort(states)
		states = slices.Compact(states)
		if len(states) > 0 && states[0] < 0 {
			states = states[1:]
		}
		after[s] = states
		edges += len(states)
	}
	return after, edges
}

func bitKey(set []uint64) string {
	key := make([]byte, 0, 8*len(set))
	for _, w := range set {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	return string(key)
}

// Ends reports whether a string from a state can end after lo to hi characters; hi -1 means any
// number.
func (t *Table) Ends(s int32, lo, hi int) bool {
	lo = max(lo, 0)
	if hi < 0 {
		hi = max(lo, t.rows) + t.rows // beyond the rows, the lengths repeat
	}
	lengths := t.Lengths[s]
	if anyBit(lengths, lo, min(hi, t.rows-1)) {
		return true
	}
	if lo = max(lo, t.rows); t.loop < 0 || lo > hi {
		return false
	}
	period := t.rows - t.loop
	if hi-lo+1 >= period {
		return anyBit(lengths, t.loop, t.rows-1)
	}
	from, to := t.loop+(lo-t.loop)%period, t.loop+(hi-t.loop)%period
	if from <= to {
		return anyBit(lengths, from, to)
	}
	return anyBit(lengths, from, t.rows-1) || anyBit(lengths, t.loop, to)
}

// anyBit reports whether a bit from lo to hi is set.
func anyBit(bits []uint64, lo, hi int) bool {
	for lo <= hi {
		w := bits[lo/64] >> (lo % 64) << (lo % 64)
		if end := lo | 63; end >= hi {
			return w<<(63-hi%64) != 0
		}
		if w != 0 {
			return true
		}
		lo = lo/64*64 + 64
	}
	return false
}
