// From the tree of a regular expression to its program.

package regex

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A node is a part of a regular expression.
type node struct {
	kind        nodeKind
	set         *charset
	list        []*node // of the others; one of them but in sequences and alternatives
	least, most int     // repeated
	lazy        bool    // the shortest repetition first
	not         bool    // the negative of a look
	letter      byte    // of an assertion
}

type nodeKind int

const (
	nodeSet nodeKind = iota
	nodeSequence
	nodeAlternatives
	nodeRepeat
	nodeAtomic
	nodeAhead
	nodeBehind
	nodeAssert
)

// unbounded is a number of repetitions without a bound.
const unbounded = -1

type compiler struct {
	*Regex
	err   error // the first
	nodes int   // that were compiled: a repetition of nothing has no instructions
}

// emit appends an instruction and returns its index.
func (c *compiler) emit(in instruction) int {
	c.program = append(c.program, in)
	return len(c.program) - 1
}

// compile appends the program of a node. If back is set, it reads backward.
func (c *compiler) compile(n *node, back bool) {
	if c.nodes++; max(len(c.program), c.nodes/4) > maxProgram {
		c.err = cmp.Or(c.err, fmt.Errorf("more than %d steps", maxProgram))
	}
	if c.err != nil {
		return
	}
	switch n.kind {
	case nodeSet:
		op := opSet
		if back {
			op = opBack
		}
		c.emit(instruction{op: op, set: n.set})
	case nodeAssert:
		c.anchored = c.anchored || n.letter == 'G'
		c.emit(instruction{op: opAssert, x: int(n.letter), set: n.set})
	case nodeSequence:
		list := n.list
		if back {
			list = slices.Clone(list)
			slices.Reverse(list)
		}
		for _, part := range list {
			c.compile(part, back)
		}
	case nodeAlternatives:
		c.alternatives(n.list, back)
	case nodeRepeat:
		c.repeat(n, back)
	case nodeAtomic:
		if back {
			c.err = errors.New("an atomic group within (?<=…): not supported")
			return
		}
		if run := n.list[0].alone(); run.isRun() {
			c.times(run.least, run.list[0], false, func() {})
			c.emit(instruction{op: opRun, set: run.list[0].alone().set, x: run.most, y: c.runs})
			c.runs++
			if run.most != unbounded {
				c.program[len(c.program)-1].x -= run.least
			}
			return
		}
		c.inner(opAtomic, n.list[0], false)
	case nodeAhead, nodeBehind:
		op := opLook
		if n.not {
			op = opNoLook
		}
		c.behind = c.behind || n.kind == nodeBehind
		c.inner(op, n.list[0], n.kind == nodeBehind)
	}
}

// times compiles a node n times, each after before, until there is an error.
func (c *compiler) times(n int, node *node, back bool, before func()) {
	for ; n > 0 && c.err == nil; n-- {
		before()
		c.compile(node, back)
	}
}

// alone returns the only node of alternatives and sequences.
func (n *node) alone() *node {
	for (n.kind == nodeSequence || n.kind == nodeAlternatives) && len(n.list) == 1 {
		n = n.list[0]
	}
	return n
}

// isRun reports whether the node is the longest repetition of a set.
func (n *node) isRun() bool {
	return n.kind == nodeRepeat && n.list[0].alone().kind == nodeSet && !n.lazy
}

// inner appends an instruction with a program of its own.
func (c *compiler) inner(op operation, n *node, back bool) {
	at := c.emit(instruction{op: op})
	c.compile(n, back)
	c.emit(instruction{op: opMatch})
	c.program[at].x = len(c.program)
}

func (c *compiler) alternatives(list []*node, back bool) {
	var ends []int
	for i, part := range list {
		fork := -1
		if i < len(list)-1 {
			fork = c.emit(instruction{op: opFork, x: len(c.program) + 1})
		}
		c.compile(part, back)
		if fork >= 0 {
			ends = append(ends, c.emit(instruction{op: opJump}))
			c.program[fork].y = len(c.program)
		}
	}
	for _, i := range ends {
		c.program[i].x = len(c.program)
	}
}

// repeat appends the program of a repetition: the least number of copies, then forks.
func (c *compiler) repeat(n *node, back bool) {
	c.times(n.least, n.list[0], back, func() {})
	var forks []int
	fork := func() { forks = append(forks, c.emit(instruction{op: opFork, x: len(c.program) + 1})) }
	if n.most == unbounded {
		fork()
		c.compile(n.list[0], back)
		c.emit(instruction{op: opLoop, x: forks[0], y: len(c.program) + 1})
	}
	c.times(n.most-n.least, n.list[0], back, fork)
	for _, i := range forks {
		c.program[i].y = len(c.program)
		if n.lazy {
			c.program[i].x, c.program[i].y = c.program[i].y, c.program[i].x
		}
	}
}
