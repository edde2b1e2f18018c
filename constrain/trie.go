package constrain

// Trie: the bytes of all ids of a vocabulary.

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A trie holds the bytes of a model's ids, arranged for masks. It is immutable, and any number of
// forms may use it concurrently.
type trie struct {
	size    int      // one more than the largest id
	bytes   [][]byte // [size], nil for ids without bytes
	nodes   []node   // the trie in the order of a depth-first walk; nodes[0] is the root
	twins   []int32  // [size] the next id with the same bytes, or -1
	names   map[string]int
	lost    charset // characters that only an id of ends stands for: they cannot be written
	longest int     // bytes of the longest id
	widest  int     // characters of the longest id; incomplete ones at its ends count too

	plainly charset    // the characters of plain ids
	plain   [][]uint64 // [n] the ids of at most n characters that need no escapes in JSON
	odd     []node     // a trie of the other ids
	oddAt   []int32    // the indexes of its nodes in nodes
	long    [len(depths)]longTrie
}

// A node of the trie stands for the bytes from the root to it. Its subtree is the next size nodes,
// with itself: a walk that finds a byte impossible continues at i + size.
type node struct {
	size  int32
	id    int32  // the id of these bytes, or -1
	depth uint16 // number of bytes
	b     byte   // the last byte
}

// newTrie returns the trie of the bytes of ids, except those of ids that end a text; names are those
// of ids. An error names the first byte of UTF-8 that no single id stands for.
func newTrie(tokens [][]byte, ends []int, names map[string]int) (*trie, error) {
	v := &trie{size: len(tokens), bytes: make([][]byte, len(tokens)), names: names}
	copy(v.bytes, tokens)
	for _, id := range ends {
		if id < 0 || id >= len(tokens) {
			return nil, fmt.Errorf("id %d ends a text: want ids below %d", id, len(tokens))
		}
		v.bytes[id] = nil
	}
	if err := v.complete(tokens); err != nil {
		return nil, err
	}
	for id, b := range v.bytes {
		if len(b) > 1<<14 {
			return nil, fmt.Errorf("id %d: %d bytes, want %d at most", id, len(b), 1<<14)
		}
		v.longest, v.widest = max(v.longest, len(b)), max(v.widest, characters(b))
	}
	v.build()
	v.sortPlain()
	return v, nil
}

// characters returns the number of characters of some bytes; incomplete ones at the beginning and
// the end count too.
func characters(b []byte) (n int) {
	for i := range b {
		if i == 0 || utf8.RuneStart(b[i]) {
			n++
		}
	}
	return n
}

// complete returns an error unless each byte of UTF-8 is the bytes of some id. It records the
// characters that only ids that end texts stand for.
func (v *trie) complete(tokens [][]byte) error {
	if v.size == 0 {
		return errors.New("the vocabulary is empty: want the bytes of its ids")
	}
	alone := func(ids [][]byte) (is [256]bool) {
		for _, b := range ids {
			if len(b) == 1 {
				is[b[0]] = true
			}
		}
		return is
	}
	is, was := alone(v.bytes), alone(tokens)
	for b := range 0xf5 {
		switch {
		case is[b] || b == 0xc0 || b == 0xc1:
		case !was[b]:
			return fmt.Errorf("no id of the vocabulary is byte 0x%02x alone: constraints need a "+
				"byte-level vocabulary or one with byte fallback", b)
		case b >= 0x80:
			return fmt.Errorf("the id that is byte 0x%02x alone ends the text: want another, for "+
				"characters need this one", b)
		default:
			v.lost = normal(append(v.lost, runeRange{rune(b), rune(b)}))
		}
	}
	return nil
}

// words returns the length of a mask in words of 64 ids.
func (v *trie) words() int { return (v.size + 63) / 64 }

// build sorts the ids by their bytes and builds the trie.
func (v *trie) build() {
	type key struct {
		first uint64 // eight bytes, zeros where there are fewer: most keys differ in them
		id    int32
	}
	keys := make([]key, 0, v.size)
	v.twins = make([]int32, v.size)
	for id, b := range v.bytes {
		v.twins[id] = -1
		if len(b) > 0 {
			var first [8]byte
			copy(first[:], b)
			keys = append(keys, key{binary.BigEndian.Uint64(first[:]), int32(id)})
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		if n := bytes.Compare(v.bytes[a.id], v.bytes[b.id]); n != 0 {
			return n
		}
		return cmp.Compare(a.id, b.id)
	})
	order := make([]int32, len(keys))
	for i, k := range keys {
		order[i] = k.id
	}
	v.nodes = v.arrange(order)
}

// arrange returns the nodes of ids that are sorted by their bytes. Of ids with equal bytes a node has
// the last; twins has the others.
func (v *trie) arrange(order []int32) (nodes []node) {
	nodes = append(nodes, node{id: -1})
	path := []int32{0} // the nodes from the root to the newest one
	shut := func(path []int32) {
		for _, i := range path {
			nodes[i].size = int32(len(nodes)) - i
		}
	}
	var before []byte
	for _, id := range order {
		b := v.bytes[id]
		same := 0
		for same < len(before) && same < len(b) && before[same] == b[same] {
			same++
		}
		shut(path[same+1:])
		path = path[:same+1]
		for ; same < len(b); same++ {
			path = append(path, int32(len(nodes)))
			nodes = append(nodes, node{id: -1, depth: uint16(same + 1), b: b[same]})
		}
		n := &nodes[path[len(path)-1]]
		v.twins[id] = n.id
		n.id = id
		before = b
	}
	shut(path)
	return nodes
}

// open sets the bits of the ids of a node.
func (v *trie) open(mask []uint64, id int32) {
	for ; id >= 0; id = v.twins[id] {
		mask[id>>6] |= 1 << (id & 63)
	}
}

// child returns the child of node i for byte b, or -1.
func (v *trie) child(i int, b byte) int {
	end := i + int(v.nodes[i].size)
	for j := i + 1; j < end; j += int(v.nodes[j].size) {
		if v.nodes[j].b == b {
			return j
		}
	}
	return -1
}

// whole returns the id whose name or bytes are text.
func (v *trie) whole(text string) (int, bool) {
	if id, ok := v.names[text]; ok && id >= 0 && id < v.size {
		return id, true
	}
	i := 0
	for k := range len(text) {
		if i = v.child(i, text[k]); i < 0 {
			return 0, false
		}
	}
	return int(v.nodes[i].id), v.nodes[i].id >= 0
}

// below returns an id whose bytes begin with those of node i.
func (v *trie) below(i int) int32 {
	for v.nodes[i].id < 0 {
		i++
	}
	return v.nodes[i].id
}
