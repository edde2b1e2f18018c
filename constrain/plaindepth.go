package constrain

// Plain depth: for how many characters whatever is plain may follow. As far as that goes, ids are
// open by their number of characters alone; only longer ones, and odd ones, need a walk.

import (
	"slices"
	"sync"
)

// maxAbreast bounds the states that a look ahead follows side by side.
const maxAbreast = 64

// A lookAhead says how a mask of plain ids begins.
type lookAhead struct {
	depth int  // all plain ids of up to so many characters are open
	only  bool // and no longer ones
}

// ahead looks ahead from a state of the automaton of a string, at most so many characters.
func (s *stringSpec) ahead(st stringState, most int) (a lookAhead) {
	t := s.table
	if t == nil {
		if s.max >= 0 {
			most = min(most, s.max-int(st.n))
		}
		return lookAhead{depth: most, only: true}
	}
	if t.lengths == nil && t.plain[st.at] && s.max < 0 {
		return lookAhead{depth: most}
	}
	return aheadOf(st.at, most, func(at int32, n int, to func(int32, bool)) {
		row := t.row(at)
		for _, class := range t.plainly {
			to(row[class], row[class] >= 0 && s.live(stringState{at: row[class], n: st.n + int32(n)}))
		}
	})
}

// aheadOf looks ahead from a state. after calls to with each state that follows one on the n-th plain
// character, and says whether something can follow that.
func aheadOf[S comparable](from S, most int, after func(s S, n int, to func(S, bool))) lookAhead {
	a, abreast := lookAhead{}, []S{from}
	for a.depth < most {
		var next []S
		all, any := true, false
		for _, s := range abreast {
			after(s, a.depth+1, func(s S, live bool) {
				if all, any = all && live, any || live; live && !slices.Contains(next, s) {
					next = append(next, s)
				}
			})
		}
		if a.only = !any; !all || len(next) > maxAbreast {
			return a
		}
		a.depth++
		abreast = next
	}
	return a
}

// depths are those for which a vocabulary has a trie of its longer plain ids.
var depths = [...]int{2, 4, 6, 8, 12, 16, 24, 32, 64}

// A longTrie is made when it is first needed.
type longTrie struct {
	once  sync.Once
	nodes []node
}

// longer returns a trie that has all plain ids of more than so many characters, and perhaps some of
// fewer.
func (v *Vocabulary) longer(depth int) []node {
	i := len(depths) - 1
	for depths[i] > depth {
		i--
	}
	long := &v.long[i]
	long.once.Do(func() {
		keep := make([]bool, v.size)
		for id, b := range v.bytes {
			keep[id] = plainLength(b) > depths[i]
		}
		long.nodes, _ = v.part(keep)
	})
	return long.nodes
}

// walkPlain calls walk for tries that have all ids which a look ahead leaves open.
func (v *Vocabulary) walkPlain(a lookAhead, open []uint64, walk func(nodes []node)) {
	most := len(v.plain) - 1
	if a.depth < min(depths[0], most) {
		walk(v.nodes)
		return
	}
	v.plainText(open, a.depth)
	walk(v.odd)
	if a.depth < most && !a.only {
		walk(v.longer(a.depth))
	}
}
