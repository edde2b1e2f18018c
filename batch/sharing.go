package batch

// What texts of a Batcher have in common is evaluated once: sessions of texts that are written, and
// of some that have ended, are found by their tokens.

import (
	"container/list"
	"picogpt/decode"
	"slices"
)

// A sharing is the sessions that others may begin with. Only the Batcher's goroutine touches it.
type sharing struct {
	trees   map[family]*branch
	writing map[*task]*origin
	ended   list.List // of *origin, what was used last at the end
	bytes   int64     // Options.PrefixBytes

	least int // tokens in common that are worth a fork, and waiting for
}

const (
	leastShared = 16   // fewer rows add little to a step
	mostEnded   = 1024 // bound the memory of the tree itself
	mostTop     = 20   // alternatives of each token that are kept
)

// A family is the texts that may share: of one salt, and, where scores of the prompt are wanted,
// with as many alternatives of each token.
type family struct {
	salt string
	top  int // unscored where no scores are wanted
}

const unscored = -1

// An origin is a session that others may begin with, found by its tokens.
type origin struct {
	tokens    []int
	evaluated decode.Evaluated // of them
	places    []place          // in the trees
	writing   *task            // the text that is written; nil: it has ended
	used      *list.Element    // of a text that has ended
}

// A place is where something is found.
type place struct {
	family family
	*branch
}

// now returns what is evaluated.
func (f *origin) now() decode.Evaluated {
	if f.writing != nil {
		return f.writing.Evaluated()
	}
	return f.evaluated
}

// coming reports whether all of tokens will be evaluated without anybody's doing.
func (f *origin) coming(tokens []int) bool {
	return f.writing != nil && f.writing.request.room() &&
		common(f.writing.ahead(), tokens) == len(tokens)
}

// ahead returns what of a text's context is evaluated before its next token.
func (t *task) ahead() []int {
	p := t.Pending()
	return t.Context()[:p.Held+p.Rows]
}

func newSharing(bytes int64) sharing {
	return sharing{trees: map[family]*branch{}, writing: map[*task]*origin{}, bytes: bytes,
		least: leastShared}
}

// families returns those of a request's texts.
func (r *request) families() []family {
	if !r.scores || r.top > mostTop {
		return []family{{r.salt, unscored}}
	}
	return []family{{r.salt, r.top}, {r.salt, unscored}}
}

// begin gives the texts that have just been given a place what others have evaluated of their
// contexts. A text whose beginning another is about to evaluate waits for that.
func (b *Batcher) begin() {
	for _, t := range b.running {
		if t.begun {
			continue
		}
		p := t.Pending()
		if t.request.kept || p.Held > 0 || p.Rows+p.Guide == 0 {
			t.begun = true
		} else {
			b.share(t)
		}
	}
}

// share forks the session that has most in common with a text, unless that is still to come.
func (b *Batcher) share(t *task) {
	s, n := &b.sharing, 0
	f, wanted := s.find(t)
	if f != nil {
		now, tokens := f.now(), t.Context()[:wanted]
		has := common(now.Session.Tokens(), tokens)
		if wanted >= s.least && has < wanted && f.coming(tokens) {
			return
		}
		if has >= s.least {
			n = has
			t.TakeOver(now, n)
			s.touch(f)
		}
	}
	t.begun = true
	b.looked(t, n)
	s.write(t)
}

// find returns what has most in common with a text, and how many rows of that the text can use: not
// its last one, whose logits are not kept, and of a prompt that is scored only those whose next
// token is scored.
func (s *sharing) find(t *task) (f *origin, n int) {
	r := t.request
	of := family{r.salt, unscored}
	if r.scores && r.echo == nil { // else they are there
		if of.top = r.top; r.top > mostTop {
			return nil, 0
		}
	}
	tree := s.trees[of]
	if tree == nil {
		return nil, 0
	}
	if f, n = tree.find(t.Context()); f == nil {
		return nil, 0
	}
	n = t.Usable(f.now(), n)
	if f.writing != nil {
		n = min(n, len(f.writing.ahead()))
	}
	return f, n
}

// looked counts what was found for a text.
func (b *Batcher) looked(t *task, n int) {
	if t.request.sent > 0 {
		return // it comes back
	}
	b.counters.prefixQueries.Add(int64(len(t.Context())))
	b.counters.prefixHits.Add(int64(n))
	t.request.progress.Cached = n
}

// write lets a text that begins be found, where it adds to what is there.
func (s *sharing) write(t *task) {
	f := &origin{tokens: slices.Clone(t.Context()), writing: t}
	for _, of := range t.request.families() {
		if tree := s.trees[of]; tree != nil {
			if _, n := tree.find(f.tokens); n > t.Pending().Held+1 {
				continue
			}
		}
		s.add(f, of)
	}
	if len(f.places) > 0 {
		s.writing[t] = f
	}
}

// add lets f be found, unless something that has the same is.
func (s *sharing) add(f *origin, of family) {
	tree := s.trees[of]
	if tree == nil {
		tree = newTree()
		s.trees[of] = tree
	}
	if at := tree.add(f); at != nil {
		f.places = append(f.places, place{of, at})
	}
}

// remove lets f be found no more in a family, or in all. A text that has ended and that nobody
// finds gives its memory back.
func (s *sharing) remove(f *origin, in func(family) bool) {
	f.places = slices.DeleteFunc(f.places, func(p place) bool {
		if !in(p.family) {
			return false
		}
		if p.remove(); len(s.trees[p.family].next) == 0 {
			delete(s.trees, p.family)
		}
		return true
	})
	if f.used != nil && len(f.places) == 0 {
		s.ended.Remove(f.used)
		f.used = nil
		f.evaluated.Session.Release()
	}
}

func everywhere(family) bool { return true }

// touch notes that a session was of use.
func (s *sharing) touch(f *origin) {
	if f.used != nil {
		s.ended.MoveToBack(f.used)
	}
}

// forget lets a stream be found no more.
func (s *sharing) forget(t *task) {
	if f := s.writing[t]; f != nil {
		s.remove(f, everywhere)
		delete(s.writing, t)
	}
}

// keep takes the session of a stream that nobody writes any more, and lets it be found.
func (s *sharing) keep(t *task) {
	if s.forget(t); s.bytes <= 0 {
		return
	}
	left := t.HandOver()
	if session := left.Session; session.Logits() != nil { // which nobody will need
		session.Truncate(session.Len() - 1)
	}
	f := &origin{tokens: left.Session.Tokens(), evaluated: left}
	f.used = s.ended.PushBack(f)
	if len(f.tokens) >= s.least {
		for _, of := range t.request.families() {
			s.prefer(f, of)
		}
	}
	s.remove(f, func(family) bool { return false }) // where it is of no use
}

// prefer lets the session of a text that has ended be found, unless another has all of its tokens.
// Those that it has all tokens of go.
func (s *sharing) prefer(f *origin, of family) {
	if tree := s.trees[of]; tree != nil {
		if other, n := tree.find(f.tokens); n == len(f.tokens) {
			s.touch(other)
			return
		}
	}
	s.add(f, of)
	var less []*origin
	for b := f.places[len(f.places)-1].up; b != nil; b = b.up {
		if b.leaf != nil && b.leaf.used != nil {
			less = append(less, b.leaf)
		}
	}
	for _, f := range less {
		s.remove(f, func(in family) bool { return in == of })
	}
}

// shrink releases the session that was of no use for the longest time. It reports whether there was
// one.
func (s *sharing) shrink() bool {
	oldest := s.ended.Front()
	if oldest != nil {
		s.remove(oldest.Value.(*origin), everywhere)
	}
	return oldest != nil
}

// clear releases all sessions of texts that have ended.
func (s *sharing) clear() {
	for s.shrink() {
	}
}

// trim keeps to what sessions of texts that have ended may take.
func (b *Batcher) trim() {
	s := &b.sharing
	for s.ended.Len() > mostEnded || s.ended.Len() > 0 && b.model.CacheBytes() > s.bytes {
		s.shrink()
	}
}

// makeRoom frees memory of texts that have ended. It reports whether there was any.
func (b *Batcher) makeRoom() bool {
	for before := b.model.CacheBytes(); b.sharing.shrink(); {
		if b.model.CacheBytes() < before {
			return true
		}
	}
	return false
}
