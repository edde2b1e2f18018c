package automaton

// Left recursion: rules that call themselves before they have read anything.

// LeftRecursion returns the name of a rule that calls itself before it has read anything.
func (n *Network) LeftRecursion() (rule string, found bool, err error) {
	empty, err := n.ending(func(*node) bool { return false }) // without reading anything more
	if err != nil {
		return "", false, err
	}
	ruleAt := map[int32]int{}
	for i, r := range n.rules {
		ruleAt[r.start] = i
	}
	calls := make([][]int, len(n.rules)) // the rules that a rule may begin with
	for i, r := range n.rules {
		if calls[i], err = n.firstCalls(r.start, empty, ruleAt); err != nil {
			return "", false, err
		}
	}
	const open, done = 1, 2
	color, next := make([]uint8, len(calls)), make([]int, len(calls))
	for i := range calls {
		path := []int{i} // not recursive: grammars may be deep
		for len(path) > 0 {
			at := path[len(path)-1]
			if color[at] == done || next[at] == len(calls[at]) {
				color[at] = done
				path = path[:len(path)-1]
				continue
			}
			color[at] = open
			to := calls[at][next[at]]
			next[at]++
			if color[to] == open {
				return n.rules[to].name, true, nil
			}
			path = append(path, to)
		}
	}
	return "", false, nil
}

// firstCalls returns the rules that may be called from a node before anything is read.
func (n *Network) firstCalls(
	start int32, empty []bool, ruleAt map[int32]int,
) (calls []int, err error) {
	seen := map[int32]bool{start: true}
	for todo := []int32{start}; len(todo) > 0; {
		node := &n.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		more := node.more
		if err := n.meter.Charge(12 + 8*len(more)); err != nil {
			return nil, err
		}
		if node.kind == callNode {
			calls = append(calls, ruleAt[node.to])
			if empty[node.to] {
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
