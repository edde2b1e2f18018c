package batch

// Turns of clients, and the counts of a Batcher.

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

func TestClientsTakeTurns(t *testing.T) {
	for _, c := range []struct {
		about string
		calls string         // clients, in the order of their calls
		slots map[string]int // before
		want  string
	}{
		{"one client", "aaa", nil, "aaa"},
		{"one with many, one with one", "aaaaab", nil, "abaaaa"},
		{"three", "aaabbc", nil, "abcaba"},
		{"one has slots already", "aabb", map[string]int{"a": 2}, "bbaa"},
		{"both have", "aaabb", map[string]int{"a": 1, "b": 2}, "ababa"},
	} {
		q, got, slots := newQueue(), "", map[string]int{}
		for name, n := range c.slots {
			slots[name] = n
		}
		for _, name := range c.calls {
			q.push(&request{client: string(name)})
		}
		for r := q.next(slots); r != nil; r = q.next(slots) {
			q.pop(r)
			slots[r.client]++
			got += r.client
		}
		if got != c.want || q.n != 0 || len(q.clients)+len(q.turns) != 0 {
			t.Errorf("%s: %s, want %s; %d left", c.about, got, c.want, q.n)
		}
	}
}

func TestRequestsThatAreGoneLeaveTheQueue(t *testing.T) {
	q := newQueue()
	var calls []*request
	for _, name := range "aababc" {
		calls = append(calls, &request{client: string(name)})
		q.push(calls[len(calls)-1])
	}
	q.remove(func(r *request) bool { return r == calls[0] || r.client == "b" })
	var left strings.Builder
	for r := q.next(nil); r != nil; r = q.next(nil) {
		q.pop(r)
		left.WriteString(r.client)
	}
	if left.String() != "aca" || q.n != 0 {
		t.Errorf("%s are left, and then %d; want aca", &left, q.n)
	}
}

// TestAClientWithManyRequestsDoesNotStarveOneWithOne makes a thousand requests, some with scored
// prompts, wait before another client arrives.
func TestAClientWithManyRequestsDoesNotStarveOneWithOne(t *testing.T) {
	wait := make(chan bool)
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{Threads: 1,
		Device: &counter{gate: func(int64) { <-wait }}}) // no text goes on before all have come
	b := newBatcher(t, m, Options{MaxStreams: 4})
	var group sync.WaitGroup
	o := decode.Options{MaxTokens: 10, Overflow: decode.OverflowSlide, EndOfText: []int{}}
	many := sized(1000, 5000)
	others := make([]Progress, many)
	for i := range many {
		o := o
		if i%2 == 0 {
			o.Echo, o.Top = decode.EchoOnly, 2
		}
		group.Go(func() {
			r := Request{Prompt: upTo(0, 20), Options: o, Client: "many", Progress: &others[i]}
			if n, err := count(b.Run(context.Background(), r)); n < 10 || err != nil {
				t.Errorf("%d tokens, %v", n, err)
			}
		})
	}
	for b.Stats().Waiting < many/2 {
		runtime.Gosched()
	}
	close(wait)
	ones := make([]Progress, 3)
	for i := range ones {
		r := Request{Prompt: []int{1}, Options: o, Client: fmt.Sprint("one", i), Progress: &ones[i]}
		if n, err := count(b.Run(context.Background(), r)); n != 10 || err != nil {
			t.Errorf("%d tokens, %v", n, err)
		}
	}
	group.Wait()
	for _, one := range ones {
		before := 0
		for _, other := range others {
			if other.Placed.After(one.Submitted) && other.Placed.Before(one.Placed) {
				before++
			}
		}
		if before > 1 { // where the many had no slot at that moment, it may have been their turn
			t.Errorf("%d requests of another client came between", before)
		}
	}
}

func TestStatsCountWhatHappens(t *testing.T) {
	m := crowded(t, 2)
	b := newBatcher(t, m, Options{MaxStreams: 4})
	start := time.Now()
	var progress Progress
	r := Request{Prompt: []int{1, 2, 3}, Options: decode.Options{MaxTokens: 6}, Samples: 2,
		Progress: &progress}
	if n, err := count(b.Run(context.Background(), r)); n != 12 || err != nil {
		t.Fatal(n, err)
	}
	p := progress
	if p.Submitted.Before(start) || p.Placed.Before(p.Submitted) || p.First.Before(p.Placed) {
		t.Errorf("started %v: %+v", start, p)
	}
	s := b.Stats()
	if s.PromptTokens != 3 || s.NewTokens != 12 || s.Steps < 6 || s.Preemptions != 0 {
		t.Errorf("%+v", s)
	}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			r := Request{Prompt: []int{i}, Options: decode.Options{Echo: decode.EchoPrompt}}
			if n, err := count(b.Run(context.Background(), r)); n != 24 || err != nil {
				t.Errorf("%d tokens, %v", n, err)
			}
			if s := b.Stats(); s.CacheBytes > s.CacheLimit || s.CacheLimit != m.CacheLimit() {
				t.Errorf("%+v", s)
			}
		})
	}
	group.Wait()
	for s = b.Stats(); s.Running > 0; s = b.Stats() { // until its goroutine ends
		time.Sleep(time.Millisecond)
	}
	if s.PromptTokens != 9 || s.NewTokens != 12+6*23 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTextsThatHaveHadASlotAreCounted(t *testing.T) {
	b := newBatcher(t, crowded(t, 2), Options{MaxStreams: 2}) // some lose their slot and get another
	for _, n := range []int{1, 2, 7} {
		var begun atomic.Int32
		r := Request{Prompt: []int{1, 2, 3}, Options: decode.Options{MaxTokens: 9}, Samples: n,
			Begun: &begun}
		last := int32(0)
		for token, err := range b.Run(context.Background(), r) {
			now := begun.Load()
			if err != nil || now < max(last, 1) || int(now) > n {
				t.Fatalf("%d of %d have begun, then %d: %+v, %v", last, n, now, token, err)
			}
			last = now
		}
		if _, err := b.States(context.Background(), r, 1); err != nil {
			t.Error(err)
		}
		if got := int(begun.Load()); got != n+1 {
			t.Errorf("%d texts have begun, want %d", got, n+1)
		}
	}
}
