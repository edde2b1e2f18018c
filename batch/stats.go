package batch

// What a Batcher has done, in numbers for who operates it.

import (
	"sync/atomic"

	"picogpt/model"
)

// Stats are a Batcher's counts since it was made, and what it has at the moment.
type Stats struct {
	Running int // texts that have a place; each sample is one
	Waiting int // requests of which no text has one

	CacheBytes int64 // that the caches of all sessions of the model take
	CacheLimit int64 // model.Options.CacheBytes; 0 for none

	Rows          int64 // tokens that were evaluated
	Steps         int64
	PromptTokens  int64 // of prompts that are evaluated; samples share theirs
	NewTokens     int64
	PrefixQueries int64 // tokens of prompts that were looked for among those of other texts
	PrefixHits    int64 // of these, tokens that others had evaluated
	Preemptions   int64 // texts that lost their place to others, because the cache was full
}

// counters are what Stats are made of. The Batcher's goroutine writes them.
type counters struct {
	running, paused                                   atomic.Int64
	steps, rows, promptTokens, newTokens, preemptions atomic.Int64
	prefixQueries, prefixHits                         atomic.Int64
}

// Stats returns the counts. It waits for no step, and costs little.
func (b *Batcher) Stats() Stats {
	b.mu.Lock()
	waiting := b.queue.n
	b.mu.Unlock()
	c := &b.counters
	return Stats{
		Running: int(c.running.Load()), Waiting: waiting + int(c.paused.Load()),
		CacheBytes: b.model.CacheBytes(), CacheLimit: b.model.CacheLimit(),
		Rows: c.rows.Load(), Steps: c.steps.Load(),
		PromptTokens: c.promptTokens.Load(), NewTokens: c.newTokens.Load(),
		PrefixQueries: c.prefixQueries.Load(), PrefixHits: c.prefixHits.Load(),
		Preemptions: c.preemptions.Load(),
	}
}

// state notes who has a place.
func (c *counters) state(s *schedule) {
	paused := 0
	for _, r := range s.requests {
		if r.running == 0 {
			paused++
		}
	}
	c.running.Store(int64(len(s.running)))
	c.paused.Store(int64(paused))
}

// step counts a batch that was evaluated.
func (c *counters) step(batch []model.Input) {
	rows := 0
	for i := range batch {
		rows += len(batch[i].Tokens)
	}
	c.steps.Add(1)
	c.rows.Add(int64(rows))
}
