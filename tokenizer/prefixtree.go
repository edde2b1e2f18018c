// Which tokens a text begins with.

package tokenizer

// A prefixTree is the tree of the beginnings of some texts; node 0 is the empty one.
type prefixTree struct {
	children pairTable // (node, byte) → node
	ids      []uint32  // by node: the id of these bytes, or none
}

func newPrefixTree() *prefixTree {
	return &prefixTree{children: newPairTable(1 << 10), ids: []uint32{none}}
}

// add gives a text an id; a later one wins.
func (t *prefixTree) add(text string, id uint32) {
	node := uint32(0)
	for i := range len(text) {
		child := t.children.rank(node, uint32(text[i]))
		if child == none {
			child = uint32(len(t.ids))
			if 2*len(t.ids) > len(t.children.slots) {
				t.grow()
			}
			t.children.set(node, uint32(text[i]), child)
			t.ids = append(t.ids, none)
		}
		node = child
	}
	t.ids[node] = id
}

// grow makes room for twice as many nodes.
func (t *prefixTree) grow() {
	larger := newPairTable(len(t.children.slots))
	for _, s := range t.children.slots {
		if s.next != 0 {
			larger.set(s.left, s.right, s.next-1)
		}
	}
	t.children = larger
}

// longest returns the id of the longest text that s begins with, and its length; none and 0 if
// there is none.
func (t *prefixTree) longest(s string) (id uint32, length int) {
	id = none
	node := uint32(0)
	for i := range len(s) {
		if node = t.children.rank(node, uint32(s[i])); node == none {
			break
		}
		if t.ids[node] != none {
			id, length = t.ids[node], i+1
		}
	}
	return id, length
}
