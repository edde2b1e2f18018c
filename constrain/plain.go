package constrain

// Plain ids: most ids of a vocabulary may come anywhere in a string, and need no walk there.

import (
	"slices"
	"unicode/utf8"
)

// sortPlain divides the ids into two groups. Plain ids are whole characters that JSON does not
// escape; they are sets by their number of characters. The others get a trie of their own.
func (v *trie) sortPlain() {
	isOdd, runes := make([]bool, v.size), map[rune]bool{}
	var ascii [utf8.RuneSelf]bool // is in runes, which takes longer to ask
	for i := range v.nodes {      // in the order of the bytes
		for id := v.nodes[i].id; id >= 0; id = v.twins[id] {
			n := plainLength(v.bytes[id])
			if isOdd[id] = n < 0; n < 0 {
				continue
			}
			for _, r := range string(v.bytes[id]) {
				if r >= utf8.RuneSelf {
					runes[r] = true
				} else if !ascii[r] {
					runes[r], ascii[r] = true, true
				}
			}
			for len(v.plain) <= n {
				v.plain = append(v.plain, make([]uint64, v.words()))
			}
			v.plain[n][id>>6] |= 1 << (id & 63)
		}
	}
	for n := 1; n < len(v.plain); n++ {
		for i, w := range v.plain[n-1] {
			v.plain[n][i] |= w
		}
	}
	v.odd, v.oddAt = v.part(isOdd)
	var ranges []runeRange
	for r := range runes {
		ranges = append(ranges, runeRange{r, r})
	}
	v.plainly = normal(ranges)
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

// part returns the trie of some ids: the nodes above them, and the indexes of these nodes in the
// whole trie. Ids of equal bytes are all in it.
func (v *trie) part(has []bool) (nodes []node, at []int32) {
	keep := make([]bool, len(v.nodes))
	path := make([]int32, v.longest+1)
	for i := range v.nodes {
		n := &v.nodes[i]
		path[n.depth] = int32(i)
		if n.id >= 0 && has[n.id] {
			for _, k := range path[:n.depth+1] {
				keep[k] = true
			}
		}
	}
	keep[0] = true
	for i, n := range v.nodes {
		if keep[i] {
			if n.id >= 0 && !has[n.id] {
				n.id = -1
			}
			nodes, at = append(nodes, n), append(at, int32(i))
		}
	}
	for i := range nodes { // sizes count only these nodes
		end, _ := slices.BinarySearch(at, at[i]+nodes[i].size)
		nodes[i].size = int32(end - i)
	}
	return nodes, at
}

// node returns the index in the whole trie of a node of one of the tries.
func (v *trie) node(nodes []node, i int) int32 {
	if &nodes[0] == &v.odd[0] {
		return v.oddAt[i]
	}
	return int32(i)
}

// plainText sets the plain ids of at most room characters; -1 means any number.
func (v *trie) plainText(open []uint64, room int) {
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
