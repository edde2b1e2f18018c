package search

// Many continuations of one context: the logits after each, found side by side. It is what sums
// and orderings over whole texts are made from.

import (
	"context"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

const (
	// sideBySide is how many continuations one Eval has. It is fixed, for it decides which are
	// evaluated, and so the bits of a bound.
	sideBySide = 32

	// mostHeld bounds the sessions of evaluated continuations that wait for longer ones. A session
	// has at least one page of the cache to itself.
	mostHeld = 64
)

// A node is a continuation of the context: that of its parent, and one more token.
type node[T any] struct {
	parent  *node[T] // nil for the context itself
	id      int
	depth   int            // tokens after the context
	log     float64        // natural logarithm of the probability of these tokens
	session *model.Session // nil: not held
	data    T
}

// follow returns the continuation with one more token.
func (n *node[T]) follow(id int, log float64) *node[T] {
	return &node[T]{parent: n, id: id, depth: n.depth + 1, log: log}
}

// An explorer evaluates continuations of a context.
type explorer[T any] struct {
	root *node[T]
	held []*node[T] // with a session, the least recently used first; root is not among them
	rows int        // tokens evaluated so far, without the context
}

// explore evaluates a prompt as start does, and calls see with the logits after it.
func explore[T any](
	ctx context.Context, s *model.Session, prompt []int, see func(*node[T], sample.Row),
) (*explorer[T], error) {
	on, err := start(ctx, s, prompt)
	if err != nil {
		return nil, err
	}
	root := &node[T]{session: on}
	see(root, sample.WholeRow(on.Logits(), on.Model().Leaves()))
	return &explorer[T]{root: root}, nil
}

// start evaluates a prompt on a fork of a session, which then has the logits after it. An empty
// prompt stands for what decode.NewStream says.
func start(ctx context.Context, s *model.Session, prompt []int) (*model.Session, error) {
	m, held := s.Model(), s.Len()
	if id, ok := m.Config().StartToken(); held+len(prompt) == 0 && ok {
		prompt = []int{id}
	}
	if held > 0 && len(prompt) == 0 && s.Logits() == nil {
		held--
		prompt = s.Tokens()[held:]
	}
	on := s.Fork(held)
	if held == 0 || len(prompt) > 0 {
		if err := m.Eval(ctx, model.Input{Session: on, Tokens: prompt}); err != nil {
			on.Release()
			return nil, model.Cause(err)
		}
	}
	return on, nil
}

// room returns how many tokens after the context the model can evaluate.
func (e *explorer[T]) room() int {
	return e.root.session.Model().Config().Positions - e.root.session.Len()
}

// from returns the longest beginning of a continuation that has a session.
func (e *explorer[T]) from(n *node[T]) *node[T] {
	for n.session == nil {
		n = n.parent
	}
	return n
}

// cost returns how many tokens have to be evaluated for the logits after n.
func (e *explorer[T]) cost(n *node[T]) int { return n.depth - e.from(n).depth }

// eval evaluates continuations, at most sideBySide, and calls see for each and for those of its
// beginnings that are new. It may call it for several at the same time.
func (e *explorer[T]) eval(
	ctx context.Context, nodes []*node[T], isNew func(*node[T]) bool, see func(*node[T], sample.Row),
) error {
	m := e.root.session.Model()
	batch := make([]model.Input, len(nodes))
	theirs := map[*node[T]]bool{} // the visits of an earlier input
	rows := 0
	for i, n := range nodes {
		from, path := e.from(n), []*node[T]{}
		for at := n; at != from; at = at.parent {
			path = append(path, at)
		}
		slices.Reverse(path)
		in := model.Input{Session: from.session.Fork(from.session.Len()), NoLogits: true}
		mine := make([]bool, len(path))
		for j, at := range path {
			in.Tokens = append(in.Tokens, at.id)
			mine[j] = isNew(at) && !theirs[at]
			theirs[at] = true
		}
		in.VisitFrom = max(0, slices.Index(mine, true))
		in.Visit = func(r model.Row) {
			if mine[r.Index] {
				see(path[r.Index], sample.RowOf(r, m.Leaves()))
			}
		}
		rows += len(path)
		batch[i] = in
	}
	err := m.Eval(ctx, batch...)
	for i, n := range nodes {
		if err != nil {
			batch[i].Session.Release()
			continue
		}
		e.use(e.from(n))
		n.session = batch[i].Session
		e.held = append(e.held, n)
	}
	if err != nil {
		return model.Cause(err)
	}
	e.rows += rows
	for _, old := range e.held[:max(0, len(e.held)-mostHeld)] {
		old.forget()
	}
	e.held = slices.Delete(e.held, 0, max(0, len(e.held)-mostHeld))
	return nil
}

// use makes a session the most recently used.
func (e *explorer[T]) use(n *node[T]) {
	if i := slices.Index(e.held, n); i >= 0 {
		e.held = append(slices.Delete(e.held, i, i+1), n)
	}
}

func (n *node[T]) forget() {
	n.session.Release()
	n.session = nil
}

// end gives all memory back.
func (e *explorer[T]) end() {
	for _, n := range e.held {
		n.forget()
	}
	e.root.forget()
}

// A logSum is a sum of numbers that are given by their natural logarithms. The order in which they
// are added decides its bits. The zero value is 0.
type logSum struct {
	most float64 // the greatest logarithm
	sum  float64 // of all, divided by that number; 0: nothing was added
}

func (l *logSum) add(log float64) {
	switch {
	case log == math.Inf(-1):
	case l.sum == 0:
		l.most, l.sum = log, 1
	case log <= l.most:
		l.sum += kernels.Exp64(log - l.most)
	default:
		l.sum = float64(l.sum*kernels.Exp64(l.most-log)) + 1
		l.most = log
	}
}

// log returns the logarithm of the sum.
func (l logSum) log() float64 {
	if l.sum == 0 {
		return math.Inf(-1)
	}
	return l.most + kernels.Log64(l.sum)
}
