package trie

// Plain ids: most ids of a vocabulary may come anywhere in a string, and need no walk there.

import (
	"slices"
	"sync"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
)

// sortPlain divides the ids into two groups. Plain ids are whole characters that JSON does not
// escape; they are sets by their number of characters. The others get a trie of their own.
func (v *Trie) sortPlain() {
	isOdd, runes := make([]bool, v.Size), map[rune]bool{}
	v.all = make([]uint64, v.Words())
	var ascii [utf8.RuneSelf]bool // is in runes, which takes longer to ask
	for i := range v.Nodes {      // in the order of the bytes
		for id := v.Nodes[i].ID; id >= 0; id = v.twins[id] {
			if beginsCharacters(v.Bytes[id]) {
				v.all[id>>6] |= 1 << (id & 63)
			}
			n := plainLength(v.Bytes[id])
			if isOdd[id] = n < 0; n < 0 {
				continue
			}
			for _, r := range string(v.Bytes[id]) {
				if r >= utf8.RuneSelf {
					runes[r] = true
				} else if !ascii[r] {
					runes[r], ascii[r] = true, true
				}
			}
			for len(v.Plain) <= n {
				v.Plain = append(v.Plain, make([]uint64, v.Words()))
			}
			v.Plain[n][id>>6] |= 1 << (id & 63)
		}
	}
	for n := 1; n < len(v.Plain); n++ {
		for i, w := range v.Plain[n-1] {
			v.Plain[n][i] |= w
		}
	}
	v.odd = v.part(func(id int32) bool { return isOdd[id] })
	v.oddAt = v.indexes(v.odd)
	var ranges []automaton.Range
	for r := range runes {
		ranges = append(ranges, automaton.Range{Lo: r, Hi: r})
	}
	v.Plainly = automaton.NormalSet(ranges)
}

// beginsCharacters reports whether bytes are characters, of which the last may be incomplete.
func beginsCharacters(b []byte) bool {
	for len(b) > 0 && utf8.FullRune(b) {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			return false
		}
		b = b[size:]
	}
	return true
}

// plainLength returns the number of characters of some bytes, or -1 if they are not plain.
func plainLength(b []byte) (n int) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || r < 0x20 || r == '"' || r == '\\' {
			return -1
		}
		b = b[size:]
		n++
	}
	return n
}

// part returns the trie of some ids. Ids of equal bytes are all in it.
func (v *Trie) part(has func(id int32) bool) []Node {
	var order []int32
	for i := range v.Nodes {
		if id := v.Nodes[i].ID; id >= 0 && has(id) {
			order = append(order, id)
		}
	}
	return v.arrange(order)
}

// indexes returns the indexes of the nodes of a part in the whole trie.
func (v *Trie) indexes(nodes []Node) []int32 {
	at, k := make([]int32, len(nodes)), int32(0)
	for i, n := range nodes {
		for v.Nodes[k].Depth != n.Depth || v.Nodes[k].Byte != n.Byte {
			k += v.Nodes[k].Size
		}
		at[i] = k
		k++
	}
	return at
}

// Index returns the index in the whole trie of a node of one of the tries.
func (v *Trie) Index(nodes []Node, i int) int32 {
	switch &nodes[0] {
	case &v.Nodes[0]:
		return int32(i)
	case &v.odd[0]:
		return v.oddAt[i]
	}
	k, at := i, 0
	for nodes[k].ID < 0 { // an id whose bytes begin with those of the node
		k++
	}
	for _, b := range v.Bytes[nodes[k].ID][:nodes[i].Depth] {
		at = v.Child(at, b)
	}
	return int32(at)
}

// plainText sets the plain ids that a look ahead shows to be open.
func (v *Trie) plainText(open []uint64, a LookAhead) {
	for n := 0; n < a.Depth; {
		from, is := n, a.Shut == nil || !a.Shut[n]
		for n++; n < a.Depth && (a.Shut == nil || !a.Shut[n] == is); n++ {
		}
		if !is {
			continue
		}
		for i, w := range v.Plain[n] {
			open[i] |= w &^ v.Plain[from][i]
		}
	}
}

// Plain depth: the number of characters for which any plain characters may follow. Up to that
// number, the number of characters alone says that an id is open; only longer ids, and ids that are
// not plain, need a walk.

// MaxAbreast bounds the number of states that a look ahead follows at a time.
const MaxAbreast = 64

// A LookAhead says which plain ids a mask contains.
type LookAhead struct {
	Depth int    // all plain ids of at most that many characters are open
	Shut  []bool // except those of n+1 characters, if it is not nil
	Only  bool   // and no longer ones are
}

// Ahead looks ahead from a state. after calls to with each state that follows s on the n-th plain
// character, whether something can follow that state, and whether an id that ends there is open.
func Ahead[S comparable](
	from S, most int, after func(s S, n int, to func(s S, live, open bool)),
) LookAhead {
	a, abreast := LookAhead{}, []S{from}
	for a.Depth < most {
		var next []S
		all, any, opens, shuts := true, false, true, true
		for _, s := range abreast {
			after(s, a.Depth+1, func(s S, live, open bool) {
				opens, shuts = opens && open, shuts && !open
				if all, any = all && live, any || live; live && !slices.Contains(next, s) {
					next = append(next, s)
				}
			})
		}
		if a.Only = !any; !all || !opens && !shuts || len(next) > MaxAbreast {
			return a
		}
		a.Shut = append(a.Shut, shuts)
		a.Depth++
		abreast = next
	}
	return a
}

// depths are the numbers of characters for which a vocabulary has a trie of its longer plain ids.
var depths = [...]int{6, 8, 12, 16, 24, 32, 64}

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
		all, short := v.Plain[len(v.Plain)-1], v.Plain[depths[i]]
		long.nodes = v.part(func(id int32) bool { return (all[id>>6]&^short[id>>6])>>(id&63)&1 != 0 })
	})
	return long.nodes
}

// AllPlain reports whether all plain ids are open.
func (v *Trie) AllPlain(open []uint64) bool { return within(v.Plain[len(v.Plain)-1], open) }

// All reports whether all ids are open that may follow a whole character.
func (v *Trie) All(open []uint64) bool { return within(v.all, open) }

// within reports whether ids are all among others.
func within(ids, others []uint64) bool {
	for i, w := range ids {
		if w&^others[i] != 0 {
			return false
		}
	}
	return true
}

// WalkOdd calls walk with a trie of the ids that are not plain.
func (v *Trie) WalkOdd(walk func(nodes []Node)) { walk(v.odd) }

// WalkPlain sets the ids that a look ahead shows to be open, and calls walk with tries of all
// others that may be.
func (v *Trie) WalkPlain(a LookAhead, open []uint64, walk func(nodes []Node)) {
	most := len(v.Plain) - 1
	if a.Depth < min(depths[0], most) && !(a.Only && a.Depth > 0) {
		walk(v.Nodes)
		return
	}
	a.Depth = min(a.Depth, most)
	v.plainText(open, a)
	walk(v.odd)
	if a.Depth < most && !a.Only {
		walk(v.longer(a.Depth))
	}
}
