// Package automaton makes automata over characters. It knows no vocabulary.
//
//   - A [Network] is rules of nodes that read characters (network.go). [Regex] and [Pattern] make
//     some (regex.go), from RE2's syntax, Python's and ECMA-262's (dialect.go), with lookaheads
//     (look.go).
//   - A [Machine] makes the states of a network when a text first reaches them (machine.go).
//   - A [Table] is several machines as one, complete before it is used (table.go), and knows the
//     number and the lengths of the strings that follow a state (tablestrings.go).
//   - A [Set] is of characters, and an [Alphabet] the classes that a machine tells apart (charset.go).
//   - A [Meter] counts the work of compiling (meter.go).
package automaton

// Network: rules of nodes that read characters.

import (
	"fmt"
	"slices"
)

// MaxNodes is the number of nodes of a network at most. This and all bounds here are counts, so
// that every machine gives the same result.
const MaxNodes = 1 << 17

// A Network is a set of nodes that read characters, choose, call rules or end them. A regex is a
// network with one rule; a grammar has several, and its automaton needs a stack.
type Network struct {
	nodes []node
	sets  []Set // what the nodes read, without duplicates
	known map[string]int32
	large map[*Range]int32 // large sets by their addresses
	rules []rule
	limit int // nodes at most
	meter *Meter
}

type rule struct {
	name  string
	start int32
}

// A node does one thing and continues at to.
type node struct {
	kind  nodeKind
	not   bool // idNode: all ids except this one
	alive bool // the rule can end from here
	empty bool // callNode: the rule at to may read nothing
	tail  bool // callNode: the calling rule ends after the rule at to
	set   int32
	to    int32
	// callNode: where the text continues after the rule at to; lookNode: the regex of what follows
	ret  int32
	id   int32   // idNode; formNode: the number of the form
	more []int32 // splitNode: instead of to
}

type nodeKind uint8

const (
	splitNode nodeKind = iota // continues at each of more
	readNode                  // reads a character of set
	callNode                  // reads what the rule at to matches
	idNode                    // reads a whole token
	formNode                  // reads a whole text of a form
	endNode                   // the rule ends
	lookNode                  // a lookahead; withoutLooks removes it
	passNode                  // the end of the regex of a lookahead
)

// NewNetwork returns a network of at most some nodes.
func NewNetwork(limit int, m *Meter) *Network {
	return &Network{known: map[string]int32{}, large: map[*Range]int32{}, limit: limit,
		meter: m}
}

// add appends a node. Beyond the limit it only counts; Check fails.
func (n *Network) add(node node) int32 {
	n.meter.Charge(8 + len(node.more))
	if len(n.nodes) <= n.limit {
		n.nodes = append(n.nodes, node)
	}
	return int32(len(n.nodes) - 1)
}

// Check fails if the network has more nodes than its limit. It returns the error of the meter.
func (n *Network) Check(what string) error {
	if len(n.nodes) > n.limit {
		n.meter.Fail(fmt.Errorf("%s: the automaton has more than %d states", what, n.limit))
	}
	return n.meter.Failed()
}

// Read adds a node that reads a character of a set.
func (n *Network) Read(set Set, to int32) int32 {
	return n.add(node{kind: readNode, set: n.charset(set), to: to})
}

func (n *Network) charset(set Set) int32 {
	if len(set) > 4 {
		if i, ok := n.large[&set[0]]; ok {
			return i
		}
	}
	n.meter.Charge(4 + len(set))
	key := set.Key()
	i, ok := n.known[key]
	if !ok {
		i = int32(len(n.sets))
		n.sets = append(n.sets, set)
		n.known[key] = i
	}
	if len(set) > 4 {
		n.large[&set[0]] = i
	}
	return i
}

// Only leaves out all characters beyond a set.
func (n *Network) Only(set Set) {
	for i, s := range n.sets {
		n.sets[i] = s.And(set)
	}
}

// Split adds a node that continues at each of some nodes.
func (n *Network) Split(more ...int32) int32 {
	return n.add(node{kind: splitNode, more: more})
}

// Lead adds nodes at which a split continues.
func (n *Network) Lead(split int32, more ...int32) {
	n.nodes[split].more = append(n.nodes[split].more, more...)
}

// Call adds a node that reads what a rule matches, from the first node of the rule.
func (n *Network) Call(rule, to int32) int32 {
	return n.add(node{kind: callNode, to: rule, ret: to})
}

// Token adds a node that reads one id as a whole, or all others that have bytes.
func (n *Network) Token(id int, not bool, to int32) int32 {
	return n.add(node{kind: idNode, id: int32(id), not: not, to: to})
}

// End adds a node at which a rule ends.
func (n *Network) End() int32 { return n.add(node{kind: endNode}) }

// Rule adds a rule. The first one begins a text.
func (n *Network) Rule(name string, start int32) {
	n.rules = append(n.rules, rule{name, start})
}

// Full reports whether no more nodes are worth adding; Check says why.
func (n *Network) Full() bool { return len(n.nodes) > n.limit || n.meter.Failed() != nil }

// prune finds the nodes from which a rule can end, and removes the others from all choices.
func (n *Network) prune() {
	least, _ := n.nearest(n.meter, func(node *node) int32 {
		if node.kind == readNode && len(n.sets[node.set]) == 0 {
			return Never
		}
		return 0
	})
	for i, cost := range least {
		n.nodes[i].alive = cost < Never
		n.nodes[i].more = slices.DeleteFunc(n.nodes[i].more, func(to int32) bool {
			return least[to] >= Never
		})
	}
}

// nearest returns what it costs at least to come from each node to the end of its rule, given what
// each node costs that reads something; Never if that cannot be. A split goes on at its way. A node is
// visited again only when less was found for one of its successors.
func (n *Network) nearest(m *Meter, cost func(*node) int32) (least, way []int32) {
	least, way = slices.Repeat([]int32{Never}, len(n.nodes)), make([]int32, len(n.nodes))
	before := make([][]int32, len(n.nodes)) // the predecessors of each node
	var todo []int32
	for i := range n.nodes {
		node := &n.nodes[i]
		m.Charge(6 + 4*len(node.more))
		next := node.more
		switch {
		case node.kind == endNode:
			least[i], todo = 0, append(todo, int32(i))
		case node.kind == callNode:
			next = []int32{node.to, node.ret}
		case node.kind != splitNode && cost(node) < Never:
			next = []int32{node.to}
		}
		for _, to := range next {
			before[to] = append(before[to], int32(i))
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		i := todo[0]
		m.Charge(6 + 4*len(n.nodes[i].more))
		for _, p := range before[i] {
			node, sum := &n.nodes[p], least[i]
			switch node.kind {
			case splitNode:
			case callNode:
				sum = least[node.to] + least[node.ret]
			default:
				sum += cost(node)
			}
			if sum < least[p] {
				least[p], way[p], todo = sum, i, append(todo, p)
			}
		}
	}
	return least, way
}

// calls marks the calls of rules that may read nothing, and those after which the calling rule ends
// as well: they need no entry on the stack.
func (n *Network) calls() {
	var empty []bool
	for i := range n.nodes {
		call := &n.nodes[i]
		if call.kind != callNode {
			continue
		}
		if empty == nil {
			empty = n.empty()
		}
		call.empty, call.tail = empty[call.to], n.nodes[n.after(call.ret)].kind == endNode
	}
}

// empty returns the nodes from which a rule can end without reading anything.
func (n *Network) empty() []bool {
	least, _ := n.nearest(n.meter, func(*node) int32 { return Never })
	is := make([]bool, len(least))
	for i, cost := range least {
		is[i] = cost < Never
	}
	return is
}

// after returns the node that follows where there is no choice.
func (n *Network) after(i int32) int32 {
	for range 100 {
		if len(n.nodes[i].more) != 1 {
			break
		}
		i = n.nodes[i].more[0]
	}
	return i
}
