package constrain

// Vocabulary: the bytes of all ids, arranged once as a trie that all constraints share.

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Vocabulary holds the bytes of a model's ids, arranged for masks. It is immutable, and any
// number of constraints may use it concurrently.
type Vocabulary struct {
	size    int      // one more than the largest id
	bytes   [][]byte // [size], nil for ids without bytes
	nodes   []node   // the trie in the order of a depth-first walk; nodes[0] is the root
	twins   []int32  // [size] the next id with the same bytes, or -1
	ends    []int    // the ids that end a text
	names   map[string]int
	lost    charset // characters that only an id of ends stands for: they cannot be written
	longest int     // bytes of the longest id
	widest  int     // characters of the longest id; incomplete ones at its ends count too

	plainly charset    // the characters of plain ids
	plain   [][]uint64 // [n] the ids of at most n characters that need no escapes in JSON
	odd     []node     // a trie of the other ids
	oddAt   []int32    // the indexes of its nodes in nodes
	long    [len(depths)]longTrie
	free    lexMasks // masks of strings of any characters, and of all numbers
}

// A node of the trie stands for the bytes from the root to it. Its subtree is the next size nodes,
// with itself: a walk that finds a byte impossible continues at i + size.
type node struct {
	size  int32
	id    int32  // the id of these bytes, or -1
	depth uint16 // number of bytes
	b     byte   // the last byte
}

// VocabularyOptions are what a vocabulary has besides bytes.
type VocabularyOptions struct {
	// Ends are the ids that end a text. They are open exactly where a text may end. If they have
	// bytes, these do not count: an ASCII character that no other id stands for does not occur in
	// texts of a regex, a choice or a grammar; a text of JSON that needs it ends with an error.
	// Text.EndWith can set others.
	Ends []int

	// Names are ids that a grammar can name as <name>, with the brackets: special tokens, which
	// have no bytes.
	Names map[string]int
}

// NewVocabulary returns a vocabulary. tokens[id] holds the bytes of an id: nil or empty for ids
// without bytes, such as end of text and unused ids; such ids are never open, unless they are Ends.
// An error names the first byte of UTF-8 that no single id stands for: without byte-level ids or
// byte fallback, a constraint could demand text that no ids can write.
func NewVocabulary(tokens [][]byte, o VocabularyOptions) (*Vocabulary, error) {
	v := &Vocabulary{size: len(tokens), bytes: make([][]byte, len(tokens)), ends: o.Ends,
		names: o.Names}
	copy(v.bytes, tokens)
	for _, id := range o.Ends {
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
func (v *Vocabulary) complete(tokens [][]byte) error {
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

// Size returns the largest id plus one.
func (v *Vocabulary) Size() int { return v.size }

// Words returns the length of a mask in words of 64 ids.
func (v *Vocabulary) Words() int { return (v.size + 63) / 64 }

// build sorts the ids by their bytes and builds the trie.
func (v *Vocabulary) build() {
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
	v.nodes = v.trie(order)
}

// trie returns the trie of ids that are sorted by their bytes. Of ids with equal bytes a node has
// the last; twins has the others.
func (v *Vocabulary) trie(order []int32) (nodes []node) {
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
func (v *Vocabulary) open(mask []uint64, id int32) {
	for ; id >= 0; id = v.twins[id] {
		mask[id>>6] |= 1 << (id & 63)
	}
}

// child returns the child of node i for byte b, or -1.
func (v *Vocabulary) child(i int, b byte) int {
	end := i + int(v.nodes[i].size)
	for j := i + 1; j < end; j += int(v.nodes[j].size) {
		if v.nodes[j].b == b {
			return j
		}
	}
	return -1
}

// Bytes returns the bytes of an id, which the caller must not change. It returns nil for ids
// without bytes and for ids outside the vocabulary.
func (v *Vocabulary) Bytes(id int) []byte {
	if id < 0 || id >= v.size {
		return nil
	}
	return v.bytes[id]
}
