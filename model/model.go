package model

// Model: weights and workers, from opening to Close.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"

	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/internal/folder"
	"picogpt/kernels"
	"picogpt/weights"
)

// Options are what a model is loaded with. The zero value takes every processor, the fastest
// kernels and the weights as they are stored.
type Options struct {
	Threads int // workers, at most four for each processor that Go may use; 0 for one for each
	// "auto" or "" for the weights as stored, or "f32", "f16", "bf16", "q8", "q4" to convert them
	Format string
	Kernel string // one of kernels.Variants(), or "" for the fastest

	// CacheFormat is the number format of the sessions' keys and values: "f32" or "" for float32, or
	// "f16" for half of the memory. Then each is rounded to binary16 when it is stored, before
	// anything reads it, and one beyond 65504 is a NonFiniteError.
	CacheFormat string

	// CacheBytes bounds the memory of all sessions' caches together; 0 is no bound. An Eval that
	// needs more is an ErrCacheFull. On a GPU a session takes whole pages of 64 positions; on the
	// processor its last page has room for 8, 16, 32 or 64.
	CacheBytes int64

	Device engine.Device // what computes the model; nil for the processor

	// Progress, if not nil, is called as the weights are loaded, with the bytes of the tensors that
	// are done and of all files. What takes time is converting them.
	Progress func(done, total int64)
}

// A Model is one checkpoint, ready to run. It is immutable, and safe for use by several goroutines:
// their calls of Eval take turns, each on all the workers. A model that nobody has any more, nor a
// session of it, is closed when the garbage collector finds it; Close does so at once.
type Model struct {
	config  Config
	params  *engine.Params
	format  kernels.Format
	ignored []string
	notes   []string
	cache   *engine.Budget
	*resources

	// holds one token: whoever has it may use what is above and eval; closed by Close
	turn chan struct{}
	eval evaluation
}

// ReadConfigFS reads the config.json of the checkpoint in fsys. Its errors begin with the file's
// name.
func ReadConfigFS(fsys fs.FS) (Config, error) {
	const name = "config.json"
	b, err := folder.Read(fsys, name, maxConfig)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	c, err := ParseConfig(b)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	return c, nil
}

// New returns a model of a configuration and of the tensors of an open checkpoint, usually the Config
// and Tensors that checkpoint.Open returns. The tensors must stay open until the model is closed:
// weights whose number format is not converted stay in the mapped files. Tensor names may have the
// prefix "transformer.". Every tensor of the stack must be there with its shape, and no others. New
// checks before each tensor whether ctx has ended.
func New(ctx context.Context, c Config, tensors *weights.Tensors, o Options) (*Model, error) {
	if ctx == nil {
		return nil, ErrNoContext
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	team, err := kernels.NewTeam(kernels.Threads(o.Threads), o.Kernel)
	if err != nil {
		return nil, err
	}
	m := &Model{config: c, resources: &resources{team: team},
		cache: engine.NewBudget(o.CacheBytes), turn: make(chan struct{}, 1)}
	l := loader{ctx: ctx, config: c, tensors: tensors, team: team, progress: o.Progress}
	l.wantCacheFormat(o.CacheFormat)
	if m.params, err = l.load(o.Format); err == nil {
		m.format, m.ignored, m.notes = l.format, l.ignored, l.notes()
		m.backend, err = m.open(ctx, o.Device)
	}
	if err != nil {
		team.Close()
		return nil, err
	}
	m.eval.init(m)
	m.turn <- struct{}{}
	runtime.AddCleanup(m, func(r *resources) { r.close() }, m.resources)
	return m, nil
}

// Check reports what New would say of a configuration and tensors, and reads no element of them: the
// number format of the linear layers, and the names of the tensors that the model would ignore. What
// only elements can tell, it does not find.
func Check(c Config, tensors *weights.Tensors) (format string, ignored []string, err error) {
	if err := c.Validate(); err != nil {
		return "", nil, err
	}
	l := loader{ctx: context.Background(), config: c, tensors: tensors, dry: true}
	if _, err := l.load("auto"); err != nil {
		return "", nil, err
	}
	return l.format.String(), l.ignored, nil
}

// open returns what computes the model: a device's backend, or the processor's.
func (m *Model) open(ctx context.Context, d engine.Device) (engine.Backend, error) {
	if d == nil {
		return cpu.New(m.team, m.params, m.cache), nil
	}
	return d.Open(ctx, m.params, m.cache, m.team)
}

// ErrClosed is what Eval and Save return on a closed model.
var ErrClosed = errors.New("model: closed")

// ErrNoContext is what functions with a context return where that is nil.
var ErrNoContext = errors.New("context: nil, want one, such as context.Background()")

// ErrCacheFull is what Eval returns where the sessions' caches would take more than
// Options.CacheBytes. All sessions are as they were: it may be tried again when some have been
// released.
var ErrCacheFull = engine.ErrCacheFull

// ErrInVisit is what Eval, Save and Close return inside a Visit of the same model, which they would
// wait for.
var ErrInVisit = errors.New("model: called inside Visit, which it would wait for")

// begin waits for the caller's turn to use the weights and the workers. Call end after it.
func (m *Model) begin(ctx context.Context) error {
	if ctx == nil {
		return ErrNoContext
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case _, open := <-m.turn:
		return m.began(open)
	default:
	}
	if m.backend.Inside() {
		return ErrInVisit
	}
	select {
	case _, open := <-m.turn:
		return m.began(open)
	case <-ctx.Done():
		return cmp.Or(ctx.Err(), context.Canceled) // whatever a caller's own context says of itself
	}
}

func (m *Model) began(open bool) error {
	if !open {
		return ErrClosed
	}
	return nil
}

func (m *Model) end() { m.turn <- struct{}{} }

// Close ends the workers and gives back the memory of the device. It waits for an Eval that is under
// way. A second Close does nothing. The tensors that New was given stay open.
func (m *Model) Close() error {
	switch err := m.begin(context.Background()); err {
	case nil:
	case ErrClosed:
		return nil
	default:
		return err
	}
	close(m.turn)
	return m.resources.close()
}

// Resources are what a model gives back once, to whoever comes first: Close, or the garbage
// collector when nobody has the model. They do not know the model, or it would never be found.
type resources struct {
	team    *kernels.Team
	backend engine.Backend
	closing sync.Once
}

// close closes all. A second call waits for the first, and does nothing.
func (r *resources) close() (err error) {
	r.closing.Do(func() {
		err = r.backend.Close()
		r.team.Close()
	})
	return err
}

// Config returns the model's configuration.
func (m *Model) Config() Config { return m.config }

// Format returns the number format of the linear layers, "f32", "f16", "bf16", "q8" or "q4": as
// stored, or as converted.
func (m *Model) Format() string { return m.format.String() }

// CacheFormat returns the number format of the sessions' keys and values, "f32" or "f16".
func (m *Model) CacheFormat() string { return m.params.CacheFormat.String() }

// Threads returns the number of workers.
func (m *Model) Threads() int { return m.team.Size() }

// Kernel returns the name of the kernels that the model runs, or of its device.
func (m *Model) Kernel() string { return m.backend.Kernel() }

// DeviceLimits measures what Options.Device does with nothing else to do: the bytes of its memory
// that it reads in a second, and float32 operations, two to each fused multiply-add. Without such a
// device they are 0.
func (m *Model) DeviceLimits(ctx context.Context) (read, operations float64, err error) {
	measured, ok := m.backend.(engine.Measured)
	if !ok {
		return 0, 0, nil
	}
	if err := m.begin(ctx); err != nil {
		return 0, 0, err
	}
	defer m.end()
	l, err := measured.Limits(ctx)
	return l.Read, l.FMA, err
}

// Leaves returns the operations on a row of logits of the kernels that the model runs. With a device
// they are the processor's.
func (m *Model) Leaves() kernels.Leaves { return m.team.Leaves() }

// CacheBytes returns the memory that the caches of all sessions take now. Pages that forks share
// count once.
func (m *Model) CacheBytes() int64 { return m.cache.Used() }

// CacheLimit returns Options.CacheBytes, 0 for no bound.
func (m *Model) CacheLimit() int64 { return m.cache.Limit() }

// Ignored returns the names of the tensors that the file holds beside the decoder, in file order:
// causal mask buffers and the heads of other tasks.
func (m *Model) Ignored() []string { return m.ignored }

// Notes say what the conversion of the weights to Options.Format has lost beside precision, a sentence
// each, for people: that blocks, rows, or more than 0.1 % of the weights of a tensor are zeros and
// were not. Where all of a tensor's are, New fails.
func (m *Model) Notes() []string { return m.notes }

// Bytes returns the size of the weights that one decoding step reads: the linear layers and the
// head.
func (m *Model) Bytes() int64 { return m.params.Bytes() }
