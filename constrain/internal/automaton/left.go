package automaton

// Left: rules that may call themselves before they have read anything, rewritten.

import (
	"math"
	"slices"
)

// A lefter copies a network so that no rule calls itself before it has read anything. Rules that
// begin with one another are a group. A text of one of them, the goal, begins as any rule of the
// group begins that reads something first. Where a rule of the group ends, those that may have begun
// with it go on; and where the goal ends, the text may end too. So no call is left with which a rule
// of a group begins. A rule that is called reads something; calls of rules that may read nothing
// have a way past them.
type lefter struct {
	from, to *Network
	empty    []bool // [node] the rule can end from there without reading anything
	ruleAt   map[int32]int
	group    []int       // [rule] 0: it does not begin with itself
	members  [][]int     // [group-1]
	after    [][]leftKey // [rule] where those that have begun with it go on
	starts   []int32     // [rule] the first node of the copy; 0: none yet
	end      int32
	goals    map[int32]int32 // the first nodes of goals by their ends
	known    map[leftKey]int32
	todo     []leftKey
}

// A leftKey is a node of a rule; the goal, which is the rule itself if it is in no group; and whether
// nothing has been read of it.
type leftKey struct {
	node       int32
	rule, goal int
	fresh      bool
}

// WithoutLeftRecursion returns a network for the same texts in which no rule calls itself before it
// has read anything: itself, if there is no such rule.
func (n *Network) WithoutLeftRecursion(what string) (*Network, error) {
	if err := n.prune(); err != nil {
		return nil, err
	}
	empty, err := n.ending(func(*node) bool { return false })
	if err != nil {
		return nil, err
	}
	l := &lefter{from: n, to: NewNetwork(n.limit, n.meter), empty: empty, ruleAt: map[int32]int{},
		group: make([]int, len(n.rules)), after: make([][]leftKey, len(n.rules)),
		starts: make([]int32, len(n.rules)), goals: map[int32]int32{}, known: map[leftKey]int32{}}
	for i, r := range n.rules {
		l.ruleAt[r.start] = i
	}
	begins := make([][]leftKey, len(n.rules))
	for i, r := range n.rules {
		if begins[i], err = l.begins(r.start); err != nil {
			return nil, err
		}
	}
	if l.groups(begins); len(l.members) == 0 {
		return n, nil
	}
	return l.copy(what, begins)
}

// begins returns the rules that may be called from a node before anything is read, and the nodes
// after the calls.
func (l *lefter) begins(start int32) (calls []leftKey, err error) {
	seen := map[int32]bool{start: true}
	for todo := []int32{start}; len(todo) > 0; {
		node := &l.from.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		more := node.more
		if err := l.from.meter.Charge(12 + 8*len(more)); err != nil {
			return nil, err
		}
		if node.kind == callNode && node.alive {
			calls = append(calls, leftKey{node: node.ret, rule: l.ruleAt[node.to]})
			if l.empty[node.to] {
				more = []int32{node.ret}
			}
		}
		for _, to := range more {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return calls, nil
}

// groups finds the groups: the strongly connected components of rules, by Tarjan's algorithm. It is
// not recursive, because grammars may be deep.
func (l *lefter) groups(begins [][]leftKey) {
	order, low := make([]int, len(begins)), make([]int, len(begins))
	next, count := make([]int, len(begins)), 0
	var open []int
	for i := range begins {
		for path := []int{i}; len(path) > 0; {
			at := path[len(path)-1]
			if order[at] == 0 {
				count++
				order[at], low[at] = count, count
				open = append(open, at)
			}
			if next[at] < len(begins[at]) {
				if to := begins[at][next[at]].rule; order[to] == 0 {
					path = append(path, to)
				} else {
					low[at] = min(low[at], low[to])
					next[at]++
				}
				continue
			}
			if path = path[:len(path)-1]; low[at] != order[at] {
				continue
			}
			first := len(open) - 1
			for open[first] != at {
				first--
			}
			members := slices.Clone(open[first:])
			open = open[:first]
			if recursive := func(c leftKey) bool { return c.rule == at }; len(members) > 1 ||
				slices.ContainsFunc(begins[at], recursive) {
				l.members = append(l.members, members)
			}
			for _, rule := range members {
				low[rule] = math.MaxInt // it is in no other group
			}
		}
	}
}

// copy makes the network.
func (l *lefter) copy(what string, begins [][]leftKey) (*Network, error) {
	for i, members := range l.members {
		for _, rule := range members {
			l.group[rule] = i + 1
		}
	}
	for rule, calls := range begins {
		for _, c := range calls {
			if l.group[rule] > 0 && l.group[rule] == l.group[c.rule] {
				l.after[c.rule] = append(l.after[c.rule], leftKey{node: c.node, rule: rule})
			}
		}
	}
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
	if err := l.to.Check(what); err != nil {
		return nil, err
	}
	// A goal that is called where the text of the same goal can end goes on as that one would: it
	// needs no return, and a text like 1+1+1 no stack.
	for i := range l.to.nodes {
		if n := &l.to.nodes[i]; n.kind == callNode && l.goals[l.to.after(n.ret)] == n.to {
			n.ret = l.end
		}
	}
	return l.to, nil
}

// start returns the first node of the copy of a rule, or of a goal.
func (l *lefter) start(rule int) int32 {
	if l.starts[rule] == 0 {
		members := []int{rule}
		if group := l.group[rule]; group > 0 {
			members = l.members[group-1]
		}
		l.starts[rule] = l.to.Split()
		l.to.meter.Charge(8 * len(members))
		for _, m := range members {
			l.to.Lead(l.starts[rule], l.node(leftKey{l.from.rules[m].start, m, rule, true}))
		}
	}
	return l.starts[rule]
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
	l.to.meter.Charge(8 * (1 + len(n.more)))
	next := func(to int32, fresh bool) { l.to.Lead(at, l.node(leftKey{to, k.rule, k.goal, fresh})) }
	switch n.kind {
	case splitNode:
		for _, to := range n.more {
			next(to, k.fresh)
		}
	case callNode:
		rule := l.ruleAt[n.to]
		if !k.fresh || l.group[rule] == 0 || l.group[rule] != l.group[k.rule] {
			after := l.node(leftKey{n.ret, k.rule, k.goal, false})
			l.to.Lead(at, l.to.Call(l.start(rule), after))
		}
		if l.empty[n.to] {
			next(n.ret, k.fresh)
		}
	case endNode:
		if k.fresh {
			return // calls have led past it
		}
		if k.rule == k.goal {
			l.to.Lead(at, l.end)
			l.goals[at] = l.starts[k.goal]
		}
		l.to.meter.Charge(8 * len(l.after[k.rule]))
		for _, on := range l.after[k.rule] {
			on.goal = k.goal
			l.to.Lead(at, l.node(on))
		}
	default:
		n.to = l.node(leftKey{n.to, k.rule, k.goal, false})
		l.to.nodes[at] = n
	}
}
