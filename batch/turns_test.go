package batch

// Turns: a client that has many slots gives one to a client that has none, in the middle of a text.

import (
	"context"
	"iter"
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

// TestAClientWithOneRequestWaitsForNoLongText of another, which has all slots: not for one that is
// written, nor for one whose prompt is read. The first request of the other ends before any of these
// does, and each text is what Generate gives. The long texts are read to their middle only until
// then: they cannot end before, however late the test's own goroutine runs.
func TestAClientWithOneRequestWaitsForNoLongText(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(roomy)
	alone := testmodel.New(t, config, file, model.Options{Threads: 1})
	m := testmodel.New(t, config, file, model.Options{Threads: 1})
	b := newBatcher(t, m, Options{MaxStreams: 4, MaxDelay: time.Hour}) // nobody is slow
	o := decode.Options{EndOfText: []int{}, Overflow: decode.OverflowSlide, MaxTokens: 1000,
		Params: sample.Params{Temperature: 1, Seed: 7}}
	scored := o
	scored.MaxTokens, scored.Echo, scored.Top = 100, decode.EchoPrompt, 2
	requests, want := make([]Request, 8), make([][][]decode.Token, 8)
	for i := range requests {
		o := o
		switch i {
		case 2:
			o = scored
		case 4:
			o.MaxTokens, o.Guidance = 100, &sample.Guidance{Scale: 1.5, Negative: upTo(3, 29)}
		}
		requests[i] = Request{Prompt: upTo(i, 29), Options: o, Client: "many", Samples: 1 + i%2}
		for range requests[i].Samples {
			want[i] = append(want[i], collect(t, alone.NewSession(), requests[i].Prompt, o))
			o.Seed++
		}
	}
	var many sync.WaitGroup
	served := make(chan struct{})
	for i, r := range requests {
		many.Go(func() {
			got := bySample(t, gated(b.Run(context.Background(), r), 500, served), r.Samples)
			for s := range got {
				if !same(got[s], want[i][s]) {
					t.Errorf("text %d, sample %d: %d tokens differ from Generate's %d", i, s, len(got[s]),
						len(want[i][s]))
				}
			}
		})
	}
	for b.Stats().Running < 4 {
		time.Sleep(time.Millisecond)
	}
	o.MaxTokens = 5
	for i := range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // where it waits for good
		n, err := count(b.Run(ctx, Request{Prompt: upTo(0, 20), Options: o, Client: "one"}))
		cancel()
		if n != 5 || err != nil {
			t.Errorf("request %d: %d tokens, %v: it waited for a text of another client", i, n, err)
			break
		}
	}
	close(served)
	many.Wait()
}

// gated is seq, of which what follows the first n tokens is read when open is closed.
func gated(seq iter.Seq2[decode.Token, error], n int, open <-chan struct{},
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		taken := 0
		for tok, err := range seq {
			if !yield(tok, err) {
				return
			}
			if taken++; taken == n {
				<-open
			}
		}
	}
}

// TestTurnsBecomeLonger each time that a text has to be evaluated again. The test acts as the
// goroutine.
func TestTurnsBecomeLonger(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 3, MaxDelay: time.Hour})
	asks := func(client string) *request {
		st, err := decode.NewStream(m.NewSession(), []int{1}, decode.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest(&Request{}, st, buffered)
		r.client = client
		b.queue.push(r)
		return r
	}
	poor := asks("poor")
	b.assign()
	many := []*request{asks("many"), asks("many")}
	for b.assign() {
	}
	for turn, steps := range []int{8, 16, 32, 32} {
		next := asks("next")
		for _, x := range []struct {
			steps int
			given bool
		}{{steps - 1, false}, {steps, true}} {
			for _, text := range b.running {
				switch text.request {
				case poor: // its client has one slot, which is not too many
					text.steps = 1000
				case many[0]:
					text.steps = x.steps
					if turn == 3 { // its caller is behind
						text.stalled = time.Now()
					}
				}
			}
			if got := b.assign(); got != x.given {
				t.Fatalf("turn %d, after %d steps: the slot is given: %t, want %t", turn, x.steps, got,
					x.given)
			}
		}
		if poor.running != 1 || many[0].running != 0 || many[1].running != 1 || next.running != 1 {
			t.Fatalf("turn %d: the slots are %d, %d, %d and %d", turn, poor.running, many[0].running,
				many[1].running, next.running)
		}
		if got, want := many[0].begun.Load(), int32(1-turn/3); got != want {
			t.Errorf("turn %d: %d texts of the one that gave its slot have begun, want %d", turn, got, want)
		}
		if b.assign() {
			t.Error("it has its slot again before another is free")
		}
		b.end(next, nil)
		if turn < 2 {
			many[0].waiting[0].had = 10 // evaluated, and then not stored
			many[0].apart = turn > 0    // nor looked for
		}
		if !b.assign() || many[0].running != 1 {
			t.Error("it has no slot again")
		}
		b.matchAll()
	}
	for _, r := range append(many, poor) {
		b.end(r, nil)
	}
}
