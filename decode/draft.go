package decode

// Speculation in one stream: guessed tokens are evaluated with the context, and join the text as
// long as they are the tokens that are chosen anyway.

import (
	"slices"

	"picogpt/decode/guess"
	"picogpt/model"
	"picogpt/sample"
)

// A draft is ids that are guessed to follow a context, and then the logits after each of them. At
// each of these positions the whole sampler runs on the model's own logits, with the next random
// number. While it chooses the guessed id, the logits after it are known already. At the first
// other id the rest of the draft is dropped. The text is therefore the one without drafts: logits
// do not depend on what else is evaluated, and a guess uses no random number.
type draft struct {
	ids   []int         // guessed, and not yet compared with the chosen ids
	rows  []*sample.Row // [len(ids)] the logits after each of ids
	here  *sample.Row   // the logits after the context if its last token was a guess, else nil
	own   bool          // the ids are those of DraftForced
	first int           // in an Eval: the row after which the next token is chosen
	spare []*sample.Row
}

// propose makes ids the draft, up to the number that the context has room for. The context's last
// token is not evaluated yet.
func (s *Stream) propose(ids []int) {
	d := &s.draft
	d.spare, d.rows = append(d.spare, d.rows...), d.rows[:0]
	if d.here != nil {
		d.spare, d.here = append(d.spare, d.here), nil
	}
	d.ids, d.own = append(d.ids[:0], ids...), false
	for range ids {
		r := &sample.Row{}
		if n := len(d.spare); n > 0 {
			r, d.spare = d.spare[n-1], d.spare[:n-1]
		}
		d.rows = append(d.rows, r)
	}
}

// room returns how many guesses can be of use: the last new token needs no evaluation.
func (s *Stream) room() int {
	room := s.limits.context - len(s.context)
	if s.options.MaxTokens > 0 {
		room = min(room, s.options.MaxTokens-s.n-1)
	}
	return max(0, room)
}

// after returns tokens and the draft after them.
func (d *draft) after(tokens []int) []int {
	d.first = len(tokens) - 1
	if len(d.ids) == 0 {
		return tokens
	}
	return slices.Concat(tokens, d.ids)
}

// see copies the logits after a guess, on a worker. It returns false if the row is not after a
// guess.
func (d *draft) see(index int, from sample.Row) bool {
	if index == d.first {
		return false
	}
	d.rows[index-d.first-1].Keep(from)
	return true
}

// compare reports whether id, the token that follows the context, is the guessed one. If it is, the
// draft advances; if not, the rest of it is dropped.
func (s *Stream) compare(id int) bool {
	d := &s.draft
	if d.here != nil {
		d.spare, d.here = append(d.spare, d.here), nil
	}
	right := len(d.ids) > 0 && d.ids[0] == id
	if right && !s.done {
		d.here, d.ids, d.rows = d.rows[0], d.ids[1:], d.rows[1:]
		return true
	}
	d.ids = d.ids[:0]
	s.cut(len(s.context))
	return right
}

// clone returns a draft with memory of its own.
func (d *draft) clone() draft {
	c := draft{ids: slices.Clone(d.ids), own: d.own, first: d.first}
	if d.here != nil {
		c.here = &sample.Row{}
		c.here.Keep(*d.here)
	}
	for _, r := range d.rows[:len(d.ids)] {
		own := &sample.Row{}
		own.Keep(*r)
		c.rows = append(c.rows, own)
	}
	return c
}

// drafterOf returns the drafter for streams that run together, as their options ask; nil if there
// is none. Guidance would need guesses for two contexts.
func drafterOf(m *model.Model, streams []*Stream, inTurn *turns) *guess.Drafter {
	if len(streams) == 0 {
		return nil
	}
	s := streams[0]
	o := &s.options
	if o.Guidance.On() || o.Draft == nil && o.Lookup == 0 {
		return nil
	}
	texts := make([]guess.Text, len(streams))
	for i, s := range streams {
		texts[i] = &guessed{Stream: s, inTurn: inTurn, place: i}
	}
	return guess.New(m, guess.Options{Lookup: o.Lookup, Model: o.Draft, Ends: s.limits.endOfText,
		Always: o.alwaysDraft}, texts)
}

// A guessed is a stream as a guess.Drafter sees it, with a rehearsal of its choices.
type guessed struct {
	*Stream
	inTurn    *turns
	place     int
	copied    sample.Sampler // a copy of the stream's, with memory of its own
	rehearsed Matcher        // a fork of the stream's; nil: none
}

func (g *guessed) Pending() int      { return g.pending() }
func (g *guessed) Room() int         { return min(g.room(), g.inTurn.room(g.place)) }
func (g *guessed) Propose(ids []int) { g.propose(ids) }
func (g *guessed) Drafted() int      { return len(g.draft.ids) }

// Rehearse implements guess.Text.
func (g *guessed) Rehearse() {
	g.copied.CopyFrom(g.sampler)
	g.copied.Open = nil
	if g.rehearsed = nil; g.constraint != nil {
		g.rehearsed = g.constraint.Fork()
	}
}

// Choose implements guess.Text. It runs on a worker.
func (g *guessed) Choose(logits []float32, context []int) (int, error) {
	if g.rehearsed == nil {
		return g.copied.Next(logits, context)
	}
	g.copied.Open = g.copied.NewMask(len(logits))
	if err := g.rehearsed.Mask(g.copied.Open); err != nil {
		return 0, err
	}
	id, err := g.copied.Next(logits, context)
	if err == nil {
		err = g.rehearsed.Accept(id)
	}
	return id, err
}
