package batch

// Which text gets a slot, and which loses it when the cache is full.

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

func TestABreakFreesThePlace(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 1})
	endless := decode.Options{Overflow: decode.OverflowSlide, EndOfText: []int{}}
	for range 50 {
		for range b.Generate(context.Background(), []int{1}, endless) {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range b.Samples(ctx, []int{1}, 1000, endless) {
		if n++; n == 30 {
			cancel()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 3})); n != 3 {
		t.Errorf("%d tokens, %v", n, err)
	}
}

// TestSlotsAreGivenInTheOrderOfTheCalls acts as the goroutine: it admits and ends requests by hand.
func TestSlotsAreGivenInTheOrderOfTheCalls(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 2})
	var calls []*request
	for range 5 {
		st, err := decode.NewStream(m.NewSession(), []int{1}, decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, newRequest(&Request{}, st, buffered))
	}
	for _, r := range calls {
		b.queue.push(r)
	}
	for i := range calls {
		b.admit()
		var slots []*request
		for _, task := range b.running {
			slots = append(slots, task.request)
		}
		if want := calls[i:min(i+2, len(calls))]; !slices.Equal(slots, want) {
			t.Fatalf("after %d requests have ended: %d have slots, want the next %d",
				i, len(slots), len(want))
		}
		b.finish(b.running[0])
	}
	if b.admit() {
		t.Error("all requests have ended and there is more to write")
	}
}

func TestManySamplesLeaveSlotsToOthers(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 3})
	o := decode.Options{MaxTokens: 5, Params: sample.Params{Temperature: 1}}
	n := 0
	for _, err := range b.Samples(context.Background(), []int{1}, 100, o) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 20 {
			other, err := count(b.Generate(context.Background(), []int{1}, o))
			if other != 5 || err != nil {
				t.Errorf("beside 100 samples: %d tokens, %v", other, err)
			}
		}
	}
	if n != 500 {
		t.Errorf("%d tokens of 100 samples, want 500", n)
	}
	if _, err := count(b.Samples(context.Background(), []int{1}, 0, o)); err == nil {
		t.Error("no samples: want an error")
	}
}

// crowded returns the tiny model with room for the caches of so many sessions.
func crowded(t *testing.T, sessions int64) *model.Model {
	m := tiny(t, fixture.Options{})
	s := m.NewSession()
	in := model.Input{Session: s, Tokens: make([]int, 23)}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	config, file := fixture.Checkpoint(fixture.Options{})
	return testmodel.New(t, config, file, model.Options{Threads: 1,
		CacheBytes: sessions * s.Bytes()})
}

func TestTextsTakeTurnsWhereTheCacheHasNoRoomForAll(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(roomy)
	alone := testmodel.New(t, config, file, model.Options{Threads: 1})
	m := testmodel.New(t, config, file, model.Options{Threads: 1,
		CacheBytes: 3 * alone.SessionBytes(150)})
	random := rand.New(rand.NewPCG(12, 0))
	for range 2 {
		b := newBatcher(t, m, Options{MaxDelay: 100 * time.Microsecond})
		var prompts [][]int
		var group sync.WaitGroup
		for range sized(30, 500) {
			g := newGuest(t, alone, random, &prompts)
			group.Go(func() { g.visit(t, b) })
		}
		group.Wait()
		b.Close()
	}
	if n := m.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of the cache stay in use", n)
	}
}

// TestSamplesWithoutASlotLeaveTheCacheToOthers: the first sample ends when just as many tokens wait
// as may, so that the second has no slot; the prompt's session is for it, and takes all of the cache.
func TestSamplesWithoutASlotLeaveTheCacheToOthers(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(roomy)
	limit := testmodel.New(t, config, file, model.Options{Threads: 1}).SessionBytes(3 * 64) // 3 pages
	m := testmodel.New(t, config, file, model.Options{Threads: 1, CacheBytes: limit})
	b := newBatcher(t, m, Options{MaxStreams: 1, MaxDelay: time.Hour})
	prompt := make([]int, 100)
	o := decode.Options{MaxTokens: buffered + 1, EndOfText: []int{},
		Params: sample.Params{Temperature: 1}}
	want := bySample(t, b.Samples(context.Background(), prompt, 2, o), 2)
	got := make([][]decode.Token, 2)
	for tok, err := range b.Samples(context.Background(), prompt, 2, o) {
		if err != nil {
			t.Fatal(err)
		}
		i := tok.Sample
		tok.Sample = 0
		if got[i] = append(got[i], tok); i > 0 || len(got[i]) > 1 {
			continue
		}
		n, err := count(b.Generate(context.Background(), slices.Repeat([]int{1}, 100),
			decode.Options{MaxTokens: 5}))
		if n != 5 || err != nil {
			t.Errorf("beside samples of which none has a slot: %d tokens, %v; want 5", n, err)
		}
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Errorf("sample %d: %v, alone %v", i, got[i], want[i])
		}
	}
}

func TestACancelledTextDoesNotWaitForItsSlot(t *testing.T) {
	b := newBatcher(t, tiny(t, fixture.Options{}), Options{
		MaxStreams: 1, MaxDelay: time.Hour, // a slow caller keeps its slot for ten hours
	})
	taken, stop := iter.Pull2(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 20}))
	defer stop()
	taken()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if n, err := count(b.Generate(ctx, []int{1}, decode.Options{})); n > 0 || !errors.Is(err, ctx.Err()) {
		t.Errorf("%d tokens, %v", n, err)
	}
}

// A caller that takes a token just before the patience with it ends has as much of it as one that takes
// none: what its slot has waited adds up. The test acts as the goroutine.
func TestACallerThatTakesATokenNowAndThenLosesItsSlot(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 1, MaxDelay: time.Hour}) // a patience of ten hours
	asks := func() *request {
		st, err := decode.NewStream(m.NewSession(), []int{1}, decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest(&Request{}, st, 1)
		b.queue.push(r)
		return r
	}
	trickling := asks()
	if !b.assign() {
		t.Fatal("the first text has no slot")
	}
	text := b.running[0]
	next := asks()
	for waited := 4; waited <= 12; waited += 4 { // hours
		trickling.tokens <- decode.Token{}
		text.wanted()
		text.stalled = text.stalled.Add(-4 * time.Hour)
		if got, want := b.assign(), waited > 10; got != want {
			t.Fatalf("after %d hours of waiting for its caller: the slot goes to the next text: %t, want %t",
				waited, got, want)
		}
		<-trickling.tokens // before another minute passes
		text.wanted()
	}
	if b.running[0].request != next || len(trickling.waiting) != 1 || text.idled != 0 {
		t.Error("the slot is not the next text's, or the first does not wait for another with new patience")
	}
	if n := trickling.begun.Load(); n != 0 {
		t.Errorf("%d texts of a caller that lost its slot have begun, want 0", n)
	}
	b.end(next, nil)
	if !b.assign() || trickling.begun.Load() != 1 {
		t.Error("with a slot again, its text has not begun")
	}
	b.end(trickling, nil)
}

// A full cache takes the slot of the text that got it last, of those whose memory can be given
// back, and no slot is given before another becomes free.
func TestWhoLeavesAFullCache(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, c := range []struct {
		lent []bool // the texts that have a slot: whether their sessions are the callers'
		left int    // which of them has to leave it
	}{
		{[]bool{false, false}, 1}, {[]bool{false, true}, 0}, {[]bool{true, true}, 1},
		{[]bool{true, false, false, true}, 2},
	} {
		b := newBatcher(t, m, Options{})
		var tasks []*task
		for _, lent := range c.lent {
			st, err := decode.NewStream(m.NewSession(), []int{1, 2}, decode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := newRequest(&Request{}, st, buffered)
			r.lent = lent
			b.queue.push(r)
			b.assign()
			tasks = append(tasks, b.running[len(b.running)-1])
		}
		want := slices.Delete(slices.Clone(tasks), c.left, c.left+1)
		b.fail(&model.InputError{Err: model.ErrCacheFull})
		if !slices.Equal(b.running, want) || b.assign() || b.Stats().Preemptions != 1 {
			t.Errorf("%v: %d texts have a slot, want all but number %d", c.lent, len(b.running),
				c.left)
		}
		if b.end(want[0].request, nil); !b.assign() {
			t.Errorf("%v: a slot that has become free is given to nobody", c.lent)
		}
	}
}

func TestATextThatTheCacheCannotHoldIsAnErrorOfItsOwn(t *testing.T) {
	m := crowded(t, 1)
	held := m.NewSession()
	in := model.Input{Session: held, Tokens: make([]int, 23)}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	b := newBatcher(t, m, Options{})
	for range 3 {
		n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{}))
		if n != 0 || !errors.Is(err, model.ErrCacheFull) {
			t.Errorf("without room: %d tokens, %v", n, err)
		}
	}
	held.Release()
	n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 5}))
	if n != 5 || err != nil {
		t.Errorf("with room: %d tokens, %v", n, err)
	}
}

// TestAGoroutineThatEndsLeavesTheNextAlone makes requests when the Batcher's goroutine has just
// found that no text is left. It takes many requests to meet that moment.
func TestAGoroutineThatEndsLeavesTheNextAlone(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range sized(500, 50000) {
				texts := b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 1})
				if n, err := count(texts); n != 1 || err != nil {
					t.Errorf("%d tokens, %v; want 1", n, err)
					return
				}
			}
		})
	}
	group.Wait()
}
