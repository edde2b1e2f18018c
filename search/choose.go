package search

// Choose: the model's own probabilities of some texts, given that one of them follows.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// ChooseOptions are the options of [Choose]. The zero value compares the choices as they are, to
// within 1e-4.
type ChooseOptions struct {
	End    bool   // a choice is the whole text: an id of EndOfText follows it
	Suffix string // what follows each choice, to tell one from another that it begins

	EndOfText []int // as in decode.Options

	// Precision is how much of the whole may stay unseen, from 1e-12 to 1; 0 means 1e-4.
	Precision float64

	// Budget is how many tokens are evaluated at most, beside the context and one spelling of each
	// choice; 0 means 10000. Where it ends the sum, Unseen is above Precision.
	Budget int

	Before   []byte                    // what each choice begins with: decode.Healing.Bytes
	Progress func(rows int, u float64) // after each Eval: tokens evaluated, and what is unseen
}

// A Choice is one of the texts of [Choose].
type Choice struct {
	Text    string  `json:"text"`
	Prob    float64 `json:"prob"`    // given that one of the choices follows; they add to 1
	LogProb float64 `json:"logprob"` // the natural logarithm of its probability by itself
}

// Choices is what [Choose] returns.
type Choices struct {
	Choices []Choice `json:"choices"` // in the order given
	Unseen  float64  `json:"unseen"`  // each Prob is at most so far from its true value
	Rows    int      `json:"-"`       // tokens that were evaluated, beside the context
}

// A Speller turns texts into tokens. *tokenizer.Tokenizer is one.
type Speller interface {
	Bytes() ([][]byte, error)
	Encode(text string) ([]int, error)
}

// Bounds of Choose.
const (
	maxChosen     = 1 << 16 // bytes of all choices
	defaultUnseen = 1e-4
	leastUnseen   = 1e-12 // below it the rounding of sums would count
	defaultBudget = 10000
)

// Choose returns the probability that the model gives to each of some texts, given that one of them
// follows the tokens of session s and the prompt: at temperature 1 and without filters. The probability
// of a text is the sum over all sequences of tokens whose bytes are exactly it, so that the way in
// which the tokenizer would spell it does not matter. Unlike [eval.Choose], which compares one
// spelling of each choice, it needs choices of which none begins another: else
// [ChooseOptions.End] or [ChooseOptions.Suffix] has to tell them apart.
//
// First it evaluates the tokenizer's own spelling of each choice. Then it extends the likeliest
// beginnings of others, side by side, until all that it has not seen is at most Precision of the
// whole. What may follow a beginning cannot be likelier than the beginning itself: that is the
// bound. Session s stays as it is. Choices and options that are wrong for every model are a
// *sample.OptionError.
func Choose(
	ctx context.Context, s *model.Session, prompt []int, tok Speller, choices []string,
	o ChooseOptions,
) (Choices, error) {
	o.Precision, o.Budget = cmp.Or(o.Precision, defaultUnseen), cmp.Or(o.Budget, defaultBudget)
	if o.EndOfText == nil {
		o.EndOfText = s.Model().Config().EndTokens()
	}
	sum, err := newChoiceSum(tok, choices, o)
	if err != nil {
		return Choices{}, err
	}
	if sum.explorer, err = explore(ctx, s, prompt, sum.see); err != nil {
		return Choices{}, err
	}
	defer sum.explorer.end()
	if err := sum.first(ctx); err != nil {
		return Choices{}, err
	}
	for next := sum.next(); len(next) > 0; next = sum.next() {
		if err := sum.eval(ctx, next); err != nil {
			return Choices{}, err
		}
	}
	return sum.result(), nil
}

// check returns what is wrong with choices, or with the options.
func (o *ChooseOptions) check(choices []string) error {
	total := 0
	for i, c := range choices {
		if !utf8.ValidString(c) {
			return fmt.Errorf("choice %d: %s is not valid UTF-8", i+1, quote.Short(c, 60))
		}
		total += len(c) + len(o.Suffix)
	}
	switch {
	case len(choices) == 0:
		return errors.New("choices: want at least one, found none")
	case total > maxChosen:
		return fmt.Errorf("choices: want %d bytes at most, found %d", maxChosen, total)
	case !(o.Precision >= leastUnseen && o.Precision <= 1):
		return fmt.Errorf("precision %v: want a number from %v to 1", o.Precision, leastUnseen)
	case o.Budget < 0:
		return fmt.Errorf("budget %d: want 0 or more", o.Budget)
	case o.End && len(o.EndOfText) == 0:
		return errors.New("end: want an id that ends texts, found none")
	}
	if i := slices.Index(choices, ""); i >= 0 && o.Suffix == "" && !o.End {
		return fmt.Errorf("choice %d: want some text, found none", i+1)
	}
	sorted := slices.Clone(choices)
	slices.SortFunc(sorted, func(a, b string) int { return cmp.Compare(a+o.Suffix, b+o.Suffix) })
	for i, c := range sorted[1:] { // what a text begins follows it at once
		switch before := sorted[i]; {
		case c == before:
			return fmt.Errorf("choice %s: want it once, found it twice", quote.Short(c, 60))
		case !o.End && strings.HasPrefix(c+o.Suffix, before+o.Suffix):
			return &PrefixError{before, c}
		}
	}
	return nil
}

// A PrefixError says that one choice begins another, so that both follow where the longer does.
type PrefixError struct{ Choice, Other string }

func (e *PrefixError) Error() string {
	return fmt.Sprintf("choice %s begins choice %s: want an end of text or a suffix after them",
		quote.Short(e.Choice, 40), quote.Short(e.Other, 40))
}

// A choiceSum is the sum so far.
type choiceSum struct {
	*explorer[spelled]
	ChooseOptions
	speller *speller
	choices []string
	start   *place
	firsts  [][]int // the tokenizer's spellings

	seen     []logSum // of each choice
	frontier []*spelledNode
	dropped  logSum // beginnings that are not evaluated
}

// spelled is what a choiceSum knows of a node.
type spelled struct {
	at    *place
	done  bool           // its logits have been seen
	steps []float64      // the logarithm of the probability of each step at its place
	end   logSum         // of all ids that end the text
	ahead []*spelledNode // nodes of the first spellings after it
}

type spelledNode = node[spelled]

func newChoiceSum(tok Speller, choices []string, o ChooseOptions) (*choiceSum, error) {
	if err := o.check(choices); err != nil {
		return nil, &sample.OptionError{Err: err}
	}
	tokens, err := tok.Bytes()
	if err != nil {
		return nil, fmt.Errorf("choices: %w", err)
	}
	s := &choiceSum{ChooseOptions: o, choices: choices, seen: make([]logSum, len(choices)),
		start: newPlace()}
	texts, places := make([][]byte, len(choices)), make([]*place, len(choices))
	for i, c := range choices {
		texts[i] = slices.Concat(o.Before, []byte(c+o.Suffix))
		places[i] = s.start.add(texts[i], i)
	}
	s.speller = newSpeller(tokens, o.EndOfText, texts)
	reached := s.speller.reach(s.start)
	for i, c := range choices {
		if !reached[places[i]] {
			return nil, &sample.OptionError{Err: fmt.Errorf("choice %s: the vocabulary has no tokens "+
				"that spell it", quote.Short(c, 60))}
		}
		ids, err := tok.Encode(string(texts[i]))
		if err != nil || !bytes.Equal(join(tokens, ids), texts[i]) {
			ids = nil // as where the tokenizer changes texts: the search finds another
		}
		s.firsts = append(s.firsts, ids)
	}
	return s, nil
}

// see notes how likely each step after a node is. It may run for several nodes at a time.
func (s *choiceSum) see(n *spelledNode, r sample.Row) {
	d := &n.data
	if n.parent == nil {
		d.at = s.start
	}
	d.done = true
	for _, step := range s.speller.steps(d.at) {
		log := math.Inf(-1)
		if step.id < len(r.Logits) {
			log = r.LogProb(step.id)
		}
		d.steps = append(d.steps, log)
	}
	for _, id := range s.EndOfText {
		if s.End && d.at.text >= 0 && id < len(r.Logits) {
			d.end.add(r.LogProb(id))
		}
	}
}

// first evaluates the tokenizer's own spelling of each choice.
func (s *choiceSum) first(ctx context.Context) error {
	var last []*spelledNode
	for i, ids := range s.firsts {
		if n := len(ids); n > s.room()+1 || s.End && n > s.room() {
			held := s.root.session.Len()
			return fmt.Errorf("choice %s: %w", quote.Short(s.choices[i], 40),
				&model.ContextError{Held: held, Added: n, Positions: held + s.room()})
		}
		if !s.End && len(ids) > 0 {
			ids = ids[:len(ids)-1] // the last one needs no evaluation
		}
		n := s.root
		for _, id := range ids {
			n = s.ahead(n, id)
		}
		if n != s.root && !slices.Contains(last, n) {
			last = append(last, n)
		}
	}
	for _, n := range slices.Collect(slices.Chunk(last, sideBySide)) {
		if err := s.evalNew(ctx, n); err != nil {
			return err
		}
	}
	s.settle(s.root)
	s.sort()
	return nil
}

// ahead returns the node with one more token, before the logits before that are seen.
func (s *choiceSum) ahead(n *spelledNode, id int) *spelledNode {
	for _, a := range n.data.ahead {
		if a.id == id {
			return a
		}
	}
	a := n.follow(id, 0)
	for _, step := range s.speller.steps(n.data.at) {
		if step.id == id {
			a.data.at = step.to
		}
	}
	n.data.ahead = append(n.data.ahead, a)
	return a
}

func (s *choiceSum) evalNew(ctx context.Context, nodes []*spelledNode) error {
	isNew := func(n *spelledNode) bool { return !n.data.done }
	err := s.explorer.eval(ctx, nodes, isNew, s.see)
	if err == nil && s.Progress != nil {
		s.Progress(s.rows, s.unseen())
	}
	return err
}

// eval evaluates nodes that the frontier has had, and adds what follows them.
func (s *choiceSum) eval(ctx context.Context, nodes []*spelledNode) error {
	if err := s.evalNew(ctx, nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		s.settle(n)
	}
	s.sort()
	return nil
}

// settle adds what the logits after a node say: texts that are complete, and beginnings.
func (s *choiceSum) settle(n *spelledNode) {
	d := &n.data
	if s.End && d.at.text >= 0 {
		s.seen[d.at.text].add(n.log + d.end.log())
	}
	for i, step := range s.speller.steps(d.at) {
		log := n.log + d.steps[i]
		if !s.End && step.to.text >= 0 { // and nothing begins with it
			s.seen[step.to.text].add(log)
			continue
		}
		at := slices.IndexFunc(d.ahead, func(a *spelledNode) bool { return a.id == step.id })
		if at >= 0 {
			d.ahead[at].log = log
			s.settle(d.ahead[at])
			continue
		}
		next := n.follow(step.id, log)
		if next.data.at = step.to; next.depth > s.room() {
			s.dropped.add(log)
			continue
		}
		s.frontier = append(s.frontier, next)
	}
	d.steps, d.ahead = nil, nil
}

// sort puts the likeliest beginnings first, and drops those that the budget cannot reach.
func (s *choiceSum) sort() {
	slices.SortStableFunc(s.frontier, func(a, b *spelledNode) int { return cmp.Compare(b.log, a.log) })
	most := min(len(s.frontier), max(0, s.Budget-s.rows))
	for _, n := range s.frontier[most:] {
		s.dropped.add(n.log)
	}
	clear(s.frontier[most:])
	s.frontier = s.frontier[:most]
}

// next removes from the frontier what is evaluated next: at most sideBySide beginnings, without
// those that will hardly be needed. None is left to evaluate if enough has been seen.
func (s *choiceSum) next() []*spelledNode {
	if s.unseen() <= s.Precision {
		return nil
	}
	rest := make([]logSum, len(s.frontier)+1) // of the frontier from each place on, and dropped
	rest[len(s.frontier)] = s.dropped
	for i, n := range slices.Backward(s.frontier) {
		rest[i] = rest[i+1]
		rest[i].add(n.log)
	}
	seen, rows, n := s.total(), s.rows, 0
	for n < min(len(s.frontier), sideBySide) {
		if rows += s.cost(s.frontier[n]); rows > s.Budget {
			break
		}
		seen.add(s.frontier[n].log)
		if n++; rest[n].log() < seen.log()+kernels.Log64(s.Precision/2) {
			break
		}
	}
	next := slices.Clone(s.frontier[:n])
	s.frontier = slices.Delete(s.frontier, 0, n)
	return next
}

// total is the sum of all that has been seen.
func (s *choiceSum) total() (all logSum) {
	for _, c := range s.seen {
		all.add(c.log())
	}
	return all
}

// unseen returns what is not seen, as a part of the whole.
func (s *choiceSum) unseen() float64 {
	all, rest := s.total(), s.dropped
	for _, n := range s.frontier {
		rest.add(n.log)
	}
	if all.log() == math.Inf(-1) {
		return 1
	}
	return 1 / (1 + kernels.Exp64(all.log()-rest.log()))
}

func (s *choiceSum) result() Choices {
	c := Choices{Unseen: s.unseen(), Rows: s.rows}
	total := s.total()
	for i, text := range s.choices {
		log := s.seen[i].log()
		c.Choices = append(c.Choices, Choice{text, kernels.Exp64(log - total.log()), log})
	}
	return c
}
