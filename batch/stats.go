package batch

// Counts of a Batcher's work, for operators.

import (
	"slices"
	"sync/atomic"

	"picogpt/model"
)

// Stats are a Batcher's counts since it was made, and its present state.
type Stats struct {
	Running int // texts that have a slot; each sample is one
	Waiting int // requests of which no text has one

	CacheBytes int64 // bytes that the caches of all sessions of the model take
	CacheLimit int64 // model.Options.CacheBytes; 0 for none

	Rows          int64 // tokens that were evaluated
	Steps         int64
	StepsOf       [len(StepSizes) + 1]int64 // the steps by the first size that holds their rows
	PromptTokens  int64                     // of prompts that are evaluated; samples share theirs
	NewTokens     int64
	PrefixQueries int64 // tokens of prompts that were looked up in the prefix cache
	PrefixHits    int64 // of these, tokens that it had
	Preemptions   int64 // texts that lost their slot because the cache was full

	// Rate is how many tokens a second, of prompts and new ones, all texts together advanced lately
	// while no slot was free. 0 means that it is not known yet.
	Rate float64
}

// StepSizes are the numbers of rows by which Stats.StepsOf counts steps, each that of the steps
// with at most so many rows and more than the size before; the last count is of those with more
// than all.
var StepSizes = [...]int{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}

// counters are what Stats are made of. The Batcher's goroutine writes them.
type counters struct {
	running, waiting                           atomic.Int64
	rows, promptTokens, newTokens, preemptions atomic.Int64
	stepsOf                                    [len(StepSizes) + 1]atomic.Int64
	prefixQueries, prefixHits                  atomic.Int64
	rate                                       gauge
}

// Stats returns the counts. It waits for no step, and costs little.
func (b *Batcher) Stats() Stats {
	b.mu.Lock()
	queued := b.queue.n
	b.mu.Unlock()
	c := &b.counters
	s := Stats{
		Running: int(c.running.Load()), Waiting: queued + int(c.waiting.Load()),
		CacheBytes: b.model.CacheBytes(), CacheLimit: b.model.CacheLimit(),
		Rows:         c.rows.Load(),
		PromptTokens: c.promptTokens.Load(), NewTokens: c.newTokens.Load(),
		PrefixQueries: c.prefixQueries.Load(), PrefixHits: c.prefixHits.Load(),
		Preemptions: c.preemptions.Load(), Rate: c.rate.get(),
	}
	for i := range c.stepsOf {
		s.StepsOf[i] = c.stepsOf[i].Load()
		s.Steps += s.StepsOf[i]
	}
	return s
}

// slots counts who has a slot.
func (c *counters) slots(s *schedule) {
	waiting := 0
	for _, r := range s.requests {
		if r.running == 0 {
			waiting++
		}
	}
	c.running.Store(int64(len(s.running)))
	c.waiting.Store(int64(waiting))
}

// step counts a batch that was evaluated.
func (c *counters) step(batch []model.Input) {
	rows := 0
	for i := range batch {
		rows += len(batch[i].Tokens)
	}
	size, _ := slices.BinarySearch(StepSizes[:], rows)
	c.stepsOf[size].Add(1)
	c.rows.Add(int64(rows))
}
