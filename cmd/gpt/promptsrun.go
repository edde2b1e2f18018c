package main

// A run of gpt generate --prompts: lines are read, continued side by side, and written in order.

import (
	"context"
	"encoding/json"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/fault"
	"picogpt/internal/promptlines"
	"picogpt/internal/quote"
	"picogpt/internal/resume"
	"picogpt/internal/scorelines"
	"picogpt/internal/strictjson"
)

// Of the prompts that are read, so many are not answered yet at most, and so many written at a
// time.
const (
	promptsAhead    = 64
	promptsTogether = 16
)

// run writes the texts side by side, and the objects in the order of the lines.
func (r *prompting) run() error {
	ctx, release := r.Graceful()
	defer release()
	if r.command.Many.Target.Out != nil || !r.stdout.Terminal {
		r.ShowBar(r.bar)
	}
	defer r.EndProgress()
	r.logf("seed: %d", r.options.Seed)
	start := time.Now()
	// Nobody waits for a token here, so that prompts may take their time.
	b := batch.New(r.model, batch.Options{
		MaxStreams: promptsTogether, MaxDelay: time.Second,
	})
	defer b.Close()
	jobs := make(chan *promptJob, promptsAhead)
	go r.read(ctx, b, jobs)
	for j := range jobs {
		<-j.done
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.answer(j); err != nil {
			return err
		}
	}
	took := time.Since(start)
	r.logf("%s in %s, %.0f tokens/s",
		amount.Count(r.tokens, "token"), amount.Duration(took), amount.Rate(r.tokens, took))
	return fault.First(ctx.Err(), r.in.err)
}

// A promptJob is a line on its way.
type promptJob struct {
	promptLine
	tokens int
	record []byte // the objects of the line's texts, each on a line
	done   chan struct{}
}

// read reads the lines and lets each be continued.
func (r *prompting) read(ctx context.Context, b *batch.Batcher, jobs chan<- *promptJob) {
	defer close(jobs)
	for line := range r.in.lines(r.options.Seed) {
		j := &promptJob{promptLine: line, done: make(chan struct{})}
		go func() {
			defer close(j.done)
			r.continues(ctx, b, j)
		}()
		select {
		case jobs <- j:
		case <-ctx.Done():
			return
		}
	}
}

// continues makes the objects of a line.
func (r *prompting) continues(ctx context.Context, b *batch.Batcher, j *promptJob) {
	if j.Err != nil {
		return
	}
	o, n := r.options, r.command.Samples
	o.Seed = j.seed
	if r.healer != nil {
		if o.Healing, j.Err = r.healer.Heal(j.ids); j.Err != nil {
			return
		}
		j.ids = o.Healing.Prompt
	}
	tokens := b.Run(ctx, batch.Request{Prompt: j.ids, Options: o, Samples: n})
	samples, err := r.form.Collect(r.command.named(tokens), n, j.seed, j.ids)
	if j.Err = err; err != nil {
		return
	}
	for _, s := range samples {
		if j.tokens += len(s.IDs); s.FinishReason == decode.FinishEndOfText {
			j.tokens++ // it is not among them
		}
		var line []byte
		if line, j.Err = strictjson.Line(promptlines.Record{
			Line: j.First, ID: j.id, Sample: s,
		}); j.Err != nil {
			return
		}
		j.record = append(j.record, line...)
	}
}

// answer writes what became of a line.
func (r *prompting) answer(j *promptJob) error {
	r.lines++
	r.state.Lines++
	r.tokens += j.tokens
	r.objects = r.objects || j.parsed
	if j.Err != nil {
		r.state.Errors++
		r.NoteDuring(r.bar, "%s: line %d: %s", r.in.Name, j.First, quote.OneLine(j.Err))
		e := scorelines.Error{Line: j.First, ID: j.id, Error: quote.OneLine(j.Err)}
		var err error
		if j.record, err = strictjson.Line(e); err != nil {
			return err
		}
	}
	state, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	r.bar.Set(r.lines, 0, "")
	if known := r.in.known.Load(); r.in.Size > 0 {
		r.bar.SetInput(r.in.Read.Load()-known, r.in.Size-known)
	}
	return r.out.write(j.record, resume.Mark{Line: j.Last, Input: j.Digest, State: state})
}
