package constrain

// Plain depth: the number of characters for which any plain characters may follow. Up to that
// number, the number of characters alone says that an id is open; only longer ids, and ids that are
// not plain, need a walk.

import (
	"slices"
	"sync"
)

// maxAbreast bounds the number of states that a look ahead follows at a time.
const maxAbreast = 64

// A lookAhead says which plain ids a mask contains.
type lookAhead struct {
	depth int  // all plain ids of at most that many characters are open
	only  bool // and no longer ones are
}

// aheadOf looks ahead from a state. after calls to with each state that follows s on the n-th plain
// character, and with whether something can follow that state.
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

// depths are the numbers of characters for which a vocabulary has a trie of its longer plain ids.
var depths = [...]int{2, 4, 6, 8, 12, 16, 24, 32, 64}

// A longTrie is made when it is first needed.
type longTrie struct {
	once  sync.Once
	nodes []node
}

// longer returns a trie with all plain ids of more than depth characters; it may contain shorter
// ones too.
func (v *trie) longer(depth int) []node {
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

// walkPlain sets the ids that a look ahead shows to be open, and calls walk with tries of all
// others that may be.
func (v *trie) walkPlain(a lookAhead, open []uint64, walk func(nodes []node)) {
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
