package serve

// /v1/completions: generates the texts of a request, in the batch, or by a search beside it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/search"
)

// A job is a request that is being answered.
type job struct {
	*completion
	server *Server
	visit  *visit
	used   usage
	model  *model.Model // while the texts are written

	// took is called for each token after its choice has it, one call at a time.
	took func(*choice, *decode.Token) error

	mu      sync.Mutex // guards the fields below, used, and the visit
	choices []*choice  // in the order of the prompts, drawn() of each
	place   *place     // in the queue; nil: refused
}

func (s *Server) completions(v *visit) error { return s.generate(v, s.parseCompletion) }

// generate answers a request for texts.
func (s *Server) generate(v *visit, parse func(body string) (*completion, error)) error {
	body, err := s.read(v)
	if err != nil {
		return err
	}
	q, err := parse(body)
	if err != nil {
		return err
	}
	j := &job{completion: q, server: s, visit: v,
		took: func(*choice, *decode.Token) error { return nil }}
	v.adapter = q.adapter
	defer j.leave()
	ctx, cancel := s.bounded(v)
	defer cancel()
	err = j.begin(ctx)
	j.form = form{} // it is compiled, and may be large
	if v.body.release(); err != nil {
		return s.explain(v, err)
	}
	if q.stream {
		return j.answerInParts(ctx)
	}
	return j.answerWhole(ctx)
}

// bounded returns the context of a request, with the server's timeout.
func (s *Server) bounded(v *visit) (context.Context, context.CancelFunc) {
	if s.options.Timeout > 0 {
		return context.WithTimeout(v.request.Context(), s.options.Timeout)
	}
	return context.WithCancel(v.request.Context())
}

// begin reserves room in the queue, and only then encodes the prompts.
func (j *job) begin(ctx context.Context) (err error) {
	j.place, err = j.server.queue.reserve(j.visit, max(1, len(j.prompt))*j.drawn())
	if err != nil {
		return err
	}
	if err := j.server.encode(ctx, j.visit.client.id, j.completion); err != nil {
		return err
	}
	if err := j.checkSize(); err != nil {
		return err
	}
	if err := j.place.expect(j.work()); err != nil {
		return err
	}
	if err := j.server.complete(ctx, j.completion); err != nil {
		return err
	}
	if err := j.checkCache(); err != nil {
		return err
	}
	if j.Constraint, err = j.server.forms.matcher(ctx, j.visit, &j.form); err != nil {
		return err
	}
	j.used.Details = &promptDetails{}
	for i := range j.prompt {
		j.used.Prompt += len(j.prompt[i].ids)
		for range j.drawn() {
			j.choices = append(j.choices, j.newChoice(&j.prompt[i], len(j.choices)))
		}
	}
	n := &j.visit.note
	n.prompts, n.choices, n.promptTokens = len(j.prompt), len(j.choices), j.used.Prompt
	n.seed, n.seeded = j.Seed, j.Temperature > 0
	n.stream, n.asked = j.stream, j.asked()
	j.visit.ignore(j.ignored)
	if n.seeded {
		j.visit.Header().Set("X-Seed", fmt.Sprint(n.seed))
	}
	return nil
}

// asked returns numbers of a request for the log: the temperature, and others that are not off, as a
// top_p of 1 is.
func (j *job) asked() []slog.Attr {
	all := []slog.Attr{slog.Float64("temperature", j.Temperature)}
	for _, number := range []slog.Attr{
		slog.Float64("max_tokens", float64(j.MaxTokens)), slog.Float64("top_k", float64(j.TopK)),
		slog.Float64("top_p", math.Mod(j.TopP, 1)),
		slog.Float64("frequency_penalty", j.FrequencyPenalty),
		slog.Float64("presence_penalty", j.PresencePenalty),
	} {
		if number.Value.Float64() != 0 && (number.Key != "max_tokens" || j.limit != "") {
			all = append(all, number)
		}
	}
	return all
}

// work returns how many tokens the texts of a request take of the batch, and how many of these are
// new ones, where they have as many as others lately had.
func (j *job) work() (tokens, fresh float64) {
	if j.searched { // beside the batch, in turns
		return 0, 0
	}
	usual := j.server.queue.backlog.usual()
	for i := range j.prompt {
		p := &j.prompt[i]
		if p.tokens > 0 || j.scored() {
			tokens += float64(len(p.ids))
			fresh += usual * float64(p.tokens*j.drawn())
		}
	}
	return tokens + fresh, fresh
}

// mostEntries bounds the memory of an answer that is sent as a whole: its tokens and their
// log-probabilities.
const mostEntries = 1 << 21

// checkSize refuses a request whose answer would be too large.
func (j *job) checkSize() error {
	each := 1
	if j.logprobs != nil {
		each += 1 + *j.logprobs
	}
	total := 0
	for _, p := range j.prompt {
		tokens := p.tokens
		if j.echo {
			tokens += max(len(p.ids), len(p.text)/4)
		}
		tokens *= each
		if j.promptLogprobs != nil {
			tokens += len(p.ids) * (2 + *j.promptLogprobs)
		}
		total += tokens * j.drawn() // at most 34000 · 102 · 128 for a context of 1024
		if total > mostEntries && !j.stream {
			return fieldf("max_tokens", "with %d prompts, n or best_of %d and logprobs the answer "+
				"could have more than %d numbers: want fewer, or stream", len(j.prompt), j.drawn(),
				mostEntries)
		}
	}
	return nil
}

// leave releases the reserved room, and records the outcome for the log.
func (j *job) leave() {
	if j.place == nil {
		return
	}
	m, left := j.server.metrics, j.place.texts
	j.place.release()
	if len(j.choices) == 0 { // the request was refused
		return
	}
	m.finished.WithLabelValues("abort").Add(float64(left))
	j.visit.note.completionTokens = j.used.Completion
	m.promptTokens.Observe(float64(j.used.Prompt))
	m.newTokens.Observe(float64(j.used.Completion))
}

// answerWhole generates all texts, and sends the answer.
func (j *job) answerWhole(ctx context.Context) error {
	if err := j.write(ctx); err != nil {
		return err
	}
	if r := j.response; r != nil {
		r.add(j, j.choices[0])
		r.close(&j.used)
		return j.visit.sendAnswer(r)
	}
	return j.visit.sendAnswer(j.newAnswer(j.best(), &j.used))
}

// best returns the choices that are sent, n for each prompt. If more were drawn, it returns the
// likeliest, the likeliest first.
func (j *job) best() []*choice {
	drawn := j.drawn()
	if drawn == j.n { // a search may have found fewer
		return slices.DeleteFunc(j.choices, func(c *choice) bool { return c.finish == "" })
	}
	var best []*choice
	for of := range slices.Chunk(j.choices, drawn) {
		slices.SortStableFunc(of, func(a, b *choice) int { return cmp.Compare(b.mean(), a.mean()) })
		best = append(best, of[:j.n]...)
	}
	for i, c := range best {
		c.index = i
	}
	return best
}

// write generates the texts of all prompts concurrently. It is an error if all are dead ends.
func (j *job) write(ctx context.Context) (err error) {
	back := func() {}
	j.model, back, err = j.server.variant(ctx, j.visit)
	if err == nil {
		defer func() { j.model = nil; back() }()
		err = j.server.each(ctx, len(j.prompt), j.follow)
	}
	if err != nil {
		j.mu.Lock() // a comment may be being written, with the headers
		defer j.mu.Unlock()
		return j.server.explain(j.visit, j.changes.blame(err))
	}
	return j.allFailed()
}

// each calls do for 0 to n−1 at the same time, and returns the first error, with which it ends the
// others.
func (s *Server) each(ctx context.Context, n int, do func(context.Context, int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					cancel(panicError(fmt.Sprintf("panic: %v\n%s", p, debug.Stack())))
				}
			}()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// A panicError is a panic of another goroutine.
type panicError string

func (e panicError) Error() string { return string(e) }

// follow generates the texts of one prompt.
func (j *job) follow(ctx context.Context, i int) error {
	choices := j.choices[i*j.drawn() : (i+1)*j.drawn()]
	if j.MaxTokens == 0 && !j.scored() { // nothing to compute
		for _, c := range choices {
			if err := j.take(c, nil); err != nil {
				return err
			}
		}
		return nil
	}
	if j.searched {
		return j.deadEnd(choices, j.search(ctx, &j.prompt[i], choices))
	}
	o := j.Options
	o.MaxTokens = j.prompt[i].tokens
	p := &pace{last: make([]time.Time, len(choices))}
	defer func() {
		j.server.metrics.prompt(p)
		j.mu.Lock()
		j.visit.note.phases.add(&p.progress)
		j.used.Details.Cached += p.progress.Own
		j.mu.Unlock()
	}()
	for t, err := range j.server.batcher.Run(ctx, batch.Request{
		Model: j.model, Prompt: j.prompt[i].ids, Options: o, Samples: len(choices),
		Client: j.visit.client.id, Salt: saltOf(j.visit.tenant, j.salt), EditsKey: j.editsKey, Progress: &p.progress,
		Begun: &j.place.begun,
	}) {
		if short, ok := errors.AsType[*decode.BudgetError](err); ok {
			return j.tooShort(short)
		}
		if err != nil {
			if err := j.deadEnd(choices[t.Sample:t.Sample+1], err); err != nil {
				return err
			}
			continue
		}
		if !t.Prompt {
			j.server.metrics.token(p, t.Sample)
		}
		if err := j.take(choices[t.Sample], &t); err != nil {
			return err
		}
	}
	return nil
}

// tooShort is the error of a text for whose form there are too few tokens.
func (j *job) tooShort(short *decode.BudgetError) error {
	return fieldf(cmp.Or(j.limit, j.promptField()), "want at least %d new tokens, which are enough "+
		"for the form, found %d", short.Least, short.Tokens)
}

// take adds a token to its choice. A nil token ends a text that has no tokens.
func (j *job) take(c *choice, t *decode.Token) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t == nil {
		c.finish = "length"
	} else {
		c.add(j, t)
		if !t.Prompt {
			j.used.Completion++
			j.place.done.Add(1)
			if n := &j.visit.note; n.firstToken == 0 {
				n.firstToken = time.Since(j.visit.start)
			}
		}
	}
	if c.finish != "" {
		j.ended(c)
	}
	return j.took(c, t)
}

// ended counts the end of a choice.
func (j *job) ended(c *choice) {
	n := &j.visit.note
	if reason := j.finishJSON(c); !slices.Contains(n.finish, reason) {
		n.finish = append(n.finish, reason)
	}
	j.server.metrics.finished.WithLabelValues(c.finish).Inc()
	j.server.queue.backlog.ended(c.allowed, c.tokens)
	j.place.finish()
}

// Texts that are searched for (use_beam_search): beside the batch, one search at a time.

// searchRows is how many tokens of the prompt of a search are evaluated at a time.
const searchRows = 64

// readPrompt evaluates all ids but the last in parts, and returns the last.
func (s *Server) readPrompt(
	ctx context.Context, session *model.Session, ids []int, edits []model.Edit,
) (last []int, err error) {
	for len(ids) > 1 {
		n := min(searchRows, len(ids)-1)
		in := model.Input{Session: session, Tokens: ids[:n], NoLogits: true,
			Trace: model.Editing(edits)}
		if err := s.model.Eval(ctx, in); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return ids, nil
}

// search finds the best texts of a prompt, and gives them to its choices, the best to the first;
// choices for which there is no text get none. Searches take turns as long texts do, and read their
// prompt in parts: each Eval has at most searchRows rows or those of the beams, of which there are
// no more than the batch has slots, and other texts have theirs in between.
func (j *job) search(ctx context.Context, p *prompt, choices []*choice) error {
	s := j.server
	turn, err := s.searches.Enter(ctx, j.visit.client.id, len(p.ids))
	if err != nil {
		return err
	}
	defer s.searches.Leave(turn)
	j.place.begun.Add(int32(len(choices)))
	session := j.model.NewSession()
	defer session.Release()
	last, err := s.readPrompt(ctx, session, p.ids, j.Options.Edits)
	if err != nil {
		return err
	}
	o := j.Options
	o.MaxTokens = p.tokens
	found, err := search.Beams(ctx, session, last, j.beams, o)
	if err != nil {
		return err
	}
	for i := range found {
		for k := range found[i].Tokens {
			if err := j.take(choices[i], &found[i].Tokens[k]); err != nil {
				return err
			}
		}
	}
	return nil
}
