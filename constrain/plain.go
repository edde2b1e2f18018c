package constrain

// Plain ids: most of a vocabulary may come anywhere in a string, and needs no walk there.

import (
	"slices"
	"unicode/utf8"
)

// sortPlain divides the ids into those that are whole characters which JSON does not escape, by
// their number, and the others, which get a trie of their own.
func (v *Vocabulary) sortPlain() {
	isOdd := make([]bool, v.size)
	for i := range v.nodes { // in the order of the bytes
		for id := v.nodes[i].id; id >= 0; id = v.twins[id] {
			n := plainLength(v.bytes[id])
			if isOdd[id] = n < 0; n < 0 {
				continue
			}
			for len(v.plain) <= n {
				v.plain = append(v.plain, make([]uint64, v.Words()))
			}
			v.plain[n][id>>6] |= 1 << (id & 63)
		}
	}
	for n := 1; n < len(v.plain); n++ {
		for i, w := range v.plain[n-1] {
			v.plain[n][i] |= w
		}
	}
	v.layOdd(isOdd)
}

// plainLength counts the characters of some bytes, -1 if they are not plain.
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

// layOdd makes the trie of odd ids: the nodes that have one of them below.
func (v *Vocabulary) layOdd(isOdd []bool) {
	keep := make([]bool, len(v.nodes))
	path := make([]int32, v.longest+1)
	for i := range v.nodes {
		n := &v.nodes[i]
		path[n.depth] = int32(i)
		if n.id >= 0 && isOdd[n.id] { // ids of equal bytes are odd together
			for _, k := range path[:n.depth+1] {
				keep[k] = true
			}
		}
	}
	keep[0] = true
	for i, n := range v.nodes {
		if keep[i] {
			if n.id >= 0 && !isOdd[n.id] {
				n.id = -1
			}
			v.odd, v.oddAt = append(v.odd, n), append(v.oddAt, int32(i))
		}
	}
	for i := range v.odd { // sizes count odd nodes
		at := int(v.oddAt[i])
		end, _ := slices.BinarySearch(v.oddAt, v.oddAt[i]+v.nodes[at].size)
		v.odd[i].size = int32(end - i)
	}
}

// node returns the node of the whole trie that a node of one of the two tries is.
func (v *Vocabulary) node(nodes []node, i int) int32 {
	if &nodes[0] == &v.odd[0] {
		return v.oddAt[i]
	}
	return int32(i)
}

// plainText sets the plain ids of at most room characters; -1: of any number.
func (v *Vocabulary) plainText(open []uint64, room int) {
	if len(v.plain) == 0 {
		return
	}
	if room < 0 || room >= len(v.plain) {
		room = len(v.plain) - 1
	}
	for i, w := range v.plain[room] {
		open[i] |= w
	}
}
