package eval

// Sequences to logits: many sequences in few Evals, the prefixes that they share computed once.

import (
	"context"
	"errors"
	"slices"

	"picogpt/model"
)

// A sequence is tokens to evaluate, all but the last, of which tokens[first:] are to be measured
// from what is before them.
type sequence struct {
	tokens []int
	first  int    // ≥ 1
	stats  []Stat // [len(tokens)-first], written by run
	err    error  // why the model refuses it, or nil; written by run

	// Of a protocol's window:
	weight int // what the mean over the scored tokens counts for: their number, but for HF's quirk
	end    int // tokens of the document up to the window's last
}

// inputs are the tokens that the model sees.
func (s *sequence) inputs() []int { return s.tokens[:len(s.tokens)-1] }

// A runner evaluates batches of sequences.
type runner struct {
	model   *model.Model
	measure measure
	share   bool // look for common prefixes
}

// A segment is a run of inputs that some sequences have in common, after the segments it hangs on.
type segment struct {
	parent  *segment
	from    int   // of its first token in the sequences
	tokens  []int // at least one
	members []*sequence
	wanted  int // the logits of tokens[wanted:] are looked at, the others are not computed
	session *model.Session
	heirs   int // segments that hang on this one
}

// run fills the stats of all sequences, or says why it cannot for one. Where the model refuses an
// input, for what is in it or for want of memory, the halves of the batch run by themselves, so
// that a refusal meets only the sequence that it is of. After an error some stats may be filled.
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

// together evaluates a batch level by level.
func (r *runner) together(ctx context.Context, batch []*sequence) error {
	for _, s := range batch {
		s.stats = make([]Stat, len(s.tokens)-s.first)
	}
	level := r.split(batch)
	for len(level) > 0 {
		inputs := make([]model.Input, len(level))
		for i, g := range level {
			r.inherit(g)
			inputs[i] = model.Input{
				Session: g.session, Tokens: g.tokens, NoLogits: true,
				Visit: r.visitor(g), VisitFrom: g.wanted,
			}
		}
		if err := r.model.Eval(ctx, inputs...); err != nil {
			for _, g := range level { // those before have handed their sessions on
				g.session.Release()
			}
			return err
		}
		level = r.next(level)
	}
	return nil
}

// inherit gives the segment a session that holds what is before it. Its parent's last heir takes
// the parent's own.
func (r *runner) inherit(g *segment) {
	switch p := g.parent; {
	case p == nil:
		g.session = r.model.NewSession()
	default:
		p.heirs--
		if p.heirs > 0 {
			g.session = p.session.Fork(p.session.Len())
		} else {
			g.session, p.session = p.session, nil
		}
	}
}

// visitor measures each wanted target of a segment's members. Members agree on all targets but the
// one after the segment.
func (r *runner) visitor(g *segment) func(model.Row) {
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

// split starts the tree: the segments that hang on nothing.
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

// next returns the segments that hang on those of a level.
func (r *runner) next(level []*segment) []*segment {
	var next []*segment
	for _, g := range level {
		n := len(next)
		end := g.from + len(g.tokens)
		next = branch(g, end, end, g.members, next)
		g.heirs = len(next) - n
		if g.heirs == 0 {
			g.session.Release()
		}
	}
	return next
}

// worthwhile is how many rows a shared segment must save: a pass of few rows costs about as much.
const worthwhile = 32

// branch appends the segments that begin at input from of the members, which are sorted and agree
// before input at ≥ from. Members that agree further share a segment if that saves enough.
func branch(parent *segment, from, at int, members []*sequence, to []*segment) []*segment {
	for len(members) > 0 {
		s := members[0].inputs()
		if len(s) == at { // it ends here
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

// common returns the length of the common prefix.
func common(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// cut makes the segment from up to end.
func cut(parent *segment, from, end int, members []*sequence) *segment {
	first := end // of the inputs whose logits are looked at
	for _, s := range members {
		first = min(first, s.first-1)
	}
	return &segment{
		parent: parent, from: from, tokens: members[0].tokens[from:end], members: members,
		wanted: max(0, first-from),
	}
}
