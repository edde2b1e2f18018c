package trie

// Plain depth: the number of characters for which any plain characters may follow. Up to that
// number, the number of characters alone says that an id is open; only longer ids, and ids that are
// not plain, need a walk.

import (
	"slices"
	"sync"
)

// MaxAbreast bounds the number of states that a look ahead follows at a time.
const MaxAbreast = 64

// A LookAhead says which plain ids a mask contains.
type LookAhead struct {
	Depth int  // all plain ids of at most that many characters are open
	Only  bool // and no longer ones are
}

// Ahead looks ahead from a state. after calls to with each state that follows s on the n-th plain
// character, and with whether something can follow that state.
func Ahead[S comparable](from S, most int, after func(s S, n int, to func(S, bool))) LookAhead {
	a, abreast := LookAhead{}, []S{from}
	for a.Depth < most {
		var next []S
		all, any := true, false
		for _, s := range abreast {
			after(s, a.Depth+1, func(s S, live bool) {
				if all, any = all && live, any || live; live && !slices.Contains(next, s) {
					next = append(next, s)
				}
			})
		}
		if a.Only = !any; !all || len(next) > MaxAbreast {
			return a
		}
		a.Depth++
		abreast = next
	}
	return a
}

// depths are the numbers of characters for which a vocabulary has a trie of its longer plain ids.
var depths = [...]int{2, 4, 6, 8, 12, 16, 24, 32, 64}

// A longTrie is made when it is first needed.
type longTrie struct {
	once  sync.Once
	nodes []Node
}

// longer returns a trie with all plain ids of more than depth characters; it may contain shorter
// ones too.
func (v *Trie) longer(depth int) []Node {
	i := len(depths) - 1
	for depths[i] > depth {
		i--
	}
	long := &v.long[i]
	long.once.Do(func() {
		keep := make([]bool, v.Size)
		for id, b := range v.Bytes {
			keep[id] = plainLength(b) > depths[i]
		}
		long.nodes, _ = v.part(keep)
	})
	return long.nodes
}

// WalkPlain sets the ids that a look ahead shows to be open, and calls walk with tries of all
// others that may be.
func (v *Trie) WalkPlain(a LookAhead, open []uint64, walk func(nodes []Node)) {
	most := len(v.Plain) - 1
	if a.Depth < min(depths[0], most) {
		walk(v.Nodes)
		return
	}
	v.plainText(open, a.Depth)
	walk(v.odd)
	if a.Depth < most && !a.Only {
		walk(v.longer(a.Depth))
	}
}
