package main

// Tokens a second, and the time to the first token.

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

const streamTokens = 64 // as in gpt bench

// engine returns the speeds of gpt bench with one session and with 8, in tokens/s.
func (b *bench) engine(ctx context.Context) (one, eight float64, err error) {
	args := []string{"bench", "--json", "--rounds", "1", "--threads", strconv.Itoa(b.threads),
		"--gen-tokens", strconv.Itoa(streamTokens), "--batch", "8"}
	if b.dir != "" {
		args = append(args, "-m", b.dir)
	}
	out, err := exec.CommandContext(ctx, b.gpt, args...).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("gpt bench: %w", err)
	}
	var r struct {
		Decode struct {
			MS float64 `json:"ms_per_token"`
		}
		Batch [1]struct {
			Speed float64 `json:"tokens_per_s"`
		}
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Decode.MS <= 0 || r.Batch[0].Speed <= 0 {
		return 0, 0, fmt.Errorf("gpt bench --json: %s: want speeds, error %w", out, err)
	}
	return 1000 / r.Decode.MS, r.Batch[0].Speed, nil
}

// streams compares 1 and 8 clients with gpt bench.
func (b *bench) streams(ctx context.Context, s *server) error {
	var speeds, limits, ratios [2][]float64
	for round := range b.rounds {
		b.progress("round %d of %d: streams beside gpt bench", round+1, b.rounds)
		one, eight, err := b.engine(ctx)
		if err != nil {
			return err
		}
		for i, limit := range []float64{one, eight} {
			speed, err := together(ctx, s, []int{1, 8}[i], round)
			if err != nil {
				return err
			}
			speeds[i] = append(speeds[i], speed)
			limits[i] = append(limits[i], limit)
			ratios[i] = append(ratios[i], speed/limit)
		}
	}
	for i, what := range []string{"one client, a stream of 64 tokens", "8 clients, streams of 64"} {
		want := []float64{0.93, 0.85}[i]
		ratio := median(ratios[i])
		b.speed(what, fmt.Sprintf("%.1f tokens/s", median(speeds[i])), fmt.Sprintf(
			"gpt bench: %.1f tokens/s (ratio %.2f)", median(limits[i]), ratio),
			fmt.Sprintf("≥ %.2f ×", want), ratio >= want)
	}
	return nil
}

// together returns the tokens/s of n streams, from the request to the last token.
func together(ctx context.Context, s *server, n, salt int) (float64, error) {
	errs := make([]error, n)
	var group sync.WaitGroup
	start := time.Now()
	for i := range n {
		group.Go(func() {
			_, errs[i] = s.stream(ctx, fields{"prompt": ids(2, 8*salt+i), "seed": i,
				"max_tokens": streamTokens})
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(n*streamTokens) / time.Since(start).Seconds(), nil
}

// context returns the model's greatest number of tokens.
func (c *client) context(ctx context.Context) (int, error) {
	status, page, err := c.get(ctx, "/v1/models")
	var list struct {
		Data []struct {
			Len int `json:"max_model_len"`
		}
	}
	if err == nil {
		err = json.Unmarshal(page, &list)
	}
	if err != nil || len(list.Data) != 1 {
		return 0, fmt.Errorf("/v1/models: status %d: %s: want one model, error %w", status, page, err)
	}
	return list.Data[0].Len, nil
}

// firstToken measures a short prompt alone, and directly after a long one of another client.
func (b *bench) firstToken(ctx context.Context, s *server) error {
	n, err := s.context(ctx)
	if err != nil {
		return err
	}
	n = min(1000, n-8)
	var alone, behind, more []float64
	for round := range b.rounds {
		b.progress("round %d of %d: a short prompt behind %d tokens", round+1, b.rounds, n)
		a, err := s.first(ctx, 5, 1000+round)
		if err != nil {
			return err
		}
		var group sync.WaitGroup
		var longErr error
		group.Go(func() { _, longErr = s.first(ctx, n, 2000+round) })
		time.Sleep(20 * time.Millisecond) // the long prompt is being read
		t, err := s.first(ctx, 5, 3000+round)
		group.Wait()
		if err != nil || longErr != nil {
			return fmt.Errorf("first token: %w, of the long prompt: %w", err, longErr)
		}
		alone, behind, more = append(alone, a), append(behind, t), append(more, t-a)
	}
	b.speed(fmt.Sprintf("first token of a short prompt behind one of %d tokens", n),
		fmt.Sprintf("%.0f ms", median(behind)), fmt.Sprintf("alone: %.0f ms", median(alone)),
		"≤ 150 ms more", median(more) <= 150)
	return nil
}

// first returns the milliseconds to the first token after n of a prompt.
func (c *client) first(ctx context.Context, n, salt int) (float64, error) {
	start := time.Now()
	times, err := c.stream(ctx, fields{"prompt": ids(n, salt), "max_tokens": 1})
	if err != nil {
		return 0, err
	}
	return float64(times[0].Sub(start)) / 1e6, nil
}
