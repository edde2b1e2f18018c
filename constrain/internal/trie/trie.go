// Package trie arranges the bytes of all ids of a vocabulary for masks: as nodes in the order of a
// depth-first walk, each with the size of its subtree, and as sets of ids that need no walk.
package trie

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
)

// A Trie holds the bytes of a model's ids, arranged for masks. It is immutable, and any number of
// forms may use it concurrently.
type Trie struct {
	Size    int        // one more than the largest id
	Bytes   [][]byte   // [size], nil for ids without bytes
	Nodes   []Node     // the trie in the order of a depth-first walk; Nodes[0] is the root
	twins   []int32    // [size] the next id with the same bytes, or -1
	begins  [256]int32 // the children of the root
	names   map[string]int
	Lost    automaton.Set // characters that only an id of ends stands for: they cannot be written
	Longest int           // bytes of the longest id
	Widest  int           // characters of the longest id; incomplete ones at its ends count too

	Plainly automaton.Set // the characters of plain ids
	Plain   [][]uint64    // [n] the ids of at most n characters that need no escapes in JSON
	all     []uint64      // those that may follow a whole character
	odd     []Node        // a trie of the other ids
	oddAt   []int32       // the indexes of its nodes in nodes
	long    [len(depths)]longTrie
}

// A Node of the trie stands for the bytes from the root to it. Its subtree is the next size nodes,
// with itself: a walk that finds a byte impossible continues at i + size.
type Node struct {
	Size  int32
	ID    int32  // the id of these bytes, or -1
	Depth uint16 // number of bytes
	Byte  byte   // the last byte
}

// New returns the trie of the bytes of ids, except those of ids that end a text; names are those
// of ids. An error names the first byte of UTF-8 that no single id stands for.
func New(tokens [][]byte, ends []int, names map[string]int) (*Trie, error) {
	v := &Trie{Size: len(tokens), Bytes: make([][]byte, len(tokens)), names: names}
	copy(v.Bytes, tokens)
	for _, id := range ends {
		if id < 0 || id >= len(tokens) {
			return nil, fmt.Errorf("id %d ends a text: want ids below %d", id, len(tokens))
		}
		v.Bytes[id] = nil
	}
	if err := v.complete(tokens); err != nil {
		return nil, err
	}
	for id, b := range v.Bytes {
		if len(b) > 1<<14 {
			return nil, fmt.Errorf("id %d: %d bytes, want %d at most", id, len(b), 1<<14)
		}
		v.Longest, v.Widest = max(v.Longest, len(b)), max(v.Widest, characters(b))
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
func (v *Trie) complete(tokens [][]byte) error {
	if v.Size == 0 {
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
	is, was := alone(v.Bytes), alone(tokens)
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
			v.Lost = automaton.NormalSet(append(v.Lost, automaton.Range{Lo: rune(b), Hi: rune(b)}))
		}
	}
	return nil
}

// Words returns the length of a mask in words of 64 ids.
func (v *Trie) Words() int { return (v.Size + 63) / 64 }

// build sorts the ids by their bytes and builds the trie.
func (v *Trie) build() {
	type key struct {
		first uint64 // eight bytes, zeros where there are fewer: most keys differ in them
		id    int32
	}
	keys := make([]key, 0, v.Size)
	v.twins = make([]int32, v.Size)
	for id, b := range v.Bytes {
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
		if n := bytes.Compare(v.Bytes[a.id], v.Bytes[b.id]); n != 0 {
			return n
		}
		return cmp.Compare(a.id, b.id)
	})
	var order []int32
	for _, k := range keys {
		if last := len(order) - 1; last >= 0 && bytes.Equal(v.Bytes[order[last]], v.Bytes[k.id]) {
			v.twins[k.id], order[last] = order[last], k.id
		} else {
			order = append(order, k.id)
		}
	}
	v.Nodes = v.arrange(order)
	for b := range v.begins {
		v.begins[b] = -1
	}
	for i := 1; i < len(v.Nodes); i += int(v.Nodes[i].Size) {
		v.begins[v.Nodes[i].Byte] = int32(i)
	}
}

// arrange returns the nodes of ids that are sorted by their bytes, each id with others.
func (v *Trie) arrange(order []int32) (nodes []Node) {
	nodes = append(nodes, Node{ID: -1})
	path := []int32{0} // the nodes from the root to the newest one
	shut := func(path []int32) {
		for _, i := range path {
			nodes[i].Size = int32(len(nodes)) - i
		}
	}
	var before []byte
	for _, id := range order {
		b := v.Bytes[id]
		same := 0
		for same < len(before) && same < len(b) && before[same] == b[same] {
			same++
		}
		shut(path[same+1:])
		path = path[:same+1]
		for ; same < len(b); same++ {
			path = append(path, int32(len(nodes)))
			nodes = append(nodes, Node{ID: -1, Depth: uint16(same + 1), Byte: b[same]})
		}
		nodes[path[len(path)-1]].ID, before = id, b
	}
	shut(path)
	return nodes
}

// Open sets the bits of the ids of a node.
func (v *Trie) Open(mask []uint64, id int32) {
	for ; id >= 0; id = v.twins[id] {
		mask[id>>6] |= 1 << (id & 63)
	}
}

// Child returns the child of node i for byte b, or -1.
func (v *Trie) Child(i int, b byte) int {
	if i == 0 {
		return int(v.begins[b])
	}
	end := i + int(v.Nodes[i].Size)
	for j := i + 1; j < end; j += int(v.Nodes[j].Size) {
		if v.Nodes[j].Byte == b {
			return j
		}
	}
	return -1
}

// Walk calls step with the nodes below one, and the state before its last byte: at for those after the
// first node. step sets the state after it, and reports whether the nodes below are of interest.
func Walk[S any](
	v *Trie, nodes []Node, from int, at S, step func(i int, before, after *S) (on bool),
) {
	path := make([]S, v.Longest+1) // of each byte of the node
	path[nodes[from].Depth] = at
	for i, end := from+1, from+int(nodes[from].Size); i < end; {
		n := &nodes[i]
		if step(i, &path[n.Depth-1], &path[n.Depth]) {
			i++
		} else {
			i += int(n.Size)
		}
	}
}

// Find returns the id whose name or bytes are text.
func (v *Trie) Find(text string) (int, bool) {
	if id, ok := v.names[text]; ok && id >= 0 && id < v.Size {
		return id, true
	}
	i := 0
	for k := range len(text) {
		if i = v.Child(i, text[k]); i < 0 {
			return 0, false
		}
	}
	return int(v.Nodes[i].ID), v.Nodes[i].ID >= 0
}

// Below returns an id whose bytes begin with those of node i.
func (v *Trie) Below(i int) int32 {
	for v.Nodes[i].ID < 0 {
		i++
	}
	return v.Nodes[i].ID
}

// Same yields the ids of node i's bytes.
func (v *Trie) Same(i int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for id := v.Nodes[i].ID; id >= 0; id = v.twins[id] {
			if !yield(int(id)) {
				return
			}
		}
	}
}

// Alone returns the id of a byte alone, or -1.
func (v *Trie) Alone(b byte) int {
	if i := v.Child(0, b); i >= 0 {
		return int(v.Nodes[i].ID)
	}
	return -1
}

// First returns the byte with which all open ids begin; ok is false if there is none.
func (v *Trie) First(open []uint64) (b byte, ok bool) {
	for i, w := range open {
		for ; w != 0; w &= w - 1 {
			text := v.Bytes[64*i+bits.TrailingZeros64(w)]
			if len(text) == 0 || ok && text[0] != b {
				return 0, false
			}
			b, ok = text[0], true
		}
	}
	return b, ok
}
