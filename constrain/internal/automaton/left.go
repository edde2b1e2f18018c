package automaton

// Left: rules that may call themselves before they have read anything, rewritten.

import (
	"math"
	"slices"
)

// A lefter copies a network so that no rule calls itself before it has read anything. Rules that
// begin with one another are a group. A text of one of them, the goal, begins as any rule of its
// group does that reads something first. Where a rule of the group ends, those go on that may have
// begun with it; and where the goal ends, the text may end too. So no rule of a group is called at
// the beginning of another. Rules that are called read something: a call of one that may read
// nothing has a way past it.
type lefter struct {
	from, to *Network
	ruleAt   map[int32]int // by the first node, which is a split
	empty    []bool        // [node] the rule can end from there without reading anything
	begins   [][]leftKey   // [rule] the rules that it may begin with, and where it goes on after them
	group    [][]int       // [rule] all rules of its group; none if it does not begin with itself
	after    [][]leftKey   // [rule] where those of its group go on that have begun with it
	order    []int         // [rule] in which they were found; 0: not yet
	count    int
	open     []int // rules that are in no group yet
	end      int32
	goals    map[int32]int32 // the first nodes of goals by their last nodes
	known    map[leftKey]int32
	todo     []leftKey
}

// A leftKey is a node of a rule; the goal, which is the rule itself if it has no group; and whether
// nothing has been read of it.
type leftKey struct {
	node       int32
	rule, goal int
	fresh      bool
}

// WithoutLeftRecursion returns a network for the same texts in which no rule calls itself before it
// has read anything: the same, if there is no such rule.
func (n *Network) WithoutLeftRecursion(what string) *Network {
	n.prune()
	l := &lefter{from: n, to: NewNetwork(n.limit, n.meter), empty: n.empty(), ruleAt: map[int32]int{},
		begins: make([][]leftKey, len(n.rules)), group: make([][]int, len(n.rules)),
		after: make([][]leftKey, len(n.rules)), order: make([]int, len(n.rules)),
		goals: map[int32]int32{}, known: map[leftKey]int32{}}
	for i, r := range n.rules {
		l.ruleAt[r.start] = i
	}
	for i, r := range n.rules {
		l.begins[i] = l.calls(r.start)
	}
	for i := range n.rules {
		l.connect(i)
	}
	for i, calls := range l.begins {
		for _, c := range calls {
			if l.together(i, c.rule) {
				l.after[c.rule] = append(l.after[c.rule], leftKey{node: c.node, rule: i})
			}
		}
	}
	if !slices.ContainsFunc(l.group, func(g []int) bool { return len(g) > 0 }) {
		return n
	}
	return l.copy(what)
}

// calls returns the rules that may be called from a node before anything is read, and the nodes
// after the calls.
func (l *lefter) calls(start int32) (calls []leftKey) {
	reach([]int32{start}, func(i int32) []int32 {
		node := &l.from.nodes[i]
		if l.from.meter.Charge(12+8*len(node.more)) != nil {
			return nil
		}
		if node.kind == callNode && node.alive {
			calls = append(calls, leftKey{node: node.ret, rule: l.ruleAt[node.to]})
			if l.empty[node.to] {
				return []int32{node.ret}
			}
		}
		return node.more
	})
	return calls
}

// connect finds the groups of a rule and of those that it may begin with, by Tarjan's algorithm.
// It returns the least order of a rule that is not in a group yet and that it leads to.
func (l *lefter) connect(rule int) int {
	if l.order[rule] > 0 {
		return l.order[rule]
	}
	l.count++
	own, least, itself := l.count, l.count, false
	l.order[rule], l.open = own, append(l.open, rule)
	for _, c := range l.begins[rule] {
		least, itself = min(least, l.connect(c.rule)), itself || c.rule == rule
	}
	if l.order[rule] = least; least < own {
		return least
	}
	first := len(l.open) - 1
	for l.open[first] != rule {
		first--
	}
	group := slices.Clone(l.open[first:])
	l.open = l.open[:first]
	for _, member := range group {
		if l.order[member] = math.MaxInt; itself || len(group) > 1 {
			l.group[member] = group
		}
	}
	return math.MaxInt
}

// together reports whether two rules are of one group.
func (l *lefter) together(a, b int) bool {
	return len(l.group[a]) > 0 && len(l.group[b]) > 0 && l.group[a][0] == l.group[b][0]
}

func (l *lefter) copy(what string) *Network {
	l.to.sets = l.from.sets
	l.end = l.to.End()
	first := l.to.Split(l.start(0))
	if l.to.Rule(l.from.rules[0].name, first); l.empty[l.from.rules[0].start] {
		l.to.Lead(first, l.end)
	}
	for len(l.todo) > 0 && !l.to.Full() {
		k := l.todo[len(l.todo)-1]
		l.todo = l.todo[:len(l.todo)-1]
		l.fill(k)
	}
	// Where a text of a goal can end, a call of the same goal leads to what follows anyway: it needs
	// no return, and a text such as 1+1+1 no stack.
	for i := range l.to.nodes {
		if n := &l.to.nodes[i]; n.kind == callNode && l.goals[l.to.after(n.ret)] == n.to {
			n.ret = l.end
		}
	}
	l.to.Check(what)
	return l.to
}

// start returns the first node of the copy of a rule, as a goal.
func (l *lefter) start(rule int) int32 {
	return l.node(leftKey{l.from.rules[rule].start, rule, rule, true})
}

// node returns the copy of a node. fill completes it later.
func (l *lefter) node(k leftKey) int32 {
	i, ok := l.known[k]
	if !ok && !l.to.Full() {
		i = l.to.Split()
		l.known[k] = i
		l.todo = append(l.todo, k)
	}
	return i
}

func (l *lefter) fill(k leftKey) {
	at, n := l.known[k], l.from.nodes[k.node]
	lead := func(k leftKey) {
		l.to.meter.Charge(8)
		l.to.Lead(at, l.node(k))
	}
	if k == (leftKey{l.from.rules[k.goal].start, k.goal, k.goal, true}) {
		for _, member := range l.group[k.goal] {
			if member != k.goal {
				lead(leftKey{l.from.rules[member].start, member, k.goal, true})
			}
		}
	}
	switch n.kind {
	case splitNode:
		for _, to := range n.more {
			lead(leftKey{to, k.rule, k.goal, k.fresh})
		}
	case callNode:
		if rule := l.ruleAt[n.to]; !k.fresh || !l.together(rule, k.rule) {
			l.to.Lead(at, l.to.Call(l.start(rule), l.node(leftKey{n.ret, k.rule, k.goal, false})))
		}
		if l.empty[n.to] {
			lead(leftKey{n.ret, k.rule, k.goal, k.fresh})
		}
	case endNode:
		if k.fresh {
			return // a call has led past it
		}
		if k.rule == k.goal {
			l.to.Lead(at, l.end)
			l.goals[at] = l.start(k.goal)
		}
		for _, on := range l.after[k.rule] {
			on.goal = k.goal
			lead(on)
		}
	default:
		n.to = l.node(leftKey{n.to, k.rule, k.goal, false})
		l.to.nodes[at] = n
	}
}
