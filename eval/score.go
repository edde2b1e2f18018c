package eval

// Score: log-likelihoods of many texts, token by token, in batches.

import (
	"context"
	"fmt"
	"iter"
	"math"

	"picogpt/model"
)

// ScoreOptions say how to score. The zero value measures each token but a text's first.
type ScoreOptions struct {
	BOS   bool // put the BOS before a text, so that its first token is scored too
	Top   int  // how many alternatives to keep for each token
	Batch int  // texts in one Eval; 0 is 64. It changes no digit
}

// A Scored is what the model makes of one request.
type Scored struct {
	Index  int // of the request, from 0
	Text   string
	Tokens []Token

	// Over the tokens that have something before them: all of Tokens, but for the first of a text without BOS.
	Count  int
	Sum    float64 // of the log-probabilities, in nats; 0 where nothing is scored
	Mean   float64 // Sum/Count; NaN where nothing is scored
	Greedy bool    // each is the greedy choice

	Dropped int // tokens at the beginning of the context that the model did not see, for want of positions
}

// A Token is one token of the scored text.
type Token struct {
	Stat           // LogProb and Entropy NaN and Rank −1 for a token with nothing before it
	Start, End int // its bytes: Text[Start:End], which may begin or end within a rune
}

// A RequestError says that one request cannot be scored; the others can.
type RequestError struct {
	Index int // of the request, from 0
	Err   error
}

func (e *RequestError) Error() string { return fmt.Sprintf("request %d: %v", e.Index, e.Err) }

func (e *RequestError) Unwrap() error { return e.Err }

// scoreBatch is how many texts share an Eval; scoreRows bounds their tokens, and with them the memory of their caches.
const (
	scoreBatch = 64
	scoreRows  = 2048
)

// Score yields one Scored or error for each request, in the order of the requests. After a *RequestError the iteration goes on;
// any other error, the context's for one, ends it.
//
// Requests are read ahead until a batch is full. What several texts of a batch have in common at their beginning is computed
// once. The model's context bounds what a token is predicted from: a continuation's context loses its beginning (Scored.Dropped), and a long
// text is scored in windows that advance by half the context.
func Score(ctx context.Context, m *model.Model, tok Tokenizer, requests iter.Seq[Request], o ScoreOptions) iter.Seq2[Scored, error] {
	return func(yield func(Scored, error) bool) {
		if o.Top < 0 || o.Batch < 0 {
			yield(Scored{}, fmt.Errorf("top and batch: %d and %d, want 0 or more", o.Top, o.Batch))
			return
		}
		if o.Batch == 0 {
			o.Batch = scoreBatch
		}
		s := scorer{o: o, yield: yield, ctx: ctx}
		s.runner = runner{model: m, share: true, measure: measure{decay: newDecay(), top: o.Top}}
		index := 0
		for r := range requests {
			if !s.add(o.prepare(m.Config(), tok, r, index)) {
				return
			}
			index++
		}
		s.flush()
	}
}

// A scorer collects jobs until their sequences fill a batch, and yields those that are done.
type scorer struct {
	runner
	o     ScoreOptions
	ctx   context.Context
	yield func(Scored, error) bool

	jobs  []*job // in order, not yet yielded
	batch []part
	rows  int
}

// A part is a sequence of the batch and whose it is.
type part struct {
	*sequence
	owner *job
}

// add and flush return false when the iteration is over.
func (s *scorer) add(j *job) bool {
	s.jobs = append(s.jobs, j)
	for _, p := range j.parts {
		if len(s.batch) > 0 && s.rows+len(p.inputs()) > scoreRows && !s.flush() {
			return false
		}
		s.batch = append(s.batch, part{p, j})
		s.rows += len(p.inputs())
		if len(s.batch) >= s.o.Batch && !s.flush() {
			return false
		}
	}
	return len(s.batch) > 0 || s.flush()
}

func (s *scorer) flush() bool {
	sequences := make([]*sequence, len(s.batch))
	for i, p := range s.batch {
		sequences[i] = p.sequence
	}
	if err := s.run(s.ctx, sequences); err != nil {
		s.yield(Scored{}, err)
		return false
	}
	for _, p := range s.batch {
		p.owner.left--
	}
	s.batch, s.rows = s.batch[:0], 0
	for len(s.jobs) > 0 && s.jobs[0].left == 0 {
		j := s.jobs[0]
		s.jobs = s.jobs[1:]
		score, err := j.score()
		if err != nil {
			err = &RequestError{j.index, err}
		}
		if !s.yield(score, err) {
			return false
		}
	}
	return true
}

// score puts the parts of a finished job together.
func (j *job) score() (Scored, error) {
	s := Scored{Index: j.index, Text: j.text, Dropped: j.drop, Mean: math.NaN(), Greedy: true}
	if j.err != nil {
		return Scored{Index: j.index}, j.err
	}
	var stats []Stat
	for _, p := range j.parts {
		stats = append(stats, p.stats...)
	}
	for _, id := range j.tokens[j.hidden:min(j.first, len(j.tokens))] {
		s.Tokens = append(s.Tokens, Token{Stat: Stat{ID: id, LogProb: math.NaN(), Entropy: math.NaN(), Rank: -1}})
	}
	for _, t := range stats {
		s.Tokens = append(s.Tokens, Token{Stat: t})
		s.Sum += t.LogProb
		s.Greedy = s.Greedy && t.Greedy
	}
	if s.Count = len(stats); s.Count > 0 {
		s.Mean = s.Sum / float64(s.Count)
	}
	for i, span := range j.spans {
		s.Tokens[i].Start, s.Tokens[i].End = span.Start, span.End
	}
	return s, nil
}
