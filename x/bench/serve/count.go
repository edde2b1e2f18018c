package main

// The server's own counts: evaluated tokens, CPU time, requests.

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// prefix sends 32 concurrent prompts with a common beginning, and counts the tokens that were
// evaluated for them.
func (b *bench) prefix(ctx context.Context, s *server) error {
	n, err := s.context(ctx)
	if err != nil {
		return err
	}
	const prompts, own = 32, 10
	shared := min(900, n-own-8)
	before, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	errs := make([]error, prompts)
	var group sync.WaitGroup
	for i := range prompts {
		group.Go(func() {
			prompt := append(ids(shared, 4000), ids(own, 5000+i)...)
			_, errs[i] = s.stream(ctx, fields{"prompt": prompt, "max_tokens": 1})
		})
	}
	group.Wait()
	took := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	after, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	d := after.less(before)
	rows, hits := d["iteration_tokens_total_sum"], d["prefix_cache_hits_total"]
	least := float64(shared + prompts*own)
	b.row(fmt.Sprintf("%d prompts with %d tokens in common", prompts, shared),
		fmt.Sprintf("%.0f tokens evaluated, %.0f from the cache, %.1f s", rows, hits, took.Seconds()),
		fmt.Sprintf("%.0f at least", least), "evaluated once", rows < least+float64(shared)/2)
	return nil
}

// scoring counts the requests a second that score two ids.
func (b *bench) scoring(ctx context.Context, s *server) error {
	const long = 2 * time.Second
	best, all := 0.0, ""
	for _, connections := range []int{1, 8, 32} {
		var list []float64
		for round := range b.rounds {
			b.progress("round %d of %d: scoring on %d connections", round+1, b.rounds, connections)
			speed, err := s.scores(ctx, connections, long)
			if err != nil {
				return err
			}
			list = append(list, speed)
		}
		best = max(best, median(list))
		all += fmt.Sprintf(" %.0f", median(list))
	}
	b.speed("demo, scoring 2 ids, 1, 8 and 32 connections", all[1:]+" requests/s", "", "≥ 3000",
		best >= 3000)
	return nil
}

func (s *server) scores(ctx context.Context, connections int, long time.Duration) (float64, error) {
	until := time.Now().Add(long)
	done, errs := make([]int, connections), make([]error, connections)
	var group sync.WaitGroup
	for i := range connections {
		group.Go(func() {
			for j := 0; errs[i] == nil && time.Now().Before(until); j++ {
				_, errs[i] = s.whole(ctx, "/v1/completions", fields{"prompt": []int{5, 7 + j%1000},
					"max_tokens": 0, "echo": true, "logprobs": 1})
				done[i]++
			}
		})
	}
	group.Wait()
	total := 0
	for i := range done {
		total += done[i]
		if errs[i] != nil {
			return 0, errs[i]
		}
	}
	return float64(total) / long.Seconds(), nil
}

// tokenCPU compares the server's CPU time for streams with that for the same texts in one piece.
func (b *bench) tokenCPU(ctx context.Context, s *server) error {
	const texts, tokens = 32, 200 // CPU time is counted in steps of 10 ms
	var micros, whole []float64
	for round := range b.rounds {
		b.progress("round %d of %d: CPU of a streamed token", round+1, b.rounds)
		var cpu [2]float64
		for i, stream := range []bool{false, true} {
			var err error
			if cpu[i], err = s.texts(ctx, texts, tokens, stream); err != nil {
				return err
			}
		}
		micros = append(micros, (cpu[1]-cpu[0])*1e6/(texts*tokens))
		whole = append(whole, cpu[0]*1e6/(texts*tokens))
	}
	b.speed("demo, CPU of a streamed token, 1 thread", fmt.Sprintf("%.0f µs", median(micros)),
		fmt.Sprintf("its making: %.0f µs", median(whole)), "≤ 60 µs", median(micros) <= 60)
	return nil
}

// texts requests texts, 8 at a time, and returns the server's CPU seconds.
func (s *server) texts(ctx context.Context, n, tokens int, stream bool) (float64, error) {
	before, err := s.metrics(ctx)
	if err != nil {
		return 0, err
	}
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for j := i; j < n && errs[i] == nil; j += len(errs) {
				f := fields{"prompt": ids(2, j), "seed": j, "max_tokens": tokens, "ignore_eos": true}
				if stream {
					_, errs[i] = s.stream(ctx, f)
				} else {
					_, errs[i] = s.whole(ctx, "/v1/completions", f)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	after, err := s.metrics(ctx)
	return after.less(before)["process_cpu_seconds_total"], err
}
