package main

// A long mixed load: whether memory, goroutines or files grow.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// soakClients are more than the 16 texts that are generated together, so that some wait.
const soakClients = 24

// A sample is one point of the memory curve. The heap grows until the garbage collector runs;
// nextGC, the size at which it runs next, is proportional to what the last run has left.
type sample struct{ rss, heap, nextGC, goroutines, files float64 }

// soak prints the memory curve of a server under load. It returns an error if memory grows, if an
// answer is wrong, or if something is left after the clients have gone.
func (b *bench) soak(ctx context.Context, s *server, long, every time.Duration) error {
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
	until, stop := context.WithDeadline(ctx, start.Add(long))
	defer stop()
	for i := range soakClients {
		group.Go(func() { soakClient(until, s.url, asks, &n, uint64(i)) })
	}
	curve, err := b.curve(ctx, s, &n, start, long, every)
	group.Wait()
	if err != nil {
		return err
	}
	after, err := s.settled(ctx, before["go_goroutines"])
	if err != nil {
		return err
	}
	b.print("left: %.0f texts, %.0f goroutines (%.0f before), %.0f files (%.0f before), %.0f MB\n",
		after["num_requests_running"]+after["num_requests_waiting"], after["go_goroutines"],
		before["go_goroutines"], after["process_open_fds"], before["process_open_fds"],
		after["process_resident_memory_bytes"]/1e6)
	if n.wrong.Load() > 0 {
		err = fmt.Errorf("a wrong answer: %s", n.example)
	}
	return errors.Join(err, left(before, after), grows(curve))
}

// soakClient sends requests until the time is over. It cancels a third of them at a random moment;
// half of them are new.
func soakClient(ctx context.Context, url string, asks []ask, n *counts, seed uint64) {
	random := rand.New(rand.NewPCG(2, seed))
	c := newClient(url)
	defer c.http.CloseIdleConnections()
	for ctx.Err() == nil {
		a := asks[random.IntN(len(asks))]
		if random.IntN(2) == 0 {
			a = fresh(random)
		}
		one, cancel := ctx, context.CancelFunc(func() {})
		if random.IntN(3) == 0 {
			one, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(200))*time.Millisecond)
		}
		got, err := a.send(one, c)
		if err != nil && one.Err() != nil {
			n.cancelled.Add(1)
		} else {
			n.note(&a, got, err)
		}
		cancel()
	}
}

// curve prints a line every `every`, and returns the samples.
func (b *bench) curve(ctx context.Context, s *server, n *counts, start time.Time,
	long, every time.Duration) (curve []sample, err error) {
	b.print("%6s %9s %9s %9s %10s %6s %8s %9s  %s\n", "time", "RSS", "Go heap", "next GC",
		"goroutines", "files", "running", "caches", "answers")
	tick := time.NewTicker(every)
	defer tick.Stop()
	for time.Since(start)+every/2 < long {
		select {
		case <-ctx.Done():
			return curve, ctx.Err()
		case <-tick.C:
		}
		m, err := s.metrics(ctx)
		if err != nil {
			return curve, err
		}
		x := sample{m["process_resident_memory_bytes"], m["go_memstats_heap_alloc_bytes"],
			m["go_memstats_next_gc_bytes"], m["go_goroutines"], m["process_open_fds"]}
		curve = append(curve, x)
		b.print("%5.0fs %6.1f MB %6.1f MB %6.1f MB %10.0f %6.0f %8.0f %6.1f MB  %v\n",
			time.Since(start).Seconds(), x.rss/1e6, x.heap/1e6, x.nextGC/1e6, x.goroutines, x.files,
			m["num_requests_running"], m["kv_cache_bytes"]/1e6, n)
	}
	return curve, nil
}

// left returns an error for what the clients have left.
func left(before, after metrics) (err error) {
	for _, name := range []string{"num_requests_running", "num_requests_waiting", "go_goroutines",
		"process_open_fds"} {
		if after[name] > before[name] {
			err = errors.Join(err, fmt.Errorf("%s: %.0f after the load, %.0f before", name,
				after[name], before[name]))
		}
	}
	return err
}

// grows compares the median of the last third of a curve with that of the third before it; in the
// first third the caches fill. An increase of a tenth and 8 MB is noise: what a collection leaves
// depends on the current texts.
func grows(curve []sample) (err error) {
	third := len(curve) / 3
	if third == 0 {
		return errors.New("--soak: too short for a curve: want three samples or more")
	}
	last, middle := curve[len(curve)-third:], curve[len(curve)-2*third:len(curve)-third]
	for _, x := range []struct {
		name  string
		value func(sample) float64
		noise float64
	}{
		{"resident memory", func(s sample) float64 { return s.rss }, 8e6},
		{"the Go heap", func(s sample) float64 { return s.nextGC }, 8e6},
		{"goroutines", func(s sample) float64 { return s.goroutines }, 20},
		{"open files", func(s sample) float64 { return s.files }, 20},
	} {
		a, b := medianOf(middle, x.value), medianOf(last, x.value)
		if b > a*1.1+x.noise {
			err = errors.Join(err, fmt.Errorf("%s: grows: from %.0f to %.0f", x.name, a, b))
		}
	}
	return err
}

func medianOf(samples []sample, value func(sample) float64) float64 {
	var list []float64
	for _, s := range samples {
		list = append(list, value(s))
	}
	return median(list)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
