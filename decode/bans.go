package decode

// Banned strings: when one is complete, the text goes back to the token in which it began, and
// takes another token there, with the same random number.

import (
	"slices"
	"strings"

	"picogpt/sample"
	"picogpt/tokenizer"
)

// bans is the state of a stream's banned strings. It holds tokens back while they may turn out to
// be part of one, so that no token that Next has returned is ever taken back. Nil means that no
// string is banned.
type bans struct {
	strings finder
	end     banEnd     // of the text so far
	began   int        // where the first complete string begins, or -1
	held    []heldBack // tokens that are chosen and may be taken back
	ready   []heldBack // tokens that are final, and that Next has yet to return
	barred  []bar      // ids that began a banned string
	slides  int        // how many times the context slid
}

// A banEnd is the end of the new text, now or when it was shorter.
type banEnd struct {
	textEnd     // whose memory is not changed
	least   int // the first byte at which a string may begin that is still incomplete
}

// A bar forbids an id as the n-th new token, counted from 0.
type bar struct{ n, id int }

// A heldBack is a token, and the state of the stream before it.
type heldBack struct {
	token   Token
	before  banEnd
	end     int // where its bytes end in the text
	context []int
	guide   []int
	state   sample.State
	decoder tokenizer.Decoder
	text    heldText
	n       int
	dropped int
	slides  int
}

func newBans(ban []string, exempt int) *bans {
	if len(ban) == 0 {
		return nil
	}
	b := &bans{began: -1}
	b.strings, b.end.textEnd = newFinder(ban, exempt)
	return b
}

// fork returns a copy for another stream. Both hold the same tokens.
func (b *bans) fork() *bans {
	if b == nil {
		return nil
	}
	f := *b
	f.strings, f.held = b.strings.fork(), slices.Clone(b.held)
	f.ready, f.barred = slices.Clone(b.ready), slices.Clone(b.barred)
	return &f
}

// waiting reports whether Next has tokens to return.
func (b *bans) waiting() bool { return b != nil && len(b.ready) > 0 }

// add adds text that is certain. Of the strings that are complete first, the longest counts.
func (b *bans) add(certain string) {
	if b == nil || certain == "" {
		return
	}
	b.end.matched = slices.Clone(b.end.matched)
	end := b.end.at + len(certain)
	for i := 0; i < len(certain) && b.began < 0; i++ {
		b.began = b.strings.next(&b.end.textEnd, certain[i])
	}
	b.end.at = end
}

// settle finds out how far back the text may go from its end. A string that is incomplete begins at
// the earliest where the longest matched prefix begins; then the token with that byte is taken
// back, and from there the text may go back further.
func (b *bans) settle() {
	b.end.least = b.end.at - b.strings.pendingBytes(&b.end.textEnd)
	for i := len(b.held) - 1; i >= 0 && b.held[i].end > b.end.least; i-- {
		b.end.least = min(b.end.least, b.held[i].before.least)
	}
}

// barredHere returns the ids that are barred as the next token.
func (s *Stream) barredHere() (ids []int) {
	if s.bans == nil {
		return nil
	}
	for _, b := range s.bans.barred {
		if b.n == s.n {
			ids = append(ids, b.id)
		}
	}
	return ids
}

// nextHeld is Next for a stream with banned strings, whose next token is ready or chosen.
func (s *Stream) nextHeld() (t Token, ok bool, err error) {
	if !s.bans.waiting() {
		err = s.takeOrGoBack()
	}
	if err != nil || !s.bans.waiting() {
		return Token{Sample: s.sample}, false, err
	}
	return s.giveOut(), true, nil
}

// takeOrGoBack is take for a stream with banned strings: the token is held, and later returned or
// taken back.
func (s *Stream) takeOrGoBack() error {
	b := s.bans
	h := heldBack{context: s.context, state: s.sampler.State, text: s.text.clone(),
		n: s.n, dropped: s.dropped, slides: b.slides, before: b.end}
	if s.guide != nil {
		h.guide = s.guide.context
	}
	if s.decoder != nil {
		h.decoder = s.decoder.Fork()
	}
	t, err := s.take()
	if err != nil {
		return err
	}
	h.token, h.end = t, b.end.at
	b.held = append(b.held, h)
	if b.began >= 0 {
		i := slices.IndexFunc(b.held, func(h heldBack) bool { return h.end > b.began })
		return s.goBack(i)
	}
	b.settle()
	s.letGo()
	return nil
}

// giveOut returns the first ready token. The session then holds all tokens before it.
func (s *Stream) giveOut() Token {
	b := s.bans
	h := b.ready[0]
	b.ready = slices.Delete(b.ready, 0, 1)
	if h.slides == b.slides {
		s.settle(len(h.context))
	} else if s.session != nil { // the context slid after the token
		s.base = min(len(h.context), s.session.Len())
	}
	if s.Done() {
		s.guide.forget()
	}
	return h.token
}

// letGo makes the tokens ready that can no longer be part of a banned string.
func (s *Stream) letGo() {
	b, n := s.bans, 0
	for n < len(b.held) && (s.done || b.held[n].end <= b.end.least) {
		n++
	}
	if n == 0 {
		return
	}
	b.ready = append(b.ready, b.held[:n]...)
	b.held = slices.Delete(b.held, 0, n)
	first := s.n
	if len(b.held) > 0 {
		first = b.held[0].n
	}
	b.barred = slices.DeleteFunc(b.barred, func(b bar) bool { return b.n < first })
}

// goBack takes back the held tokens from the i-th on. That one is then barred at its position.
func (s *Stream) goBack(i int) error {
	b := s.bans
	h, tokens := b.held[i], len(b.held)-i
	if s.constraint != nil {
		s.mask = nil
		if err := s.constraint.Rewind(tokens); err != nil {
			return err
		}
	}
	// Forks of the stream may go back to the same state.
	s.context, s.sampler.State, s.text.heldText = slices.Clone(h.context), h.state, h.text.clone()
	if h.decoder != nil {
		s.decoder = h.decoder.Fork()
	}
	s.n, s.dropped, s.done, s.next.made = h.n, h.dropped, false, false
	b.slides, b.end, b.began, b.held = h.slides, h.before, -1, b.held[:i]
	b.barred = slices.DeleteFunc(b.barred, func(b bar) bool { return b.n > h.n })
	b.barred = append(b.barred, bar{h.n, h.token.ID})
	s.propose(nil)
	s.goBackTo(s.context)
	if s.guide != nil {
		s.guide.context = slices.Clone(h.guide)
		s.guide.session.Truncate(min(s.guide.session.Matches(h.guide), len(h.guide)-1))
	}
	return nil
}

// completing returns the ids that would complete a banned string at once; the string begins in the
// context's new tokens or in the id itself. Distributions leave these ids out, because they cannot
// go back.
func (s *Stream) completing() (ids []int, err error) {
	if s.bans == nil {
		return nil, nil
	}
	isNew := min(s.sampler.State.Generated, len(s.context))
	d := s.options.Vocabulary.NewDecoder(s.context[:len(s.context)-isNew])
	tail := ""
	for _, id := range s.context[len(s.context)-isNew:] {
		text, err := d.Push(id)
		if err != nil {
			return nil, err
		}
		tail += text
	}
	silent := map[int]bool{}
	for _, id := range s.limits.endOfText { // these have no text
		silent[id] = true
	}
	for id := range min(s.limits.vocabulary, s.options.Vocabulary.Size()) {
		if silent[id] {
			continue
		}
		text, err := d.Fork().Push(id)
		if err == nil && completes(tail, text, s.options.Ban) { // a gap is an error
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// completes reports whether a string ends in text, and begins there or in the tail before it.
func completes(tail, text string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		from := max(0, len(tail)-(len(s)-1))
		return strings.Contains(tail[from:]+text, s)
	})
}
