package trie

// Plain ids: most ids of a vocabulary may come anywhere in a string, and need no walk there.

import (
	"slices"
	"unicode/utf8"

	"picogpt/constrain/internal/charset"
)

// sortPlain divides the ids into two groups. Plain ids are whole characters that JSON does not
// escape; they are sets by their number of characters. The others get a trie of their own.
func (v *Trie) sortPlain() {
	isOdd, runes := make([]bool, v.Size), map[rune]bool{}
	var ascii [utf8.RuneSelf]bool // is in runes, which takes longer to ask
	for i := range v.Nodes {      // in the order of the bytes
		for id := v.Nodes[i].ID; id >= 0; id = v.twins[id] {
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
	v.odd, v.oddAt = v.part(isOdd)
	var ranges []charset.Range
	for r := range runes {
		ranges = append(ranges, charset.Range{Lo: r, Hi: r})
	}
	v.Plainly = charset.Normal(ranges)
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
func (v *Trie) part(has []bool) (nodes []Node, at []int32) {
	keep := make([]bool, len(v.Nodes))
	path := make([]int32, v.Longest+1)
	for i := range v.Nodes {
		n := &v.Nodes[i]
		path[n.Depth] = int32(i)
		if n.ID >= 0 && has[n.ID] {
			for _, k := range path[:n.Depth+1] {
				keep[k] = true
			}
		}
	}
	keep[0] = true
	for i, n := range v.Nodes {
		if keep[i] {
			if n.ID >= 0 && !has[n.ID] {
				n.ID = -1
			}
			nodes, at = append(nodes, n), append(at, int32(i))
		}
	}
	for i := range nodes { // sizes count only these nodes
		end, _ := slices.BinarySearch(at, at[i]+nodes[i].Size)
		nodes[i].Size = int32(end - i)
	}
	return nodes, at
}

// Index returns the index in the whole trie of a node of one of the tries.
func (v *Trie) Index(nodes []Node, i int) int32 {
	if &nodes[0] == &v.odd[0] {
		return v.oddAt[i]
	}
	return int32(i)
}

// plainText sets the plain ids of at most room characters; -1 means any number.
func (v *Trie) plainText(open []uint64, room int) {
	if len(v.Plain) == 0 {
		return
	}
	if room < 0 || room >= len(v.Plain) {
		room = len(v.Plain) - 1
	}
	for i, w := range v.Plain[room] {
		open[i] |= w
	}
}
