package schema

// Count: contains, minContains and maxContains, and items of which some must not be as a schema
// says. An item is of a kind or not when it begins, as one of several ways to read the text.

import (
	"fmt"
	"math"
	"slices"
)

// A count bounds how many items of an array, from an index on, are as a schema says; max -1 is no
// bound.
type count struct {
	of             *schema
	from, min, max int
}

const (
	maxCounts = 4       // that hold together, of items or of properties
	maxTally  = 1 << 16 // numbers of items times numbers of those that count
)

// containsOf reads contains with minContains and maxContains.
func (c *compiler) containsOf(s *schema, in, v *jsonValue) {
	k := count{of: c.schemaOf(v), min: 1, max: -1}
	draft := c.scopeOf(in).draft
	if least := in.member("minContains"); least != nil && draft&from2019 != 0 {
		k.min = c.count(least)
	}
	if most := in.member("maxContains"); most != nil && draft&from2019 != 0 {
		k.max = c.count(most)
	}
	if k.min > 0 || k.max >= 0 {
		s.counts = append(s.counts, k)
	}
	if draft&from2020 != 0 && c.document.leftovers {
		s.contains = k.of
	}
}

// A tally follows how many items count. Its states are numbers for each count, up to the bound that
// matters, as one number.
type tally struct {
	counts  []count
	not     []*schema // of a count with a max, what does not count
	choices [][]claim // of each index; the last is for all after it
	from    int       // the index from which nothing depends on it
	least   []int32   // [index, state] items that are missing at least; math.MaxInt32: there are none
	ends    []missing // [rows, state]
	rows    int       // numbers of items that have ends of their own
}

// A claim is what a part of an array or object can be so that it counts for some kinds, each a bit.
type claim struct {
	bits  int
	value *value
}

func (k *count) size() int { return max(k.min, k.max) + 1 }

func (t *tally) states() int {
	n := 1
	for i := range t.counts {
		n *= t.counts[i].size()
	}
	return n
}

// tallyOf returns what counts the items of an array, nil if nothing does.
func (c *compiler) tallyOf(s *arraySpec, counts []count, a alternative) *tally {
	if counts == nil {
		return nil
	}
	t := &tally{counts: counts, from: s.min}
	size := s.min + 1
	for _, k := range counts {
		var not *schema
		if k.max >= 0 {
			not = c.mute(c.negate(c.open(k.of)))
		}
		t.not = append(t.not, not)
		t.from = max(t.from, k.from)
		size = min(size, maxTally) * min(k.size(), maxTally+1)
	}
	if len(counts) > maxCounts || size > maxTally {
		c.fail(fmt.Errorf("%s: contains, or items under not: want %d of them at most, and counts "+
			"whose product is %d at most", c.all[a[0]].at(), maxCounts, maxTally))
		return nil
	}
	c.charge(size << (2 + len(counts)))
	return t
}

// choices adds what the i-th item can be, given what it must be.
func (c *compiler) choices(t *tally, i int, conj []*schema) {
	if t == nil {
		return
	}
	var list []claim
	for bits := range 1 << len(t.counts) {
		all, ok := slices.Clone(conj), true
		for j, k := range t.counts {
			switch counts := bits>>j&1 != 0; {
			case counts:
				all, ok = append(all, k.of), ok && i >= k.from
			case i >= k.from && k.max >= 0:
				all = append(all, t.not[j])
			}
		}
		if ok {
			list = append(list, claim{bits, c.valueOf(all...)})
		}
	}
	t.choices = append(t.choices, list)
	t.from = max(t.from, i)
}

// each calls f with the values of all choices.
func (t *tally) each(f func(*value)) {
	if t == nil {
		return
	}
	for _, list := range t.choices {
		for _, o := range list {
			f(o.value)
		}
	}
}

func (t *tally) at(i int) []claim { return t.choices[min(i, len(t.choices)-1)] }

// add returns the state after an item that counts for some; ok is false where it may not, and where
// it need not, because enough have counted.
func (t *tally) add(state int32, bits int) (next int32, ok bool) {
	step := int32(1)
	for i := range t.counts {
		size := int32(t.counts[i].size())
		if bits>>i&1 != 0 {
			if state/step%size == size-1 {
				return state, false
			}
			state += step
		}
		step *= size
	}
	return state, true
}

// enough reports whether a state is one at which an array may end.
func (t *tally) enough(state int32) bool {
	for i := range t.counts {
		k := &t.counts[i]
		n := int(state) % k.size()
		if state /= int32(k.size()); n < k.min || k.max >= 0 && n > k.max {
			return false
		}
	}
	return true
}

// measure returns the tally with the number of items that are missing at least from each state,
// given the values that are known to be possible.
func (s *arraySpec) measure() *tally {
	t := *s.tally
	n := t.states()
	t.least = make([]int32, (t.from+1)*n)
	for i := t.from; i >= 0; i-- {
		for state := int32(n - 1); state >= 0; state-- { // items only raise it
			best := int32(math.MaxInt32)
			if i >= s.min && t.enough(state) {
				best = 0
			}
			for _, o := range t.at(i) {
				next, ok := t.add(state, o.bits)
				if !ok || !o.value.possible || i == t.from && next == state {
					continue
				}
				if more := t.least[min(i+1, t.from)*n+int(next)]; more < best {
					best = more + 1
				}
			}
			t.least[i*n+int(state)] = best
		}
	}
	return &t
}

// reaches reports whether an array with some items can be completed.
func (t *tally) reaches(s *arraySpec, items int, state int32) bool {
	missing := t.least[min(items, t.from)*t.states()+int(state)]
	return missing < math.MaxInt32 && (s.max < 0 || items+int(missing) <= s.max)
}

// mayClose reports whether a container may end here.
func (f *frame) mayClose() bool {
	if f.object != nil {
		return f.object.mayClose(f)
	}
	return f.array.mayClose(f)
}

// mayClose reports whether an array may end here.
func (s *arraySpec) mayClose(f *frame) bool {
	return int(f.count) >= s.min && (s.tally == nil || s.tally.enough(f.tally))
}
