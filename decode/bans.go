package decode

// Banned strings: where one is complete, the text goes back to the token in which it began, and
// takes another one there with the same random number.

import (
	"bytes"
	"slices"

	"picogpt/tokenizer"
)

// bans is what a stream knows of banned strings. Tokens are held while they may yet turn out to be
// a part of one, so that none that came has to be taken back. Nil is none.
type bans struct {
	strings [][]byte
	text    []byte     // of the held tokens
	exempt  int        // bytes at its beginning that were the prompt's: none ends in them
	held    []heldBack // tokens that are chosen, and may be taken back
	ready   []heldBack // that will not be taken back, and are still to be returned by Next
	barred  []bar      // ids that began a banned string
	slides  int        // how often the context slid
}

// A bar keeps an id from being the n-th new token, from 0.
type bar struct{ n, id int }

// A heldBack is a token, and the stream before it.
type heldBack struct {
	token   Token
	end     int // of its bytes in the text
	context []int
	guide   []int
	state   samplerState
	decoder tokenizer.Decoder
	text    *textStream
	n       int
	dropped int
	slides  int
}

func newBans(ban []string, exempt int) *bans {
	if len(ban) == 0 {
		return nil
	}
	b := &bans{exempt: exempt}
	for _, s := range ban {
		b.strings = append(b.strings, []byte(s))
	}
	return b
}

// fork returns the same for another stream. What is held is held in both.
func (b *bans) fork() *bans {
	if b == nil {
		return nil
	}
	f := *b
	f.text, f.held = bytes.Clone(b.text), slices.Clone(b.held)
	f.ready, f.barred = slices.Clone(b.ready), slices.Clone(b.barred)
	return &f
}

// waiting reports whether Next has tokens to return.
func (b *bans) waiting() bool { return b != nil && len(b.ready) > 0 }

// add adds text as it becomes certain.
func (b *bans) add(certain string) {
	if b == nil {
		return
	}
	b.text = append(b.text, certain...)
}

// complete returns where the banned string begins that is complete first, from some place in the
// text on, or -1.
func (b *bans) complete(from int) int {
	for end := max(from, b.exempt) + 1; end <= len(b.text); end++ {
		start := -1
		for _, s := range b.strings {
			if at := end - len(s); bytes.HasSuffix(b.text[:end], s) && (start < 0 || at < start) {
				start = at
			}
		}
		if start >= 0 {
			return start
		}
	}
	return -1
}

// begun returns where the longest beginning of a banned string that ends the text begins.
func (b *bans) begun() int {
	start := len(b.text)
	for _, s := range b.strings {
		for n := min(len(s)-1, len(b.text)); n > len(b.text)-start; n-- {
			if bytes.HasSuffix(b.text, s[:n]) {
				start = len(b.text) - n
			}
		}
	}
	return start
}

// barredHere returns the ids that may not be the next token.
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
	b := s.bans
	if !b.waiting() {
		if err := s.takeOrGoBack(); err != nil {
			return Token{Sample: s.sample}, false, err
		}
	}
	if !b.waiting() {
		return Token{Sample: s.sample}, false, nil
	}
	return s.giveOut(), true, nil
}

// takeOrGoBack is take for a stream with banned strings: the token is held, and later returned or
// taken back.
func (s *Stream) takeOrGoBack() error {
	b := s.bans
	h := heldBack{context: s.context, state: s.sampler.state, text: s.text.fork(),
		n: s.n, dropped: s.dropped, slides: b.slides}
	if s.guide != nil {
		h.guide = s.guide.context
	}
	if s.decoder != nil {
		h.decoder = s.decoder.Fork()
	}
	from := len(b.text)
	t, err := s.take()
	if err != nil {
		return err
	}
	h.token, h.end = t, len(b.text)
	b.held = append(b.held, h)
	if start := b.complete(from); start >= 0 {
		i := slices.IndexFunc(b.held, func(h heldBack) bool { return h.end > start })
		return s.goBack(i)
	}
	s.letGo()
	return nil
}

// giveOut returns the first token that is ready, which the session then holds all tokens before.
func (s *Stream) giveOut() Token {
	b := s.bans
	h := b.ready[0]
	b.ready = slices.Delete(b.ready, 0, 1)
	if h.slides == b.slides {
		s.settle(len(h.context))
	} else if s.session != nil { // the context slid after it
		s.base = min(len(h.context), s.session.Len())
	}
	if s.Done() {
		s.guide.forget()
	}
	return h.token
}

// letGo makes the tokens ready that cannot be part of a banned string any more.
func (s *Stream) letGo() {
	b := s.bans
	safe, n := b.begun(), 0
	for n < len(b.held) && (s.done || b.held[n].end <= safe) {
		n++
	}
	if n == 0 {
		return
	}
	b.ready = append(b.ready, b.held[:n]...)
	cut := b.held[n-1].end
	b.text, b.exempt = append(b.text[:0], b.text[cut:]...), max(0, b.exempt-cut)
	b.held = append(b.held[:0], b.held[n:]...)
	for i := range b.held {
		b.held[i].end -= cut
	}
	first := s.n
	if len(b.held) > 0 {
		first = b.held[0].n
	}
	b.barred = slices.DeleteFunc(b.barred, func(b bar) bool { return b.n < first })
}

// goBack takes the held tokens back from the i-th on, which may not come there again.
func (s *Stream) goBack(i int) error {
	b := s.bans
	h, tokens := b.held[i], len(b.held)-i
	if s.constraint != nil {
		if err := s.constraint.Rewind(tokens); err != nil {
			return err
		}
	}
	// Forks of the stream may go back to the same.
	s.context, s.sampler.state, s.text = slices.Clone(h.context), h.state, h.text.fork()
	if h.decoder != nil {
		s.decoder = h.decoder.Fork()
	}
	s.n, s.dropped, s.done, s.next.made = h.n, h.dropped, false, false
	b.slides = h.slides
	end := 0
	if i > 0 {
		end = b.held[i-1].end
	}
	b.text, b.held = b.text[:end], b.held[:i]
	b.barred = slices.DeleteFunc(b.barred, func(b bar) bool { return b.n > h.n })
	b.barred = append(b.barred, bar{h.n, h.token.ID})
	s.propose(nil)
	s.goBackTo(s.context)
	if s.guide != nil {
		s.guide.context = slices.Clone(h.guide)
		s.guide.session.Truncate(min(common(s.guide.session.Tokens(), h.guide), len(h.guide)-1))
	}
	return nil
}

// goBackTo lets a context grow once more whose last token is to be evaluated again.
func (t *timeline) goBackTo(context []int) {
	if t.session == nil {
		return
	}
	last := len(context) - 1
	if t.anew != nil && common(t.anew.Tokens(), context) < min(last, t.anew.Len()) {
		t.anew.Release()
		t.anew = nil
	}
	same := min(last, common(t.grows().Tokens(), context))
	if t.anew == nil && same < t.base {
		t.renew(same)
		return
	}
	t.grows().Truncate(same)
}
