package serve

import (
	"testing"
	"time"
)

// TestTheBacklogGivesTurns: before a text come its client's own, and of each other client as many
// tokens as those have.
func TestTheBacklogGivesTurns(t *testing.T) {
	q := &queue{}
	b := &q.backlog
	b.slots, b.rate = 2, func() float64 { return 100 }
	with := func(client string, texts int, tokens float64) *place {
		p := &place{queue: q, texts: texts, load: load{client: client, texts: texts}}
		q.texts.Add(int64(texts))
		if err := p.expect(tokens, 0); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ask := func(client string, tokens float64) time.Duration {
		p := &place{queue: q, load: load{client: client, texts: 1}}
		q.texts.Add(1)
		defer q.texts.Add(-1)
		return b.wait(p, tokens)
	}
	is := func(client string, tokens float64, want time.Duration) {
		t.Helper()
		if got := ask(client, tokens); got != want {
			t.Errorf("%v tokens of %s wait %v, want %v", tokens, client, got, want)
		}
	}
	is("a", 100, 0)
	first := with("a", 1, 500)
	is("a", 100, 0) // a slot is free
	large := with("a", 10, 10000)
	is("a", 100, 105*time.Second)
	is("b", 100, time.Second) // its turn comes after as many tokens of a
	other := with("b", 1, 300)
	is("b", 100, 3*time.Second+4*time.Second)
	is("c", 200, 2*time.Second+2*time.Second)
	is("a", 100, 105*time.Second+3*time.Second)
	first.begun.Store(1)
	large.begun.Store(9)
	is("a", 100, 10*time.Second+3*time.Second)
	if got := b.until(2); got != 13*time.Second {
		t.Errorf("two texts are there in %v", got)
	}
	b.most = 12 * time.Second
	p := &place{queue: q, load: load{client: "a", texts: 1}}
	e, ok := p.expect(1, 0).(*apiError)
	if !ok || e.status != 429 || e.retry != time.Second {
		t.Errorf("%+v", e)
	}
	b.rate = func() float64 { return 0 }
	is("a", 100, 0) // nothing is known yet
	if b.until(5) != 0 {
		t.Error("with an unknown rate")
	}
	b.rate = func() float64 { return 1e-300 }
	is("a", 100, 1e6*time.Second)
	b.rate = func() float64 { return 100 }
	for _, p := range []*place{first, large, other} {
		b.remove(p)
	}
	is("a", 100, 0)
}

// TestTheBacklogKnowsWhenASlotIsFree: when the first text ends, or at once for a client that has two
// slots fewer than another.
func TestTheBacklogKnowsWhenASlotIsFree(t *testing.T) {
	q := &queue{}
	b := &q.backlog
	b.slots, b.rate = 4, func() float64 { return 100 }
	begun := func(client string, texts int, tokens, fresh float64) *place {
		p := &place{queue: q, texts: texts, load: load{client: client, texts: texts}}
		q.texts.Add(int64(texts))
		if err := p.expect(tokens, fresh); err != nil {
			t.Fatal(err)
		}
		p.begun.Store(int32(texts))
		return p
	}
	is := func(client string, want time.Duration) {
		t.Helper()
		p := &place{queue: q, load: load{client: client, texts: 1}}
		q.texts.Add(1)
		defer q.texts.Add(-1)
		if got := b.wait(p, 10); got != want {
			t.Errorf("%s waits %v, want %v", client, got, want)
		}
	}
	two := begun("a", 2, 240, 200)
	begun("b", 1, 70, 60)
	is("c", 0) // a slot is free
	late := begun("b", 1, 210, 200)
	is("a", 4*600*time.Millisecond) // b's, 60 steps of 4 tokens
	is("c", 0)                      // one of a's
	two.done.Store(190)
	is("a", 4*50*time.Millisecond)
	two.done.Store(300)
	is("a", 0) // it has more than is usual
	b.remove(two)
	is("b", 4*600*time.Millisecond)
	late.done.Store(150)
	is("b", 4*500*time.Millisecond)
	b.most = time.Second
	p := &place{queue: q, load: load{client: "b", texts: 1}}
	q.texts.Add(1)
	if e, ok := p.expect(5, 4).(*apiError); !ok || e.retry != time.Second {
		t.Errorf("%+v", e)
	}
	if err := p.expect(0, 0); err != nil { // it needs no slot
		t.Error(err)
	}
}

// TestTheBacklogLearnsHowLongTextsAre.
func TestTheBacklogLearnsHowLongTextsAre(t *testing.T) {
	var b backlog
	if got := b.usual(); got != 1 {
		t.Errorf("at first %v", got)
	}
	for range 1000 {
		b.ended(200, 50)
	}
	if got := b.usual(); got < .2499 || got > .2501 {
		t.Errorf("after texts of a quarter: %v", got)
	}
	b.ended(0, 0)
	for range 1000 {
		b.ended(100, 100)
	}
	if got := b.usual(); got < .999 {
		t.Errorf("after whole ones: %v", got)
	}
}
