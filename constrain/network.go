package constrain

// Network: the rules of a regex or a grammar as nodes and edges over characters.

import (
	"fmt"
)

// A network is a set of nodes that read characters, choose, call rules or end them. A regex is a
// network with one rule; a grammar has several, and its automaton needs a stack.
type network struct {
	nodes []netNode
	sets  []charset // what the nodes read, without duplicates
	known map[string]int32
	large map[*runeRange]int32 // large sets by their addresses
	rules []netRule
	limit int // nodes at most
	meter *meter
}

type netRule struct {
	name  string
	start int32
}

// A netNode does one thing and continues at to.
type netNode struct {
	kind  nodeKind
	not   bool // idNode: all ids except this one
	alive bool // the rule can end from here
	set   int32
	to    int32
	// callNode: where the text continues after the rule at to; lookNode: the regex of what follows
	ret  int32
	id   int32   // idNode
	more []int32 // splitNode: instead of to
}

type nodeKind uint8

const (
	splitNode nodeKind = iota // continues at each of more
	readNode                  // reads a character of set
	callNode                  // reads what the rule at to matches
	idNode                    // reads a whole token
	endNode                   // the rule ends
	lookNode                  // a lookahead; withoutLooks removes it
	passNode                  // the end of the regex of a lookahead
)

func newNetwork(limit int, m *meter) *network {
	return &network{known: map[string]int32{}, large: map[*runeRange]int32{}, limit: limit, meter: m}
}

// add appends a node. Beyond the limit it only counts; check returns the error.
func (n *network) add(node netNode) int32 {
	n.meter.charge(8 + len(node.more))
	if len(n.nodes) <= n.limit {
		n.nodes = append(n.nodes, node)
	}
	return int32(len(n.nodes) - 1)
}

// check returns an error if the network has more nodes than its limit, or took too much work.
func (n *network) check(what string) error {
	if err := n.meter.failed(); err != nil {
		return err
	}
	if len(n.nodes) > n.limit {
		return fmt.Errorf("%s: the automaton has more than %d states", what, n.limit)
	}
	return nil
}

// read adds a node that reads a character of a set.
func (n *network) read(set charset, to int32) int32 {
	return n.add(netNode{kind: readNode, set: n.charset(set), to: to})
}

func (n *network) charset(set charset) int32 {
	if len(set) > 4 {
		if i, ok := n.large[&set[0]]; ok {
			return i
		}
	}
	n.meter.charge(4 + len(set))
	key := set.key()
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

// only leaves out all characters beyond a set.
func (n *network) only(set charset) {
	for i, s := range n.sets {
		n.sets[i] = s.and(set)
	}
}

// split adds a node that continues at each of some nodes.
func (n *network) split(more ...int32) int32 {
	return n.add(netNode{kind: splitNode, more: more})
}

// lead adds nodes at which a split continues.
func (n *network) lead(split int32, more ...int32) {
	n.nodes[split].more = append(n.nodes[split].more, more...)
}

// call adds a node that reads what a rule matches, from the first node of the rule.
func (n *network) call(rule, to int32) int32 {
	return n.add(netNode{kind: callNode, to: rule, ret: to})
}

// token adds a node that reads one id as a whole, or all others that have bytes.
func (n *network) token(id int, not bool, to int32) int32 {
	return n.add(netNode{kind: idNode, id: int32(id), not: not, to: to})
}

// end adds a node at which a rule ends.
func (n *network) end() int32 { return n.add(netNode{kind: endNode}) }

// rule adds a rule. The first one begins a text.
func (n *network) rule(name string, start int32) {
	n.rules = append(n.rules, netRule{name, start})
}

// full reports whether no more nodes are worth adding; check says why.
func (n *network) full() bool { return len(n.nodes) > n.limit || n.meter.failed() != nil }

// prune finds the nodes from which a rule can end, and removes the others from all choices.
func (n *network) prune() error {
	before := make([][]int32, len(n.nodes)) // the predecessors of each node
	var ready []int32
	for i := range n.nodes {
		node := &n.nodes[i]
		if err := n.meter.charge(6 + 4*len(node.more)); err != nil {
			return err
		}
		switch node.kind {
		case endNode:
			ready = append(ready, int32(i))
		case splitNode:
			for _, to := range node.more {
				before[to] = append(before[to], int32(i))
			}
		case callNode:
			before[node.to] = append(before[node.to], int32(i))
			before[node.ret] = append(before[node.ret], int32(i))
		default:
			before[node.to] = append(before[node.to], int32(i))
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		node := &n.nodes[i]
		if node.alive || !n.leads(node) {
			continue
		}
		if err := n.meter.charge(6 + 4*len(node.more)); err != nil {
			return err
		}
		node.alive = true
		ready = append(ready, before[i]...)
	}
	for i := range n.nodes {
		node := &n.nodes[i]
		kept := node.more[:0]
		for _, to := range node.more {
			if n.nodes[to].alive {
				kept = append(kept, to)
			}
		}
		node.more = kept
	}
	return nil
}

// leads reports whether a node leads to an end, from what is known of its successors.
func (n *network) leads(node *netNode) bool {
	switch node.kind {
	case endNode:
		return true
	case splitNode:
		for _, to := range node.more {
			if n.nodes[to].alive {
				return true
			}
		}
		return false
	case readNode:
		return len(n.sets[node.set]) > 0 && n.nodes[node.to].alive
	case callNode:
		return n.nodes[node.to].alive && n.nodes[node.ret].alive
	}
	return n.nodes[node.to].alive
}

// tails marks calls after which the calling rule ends as well: they need no entry on the stack. A
// marked call has ret -1.
func (n *network) tails() {
	for i := range n.nodes {
		node := &n.nodes[i]
		if node.kind != callNode {
			continue
		}
		ret := node.ret
		for steps := 0; steps < 100; steps++ {
			if r := &n.nodes[ret]; r.kind == splitNode && len(r.more) == 1 {
				ret = r.more[0]
			} else {
				break
			}
		}
		if n.nodes[ret].kind == endNode {
			node.ret = -1
		}
	}
}
