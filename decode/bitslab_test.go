package decode_test

// How a cell of the table is computed.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// A subject is a text: what a checkpoint in some format writes after a prompt.
type subject struct {
	name          string
	shape         fixture.Options // Vocab 0: the demo
	format, cache string          // of weights, keys and values
	prompt        []int
	options       decode.Options
	edits         []model.Edit
	healed        bool
	form          string // a regular expression

	config, file []byte
	rows         [][]float32 // the baseline's logits after each of ids, as far as the context goes
	ids          []int
	tokens       []decode.Token
}

// spelled is a vocabulary: 13 letters, an end of text without bytes, 26 times two letters, and the
// other bytes.
type spelled [][]byte

func spelling() (s spelled) {
	for i := range 13 {
		s = append(s, []byte{byte('a' + i)})
	}
	s = append(s, nil)
	for i := range 26 {
		s = append(s, []byte{byte('a' + i%13), byte('a' + i*5%13)})
	}
	for b := range 256 {
		if b < 'a' || b >= 'a'+13 {
			s = append(s, []byte{byte(b)})
		}
	}
	return s
}

func (s spelled) NewDecoder([]int) tokenizer.Decoder { return s }
func (s spelled) Size() int                          { return len(s) }
func (s spelled) Push(id int) (string, error)        { return string(s[id]), nil }
func (spelled) Flush() string                        { return "" }
func (s spelled) Fork() tokenizer.Decoder            { return s }

// add is an edit of the stream after the first block, from a position on.
func add(width, from int) []model.Edit {
	values := make([]float32, width)
	values[3], values[width-1] = 2, -3
	return []model.Edit{{At: model.Point{Kind: model.ResidPost, Layer: 0}, Head: model.AllHeads,
		Op: model.Add, Values: values, From: from}}
}

// subjects are the texts of the table: shapes, formats, and kinds of options.
func subjects() []*subject {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(n, vocab int) (ids []int) {
		for range n {
			ids = append(ids, r.IntN(vocab))
		}
		return ids
	}
	small := fixture.Options{Seed: 1, Vocab: 53, Positions: 200}
	wide := fixture.Options{Seed: 2, Vocab: 301, Positions: 160, Embd: 72, Inner: 150, Layer: 2,
		DType: weights.F16}
	panels := fixture.Options{Seed: 3, Vocab: 130, Positions: 160, Embd: 96, Head: 2, Inner: 290,
		Layer: 2, Untied: true}
	spelt := fixture.Options{Seed: 5, Vocab: 283, Positions: 160, Config: map[string]any{
		"eos_token_id": 13, "bos_token_id": 13}}
	greedy := func(n int) decode.Options { return decode.Options{MaxTokens: n, Top: 2, EndOfText: []int{}} }
	drawn, guided, healed, formed := greedy(20), greedy(40), greedy(12), greedy(25)
	drawn.Params = sample.Params{Temperature: 1.3, TopP: 0.95, RepeatPenalty: 1.2, RepeatLastN: 30,
		Seed: 11}
	guided.Guidance = &sample.Guidance{Scale: 2, Negative: random(5, 29)}
	guided.Overflow, guided.Temperature, guided.Seed = decode.OverflowSlide, 1, 6
	healed.Vocabulary, healed.Ban, healed.Stop = spelling(), []string{"cc", "bd"}, []string{"aaa"}
	formed.Vocabulary, formed.EndOfText = spelling(), []int{13}
	formed.Temperature, formed.Seed, formed.OpenMass = 1.1, 3, true
	mixed := formed
	mixed.Overflow, mixed.RepeatPenalty = decode.OverflowTruncate, 1.1
	once := random(60, 40)
	var all []*subject
	for _, name := range slices.Sorted(maps.Keys(ways())) { // with a context of 23
		all = append(all, &subject{name: name, shape: fixture.Options{Vocab: 29},
			prompt: random(12, 29), options: ways()[name]})
	}
	all = append(all, []*subject{
		{name: "f32", shape: small, prompt: random(120, 53), options: greedy(14)},
		{name: "f16, wide", shape: wide, prompt: random(70, 301), options: greedy(6)},
		{name: "bf16, one head", prompt: random(62, 67), options: greedy(6), shape: fixture.Options{
			Seed: 4, Vocab: 67, Positions: 200, Embd: 33, Head: 1, Layer: 2, DType: weights.BF16}},
		{name: "q8, two panels", shape: panels, format: "q8", prompt: random(66, 130), options: greedy(6)},
		{name: "q4, cache in f16", shape: panels, format: "q4", cache: "f16", prompt: random(75, 130),
			options: greedy(6)},
		{name: "drawn", shape: small, cache: "f16", prompt: random(50, 53), options: drawn},
		{name: "guided", shape: fixture.Options{Vocab: 29}, prompt: random(9, 29), options: guided},
		{name: "steered", shape: wide, prompt: random(68, 301), options: greedy(6), edits: add(72, 0)},
		{name: "healed, banned, stopped", shape: spelt, prompt: append(slices.Concat(once, once), 2, 0),
			options: healed, healed: true},
		{name: "of a form", shape: spelt, prompt: random(70, 40), options: formed,
			form: "(abcabc[a-d]{2}dddabc){1,4}"},
		{name: "of a form, healed, steered at its end", shape: spelt, prompt: append(random(66, 40), 1, 0),
			options: mixed, healed: true, form: "(abcabc[a-d]{2}dddabc){1,4}", edits: add(15, 66)},
	}...)
	if len(kernels.Variants()) > 1 { // pure Go alone would take seconds
		all = append(all, &subject{name: "the demo", prompt: random(30, 50257), options: greedy(4)})
	}
	return all
}

// A lab has the models and texts of the table.
type lab struct {
	t      *testing.T
	texts  []*subject
	models map[string]*model.Model
	used   map[string]int
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, texts: subjects(), models: map[string]*model.Model{}, used: map[string]int{}}
	for _, s := range l.texts {
		if s.config, s.file = demo.Config(), demo.Weights(); s.shape.Vocab > 0 {
			s.config, s.file = fixture.Checkpoint(s.shape)
		}
		if s.healed {
			s.options.Healing = decode.NewHealing(spelling(), s.prompt, 1)
			s.prompt = s.options.Healing.Prompt
		}
		if s.form != "" {
			v, err := constrain.NewVocabulary(spelling(), constrain.VocabularyOptions{Ends: []int{13}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := constrain.Regex(v, s.form)
			if err != nil {
				t.Fatal(err)
			}
			if s.options.Constraint, err = c.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// record computes a text's baseline: its tokens by Generate, and the rows of logits one by one.
func (l *lab) record(s *subject) error {
	o := model.Options{Kernel: "go", Threads: 1}
	if s.shape.Vocab == 0 {
		o.Kernel = kernels.Variants()[0]
	}
	m := l.model(s, o)
	options := s.options.Unforced()
	options.Edits = s.edits
	tokens, err := listed(decode.Generate(l.t.Context(), m.NewSession(), s.prompt, options), 0)
	if err != nil {
		return err
	}
	s.tokens, s.ids = tokens, append(slices.Clone(s.prompt), ids(tokens)...)
	session := m.NewSession()
	for _, id := range s.ids[:min(len(s.ids), m.Config().Positions)] {
		in := model.Input{Session: session, Tokens: []int{id}, Trace: model.Editing(s.edits)}
		if err := m.Eval(l.t.Context(), in); err != nil {
			return err
		}
		s.rows = append(s.rows, slices.Clone(session.Logits()))
	}
	return nil
}

// model returns a model of a text's checkpoint.
func (l *lab) model(s *subject, o model.Options) *model.Model {
	key := fmt.Sprint(s.shape, o.Kernel, o.Threads, len(o.Edits), o.Format+s.format, s.cache)
	if l.models[key] == nil {
		o.Format, o.CacheFormat = max(o.Format, s.format), s.cache
		o.Digest = func() (string, error) { return fmt.Sprint(s.shape), nil }
		l.models[key] = testmodel.New(l.t, s.config, s.file, o)
	}
	return l.models[key]
}

// possible reports whether a cell has no values that cannot be together.
func (l *lab) possible(w way) bool {
	for axis, is := range w {
		if !w.fits(l.texts, value{axis, is}) {
			return false
		}
	}
	return true
}

// checkUse fails if what was to be shown did not occur.
func (l *lab) checkUse(t *testing.T) {
	for _, what := range []string{"guessed 1", "guessed 2", "guessed 3", "prefix", "compared"} {
		if t.Logf("%s: %d", what, l.used[what]); l.used[what] == 0 {
			t.Errorf("%s: never", what)
		}
	}
}

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
	o := model.Options{Kernel: valuesOf(nil)[kernel][w[kernel]], Threads: []int{1, 2, 3, 7}[w[threads]]}
	if r.options.Edits = s.edits; w[steered] == 2 {
		o.Edits, r.options.Edits = s.edits, nil
	}
	r.model = l.model(s, o)
	switch w[drafted] {
	case 1:
		r.options.Lookup = 5
	case 2:
		small := map[string]string{"q8": "q4"}[s.format]
		r.options.Draft = &guess.Model{Model: l.model(s, model.Options{Format: max(small, "q8"), Threads: 1})}
	}
	if w[drafted] != 3 {
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
	other := slices.Concat(r.prompt[:held], r.prompt[:min(n, r.model.Config().Positions-held)])
	other[held] = (other[held] + 1) % r.model.Config().VocabSize
	var err error
	switch r.way[cache] {
	case 0, 4:
		if r.way[company] == 3 || r.way[split] == 0 && r.way[saved] == 0 {
			return s, nil
		}
		err = r.eval(s, r.prompt[:held])
	case 1: // cut back
		err = r.eval(s, other)
		s.Truncate(held)
	case 2: // a fork, whose parent goes on with other tokens
		err = errors.Join(r.eval(s, r.prompt[:held]), nil)
		parent := s
		s = s.Fork(held)
		err = errors.Join(err, r.eval(parent, other[held:]))
	case 3: // evicted
		err = r.eval(s, other)
		s.Release()
		err = errors.Join(err, r.eval(s, r.prompt[:held]))
	}
	if err != nil || r.way[saved] == 0 {
		return s, err
	}
	if r.way[saved] == 2 {
		o := model.Options{Kernel: kernels.Variants()[r.random.IntN(len(kernels.Variants()))],
			Threads: 1 + r.random.IntN(3)}
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
	case r.way[company] == 1:
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
	case r.way[company] >= 3:
		return r.batched(s, rest)
	case r.way[drafted] == 1 || r.way[drafted] == 2 || r.watched && r.way[company] == 0:
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
	if i == 1 && r.way[steered] < 2 {
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
		if r.way[company] == 2 && step%3 == 0 && step < 20 {
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
		if r.way[company] == 2 && step%4 == 1 && len(batch) > 0 { // an Eval that fails, and a fork
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
	if r.way[cache] == 4 { // more of the prompt is there, but not edited
		_, err := count(b.Generate(r.ctx, r.prompt, decode.Options{MaxTokens: 1}))
		_, failed := count(b.Generate(r.ctx, almost, decode.Options{MaxTokens: 1, Edits: r.options.Edits}))
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
	if r.way[company] == 4 {
		return r.continued(b, s, rest)
	}
	var p batch.Progress
	tokens, err := listed(b.Run(r.ctx, batch.Request{Prompt: rest, Options: r.options, Progress: &p}), 0)
	if r.used["prefix"] += p.Cached; r.way[cache] == 4 && len(rest) > 40 && p.Cached == 0 {
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

// end looks at the session that holds the text: the next row is the baseline's, also of what is saved
// and restored.
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
