package serve

// Prompts: strings, ids, or lists of either, their tokens, and which are too long.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/serve/internal/openapi"
	"picogpt/tokenizer"
)

// A prompt is one prompt of a request.
type prompt struct {
	text  string // as an answer echoes it
	asIDs bool   // the request gives ids
	ids   []int
	cut   int // ids that are left out before them

	tokens int // new ones at most

	scores []entry // of prompt_logprobs
}

// prompts holds all prompts of a request.
type prompts []prompt

// read reads at most so many prompts, of any of the four types. An absent prompt is one, the end of
// text.
func (p *prompts) read(s *Server, most int) field {
	config := s.model.Config()
	schema := func() openapi.Schema {
		text, id := openapi.String(), openapi.Whole(0, config.VocabSize-1)
		some := openapi.List(id)
		some["minItems"] = 1
		return openapi.Either(text, openapi.AtMost(most, text), openapi.List(id),
			openapi.AtMost(most, some))
	}
	return as(schema, func(r *strictjson.Reader) error {
		switch r.Kind() {
		case '"':
			text, err := r.String()
			*p = prompts{{text: text}}
			return err
		case '[':
		default:
			return wrong(r, "a string, a list of strings, a list of ids or a list of those")
		}
		kind := byte(0) // of the first element
		return r.Array(func(i int) (err error) {
			if i == 0 {
				kind = r.Kind()
			}
			switch {
			case kind != '"' && kind != '0' && kind != '[':
				return wrong(r, "strings, ids or lists of ids")
			case r.Kind() != kind:
				return wrong(r, map[byte]string{
					'"': "a string, as before", '0': "an id, as before", '[': "a list, as before",
				}[kind])
			case kind == '0':
				if i == 0 {
					*p = prompts{{asIDs: true}}
				}
				return (*p)[0].readID(r, &config)
			case i == most:
				return r.Errorf("want at most %d prompts, found more", most)
			}
			one := prompt{asIDs: kind == '['}
			if kind == '"' {
				one.text, err = r.String()
			} else {
				err = r.Array(func(int) error { return one.readID(r, &config) })
				if err == nil && len(one.ids) == 0 {
					return r.Errorf("list %d: want at least one id, found none", i+1)
				}
			}
			*p = append(*p, one)
			return err
		})
	})
}

// readID reads another id. Of a prompt that is too long for the context it holds the newest ids
// only, which are all that truncate_prompt_tokens can leave.
func (p *prompt) readID(r *strictjson.Reader, config *model.Config) error {
	id, err := wholeNumber(r, 0, config.VocabSize-1)
	if p.ids = append(p.ids, id); len(p.ids) > 2*config.Positions {
		p.keep(config.Positions)
	}
	return err
}

// keep leaves out all ids but the newest n.
func (p *prompt) keep(n int) {
	if left := len(p.ids) - n; left > 0 {
		p.ids = append(p.ids[:0], p.ids[left:]...)
		p.cut += left
	}
}

// encode sets the ids of the prompts, and the texts of those that came as ids if they are wanted.
func (s *Server) encode(ctx context.Context, client string, q *completion) error {
	if len(q.prompt) == 0 {
		q.prompt = prompts{{}}
	}
	field, wanted, newest := q.promptField(), q.allowance(), q.newest
	if newest < 0 {
		newest = max(1, s.room-min(s.room, q.MaxTokens))
	}
	for i := range q.prompt {
		p := &q.prompt[i]
		if err := s.encodeOne(ctx, client, p, field, newest, wanted); err != nil {
			return err
		}
		switch {
		case q.echo && (p.asIDs || p.cut > 0):
			p.text = s.vocabulary.textOf(p.ids)
		case q.echo:
			p.text = strings.Clone(p.text) // a copy, so that the body is not kept in memory
		default:
			p.text = ""
		}
	}
	return nil
}

// promptField returns the field that has the prompts.
func (q *completion) promptField() string {
	if q.chat {
		return q.talk.name()
	}
	return "prompt"
}

// An allowance is how many new tokens a request wants after a prompt.
type allowance struct {
	tokens int
	least  int    // fewer are not what it asks for
	said   string // the field that says how few, or ""
}

// allowance returns how many new tokens there may be: what the request says, or else a default, of
// which one may be left.
func (q *completion) allowance() allowance {
	if q.limit != "" {
		return allowance{q.MaxTokens, q.MaxTokens, q.limit}
	}
	if q.MinTokens > 0 && q.least {
		return allowance{q.MaxTokens, q.MinTokens, "min_tokens"}
	}
	return allowance{q.MaxTokens, 1, ""}
}

// encodeOne sets the ids of a prompt, the newest ones if newest is above 0, and how many new tokens
// may follow. All together have to fit the context.
func (s *Server) encodeOne(
	ctx context.Context, client string, p *prompt, field string, newest int, wanted allowance,
) error {
	config := s.model.Config()
	if !p.asIDs {
		if err := s.mayFit(field, len(p.text), wanted); err != nil {
			return err
		}
		var err error
		p.ids, err = s.idsOf(ctx, client, s.vocabulary.ForPrompts(), p.text, field)
		if err != nil {
			return err
		}
	}
	if len(p.ids) == 0 {
		start, ok := config.StartToken()
		if !ok {
			return fieldf(field, "want at least one id, because the model has none that begins a "+
				"text, found none")
		}
		p.ids = []int{start}
	}
	n := p.cut + len(p.ids)
	if newest > 0 {
		p.keep(newest)
		n = len(p.ids)
	}
	if n > config.Positions-min(config.Positions, wanted.least) {
		return tooLong(field, config.Positions, n, "", wanted)
	}
	p.tokens = max(wanted.least, min(wanted.tokens, s.room-n))
	return nil
}

// mayFit returns an error for a text of so many bytes that the context cannot hold, whatever its
// tokens are.
func (s *Server) mayFit(field string, bytes int, wanted allowance) error {
	positions, longest := s.model.Config().Positions, s.vocabulary.longest
	if least := (bytes + longest - 1) / longest; !s.vocabulary.drops && least > positions {
		return tooLong(field, positions, least, "at least ", wanted)
	}
	return nil
}

// shortText is how many bytes of a text are encoded without a turn and without a pause.
const shortText = 16 << 10

// idsOf encodes the text of a field. Long texts take turns, so that many of them do not take memory
// or processors from other requests; a client that disconnects does not wait for its turn.
func (s *Server) idsOf(
	ctx context.Context, client string, t *tokenizer.Tokenizer, text, field string,
) ([]int, error) {
	pause := func() error { return ctx.Err() }
	if len(text) > shortText {
		turn, err := s.encoding.Enter(ctx, client, len(text))
		if err != nil {
			return nil, err
		}
		defer s.encoding.Leave(turn)
		pause = func() error { return s.encoding.Pause(ctx, turn) }
	}
	e := t.NewEncoder(math.MaxInt) // every id
	e.OnStep(pause)
	for part := range slices.Chunk([]byte(text), shortText) {
		if err := pause(); err != nil {
			return nil, err
		}
		if _, err := e.Write(part); err != nil {
			return nil, fieldf(field, "%v", err)
		}
	}
	ids, _, err := e.End()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fieldf(field, "%v", err)
	}
	return ids, nil
}

// contextExceeded is OpenAI's code for a text that is too long.
const contextExceeded = "context_length_exceeded"

// tooLong returns the error for a prompt that does not fit into the context with the new tokens
// that are wanted: about the prompt, unless fewer new ones would fit. atLeast is "" or "at least ".
func tooLong(field string, positions, prompt int, atLeast string, wanted allowance) error {
	found := fmt.Sprintf("found %s%d", atLeast, prompt)
	switch {
	case wanted.said != "":
		found += fmt.Sprintf(" in the prompt, and %d in %s", wanted.least, wanted.said)
		if atLeast == "" && prompt < positions {
			field = wanted.said
		}
	case wanted.least > 0:
		found += fmt.Sprintf(" in the prompt, and at least %d to write", wanted.least)
	}
	e := fieldf(field, "this model's maximum context length is %d tokens, %s", positions, found)
	e.code = contextExceeded
	return e
}

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
	e := fieldf(field, "%d tokens, and %d in max_tokens, can take %d bytes of the server's cache, "+
		"which has %d", prompt, tokens, need, limit)
	e.code = contextExceeded
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
	return j.server.fits(j.promptField(), len(p.ids), p.tokens, more)
}

// otherBeams returns the bytes of all beams but one, of so many tokens, after a prompt. They share
// the prompt's full pages, and its last one is there once more, for the session that read it.
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
