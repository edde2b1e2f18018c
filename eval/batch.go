package eval

// Sequences to logits: many sequences in few Evals. Prefixes that sequences share are computed
// once.

import (
	"context"
	"errors"
	"slices"

	"picogpt/model"
)

// A sequence is tokens to evaluate, all except the last. The tokens from index first on are
// measured, each by the logits before it.
type sequence struct {
	tokens []int
	first  int    // ≥ 1
	stats  []Stat // [len(tokens)-first], written by run
	err    error  // why the model refuses the sequence, or nil; written by run

	// For hidden states, in place of stats: all tokens are evaluated, and visit gets the rows from
	// index first−1 on.
	visit  func(model.Row)
	states *model.States

	// For a window of a protocol:
	weight int // weight of the window's mean: the number of its scored tokens, except in HF
	end    int // tokens of the document up to the window's last
}

// inputs returns the tokens that the model evaluates.
func (s *sequence) inputs() []int {
	if s.visit != nil {
		return s.tokens
	}
	return s.tokens[:len(s.tokens)-1]
}

// A runner evaluates batches of sequences.
type runner struct {
	model   *model.Model
	measure measure
	share   bool // compute common prefixes once
}

// A segment is a run of inputs that some sequences have in common. It follows its parent segment.
type segment struct {
	parent   *segment
	from     int   // of its first token in the sequences
	tokens   []int // at least one
	members  []*sequence
	wanted   int // the logits of tokens[wanted:] are needed; the others are not computed
	session  *model.Session
	children int // children that have not taken their session yet
}

// run computes the stats of all sequences, or sets the err of those that the model refuses. If an
// Eval fails because of an input or for want of memory, the halves of the batch run by themselves,
// so that only the sequence that caused the error has it. If run returns an error, some stats may
// be set.
func (r *runner) run(ctx context.Context, batch []*sequence) error {
	err := r.together(ctx, batch)
	var refused *model.InputError
	switch {
	case !errors.As(err, &refused):
		return err
	case len(batch) == 1:
		batch[0].err = refused.Err
		return nil
	}
	half := len(batch) / 2
	if err := r.run(ctx, batch[:half]); err != nil {
		return err
	}
	return r.run(ctx, batch[half:])
}

// together evaluates a batch level by level of the tree of segments.
func (r *runner) together(ctx context.Context, batch []*sequence) error {
	for _, s := range batch {
		if s.visit == nil {
			s.stats = make([]Stat, len(s.tokens)-s.first)
		}
	}
	level := r.split(batch)
	for len(level) > 0 {
		inputs := make([]model.Input, len(level))
		for i, g := range level {
			r.inherit(g)
			inputs[i] = model.Input{
				Session: g.session, Tokens: g.tokens, NoLogits: true,
				Visit: r.visitor(g), VisitFrom: g.wanted, States: g.members[0].states,
			}
		}
		if err := r.model.Eval(ctx, inputs...); err != nil {
			for _, g := range level { // the segments before it have passed on their sessions
				g.session.Release()
			}
			return err
		}
		level = r.next(level)
	}
	return nil
}

// inherit gives the segment a session that holds the tokens before it. The last child takes its
// parent's own session, the others fork it.
func (r *runner) inherit(g *segment) {
	switch p := g.parent; {
	case p == nil:
		g.session = r.model.NewSession()
	default:
		p.children--
		if p.children > 0 {
			g.session = p.session.Fork(p.session.Len())
		} else {
			g.session, p.session = p.session, nil
		}
	}
}

// visitor returns a Visit that measures the wanted targets of a segment's members. The members have
// the same targets, except the one after the segment.
func (r *runner) visitor(g *segment) func(model.Row) {
	if visit := g.members[0].visit; visit != nil { // such sequences share no segment
		return visit
	}
	return func(row model.Row) {
		target := g.from + row.Index + 1
		sum, stat := summary{}, Stat{ID: -1}
		for _, s := range g.members {
			if target < s.first {
				continue
			}
			if stat.ID < 0 {
				sum = r.measure.summarize(r.model.Leaves(), row.Logits)
			}
			if id := s.tokens[target]; id != stat.ID {
				stat = sum.stat(row.Logits, id)
			}
			s.stats[target-s.first] = stat
		}
	}
}

// split returns the first level of the tree: the segments without a parent.
func (r *runner) split(batch []*sequence) []*segment {
	members := slices.Clone(batch)
	if !r.share {
		var level []*segment
		for _, s := range members {
			level = append(level, cut(nil, 0, len(s.inputs()), []*sequence{s}))
		}
		return level
	}
	slices.SortStableFunc(members, func(a, b *sequence) int {
		return slices.Compare(a.inputs(), b.inputs())
	})
	return branch(nil, 0, 0, members, nil)
}

// next returns the children of the segments of a level.
func (r *runner) next(level []*segment) []*segment {
	var next []*segment
	for _, g := range level {
		n := len(next)
		end := g.from + len(g.tokens)
		next = branch(g, end, end, g.members, next)
		g.children = len(next) - n
		if g.children == 0 {
			g.session.Release()
		}
	}
	return next
}

// worthwhile is the number of rows that a shared segment must save: a pass of few rows costs about
// as much.
const worthwhile = 32

// branch appends the segments that begin at input from of the members. The members are sorted and
// agree before input at, which is ≥ from. Members that also agree after it share a segment if that
// saves enough rows.
func branch(parent *segment, from, at int, members []*sequence, to []*segment) []*segment {
	for len(members) > 0 {
		s := members[0].inputs()
		if len(s) == at { // the member ends here
			if at > from {
				to = append(to, cut(parent, from, at, members[:1]))
			}
			members = members[1:]
			continue
		}
		n := 1
		for n < len(members) && members[n].inputs()[at] == s[at] {
			n++
		}
		end := common(s, members[n-1].inputs())
		switch {
		case n == 1:
			to = append(to, cut(parent, from, len(s), members[:1]))
		case (n-1)*(end-from) >= worthwhile:
			to = append(to, cut(parent, from, end, members[:n]))
		default:
			to = branch(parent, from, end, members[:n], to)
		}
		members = members[n:]
	}
	return to
}

// common returns the length of the common prefix of a and b.
func common(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// cut returns the segment of the inputs from from to end.
func cut(parent *segment, from, end int, members []*sequence) *segment {
	first := end // the first input whose logits are needed
	for _, s := range members {
		first = min(first, s.first-1)
	}
	return &segment{
		parent: parent, from: from, tokens: members[0].tokens[from:end], members: members,
		wanted: max(0, first-from),
	}
}
