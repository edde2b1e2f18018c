package batch

// Sharing: a text that gets a slot begins with the longest prefix of its tokens that other texts
// have evaluated.

import (
	"slices"

	"picogpt/decode"
)

// matchAll looks for prefixes of the texts that have just been given a slot. A text whose prefix is
// about to be evaluated for another one waits for that.
func (b *Batcher) matchAll() {
	for _, t := range b.running {
		if t.matched {
			continue
		}
		p := t.Pending()
		if t.request.lent || t.request.apart || p.Held > 0 || p.Rows+p.Guide == 0 {
			t.matched = true
		} else {
			b.match(t)
		}
		t.lost()
	}
}

// lost counts that most of what was evaluated for a text is gone, now that it has a slot again.
func (t *task) lost() {
	if !t.matched || t.had == 0 {
		return
	}
	if p := t.Pending(); p.Held < t.had/2 || p.Guide > 1 {
		t.turns++
	}
	t.had = 0
}

// match makes a text take over the longest evaluated prefix, unless a longer one is being
// evaluated.
func (b *Batcher) match(t *task) {
	c, n := &b.prefixes, 0
	t.taken = nil
	p, most := c.match(t)
	if p != nil {
		now, tokens := p.now(), t.Context()[:most]
		held := common(now.Session.Tokens(), tokens)
		if most >= c.least && held < most && p.coming(tokens) {
			return
		}
		if held >= c.least {
			n = held
			t.TakeOver(now, n)
			t.taken = p.parts(n)
			c.touch(p)
		}
	}
	t.matched = true
	b.countMatch(t, n)
	c.addLive(t)
}

// match returns the prefix that has the most in common with a text, and how many of its tokens the
// text can use when they are evaluated.
func (c *prefixCache) match(t *task) (p *prefix, n int) {
	r := t.request
	in := family{r.salt, unscored}
	if r.scored && r.echo == nil { // else its scores are there already
		if in.top = r.top; r.top > mostTop {
			return nil, 0
		}
	}
	tree := c.trees[in]
	if tree == nil {
		return nil, 0
	}
	if p, n = tree.find(t.Context()); p == nil {
		return nil, 0
	}
	n = t.Usable(p.now(), n)
	if p.live != nil {
		n = min(n, len(p.live.ahead()))
	}
	return p, n
}

// countMatch counts how many tokens of a text were found.
func (b *Batcher) countMatch(t *task, n int) {
	if t.request.counted {
		return // the text was suspended
	}
	t.request.counted = true
	b.counters.prefixQueries.Add(int64(len(t.Context())))
	b.counters.prefixHits.Add(int64(n))
	t.request.progress.Cached = n
	t.request.progress.Own = of(t.taken, t.request.client)
}

// A part is tokens of a session, up to an end, that were evaluated for one client.
type part struct {
	end    int
	client string
}

// parts returns for whom the first n tokens of a prefix were evaluated.
func (p *prefix) parts(n int) (all []part) {
	for _, part := range append(slices.Clone(p.taken), part{n, p.client}) {
		part.end = min(part.end, n)
		if last := len(all) - 1; last >= 0 && all[last].client == part.client {
			all[last].end = part.end
		} else {
			all = append(all, part)
		}
		if part.end == n {
			break
		}
	}
	return all
}

// of returns how many tokens of parts were evaluated for a client.
func of(parts []part, client string) (n int) {
	begin := 0
	for _, part := range parts {
		if part.client == client {
			n += part.end - begin
		}
		begin = part.end
	}
	return n
}

// now returns the evaluated part of a prefix.
func (p *prefix) now() decode.Evaluated {
	if p.live != nil {
		return p.live.Evaluated()
	}
	return p.evaluated
}

// coming reports whether all of tokens will be evaluated for the text of a prefix, whose caller is
// not slow.
func (p *prefix) coming(tokens []int) bool {
	return p.live != nil && p.live.request.room() &&
		common(p.live.ahead(), tokens) == len(tokens)
}

// ahead returns the tokens of a text's context that are evaluated before its next token. Its session
// may hold more: guesses that were right.
func (t *task) ahead() []int {
	p := t.Pending()
	return t.Context()[:min(p.Held+p.Rows, len(t.Context()))]
}
