package batch

// Common prefixes of texts are evaluated once.

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/cpu"
	"picogpt/internal/engine"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/sample"
)

// A counter is the processor, and counts rows.
type counter struct {
	engine.Backend
	rows, heads atomic.Int64     // and rows whose logits are wanted
	most        atomic.Int64     // rows of a pass
	gate        func(rows int64) // if not nil, called before each pass with the rows so far
}

func (c *counter) Open(
	_ context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	c.Backend = cpu.New(team, p, b)
	return c, nil
}

func (c *counter) Run(ctx context.Context, p *engine.Pass) error {
	c.most.Store(max(c.most.Load(), int64(p.Rows())))
	for i := range p.Spans {
		s := &p.Spans[i]
		c.rows.Add(int64(len(s.Tokens)))
		for j := range s.Tokens {
			if s.Wants(j) {
				c.heads.Add(1)
			}
		}
	}
	if c.gate != nil {
		c.gate(c.rows.Load())
	}
	return c.Backend.Run(ctx, p)
}

// took returns the rows since its last call.
func (c *counter) took() (rows, heads int64) { return c.rows.Swap(0), c.heads.Swap(0) }

// counted returns a small model with a context of 1,100 that counts its rows.
func counted(t testing.TB, cacheBytes int64) (*model.Model, *counter) {
	t.Helper()
	config, file := fixture.Checkpoint(fixture.Options{Positions: 1100})
	c := &counter{}
	return testmodel.New(t, config, file, model.Options{Threads: 2, Device: c,
		CacheBytes: cacheBytes}), c
}

func TestAPrefixOf32PromptsIsEvaluatedOnce(t *testing.T) {
	cases.NotShort(t)
	const texts, prefix, own = 32, 400, 8
	random := rand.New(rand.NewPCG(3, 4))
	begin := randomIDs(random, prefix)
	var prompts [][]int
	for i := range texts { // which differ in their first own token
		rest := append([]int{i % 29}, randomIDs(random, own-1)...)
		rest[1] = i / 29
		prompts = append(prompts, slices.Concat(begin, rest))
	}
	for _, c := range []struct {
		about string
		o     decode.Options
		rows  int64 // of a text beyond the prefix
	}{
		{"greedy", decode.Options{MaxTokens: 3}, own + 2},
		// The logits before the first own token are not kept: a row more.
		{"echo", decode.Options{MaxTokens: 3, Echo: decode.EchoPrompt, Top: 2}, own + 3},
		{"echo only", decode.Options{Echo: decode.EchoOnly, Top: 2}, own},
	} {
		for name, run := range map[string]func(b *Batcher, one func(i int)){
			"at the same moment": func(_ *Batcher, one func(i int)) {
				var group sync.WaitGroup
				for i := range texts {
					group.Go(func() { one(i) })
				}
				group.Wait()
			},
			"one after the other": func(b *Batcher, one func(i int)) {
				for i := range texts {
					one(i)
				}
			},
		} {
			m, rows := counted(t, 0)
			b := newBatcher(t, m, Options{PrefixBytes: 1 << 30, MaxDelay: time.Millisecond})
			plain := counted0(t)
			run(b, func(i int) {
				var got []decode.Token
				for tok, err := range b.Run(context.Background(), Request{Prompt: prompts[i],
					Options: c.o}) {
					if err != nil {
						t.Error(err)
					}
					got = append(got, tok)
				}
				if i%8 == 0 && !same(got, collect(t, plain.NewSession(), prompts[i], c.o)) {
					t.Errorf("%s, %s: text %d is not the one that it is alone", c.about, name, i)
				}
			})
			n, _ := rows.took()
			// Some first own tokens are equal, and shared too.
			if most := prefix + texts*c.rows; n > most || n < most-texts {
				t.Errorf("%s, %s: %d rows, want %d", c.about, name, n, most)
			}
			s := b.Stats()
			if least := int64((texts - 1) * (prefix - 1)); s.PrefixHits < least ||
				s.PrefixQueries != texts*(prefix+own) || s.Rows != n {
				t.Errorf("%s, %s: %+v, want %d hits, %d rows", c.about, name, s, least, n)
			}
			b.Close()
			if n := m.CacheBytes(); n != 0 {
				t.Errorf("%s, %s: %d bytes stay after Close", c.about, name, n)
			}
		}
	}
}

func counted0(t testing.TB) *model.Model {
	m, _ := counted(t, 0)
	return m
}

// ask runs a request to its end, and returns how many tokens of the prompt others had evaluated.
func ask(t *testing.T, b *Batcher, prompt []int, salt string, o decode.Options) int {
	t.Helper()
	var p Progress
	r := Request{Prompt: prompt, Options: o, Salt: salt, Progress: &p, Samples: 2}
	if _, err := count(b.Run(context.Background(), r)); err != nil {
		t.Fatal(err)
	}
	return p.Cached
}

// idle waits until a Batcher has no texts, and lets the test read its state.
func idle(b *Batcher) {
	for {
		b.mu.Lock()
		writing := b.looping
		b.mu.Unlock()
		if !writing {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func TestASaltKeepsTextsApart(t *testing.T) {
	b := newBatcher(t, counted0(t), Options{PrefixBytes: 1 << 30})
	prompt, o := upTo(0, 29), decode.Options{MaxTokens: 2}
	for _, c := range []struct {
		salt string
		o    decode.Options
		want int
	}{
		{"", o, 0}, {"", o, 28}, {"a", o, 0}, {"b", o, 0}, {"a", o, 28}, {"", o, 28},
		{"", decode.Options{Echo: decode.EchoOnly}, 0}, {"", decode.Options{Echo: decode.EchoOnly}, 28},
		{"", decode.Options{Echo: decode.EchoOnly, Top: 1}, 0}, {"b", decode.Options{Echo: decode.EchoOnly}, 0},
	} {
		if got := ask(t, b, prompt, c.salt, c.o); got != c.want {
			t.Errorf("salt %q, echo %q: %d tokens of others, want %d", c.salt, c.o.Echo, got, c.want)
		}
	}
}

func TestTextsWithOtherEditsShareNothing(t *testing.T) {
	b := newBatcher(t, testmodel.Demo(t, model.Options{Threads: 1}), Options{PrefixBytes: 1 << 30})
	prompt := upTo(0, 29)
	edited := func(scale float32) decode.Options {
		return decode.Options{MaxTokens: 2, Edits: []model.Edit{{
			At: model.Point{Kind: model.ResidPost}, Op: model.Scale, Values: []float32{scale}}}}
	}
	plain := decode.Options{MaxTokens: 2}
	for i, c := range []struct {
		o    decode.Options
		want int
	}{{plain, 0}, {edited(2), 0}, {edited(3), 0}, {edited(2), 28}, {plain, 28}} {
		if got := ask(t, b, prompt, "", c.o); got != c.want {
			t.Errorf("request %d: %d tokens of others, want %d", i, got, c.want)
		}
	}
}

func TestWhatWasOfNoUseForTheLongestTimeGoesFirst(t *testing.T) {
	m := counted0(t)
	s := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: s,
		Tokens: make([]int, 64)}); err != nil {
		t.Fatal(err)
	}
	page := s.Bytes()
	s.Release()
	b := newBatcher(t, m, Options{PrefixBytes: 3 * page})
	prompt := func(i int) []int { return slices.Concat([]int{i}, make([]int, 60)) }
	use := func(i, want int) {
		t.Helper()
		if got := ask(t, b, prompt(i), "", decode.Options{Echo: decode.EchoOnly}); got != want {
			t.Errorf("prompt %d: %d tokens are there, want %d", i, got, want)
		}
	}
	for i := range 3 {
		use(i, 0)
	}
	use(0, 60)
	use(3, 0) // and 1 goes
	use(0, 60)
	use(2, 60)
	use(3, 60)
	use(1, 0)
	if idle(b); m.CacheBytes() > 3*page {
		t.Errorf("%d bytes, want at most %d", m.CacheBytes(), 3*page)
	}
}

func TestALongerTextTakesThePlaceOfItsBeginning(t *testing.T) {
	b := newBatcher(t, counted0(t), Options{PrefixBytes: 1 << 30})
	prompt := upTo(0, 29)
	for turn := range 5 {
		want := max(0, len(prompt)-4)
		if got := ask(t, b, prompt, "", decode.Options{MaxTokens: 1}); turn > 0 && got != want {
			t.Errorf("turn %d: %d tokens are there, want %d", turn, got, want)
		}
		prompt = append(prompt, 1, 2, 3)
	}
	if idle(b); b.prefixes.stored.Len() != 1 {
		t.Errorf("%d sessions stay, want the last", b.prefixes.stored.Len())
	}
	for e := b.prefixes.stored.Front(); e != nil; e = e.Next() {
		if e.Value.(*prefix).evaluated.Session.Logits() != nil {
			t.Error("a session stays with its logits")
		}
	}
}

// TestNobodyWaitsForATextWhoseCallerIsSlow acts as the goroutine.
func TestNobodyWaitsForATextWhoseCallerIsSlow(t *testing.T) {
	m := counted0(t)
	b := newBatcher(t, m, Options{})
	for i, waits := range []bool{false, true, false} {
		st, err := decode.NewStream(m.NewSession(), upTo(0, 29), decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b.queue.push(newRequest(&Request{}, st, buffered))
		b.assign()
		if i == 2 { // the first continues, and its tokens are not taken
			for range buffered {
				b.running[0].request.tokens <- decode.Token{}
			}
		}
		if b.matchAll(); b.running[i].matched == waits {
			t.Errorf("text %d waits: %v, want %v", i, !b.running[i].matched, waits)
		}
	}
	if !b.running[1].matched {
		t.Error("a text waits for one whose caller is slow")
	}
}

// TestATextGoesOnFromWhereACancelledOneStopped ends the first of two equal prompts while the other
// waits for it.
func TestATextGoesOnFromWhereACancelledOneStopped(t *testing.T) {
	m, rows := counted(t, 0)
	for _, o := range []decode.Options{{MaxTokens: 2}, {Echo: decode.EchoPrompt, Top: 2, MaxTokens: 2}} {
		b := newBatcher(t, m, Options{MaxDelay: time.Nanosecond, PrefixBytes: 1 << 30})
		prompt := make([]int, 400)
		want := collect(t, m.NewSession(), prompt, o)
		rows.took()
		ctx, cancel := context.WithCancel(context.Background())
		begun, other := make(chan bool), make(chan bool)
		rows.gate = func(n int64) {
			if n >= 50 && begun != nil {
				close(begun)
				begun = nil
				<-other
			}
			if n >= 100 && ctx.Err() == nil {
				cancel()
				for b.requests[0].ended.Load() == nil {
					runtime.Gosched()
				}
			}
		}
		var group sync.WaitGroup
		wait := begun
		group.Go(func() { count(b.Generate(ctx, prompt, o)) })
		<-wait
		group.Go(func() {
			var got []decode.Token
			for tok, err := range b.Generate(context.Background(), prompt, o) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, tok)
			}
			if !same(got, want) {
				t.Errorf("after a cancel: %v, want %v", got, want)
			}
		})
		for b.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		close(other)
		group.Wait()
		if n, _ := rows.took(); n < 401 || n > 402 {
			t.Errorf("%d rows, want 401", n)
		}
		rows.gate = nil
	}
}

// TestThePromptThatGuidesATextIsCutToo makes a step evaluate as few rows as it can.
func TestThePromptThatGuidesATextIsCutToo(t *testing.T) {
	m, rows := counted(t, 0)
	b := newBatcher(t, m, Options{MaxDelay: time.Nanosecond})
	o := decode.Options{MaxTokens: 5,
		Params: sample.Params{Guidance: &sample.Guidance{Scale: 1.5, Negative: make([]int, 300)}}}
	for _, prompt := range [][]int{{1}, upTo(0, 29)} {
		want := collect(t, m.NewSession(), prompt, o)
		rows.most.Store(0)
		got := bySample(t, b.Samples(context.Background(), prompt, 2, o), 2)
		if !same(got[0], want) {
			t.Errorf("%v, want %v", got[0], want)
		}
		if n := rows.most.Load(); n > 100 { // a step may grow by a row or two where time is free
			t.Errorf("%d rows in a pass, want far less than 300", n)
		}
	}
}

// TestAPromptTakesNoScoresOfAnotherText: a text slid, so its session holds other tokens than its
// prompt, whose scores are stored.
func TestAPromptTakesNoScoresOfAnotherText(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 64})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	b := newBatcher(t, m, Options{PrefixBytes: 1 << 30})
	prompt := randomIDs(rand.New(rand.NewPCG(5, 6)), 40)
	o := decode.Options{Echo: decode.EchoPrompt, MaxTokens: 30, Overflow: decode.OverflowSlide, EndOfText: []int{}}
	text := ids(collect(t, m.NewSession(), prompt, o))
	ask(t, b, prompt, "", o)
	text = text[len(text)-37 : len(text)-1] // the tokens that the session holds
	at := 20
	for text[at] == prompt[at] {
		at++
	}
	other := append(slices.Clone(text[:at]), prompt[at], 1)
	o = decode.Options{Echo: decode.EchoOnly}
	want := collect(t, m.NewSession(), other, o)
	if got := bySample(t, b.Samples(context.Background(), other, 1, o), 1)[0]; !same(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := ask(t, b, text, "", decode.Options{MaxTokens: 1}); n < 30 {
		t.Errorf("%d tokens are there, want what the text that slid holds", n)
	}
}
