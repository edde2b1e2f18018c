// Package work does what a run wants of one piece: it reads the rows, gives them to the model, and
// writes files whose bytes depend on the piece and the job alone.
package work

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/checkpoint"
	"picogpt/corpus/internal/job"
	"picogpt/eval"
	"picogpt/internal/scorelines"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// A Process is what the pieces of one process share: models, mapped and read-only, and the counts of
// what is done.
type Process struct {
	Pieces, Records, Errors, Tokens atomic.Int64 // done
	Resumed                         atomic.Int64 // of the pieces, those of an earlier run
	Selected                        atomic.Int64 // pieces of which is written what a filter keeps
	All                             atomic.Int64 // pieces of the run, 0 while it is not known

	mu      sync.Mutex
	models  map[job.Model]*Loaded
	working int           // pieces that are worked on
	changed *sync.Cond    // working is another, or stopped is true
	stopped bool          // no more work
	stop    chan struct{} // closed then
}

// This is the Process of this process. It is a variable of the package because Beam makes its
// functions anew from their fields, bundle by bundle: nothing else outlives one.
var This = newProcess()

func newProcess() *Process {
	p := &Process{models: map[job.Model]*Loaded{}, stop: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// errStopped says that the process is about to end.
var errStopped = errors.New("interrupted")

// begin waits until fewer than limit pieces are worked on. Its context ends when the process stops.
func (p *Process) begin(
	ctx context.Context, limit int,
) (_ context.Context, end func(), _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.working >= limit && !p.stopped {
		p.changed.Wait()
	}
	if p.stopped {
		return nil, nil, errStopped
	}
	p.working++
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.working--
		p.changed.Broadcast()
	}, nil
}

// Stop ends all work, so that no file is left by half, and lets none begin.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.stop)
		p.changed.Broadcast()
	}
	for p.working > 0 {
		p.changed.Wait()
	}
}

// A Loaded model is ready to be used, by several pieces at once.
type Loaded struct {
	Model     *model.Model
	Tokenizer *tokenizer.Tokenizer // nil where the checkpoint has none
	Missing   error                // why there is none
	Identity  Identity
}

// An Identity says which numbers a result depends on.
type Identity struct {
	Name       string `json:"name"` // for people
	Weights    string `json:"weights"`
	Tokenizer  string `json:"tokenizer,omitempty"` // a digest, or gpt2: the checkpoint's is GPT-2's own
	DType      string `json:"dtype"`
	CacheDType string `json:"cache_dtype"`
	Note       string `json:"note,omitempty"` // what the format has made of the weights
}

// Load loads a model, once in a process.
func (p *Process) Load(ctx context.Context, m job.Model) (*Loaded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.models[m]; l != nil {
		return l, nil
	}
	l, err := load(ctx, m)
	if err != nil {
		return nil, err
	}
	p.models[m] = l
	return l, nil
}

func load(ctx context.Context, m job.Model) (*Loaded, error) {
	c, err := open(m)
	if err != nil {
		return nil, err
	}
	l := &Loaded{}
	if l.Tokenizer, l.Missing = c.Tokenizer(); l.Missing != nil {
		l.Tokenizer = nil
	}
	l.Identity = Identity{Name: m.ModelName()}
	if l.Identity.Weights, err = c.Digest(); err != nil {
		return nil, err
	}
	if l.Tokenizer != nil {
		if l.Identity.Tokenizer, err = c.TokenizerDigest(); err != nil {
			return nil, err
		}
		if l.Identity.Tokenizer == "none" { // there are no files of it
			l.Identity.Tokenizer = "gpt2"
		}
	}
	l.Model, err = model.New(ctx, c.Config, c.Tensors, model.Options{
		Threads: m.Threads, Format: m.Dtype, CacheFormat: m.CacheDtype,
		Kernel: os.Getenv("GPT_KERNEL"),
	})
	if err != nil {
		return nil, err
	}
	l.Identity.DType, l.Identity.CacheDType = l.Model.Format(), l.Model.CacheFormat()
	l.Identity.Note = strings.Join(l.Model.Notes(), "; ")
	return l, nil
}

// open opens the checkpoint. It stays open as long as the process.
func open(m job.Model) (*checkpoint.Checkpoint, error) {
	o := checkpoint.Options{GELU: m.GELU}
	if m.Path == "" {
		return o.OpenFS(demo.FS())
	}
	return o.Open(m.Path)
}

// encoder is the tokenizer for texts. One that is missing says so for each text.
func (l *Loaded) encoder(special bool) eval.Tokenizer {
	switch {
	case l.Tokenizer == nil:
		return scorelines.IDs{Missing: l.Missing}
	case special:
		return l.Tokenizer.WithSpecial()
	}
	return l.Tokenizer
}
