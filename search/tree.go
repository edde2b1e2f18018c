package search

// The likeliest texts, proven: no other is likelier.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/decode"
	"picogpt/decode/matcher"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// TreeOptions are the options of a [Tree]. MinProb or Budget has to be above 0.
type TreeOptions struct {
	MinProb   float64 // texts that are at least so likely, below 1; 0 means any
	Top       int     // at most so many of the likeliest texts; 0 means any number
	MaxTokens int     // a text of so many tokens is complete; 0 means to the context's end

	// Budget is how many tokens are evaluated at most, beside the context. Memory is bounded by it
	// too: as many beginnings of texts wait as it can still evaluate. 0 means no bound.
	Budget int

	EndOfText  []int             // as in decode.Options
	Vocabulary decode.Vocabulary // as in decode.Options
	Constraint decode.Matcher    // as in decode.Options; a text that does not fit it is none

	Progress func(rows int) // after each Eval: tokens evaluated
}

// Check returns the *sample.OptionError of options that no tree can follow, or nil.
func (o *TreeOptions) Check() (err error) {
	switch {
	case !(o.MinProb >= 0 && o.MinProb < 1):
		err = fmt.Errorf("least probability %v: want a number from 0 to below 1", o.MinProb)
	case o.Top < 0:
		err = fmt.Errorf("top %d: want 0 or more", o.Top)
	case o.MaxTokens < 0:
		err = fmt.Errorf("tokens %d: want 0 (to the context's end) or more", o.MaxTokens)
	case o.Budget < 0:
		err = fmt.Errorf("budget %d: want 0 (no bound) or more", o.Budget)
	case o.Budget == 0 && o.MinProb == 0:
		err = errors.New("least probability 0 and budget 0: want one of them above 0, for nothing " +
			"bounds the work")
	}
	return optionError(err)
}

// A Likely is one of the likeliest texts.
type Likely struct {
	Tokens  []decode.Token // the last has a Finish
	LogProb float64        // the natural logarithm of its probability, the sum of its tokens'

	// Rest is the greatest probability that a text can have that has not come yet. If it is above
	// that of this text, which only a spent Budget leads to, the order is not proven.
	Rest float64

	// Unseen is at least what all texts have together that have not come yet.
	Unseen float64
}

// A Tree finds the likeliest texts that follow a context. A text is a sequence of tokens at
// temperature 1 and without filters that has ended, with an id of EndOfText, or has MaxTokens
// tokens; two tokenizations of the same bytes are two texts. Under a Constraint the probability is
// still the model's own.
type Tree struct {
	TreeOptions
	*explorer[branch]
	context []int // tokens before the texts
	longest int   // tokens of a text
	gaps    map[int]bool
	least   float64 // the logarithm of MinProb

	inner, leaves shoots // beginnings of texts, and whole ones: the likeliest first
	lost          logSum // what is not followed
	most          float64
	found         int

	// What is less likely, or as likely, is not followed: other things have taken all the room.
	cutInner, cutLeaf float64
}

// branch is what a Tree knows of a node.
type branch struct {
	form   decode.Matcher // nil: none
	leaves []shoot        // complete texts, in the order of ids
	inner  []shoot        // beginnings of others
	lost   logSum         // of ids that are too unlikely to follow
	most   float64        // the greatest of these
	err    error
}

type branchNode = node[branch]

// A shoot is a node, and one more token that is not evaluated.
type shoot struct {
	from *branchNode
	id   int // -1: none, from itself is a text
	log  float64
}

// NewTree evaluates the prompt on a fork of session s, which stays as it is. Call Close at the end.
func NewTree(ctx context.Context, s *model.Session, prompt []int, o TreeOptions) (*Tree, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.EndOfText == nil {
		o.EndOfText = s.Model().Config().EndTokens()
	}
	t := &Tree{TreeOptions: o, gaps: map[int]bool{}, most: math.Inf(-1), cutInner: math.Inf(-1),
		cutLeaf: math.Inf(-1), least: kernels.Log64(o.MinProb)}
	t.longest = cmp.Or(o.MaxTokens, math.MaxInt)
	if v, ok := o.Vocabulary.(interface{ Gaps() []int }); ok {
		for _, id := range v.Gaps() {
			t.gaps[id] = true
		}
	}
	var err error
	t.explorer, err = explore(ctx, s, prompt, func(n *branchNode, r sample.Row) {
		n.data.form = matcher.Begin(o.Constraint, o.EndOfText)
		left := s.Model().Config().Positions - n.session.Len()
		t.longest = min(t.longest, left+1)
		t.context = slices.Clone(n.session.Tokens())
		t.see(n, r)
	})
	if err != nil {
		return nil, err
	}
	if err := t.settle(t.explorer.root); err != nil {
		t.Close()
		return nil, err
	}
	t.sort()
	return t, nil
}

// Close gives the memory back.
func (t *Tree) Close() { t.explorer.end() }

// Rows returns how many tokens have been evaluated beside the context.
func (t *Tree) Rows() int { return t.rows }

// Texts yields the likeliest texts, each once no other can be likelier, or once the budget is
// spent. It ends when there are Top of them, when no other text can have MinProb, or with an error.
// Another loop continues where one was left, also after an error of the context.
func (t *Tree) Texts(ctx context.Context) iter.Seq2[Likely, error] {
	return func(yield func(Likely, error) bool) {
		for t.Top == 0 || t.found < t.Top {
			if len(t.leaves) > 0 && (len(t.inner) == 0 || t.leaves[0].log >= t.inner[0].log) {
				leaf := t.leaves[0]
				t.leaves = t.leaves[1:]
				text, ok, err := t.text(leaf)
				if err != nil || ok && !yield(text, nil) {
					if err != nil {
						yield(Likely{}, err)
					}
					return
				}
				continue
			}
			if len(t.inner) == 0 {
				return
			}
			if err := t.grow(ctx); err != nil {
				yield(Likely{}, err)
				return
			}
		}
	}
}

// grow evaluates the likeliest beginnings.
func (t *Tree) grow(ctx context.Context) error {
	var nodes []*branchNode
	rows := t.rows
	for _, s := range t.inner[:min(len(t.inner), sideBySide)] {
		n := s.from.follow(s.id, s.log)
		if rows += t.cost(n); t.Budget > 0 && rows > t.Budget {
			break
		}
		if s.from.data.form != nil {
			n.data.form = s.from.data.form.Fork()
			if err := n.data.form.Accept(s.id); err != nil {
				return &decode.ConstraintError{Err: err}
			}
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 { // the budget is spent
		t.leave(t.inner)
		t.inner = nil
		return nil
	}
	all := func(n *branchNode) bool { return slices.Contains(nodes, n) }
	if err := t.explorer.eval(ctx, nodes, all, t.see); err != nil {
		return err
	}
	t.inner = slices.Delete(t.inner, 0, len(nodes))
	for _, n := range nodes {
		if err := t.settle(n); err != nil {
			return err
		}
	}
	t.sort()
	if t.Progress != nil {
		t.Progress(t.rows)
	}
	return nil
}

// see finds what may follow a node. It may run for several nodes at a time.
func (t *Tree) see(n *branchNode, r sample.Row) {
	d := &n.data
	d.most = math.Inf(-1)
	var open []uint64
	if d.form != nil {
		open = make([]uint64, (len(r.Logits)+63)/64)
		if err := d.form.Mask(open); err != nil {
			d.err = &decode.ConstraintError{Err: err}
			return
		}
	}
	size := len(r.Logits)
	if t.Vocabulary != nil {
		size = min(size, t.Vocabulary.Size())
	}
	any := false
	for id := range size {
		if open != nil && open[id>>6]>>(id&63)&1 == 0 || t.gaps[id] {
			continue
		}
		any = true
		s, to, cut := shoot{n, id, n.log + r.LogProb(id)}, &d.inner, t.cutInner
		if slices.Contains(t.EndOfText, id) || n.depth+1 == t.longest {
			to, cut = &d.leaves, t.cutLeaf
		}
		if s.log < t.least || s.log <= cut {
			d.lost.add(s.log)
			d.most = max(d.most, s.log)
			continue
		}
		*to = append(*to, s)
	}
	if !any && complete(d.form) { // nothing can follow, and no id need say so
		d.leaves = append(d.leaves, shoot{n, -1, n.log})
	}
}

type shoots = []shoot

// complete reports whether a text is of the form; false without a form.
func complete(form decode.Matcher) bool {
	f, ok := form.(interface{ Complete() bool })
	return form != nil && (!ok || f.Complete())
}

// settle takes over what see has found.
func (t *Tree) settle(n *branchNode) error {
	d := &n.data
	if d.err != nil {
		return d.err
	}
	t.inner, t.leaves = append(t.inner, d.inner...), append(t.leaves, d.leaves...)
	t.lost.add(d.lost.log())
	t.most = max(t.most, d.most)
	d.inner, d.leaves = nil, nil
	return nil
}

// sort puts the likeliest first, and drops the beginnings that the budget cannot follow and the
// texts that can no longer be wanted.
func (t *Tree) sort() {
	inner, leaves := math.MaxInt, math.MaxInt
	if t.Budget > 0 {
		inner, leaves = max(0, t.Budget-t.rows), t.Budget
	}
	enough := t.Top > 0 && t.Constraint == nil // a constraint may refuse some
	if enough {
		leaves = t.Top - t.found
	}
	t.cutInner, t.cutLeaf = t.keep(&t.inner, inner), t.keep(&t.leaves, leaves)
	if enough {
		t.cutInner = max(t.cutInner, t.cutLeaf) // as many texts are likelier
	}
}

// keep keeps the likeliest n of a list, and returns the logarithm of what no longer belongs to it.
func (t *Tree) keep(list *shoots, n int) (cut float64) {
	slices.SortStableFunc(*list, func(a, b shoot) int { return cmp.Compare(b.log, a.log) })
	if len(*list) < n {
		return math.Inf(-1)
	}
	t.leave((*list)[n:])
	if *list = slices.Clip((*list)[:n]); n == 0 {
		return math.Inf(1)
	}
	return (*list)[n-1].log
}

// leave counts what is not followed.
func (t *Tree) leave(list shoots) {
	for _, s := range list {
		t.lost.add(s.log)
		t.most = max(t.most, s.log)
	}
	clear(list)
}

// Rest and Unseen are those of [Likely], now.
func (t *Tree) Rest() float64 {
	most := t.most
	for _, s := range []shoots{t.inner, t.leaves} {
		if len(s) > 0 {
			most = max(most, s[0].log)
		}
	}
	return upTo(most)
}

// Unseen is at least what all texts have together that have not come yet.
func (t *Tree) Unseen() float64 {
	all := t.lost
	for _, s := range []shoots{t.inner, t.leaves} {
		for _, shoot := range s {
			all.add(shoot.log)
		}
	}
	return upTo(all.log())
}

// upTo returns the probability with a logarithm, above 0 if it is.
func upTo(log float64) float64 {
	if log == math.Inf(-1) {
		return 0
	}
	return max(kernels.Exp64(log), 0x1p-1022)
}

// text makes the text of a leaf; ok is false if it is not of the form.
func (t *Tree) text(leaf shoot) (text Likely, ok bool, err error) {
	path, logs := []int{}, []float64{}
	if leaf.id >= 0 {
		path, logs = append(path, leaf.id), append(logs, leaf.log-leaf.from.log)
	}
	for n := leaf.from; n.parent != nil; n = n.parent {
		path, logs = append(path, n.id), append(logs, n.log-n.parent.log)
	}
	slices.Reverse(path)
	slices.Reverse(logs)
	finish := decode.FinishLength
	switch form := leaf.from.data.form; {
	case leaf.id < 0:
		finish = decode.FinishStop
	case slices.Contains(t.EndOfText, leaf.id):
		finish = decode.FinishEndOfText
	case form != nil:
		form = form.Fork()
		if err := form.Accept(leaf.id); err != nil {
			return text, false, &decode.ConstraintError{Err: err}
		}
		if !complete(form) {
			return text, false, nil
		}
	}
	text = Likely{LogProb: leaf.log, Rest: t.Rest(), Unseen: t.Unseen()}
	if err := t.spell(&text, path, logs, finish); err != nil {
		return text, false, err
	}
	t.found++
	return text, true, nil
}

// spell gives a text its tokens.
func (t *Tree) spell(text *Likely, path []int, logs []float64, finish string) (err error) {
	for i, id := range path {
		text.Tokens = append(text.Tokens, decode.Token{Sample: t.found, ID: id, LogProb: logs[i]})
	}
	if len(path) == 0 {
		return nil
	}
	last := &text.Tokens[len(path)-1]
	last.Finish = finish
	if t.Vocabulary == nil {
		return nil
	}
	d := t.Vocabulary.NewDecoder(t.context)
	for i, id := range path {
		if slices.Contains(t.EndOfText, id) {
			continue
		}
		if text.Tokens[i].Text, err = d.Push(id); err != nil {
			return err
		}
	}
	last.Text += d.Flush()
	return nil
}
