package main

// Very many clients at once.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// counts are numbers of answers. The first wrong answer is described.
type counts struct {
	right, refused, cancelled, wrong atomic.Int64
	first                            sync.Once
	example                          string
}

// note counts an answer.
func (n *counts) note(a *ask, got string, err error) {
	switch {
	case err == nil && got == refused:
		n.refused.Add(1)
	case err == nil && a.right(got):
		n.right.Add(1)
	default:
		n.wrong.Add(1)
		n.first.Do(func() {
			n.example = fmt.Sprintf("%s %s: got %q, error %v, want %q", a.path, a.body, got, err,
				a.want)
		})
	}
}

func (n *counts) String() string {
	return fmt.Sprintf("%d right, %d refused (429), %d cancelled, %d wrong", n.right.Load(),
		n.refused.Load(), n.cancelled.Load(), n.wrong.Load())
}

// crowd lets many clients send 10 mixed requests each, on connections of their own.
func (b *bench) crowd(ctx context.Context, s *server, clients int) error {
	const each = 10
	asks, err := mix(ctx, s.client)
	if err != nil {
		return err
	}
	before, err := s.settled(ctx, 0)
	if err != nil {
		return err
	}
	var n counts
	var group sync.WaitGroup
	start := time.Now()
	for i := range clients {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			c := newClient(s.url)
			defer c.http.CloseIdleConnections()
			for range each {
				a := asks[random.IntN(len(asks))]
				got, err := a.send(ctx, c)
				n.note(&a, got, err)
			}
		})
	}
	cache, most, told := 0.0, 0.0, 0
	err = b.watch(ctx, &group, func() error {
		m, err := s.metrics(ctx)
		if err != nil {
			return err
		}
		cache = max(cache, m["kv_cache_bytes"])
		most = max(most, m["process_resident_memory_bytes"])
		done := int(n.right.Load() + n.refused.Load() + n.wrong.Load())
		if tenth := 10 * done / (clients * each); tenth > told {
			told = tenth
			b.progress("%d clients: %d of %d answered", clients, done, clients*each)
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err := s.settled(ctx, before["go_goroutines"])
	if err != nil {
		return err
	}
	left := after["num_requests_running"] + after["num_requests_waiting"]
	goroutines := after["go_goroutines"] - before["go_goroutines"]
	b.row(fmt.Sprintf("%d clients × %d mixed requests, %.0f s", clients, each,
		time.Since(start).Seconds()), n.String(), "each alone", "all right or 429",
		n.wrong.Load() == 0 && n.right.Load()+n.refused.Load() == int64(clients*each))
	b.row("  texts and goroutines left", fmt.Sprintf("%.0f, %+.0f", left, goroutines),
		fmt.Sprintf("%.0f before", before["go_goroutines"]), "0, none", left == 0 && goroutines <= 0)
	b.row("  keys and values at most, resident memory", fmt.Sprintf("%.0f MB, %.0f MB", cache/1e6,
		most/1e6), fmt.Sprintf("--cache-bytes %d MB", b.cacheBytes/1e6), "within",
		cache <= float64(b.cacheBytes))
	if n.wrong.Load() > 0 {
		return fmt.Errorf("a wrong answer: %s", n.example)
	}
	return nil
}

// watch calls look every half second until the group is done.
func (b *bench) watch(ctx context.Context, group *sync.WaitGroup, look func() error) error {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	var first error
	for {
		select {
		case <-done:
			if first == nil {
				first = ctx.Err()
			}
			return first
		case <-tick.C:
			if err := look(); err != nil && first == nil {
				first = err
			}
		}
	}
}
