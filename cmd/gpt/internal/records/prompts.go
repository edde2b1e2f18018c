package records

// Prompts: lines are read, continued side by side, and written in order.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"picogpt/batch"
	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Of the prompts that are read, so many are not answered yet at most, and so many written at a
// time.
const (
	promptsAhead    = 64
	promptsTogether = 16
)

// Prompts is a run of gpt generate --prompts. Its exported fields are set before Run.
type Prompts struct {
	Console *terminal.Console
	Signals *process.Signals
	Logf    func(format string, args ...any)
	Bar     bool // show how far the run is

	Model   *model.Model
	Options decode.Options
	Samples int            // of each prompt
	Forms   []string       // flags that the texts must fit, for errors
	Healer  *textio.Healer // nil: without --heal
	Form    lines.Form     // of the objects

	Input   *Input
	Prompts lines.PromptReader
	Out     *Records

	// Receipts, if it is not nil, gets a line for each row that has texts: what Receipt makes of
	// them, which calls may do side by side. start is what the tokens follow.
	Receipts io.Writer
	Receipt  func(prompt []int, seed uint64, start []int, tokens []decode.Token) ([]byte, error)

	bar      *terminal.Bar
	state    Counts
	answered int  // lines, now
	tokens   int  // made now
	objects  bool // some lines were
}

// begin takes up what an earlier run has done.
func (r *Prompts) begin() (err error) {
	if seed := r.Out.Setting("--seed"); seed != "" { // none on stdout and in a device
		r.Options.Seed, err = strconv.ParseUint(seed, 10, 64)
	}
	return fault.First(err, r.Out.Continue(r.Input, &r.state))
}

// Run writes the texts side by side, and the objects in the order of the lines.
func (r *Prompts) Run() error {
	if err := r.begin(); err != nil {
		return err
	}
	r.bar = terminal.NewBar("lines")
	ctx, release := r.Signals.Graceful()
	defer release()
	if r.Bar {
		r.Console.ShowBar(r.bar)
	}
	defer r.Console.EndProgress()
	r.Logf("seed: %d", r.Options.Seed)
	start := time.Now()
	// Nobody waits for a token here, so that prompts may take their time.
	b := batch.New(r.Model, batch.Options{
		MaxStreams: promptsTogether, MaxDelay: time.Second,
	})
	defer b.Close()
	jobs := make(chan *line, promptsAhead)
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
	r.Logf("%s in %s, %.0f tokens/s",
		quote.Count(r.tokens, "token"), quote.Duration(took), quote.Rate(r.tokens, took))
	return fault.First(ctx.Err(), r.Input.Err)
}

// A line is a row on its way.
type line struct {
	rows.Row      // Err says why it is no prompt
	parsed   bool // it is an object
	id       json.RawMessage
	ids      []int
	seed     uint64

	tokens  int
	record  []byte // the objects of the line's texts, each on a line
	receipt []byte // of the line's texts; nil: not asked for
	done    chan struct{}
}

// lines are the prompts. Line i has the seed of the options + i − 1, unless it names one.
func (r *Prompts) lines(yield func(*line) bool) {
	for w := range r.Input.Rows {
		p, is, err := r.Prompts.Row(r.Input.Form, w)
		if !is {
			continue // an empty line
		}
		l := &line{Row: w, parsed: w.Err == nil, done: make(chan struct{})}
		l.seed = r.Options.Seed + uint64(w.First) - 1
		if l.Err, l.ids = err, p.IDs; p.Seed != nil {
			l.seed = *p.Seed
		}
		if w.Object != nil {
			l.id = w.Object.Get("id")
		}
		if !yield(l) {
			return
		}
	}
}

// read reads the lines and lets each be continued.
func (r *Prompts) read(ctx context.Context, b *batch.Batcher, jobs chan<- *line) {
	defer close(jobs)
	for j := range r.lines {
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
func (r *Prompts) continues(ctx context.Context, b *batch.Batcher, j *line) {
	if j.Err != nil {
		return
	}
	o, n, given := r.Options, r.Samples, j.ids
	o.Seed = j.seed
	if r.Healer != nil {
		if o.Healing, j.Err = r.Healer.Heal(j.ids); j.Err != nil {
			return
		}
		j.ids = o.Healing.Prompt
	}
	tokens := b.Run(ctx, batch.Request{Prompt: j.ids, Options: o, Samples: n})
	var all []decode.Token
	if r.Receipts != nil {
		tokens = receipt.Keep(tokens, &all)
	}
	samples, err := r.Form.Collect(tokens, n, j.seed, j.ids)
	if j.Err = textio.ByFlags(err, r.Forms); err != nil {
		return
	}
	for _, s := range samples {
		if j.tokens += len(s.IDs); s.FinishReason == decode.FinishEndOfText {
			j.tokens++ // it is not among them
		}
		var line []byte
		if line, j.Err = strictjson.Line(lines.TextRecord{
			Line: j.First, ID: j.id, Sample: s,
		}); j.Err != nil {
			return
		}
		j.record = append(j.record, line...)
	}
	if r.Receipts != nil {
		j.receipt, j.Err = r.Receipt(given, j.seed, j.ids, all)
	}
}

// answer writes what became of a line.
func (r *Prompts) answer(j *line) error {
	r.answered++
	r.state.Lines++
	r.tokens += j.tokens
	r.objects = r.objects || j.parsed
	if j.Err != nil {
		r.state.Errors++
		r.Console.NoteDuring(r.bar, "%s: line %d: %s", r.Input.Name, j.First, quote.OneLine(j.Err))
		e := lines.Error{Line: j.First, ID: j.id, Error: quote.OneLine(j.Err)}
		var err error
		if j.record, err = strictjson.Line(e); err != nil {
			return err
		}
	}
	r.Input.show(r.bar, r.answered)
	err := r.Out.Put(j.record, &j.Row, r.state)
	if err == nil && j.receipt != nil {
		_, err = r.Receipts.Write(j.receipt)
	}
	return err
}

// Bad tells of the lines that could not be continued.
func (r *Prompts) Bad() error {
	n := r.state.Errors
	if n == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %s could not be continued", n, quote.Count(r.state.Lines, "prompt"))
	if r.answered > 0 && !r.objects && !r.Prompts.Table {
		err = fault.Hint(err, `a line is an object such as {"prompt":"Once upon a time"}`)
	}
	return err
}
