package constrain

// Vocabulary: the bytes of all ids, arranged once as a trie that all constraints share.

import (
	"errors"
	"fmt"
	"sort"
	"unicode/utf8"
)

// A Vocabulary is what the ids of a model stand for, arranged for masks. It never changes and may
// be used by any number of constraints at once.
type Vocabulary struct {
	size    int      // one more than the largest id
	bytes   [][]byte // [size], nil for ids without bytes
	nodes   []node   // the trie in the order of a depth-first walk; nodes[0] is the root
	twins   []int32  // [size] the next id of the same bytes, or -1
	ends    []int    // the ids that end a text
	names   map[string]int
	lost    charset // characters that only an id of ends is: none can be written
	longest int     // bytes of the longest id
	widest  int     // characters of the longest id, one that it begins or ends in the middle too

	plainly charset    // the characters of plain ids
	plain   [][]uint64 // [n] the ids that are up to n characters with no need of escapes in JSON
	odd     []node     // a trie of the other ids
	oddAt   []int32    // and where its nodes are in nodes
	long    [len(depths)]longTrie
	free    lexMasks // of strings of any characters, and of all numbers
}

// A node of the trie is the bytes from the root to it. Its subtree is the nodes after it, size of
// them with itself: a walk that finds a byte impossible goes on at i + size.
type node struct {
	size  int32
	id    int32  // the id of these bytes, or -1
	depth uint16 // how many bytes
	b     byte   // the last byte
}

// VocabularyOptions are what a vocabulary has besides bytes.
type VocabularyOptions struct {
	// Ends are the ids that end a text, open exactly where a text may end. Their bytes, if they
	// have any, count for nothing: an ASCII character that no other id is alone does not occur in
	// texts of a regex, a choice or a grammar, and a text of JSON that comes to need it is an error
	// where it does. Text.EndWith can choose others.
	Ends []int

	// Names are ids that a grammar can ask for as <name>, with the brackets: special tokens, which
	// have no bytes.
	Names map[string]int
}

// NewVocabulary arranges a vocabulary. tokens[id] is the bytes of an id: nil or empty for ids that
// stand for no bytes, as end of text and unused ids do; such ids are never open, unless they are
// Ends. An error names the first byte of UTF-8 that no id is alone: without byte-level ids or byte
// fallback a constraint could demand what no id can write.
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

// characters counts the characters of some bytes, parts at the beginning and the end too.
func characters(b []byte) (n int) {
	for i := range b {
		if i == 0 || utf8.RuneStart(b[i]) {
			n++
		}
	}
	return n
}

// complete errs unless each byte that UTF-8 uses is an id alone, and notes the characters that only
// ids are that end texts.
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

// Size is one more than the largest id.
func (v *Vocabulary) Size() int { return v.size }

// Words is the length of a mask: 64 ids a word.
func (v *Vocabulary) Words() int { return (v.size + 63) / 64 }

// build sorts the ids by their bytes and lays out the trie.
func (v *Vocabulary) build() {
	var order []int32
	v.twins = make([]int32, v.size)
	for id := range v.bytes {
		v.twins[id] = -1
		if len(v.bytes[id]) > 0 {
			order = append(order, int32(id))
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		return string(v.bytes[order[i]]) < string(v.bytes[order[j]])
	})
	v.nodes = v.trie(order)
}

// trie lays out ids that are sorted by their bytes. Of those of equal bytes a node has the last,
// and twins has the others.
func (v *Vocabulary) trie(order []int32) (nodes []node) {
	nodes = append(nodes, node{id: -1})
	path := []int32{0} // the nodes from the root to the newest
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

// child returns the node that follows node i with byte b, or -1.
func (v *Vocabulary) child(i int, b byte) int {
	end := i + int(v.nodes[i].size)
	for j := i + 1; j < end; j += int(v.nodes[j].size) {
		if v.nodes[j].b == b {
			return j
		}
	}
	return -1
}

// Bytes returns the bytes of an id, which the caller must not change; none for ids without bytes
// and for those that the vocabulary does not have.
func (v *Vocabulary) Bytes(id int) []byte {
	if id < 0 || id >= v.size {
		return nil
	}
	return v.bytes[id]
}
