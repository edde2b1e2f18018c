package decode

// Speculation in one stream: guessed tokens are evaluated with the context, and join the text as
// long as they are the tokens that are chosen anyway. A Drafter guesses them, or the stream itself,
// from what its form forces.

import (
	"iter"
	"maps"
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

// drafterOf returns the drafter for streams that run together, as their options ask and their forms
// force; nil if there is none. Guidance would need guesses for two contexts.
func drafterOf(m *model.Model, streams []*Stream, inTurn *turns) *guess.Drafter {
	o, forced := &streams[0].options, false
	texts := make([]guess.Text, len(streams))
	for i, s := range streams {
		s.GuessForced()
		forced = forced || s.forced != nil
		texts[i] = &guessed{Stream: s, inTurn: inTurn, place: i}
	}
	if o.Guidance.On() || o.Draft == nil && o.Lookup == 0 && !forced {
		return nil
	}
	return guess.New(m, guess.Options{Lookup: o.Lookup, Model: o.Draft,
		Ends: streams[0].limits.endOfText, Always: o.alwaysDraft}, texts)
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
func (g *guessed) Guess() int        { return g.DraftForced(len(g.inTurn.waiting)) }

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

// Forced text: where a constraint leaves one continuation, its tokens are guessed, and
// evaluated with the text. Which tokens spell it, the model decides all the same.

// A forcing is a Matcher that knows what must follow. *constrain.Text is one.
type forcing interface {
	Forced(most int) []byte                     // bytes that must follow
	Prefixes(forced []byte) iter.Seq2[int, int] // ids with which they begin, by length
}

const (
	mostForced  = 8    // ids that are guessed at a time
	forcedBytes = 64   // bytes that are looked at for them
	mostHabits  = 1024 // spellings that a text remembers

	// forcedRows is how many rows a step of several texts has at most because of guesses: in more,
	// a row costs what it would cost later, and those of wrong guesses are lost.
	forcedRows = 16

	// leastForced is how probable a guess must be, with all those before it: the row of a guess
	// takes about 0.4 of a step's time in the demo, whose steps are short, and less elsewhere.
	leastForced = 0.4
)

// A forcedText guesses for one text. What it guesses depends on the text and its logits only, on no
// time, so that the tokens of several texts come in the same order on every machine.
type forcedText struct {
	encode func(string) ([]int, error) // of the vocabulary; nil: it has none
	habits map[string]int              // the id that came last where these bytes were forced
	odds   [habit + 1]guess.Odds
	ahead  []forcedGuess // for the tokens that follow the context
	at     int           // the context's length then
}

// A forcedGuess is the guess for one token.
type forcedGuess struct {
	id   int
	kind forcedKind
	rest string // the bytes that are forced there
	idle bool   // it is not probable enough: it serves to learn
}

// A forcedKind says what speaks for a guess.
type forcedKind uint8

const (
	edge      forcedKind = iota // it takes all forced bytes: a longer token may come in its place
	unusual                     // the tokenizer would spell the bytes otherwise
	canonical                   // it is the tokenizer's own
	habit                       // it came here before
)

// GuessForced makes the stream guess the tokens of text that its constraint forces. Its driver
// calls [Stream.DraftForced] before each Input. Token.Guessed does not tell of these guesses.
func (s *Stream) GuessForced() {
	if _, ok := s.constraint.(forcing); !ok || s.guide != nil || s.forced != nil {
		return
	}
	s.forced = &forcedText{odds: [...]guess.Odds{edge: {Prior: 0.3}, unusual: {Prior: 0.5},
		canonical: {Prior: 0.8}, habit: {Prior: 0.8}}}
	if v, ok := s.options.Vocabulary.(interface{ Encode(string) ([]int, error) }); ok {
		s.forced.encode = v.Encode
	}
}

// DraftForced drafts the tokens that are guessed to follow, unless there is a draft already, and
// returns how many there are, given how many texts the next Eval has. The text does not depend on
// them: the next Input has them after its one token.
func (s *Stream) DraftForced(texts int) int {
	f := s.forced
	if f == nil || s.done || len(f.ahead) == 0 || f.at != len(s.context) || len(s.draft.ids) > 0 ||
		s.pending() != 1 || s.echo.waiting() {
		return 0
	}
	most := max(0, min(len(f.ahead), s.room(), forcedRows/max(1, texts)-1))
	var ids []int
	for _, g := range f.ahead[:most] {
		if g.idle {
			break
		}
		ids = append(ids, g.id)
	}
	if len(ids) > 0 {
		s.propose(ids)
		s.draft.own = true
	}
	return len(ids)
}

// DropDraft removes a draft, and reports whether there was one: an Eval may have failed because of
// it.
func (s *Stream) DropDraft() bool {
	had := len(s.draft.ids) > 0
	s.propose(nil)
	return had
}

// foresee guesses what follows an id that is chosen from some logits. The logits of the next tokens
// are not known; these tell at least which tokens the model has in use.
func (s *Stream) foresee(id int, from sample.Row) []forcedGuess {
	f := s.forced
	if f == nil || from.IDs != nil || s.Busy() || len(s.draft.ids) > 0 && s.draft.ids[0] == id {
		return nil
	}
	after := s.constraint.Fork()
	if after.Accept(id) != nil {
		return nil
	}
	form := after.(forcing)
	rest := form.Forced(forcedBytes)
	whole := len(rest) < forcedBytes
	var list []forcedGuess
	for p := 1.0; len(rest) > 0 && len(list) < mostForced && (whole || len(rest) > forcedBytes/4); {
		g, n := f.guess(form, rest, from.Logits)
		if n == 0 {
			break
		}
		p *= f.odds[g.kind].Value()
		g.idle = p < leastForced
		if list = append(list, g); g.idle {
			break
		}
		rest = rest[n:]
	}
	return list
}

// guess returns the guess for one token where some bytes are forced, and how many of them it has;
// 0 if there is none.
func (f *forcedText) guess(form forcing, rest []byte, logits []float32) (g forcedGuess, bytes int) {
	own, tokens := -1, []int(nil)
	if f.encode != nil {
		tokens, _ = f.encode(string(rest))
	}
	if len(tokens) > 0 {
		own = tokens[0]
	}
	known, ok := f.habits[string(rest)]
	g = forcedGuess{id: -1, kind: unusual, rest: string(rest)}
	best := float32(0)
	for id, n := range form.Prefixes(rest) {
		if id >= len(logits) {
			continue
		}
		score := logits[id]
		if id == own {
			score++ // that much more probable than by the last token's logits
		}
		if ok && id == known {
			g.id, g.kind, bytes = id, habit, n
			return g, bytes
		}
		if g.id < 0 || score > best {
			g.id, bytes, best = id, n, score
		}
	}
	switch {
	case bytes == len(rest):
		g.kind = edge
	case g.id == own:
		g.kind = canonical
	}
	return g, bytes
}

// learn compares the guess for a token, if there is one, with the token.
func (f *forcedText) learn(id, context int, next []forcedGuess) {
	if f == nil {
		return
	}
	if f.at != context {
		f.ahead = nil
	}
	if len(f.ahead) > 0 {
		g := f.ahead[0]
		right := 0
		if g.id == id {
			right = 1
		}
		f.odds[g.kind].Observe(right, right == 0)
		if f.habits == nil || len(f.habits) == mostHabits {
			f.habits = map[string]int{}
		}
		f.habits[g.rest] = id
		if f.ahead = f.ahead[1:]; g.id != id {
			f.ahead = nil
		}
	}
	if next != nil {
		f.ahead = next
	}
	f.at = context + 1
}

// fork returns a copy that learns by itself.
func (f *forcedText) fork() *forcedText {
	if f == nil {
		return nil
	}
	c := *f
	c.habits = maps.Clone(f.habits)
	return &c
}
