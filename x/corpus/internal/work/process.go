// Package work processes one piece: it reads the rows, gives them to the model, and writes files
// whose bytes depend only on the piece and the job.
package work

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/internal/engine"
	"picogpt/internal/lines"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
	"picogpt/x/corpus/internal/job"
)

// A Process is what the pieces of one process share: models, mapped and read-only, and counts.
type Process struct {
	Pieces, Records, Errors, Tokens atomic.Int64 // done
	Resumed                         atomic.Int64 // pieces that an earlier run has done
	Selected                        atomic.Int64 // pieces whose kept documents are written
	All                             atomic.Int64 // pieces of the run; 0 while not known

	mu      sync.Mutex
	models  map[job.Model]*Loaded
	working int           // number of running pieces
	changed *sync.Cond    // signals a change of working or stopped
	stopped bool          // no more work begins
	stop    chan struct{} // closed by Stop
}

// This is the Process of this process. It is a package variable because Beam makes its functions
// again from their fields for each bundle: nothing else lives longer than a bundle.
var This = newProcess()

func newProcess() *Process {
	p := &Process{models: map[job.Model]*Loaded{}, stop: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// errStopped says that the process is ending.
var errStopped = errors.New("interrupted")

// begin waits until fewer than limit pieces are running. The returned context ends when the process
// stops.
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

// Stop ends all work, so that no incomplete file is left, and starts no more.
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

// A Loaded model may be used by several pieces at once.
type Loaded struct {
	Model     *model.Model
	Tokenizer *tokenizer.Tokenizer // nil if the checkpoint has none
	Missing   error                // why there is none
	Identity  Identity
}

// An Identity says which model the results depend on.
type Identity struct {
	Name    string `json:"name"` // for users
	Weights string `json:"weights"`
	// a digest, or gpt2 if the checkpoint uses GPT-2's own
	Tokenizer  string `json:"tokenizer,omitempty"`
	DType      string `json:"dtype"`
	CacheDType string `json:"cache_dtype"`
	Note       string `json:"note,omitempty"` // the format's effect on the weights
	// what generation_config.json says, which earlier versions did not read, as JSON; "" without it
	Generation string `json:"generation,omitempty"`
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
		if l.Identity.Tokenizer == "none" { // the checkpoint has no tokenizer files
			l.Identity.Tokenizer = "gpt2"
		}
	}
	device, err := Device(ctx, m.Device)
	if err != nil {
		return nil, err
	}
	l.Model, err = model.New(ctx, c.Config, c.Tensors, model.Options{
		Device: device, Threads: m.Threads, Format: m.Dtype, CacheFormat: m.CacheDtype,
		Kernel: os.Getenv("GPT_KERNEL"),
	})
	if err != nil {
		return nil, err
	}
	l.Identity.DType, l.Identity.CacheDType = l.Model.Format(), l.Model.CacheFormat()
	l.Identity.Note = strings.Join(l.Model.Notes(), "; ")
	if g := c.Config.Generation; g.BOSTokenID != nil || g.EOSTokenIDs != nil {
		b, err := json.Marshal(g)
		if err != nil {
			return nil, err
		}
		l.Identity.Generation = string(b)
	}
	return l, nil
}

// open opens the checkpoint. It stays open until the process ends.
func open(m job.Model) (*checkpoint.Checkpoint, error) {
	o := checkpoint.Options{GELU: m.GELU}
	if m.Path == "" {
		return checkpoint.OpenFS(demo.FS(), "", o)
	}
	return checkpoint.Open(m.Path, o)
}

// encoder returns the tokenizer for texts. If there is none, each use of it returns an error.
func (l *Loaded) encoder(special bool) eval.Tokenizer {
	switch {
	case l.Tokenizer == nil:
		return lines.IDs{Missing: l.Missing}
	case special:
		return l.Tokenizer.WithSpecial()
	}
	return l.Tokenizer
}

// What computes the models of a process: the processor, or a GPU of this machine. Which of them it
// is changes no bit.

// Device returns the device that a job names on this machine, or nil for the processor.
func Device(ctx context.Context, name string) (engine.Device, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || name == "cpu" {
		return nil, nil
	}
	return device(ctx, name)
}
