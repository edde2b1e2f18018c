package decode_test

// How a cell of the table of bits is computed, and compared.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/model"
	"picogpt/sample"
)

// A run is a cell that is being computed.
type run struct {
	*lab
	*subject
	way
	ctx     context.Context
	model   *model.Model
	options decode.Options // the text's, in this way
	random  *rand.Rand
	watched bool // all rows are compared, not only those of new tokens

	mu  sync.Mutex
	err error
}

// compute returns an error if a cell differs from the baseline of its text.
func (l *lab) compute(w way) error {
	s := l.texts[w[text]]
	if s.tokens == nil {
		if err := l.record(s); err != nil {
			return fmt.Errorf("the baseline: %w", err)
		}
	}
	r := &run{lab: l, subject: s, way: w, ctx: l.t.Context(), options: s.options}
	seed := uint64(0)
	for _, is := range w {
		seed = 7*seed + uint64(is)
	}
	r.random, r.watched = rand.New(rand.NewPCG(seed, 1)), seed%2 == 0
	o := model.Options{Kernel: l.values[kernel][w[kernel]], Threads: teams[w[threads]]}
	if r.options.Edits = s.edits; w[steered] == byModel {
		o.Edits, r.options.Edits = s.edits, nil
	}
	r.model = l.model(s, o)
	switch w[drafted] {
	case byLookup:
		r.options.Lookup = 5
	case byDraft:
		o := model.Options{Format: "q8", Threads: 1}
		if s.format == "q8" {
			o.Format = "q4"
		}
		r.options.Draft = &guess.Model{Model: l.model(s, o)}
	}
	if w[drafted] != byForm {
		r.options = r.options.Unforced()
	}
	r.options = r.options.AlwaysDraft()
	session, err := r.prepared()
	if err != nil {
		return err
	}
	tokens, err := r.write(session)
	if err == nil {
		err = r.end(session)
	}
	switch {
	case err != nil:
		return err
	case r.err != nil:
		return r.err
	case !same(tokens, s.tokens):
		i := 0
		for i < min(len(tokens), len(s.tokens)) && same(tokens[i:i+1], s.tokens[i:i+1]) {
			i++
		}
		return fmt.Errorf("token %d of %v is other than in %v:\n%v, want\n%v", i, ids(tokens),
			ids(s.tokens), tokens[i:min(i+1, len(tokens))], s.tokens[i:min(i+1, len(s.tokens))])
	}
	return nil
}

// pieces divides tokens as the cell wants it.
func (r *run) pieces(ids []int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		for len(ids) > 0 {
			n := min(len(ids), r.piece())
			if !yield(ids[:n]) {
				return
			}
			ids = ids[n:]
		}
	}
}

func (r *run) piece() int { return []int{1 << 20, 1, 1 + r.random.IntN(19)}[r.way[split]] }

// eval evaluates tokens of the text on a session, in pieces, or others that follow no text.
func (r *run) eval(s *model.Session, ids []int) error {
	for piece := range r.pieces(ids) {
		in := model.Input{Session: s, Tokens: piece, Trace: model.Editing(r.options.Edits)}
		if err := s.Model().Eval(r.ctx, r.watch(in)); err != nil {
			return err
		}
	}
	return nil
}

// watch makes an input compare rows of logits.
func (r *run) watch(in model.Input) model.Input {
	start, all := in.Session.Len(), slices.Concat(in.Session.Tokens(), in.Tokens)
	common := 0
	for common < min(len(all), len(r.rows)) && all[common] == r.ids[common] {
		common++
	}
	visit, from := in.Visit, in.VisitFrom
	if visit == nil {
		from = len(in.Tokens)
	}
	in.Visit, in.Best, in.Enough = func(row model.Row) {
		if at := start + row.Index; at < common {
			r.compare(row.Logits, at)
		}
		if visit != nil && row.Index >= from {
			visit(row)
		}
	}, 0, nil
	if r.watched {
		in.VisitFrom = 0
	} else if visit == nil {
		in.VisitFrom = len(in.Tokens) - 1
	}
	return in
}

// compare compares a row with the baseline's.
func (r *run) compare(row []float32, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used["compared"]++
	for i, want := range r.rows[at] {
		if r.err == nil && math.Float32bits(row[i]) != math.Float32bits(want) {
			r.err = fmt.Errorf("after token %d: logit %d is %x (%v), want %x (%v)", at, i,
				math.Float32bits(row[i]), row[i], math.Float32bits(want), want)
		}
	}
}

// prepared returns a session that holds a beginning of the prompt, or nothing.
func (r *run) prepared() (*model.Session, error) {
	s, n := r.model.NewSession(), len(r.prompt)
	held := min(n-1, []int{n - 1, 63, 64, 65, n / 2, n * 2 / 3}[r.random.IntN(6)])
	if r.way[cache] == cutWhole { // its last token is evaluated again
		held = n
	}
	other := slices.Concat(r.prompt[:held], r.prompt[:min(n, r.model.Config().Positions-held)])
	other[held] = (other[held] + 1) % r.model.Config().VocabSize
	var err error
	switch r.way[cache] {
	case 0, aPrefix:
		if r.way[company] == inBatcher || r.way[split] == 0 && r.way[saved] == 0 {
			return s, nil
		}
		err = r.eval(s, r.prompt[:held])
	case cutBack, cutWhole:
		err = r.eval(s, other)
		if s.Truncate(held); s.Logits() != nil {
			err = errors.Join(err, errors.New("a truncated session has logits"))
		}
	case aFork: // whose parent continues with other tokens
		err = r.eval(s, r.prompt[:held])
		parent := s
		s = s.Fork(held)
		err = errors.Join(err, r.eval(parent, other[held:]))
	case evicted:
		err = r.eval(s, other)
		s.Release()
		err = errors.Join(err, r.eval(s, r.prompt[:held]))
	}
	if err != nil || r.way[saved] == 0 {
		return s, err
	}
	if r.way[saved] == moved {
		names := r.values[kernel]
		next := (r.way[kernel] + 1) % len(names)
		if r.shape.Vocab == 0 { // the demo, which is never on the first, pure Go
			next = len(names) - 1
		}
		o := model.Options{Kernel: names[next], Threads: 1 + r.random.IntN(3)}
		r.model = r.lab.model(r.subject, o)
	}
	return r.restored(s)
}

// restored returns a session on the run's model that holds what one wrote to a file.
func (r *run) restored(s *model.Session) (*model.Session, error) {
	var b bytes.Buffer
	if err := s.Save(r.ctx, &b); err != nil {
		return nil, err
	}
	restored, err := r.model.Restore(r.ctx, bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, err
	}
	var again bytes.Buffer
	if err = restored.Save(r.ctx, &again); err == nil && !bytes.Equal(again.Bytes(), b.Bytes()) {
		err = errors.New("saved again it is another file")
	}
	return restored, err
}

// write writes the text.
func (r *run) write(s *model.Session) ([]decode.Token, error) {
	rest, o := r.prompt[s.Len():], r.options
	switch {
	case r.way[company] == asSample:
		n := 3
		if r.shape.Vocab == 29 { // the quick ones
			n = 11
		}
		sample := r.random.IntN(n)
		o.Seed -= uint64(sample)
		tokens, err := r.guesses(listed(decode.Samples(r.ctx, s, rest, n, o), sample))
		if err == nil && o.Overflow == "" && !slices.Equal(s.Tokens(), r.prompt) {
			err = errors.New("the session does not hold the prompt")
		}
		return tokens, err
	case r.way[company] >= inBatcher:
		return r.batched(s, rest)
	case r.way[drafted] == byLookup, r.way[drafted] == byDraft,
		r.watched && r.way[company] == 0:
		return r.guesses(listed(decode.Generate(r.ctx, s, rest, o), 0))
	}
	return r.driven(s, rest)
}

// listed takes the tokens of a sample.
func listed(texts iter.Seq2[decode.Token, error], sample int) (tokens []decode.Token, err error) {
	for tok, e := range texts {
		if err = e; e == nil && tok.Sample == sample {
			tok.Sample = 0
			tokens = append(tokens, tok)
		}
	}
	return tokens, err
}

// guesses forgets who had guessed tokens.
func (r *run) guesses(tokens []decode.Token, err error) ([]decode.Token, error) {
	for i := range tokens {
		if tokens[i].Guessed {
			r.used[fmt.Sprint("guessed ", r.way[drafted])]++
		}
		tokens[i].Guessed = false
	}
	return tokens, err
}

// stranger returns another text for the same model.
func (r *run) stranger(i int) (prompt []int, o decode.Options) {
	prompt = slices.Clone(r.prompt[:1+r.random.IntN(len(r.prompt))])
	prompt[len(prompt)-1] = r.random.IntN(29)
	o = decode.Options{MaxTokens: 1 + r.random.IntN(20), Overflow: decode.OverflowSlide,
		Params: sample.Params{Temperature: float64(i), Seed: uint64(i)}}
	if i == 1 && r.way[steered] != byModel {
		o.Edits = add(r.model.Config().Embd, i)
	}
	return prompt, o
}

// driven writes the text as a stream, in pieces, and beside others that come and go.
func (r *run) driven(s *model.Session, rest []int) (tokens []decode.Token, err error) {
	own, err := decode.NewStream(s, rest, r.options)
	if err != nil {
		return nil, err
	}
	own.GuessForced()
	streams := []*decode.Stream{own}
	cancelled, cancel := context.WithCancel(r.ctx)
	cancel()
	for step := 0; !own.Done(); step++ {
		if r.way[company] == inEval && step%3 == 0 && step < 20 {
			prompt, o := r.stranger(step / 3)
			st, err := decode.NewStream(r.model.NewSession(), prompt, o)
			if err != nil {
				return nil, err
			}
			streams = slices.Insert(streams, r.random.IntN(len(streams)+1), st)
		}
		var batch []model.Input
		for _, st := range streams {
			if r.used["guessed 3"] += st.DraftForced(1); st.Done() {
				continue
			}
			if in, ok := st.Input(min(r.piece(), 1<<20)); ok {
				if st == own {
					in = r.watch(in)
				}
				batch = append(batch, in)
			}
			if in, ok := st.Guide(min(r.piece(), 1<<20)); ok {
				batch = append(batch, in)
			}
		}
		// An Eval that fails, and a fork.
		if r.way[company] == inEval && step%4 == 1 && len(batch) > 0 {
			if r.model.Eval(cancelled, batch...) == nil {
				return nil, errors.New("a cancelled Eval returns no error")
			}
			forked := own.Fork()
			own.Stop()
			streams[slices.Index(streams, own)], own = forked, forked
			continue
		}
		if len(batch) > 0 {
			err = r.model.Eval(r.ctx, batch...)
		}
		for _, st := range streams {
			for err == nil && st.Ready() {
				var tok decode.Token
				var ok bool
				if tok, ok, err = st.Next(); ok && st == own {
					tokens = append(tokens, tok)
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, st := range streams {
		st.Stop()
	}
	s.Take(own.Session()) // which may be a fork's
	return tokens, nil
}

// batched writes the text in a Batcher, beside others that come and go.
func (r *run) batched(s *model.Session, rest []int) ([]decode.Token, error) {
	b := batch.New(r.model, batch.Options{MaxStreams: 3, PrefixBytes: int64(r.way[cache]) << 20,
		MaxDelay: []time.Duration{0, 1, 200 * time.Microsecond}[r.way[split]]})
	defer b.Close()
	almost := append(slices.Clone(r.prompt[:len(r.prompt)-1]), 1)
	if r.way[cache] == aPrefix { // more of the prompt is there, but not edited
		_, err := count(b.Generate(r.ctx, r.prompt, decode.Options{MaxTokens: 1}))
		edited := decode.Options{MaxTokens: 1, Edits: r.options.Edits}
		_, failed := count(b.Generate(r.ctx, almost, edited))
		if err = cmp.Or(err, failed); err != nil {
			return nil, err
		}
	}
	var others sync.WaitGroup
	defer others.Wait()
	for i := range 4 {
		prompt, o := r.stranger(i)
		leaves := r.random.IntN(30)
		others.Go(func() {
			for range b.Generate(r.ctx, prompt, o) {
				if leaves--; leaves == 0 {
					return
				}
			}
		})
	}
	if r.way[company] == lentToBatcher {
		return r.continued(b, s, rest)
	}
	var p batch.Progress
	request := batch.Request{Prompt: rest, Options: r.options, Progress: &p}
	tokens, err := listed(b.Run(r.ctx, request), 0)
	if r.used["prefix"] += p.Cached; r.way[cache] == aPrefix && len(rest) > 40 && p.Cached == 0 {
		return nil, errors.New("no prefix was found")
	}
	return tokens, err
}

// continued writes the text on a caller's session, and where it depends on nothing but that, in two
// parts.
func (r *run) continued(b *batch.Batcher, s *model.Session, rest []int) ([]decode.Token, error) {
	o, first := r.options, 1<<20
	if o.Temperature == 0 && o.Vocabulary == nil && o.Overflow == "" && len(o.SequenceBias) == 0 {
		first = 1 + r.random.IntN(len(r.tokens))
	}
	var tokens []decode.Token
	for tok, err := range b.Continue(r.ctx, s, rest, o) {
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, tok); len(tokens) == first {
			break
		}
	}
	if n := len(tokens); n < len(r.tokens) {
		o.MaxTokens = max(0, o.MaxTokens-n)
		others, err := listed(b.Continue(r.ctx, s, []int{tokens[n-1].ID}, o), 0)
		return append(tokens, others...), err
	}
	return tokens, nil
}

// end looks at the session that holds the text: the next row is the baseline's, also of what is
// saved and restored.
func (r *run) end(s *model.Session) error {
	n := s.Len()
	if n == 0 || n >= len(r.rows) || !slices.Equal(s.Tokens(), r.ids[:n]) {
		return nil // it has slid, or is the Batcher's
	}
	if r.way[saved] > 0 && !s.Edited() {
		restored, err := r.restored(s)
		if err != nil {
			return err
		}
		r.compare(restored.Logits(), n-1)
		s = restored
	}
	return r.eval(s, r.ids[n:n+1])
}
