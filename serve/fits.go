package serve

// Texts that the cache can never hold: they are refused before work is done for them.

import (
	"net/http"

	"picogpt/model"
)

// cacheRoom returns how many tokens of a text are sure to fit into a model's cache if no other has
// any of it: at most the context.
func cacheRoom(m *model.Model) int {
	n := m.Config().Positions
	for limit := m.CacheLimit(); limit > 0 && n > 0 && m.SessionBytes(n) > limit; {
		n--
	}
	return n
}

// fits returns an error for a text of a prompt and so many tokens that the cache may not hold, even
// alone. more is what is there beside it, in bytes.
func (s *Server) fits(field string, prompt, tokens int, more int64) error {
	limit := s.model.CacheLimit()
	need := s.model.SessionBytes(prompt+max(0, tokens-1)) + more // the last token is not evaluated
	if limit == 0 || need <= limit {
		return nil
	}
	e := errorf(http.StatusBadRequest, "context_length_exceeded",
		"%s: %d tokens, and %d in max_tokens, can take %d bytes of the server's cache, which has %d",
		field, prompt, tokens, need, limit)
	e.param = field
	return e
}

// checkCache refuses a request of which the cache may not hold a text, or the beams of one. Several
// samples have their prompt once more, and share its full pages. A default of max_tokens becomes as
// small as it must be, there and after the other context of guidance.
func (j *job) checkCache() error {
	if j.MaxTokens == 0 && !j.scored() { // nothing is computed
		return nil
	}
	for i := range j.prompt {
		p, least := &j.prompt[i], j.allowance().least
		if g := j.Guidance; g.On() {
			p.tokens = max(least, min(p.tokens, j.server.model.Config().Positions-len(g.Negative)))
		}
		err := j.fitsCache(p)
		for err != nil && p.tokens > least {
			p.tokens--
			err = j.fitsCache(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fitsCache returns an error for a prompt whose texts the cache may not hold.
func (j *job) fitsCache(p *prompt) error {
	more := j.otherBeams(len(p.ids), p.tokens)
	if j.drawn() > 1 && j.beams.Beams < 2 {
		more += j.pageBytes()
	}
	if g := j.Guidance; g.On() {
		more += j.server.model.SessionBytes(max(1, len(g.Negative))+max(0, p.tokens-1)) +
			j.otherBeams(len(g.Negative), p.tokens)
	}
	field := "prompt"
	if j.chat {
		field = "messages"
	}
	return j.server.fits(field, len(p.ids), p.tokens, more)
}

// otherBeams returns the bytes of all beams but one, of so many tokens, after a prompt. They share the
// prompt's full pages, and its last one is there once more, for the session that read it.
func (j *job) otherBeams(prompt, tokens int) int64 {
	if j.beams.Beams < 2 {
		return 0
	}
	own := prompt%pageTokens + max(0, tokens-1)
	return int64(j.beams.Beams-1)*j.server.model.SessionBytes(own) + j.pageBytes()
}

func (j *job) pageBytes() int64 {
	m := j.server.model
	return m.SessionBytes(2*pageTokens) - m.SessionBytes(pageTokens)
}

// pageTokens is how many tokens a page of the cache has.
const pageTokens = 64
