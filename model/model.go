// Package model is the GPT-2 decoder: tokens in, logits out, nothing else.
//
//	c, err := checkpoint.Open("models/gpt2", checkpoint.Options{})
//	defer c.Close()
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
//	defer m.Close()
//	s := m.NewSession()
//	err = m.Eval(ctx, model.Input{Session: s, Tokens: ids})
//	next := s.Logits() // [vocab_size], after the last token
//
// There are three lifetimes. A [Config] is a value. A [Model] is weights, immutable and shared by
// all sessions. A [Session] is one sequence of tokens with its key/value cache, used by one
// goroutine at a time. [Model.Eval] is the only way to evaluate tokens: a prompt, a decoding step,
// many sessions at once and the check of many drafted tokens are all calls of it.
//
// Its types, in the order to read them:
//
//   - [Model] is the weights; [Config] says their sizes, and [Options] how they are held.
//   - [Session] is tokens with their keys and values.
//   - [Input] is a session and the tokens that Eval appends to it; its Visit gets a [Row] for each,
//     with the logits or, as [States] ask for it, a hidden state.
//   - [Trace] reads and changes what a pass computes, at a [Point], by an [Edit].
//   - [Snapshot] is what a file says of the session in it.
//   - [Generation] is the settings that a checkpoint brings along.
//
// [Session.Save] and [Model.Restore] write a session to a file and read it, which is much quicker
// than to evaluate its tokens again, and gives the same bits.
//
// The logits are the same to the last bit for any number of threads, any batch, any division of the
// tokens over calls of Eval, and any kernels.
//
// The forward pass on the processor is in package internal/cpu, forward.go. Package reference has
// the same model in float64, for reading.
package model

// Models: weights and workers, from opening to Close.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/internal/folder"
	"picogpt/kernels"
	"picogpt/model/stack"
	"picogpt/weights"
)

// Options say how a model is loaded. The zero value takes every processor, the fastest kernels and
// the weights as they are stored.
type Options struct {
	Threads int // workers, at most four for each processor that Go may use; 0 means one for each
	// "auto" or "" for the weights as stored, or "f32", "f16", "bf16", "q8" or "q4" to convert them
	Format string
	Kernel string // one of kernels.Variants(), or "" for the fastest

	// CacheFormat is the number format of the sessions' keys and values: "f32" or "" for float32,
	// "f16" for half of the memory, or "q8" for 0.27 of it, where heads are 64 wide. With "f16" each
	// number is rounded to binary16 when it is stored, before anything reads it; a number beyond
	// 65504 gives a NonFiniteError. With "q8" they are rounded to integers of −127 to 127, with a
	// scale for each 32 numbers of a key and for each value of a head; from 2¹⁰⁰ on it is an error.
	// A device may lack a format: New then says so.
	CacheFormat string

	// CacheBytes bounds the memory of the caches of all sessions together, in bytes; 0 means no
	// bound. An Eval that needs more returns ErrCacheFull. On a GPU a session takes whole pages of
	// 64 positions; on the processor its last page has room for 8, 16, 32 or 64.
	CacheBytes int64

	// Headless takes a checkpoint without a head too, as those of classifiers are if their
	// tie_word_embeddings is false: of its sessions Eval computes hidden states alone. Otherwise New
	// returns an error that wraps ErrNoLogits.
	Headless bool

	// Edits change what the forward pass computes, in every Eval of every session, before those of
	// the Input. See Edit.
	Edits []Edit

	// EditsOf, if not nil, returns edits that depend on the model, which are made after Edits.
	EditsOf func(*Model) ([]Edit, error)

	Device engine.Device // computes the model; nil for the processor

	// Digest tells the checkpoint from others in what Session.Save writes: the method Digest of a
	// checkpoint.Checkpoint. It is called at most once, by the first Save or Restore. Without it
	// both are refused.
	Digest func() (string, error)

	// Progress, if not nil, is called while the weights are loaded, with the bytes of the tensors
	// that are done and the bytes of all files. Most of the time is spent on conversions.
	Progress func(done, total int64)
}

// A Model is one checkpoint that is ready to run. It is immutable, and safe for concurrent use:
// calls of Eval take turns, and each runs on all workers. The garbage collector closes a model when
// nothing refers to it or to a session of it; Close does so at once.
type Model struct {
	config  Config
	params  *stack.Params
	format  kernels.Format
	device  bool // computes the model; else the processor
	ignored []string
	notes   []string
	noHead  error // of inputs that want logits; nil if there is a head
	edits   []Edit
	digest  func() (string, error) // nil for none
	base    *Model                 // of a variant: it stays open; nil: the model is none
	wanted  string                 // Options.Format
	held    map[string]any         // the weights by the names of their tensors, for variants

	virtual   int          // tokens that every session begins with
	beginning engine.Cache // of them; nil for none

	*resources
}

// ReadConfig reads the config.json of the checkpoint in fsys. Its errors begin with the file's
// name.
func ReadConfig(fsys fs.FS) (Config, error) {
	const name = folder.Config
	b, err := folder.Read(fsys, name, maxConfig)
	var c Config
	if err == nil {
		c, err = ParseConfig(b)
	}
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	return c, nil
}

// New returns a model of a configuration and of the tensors of an open checkpoint, usually the
// Config and Tensors that checkpoint.Open returns. The tensors must stay open until the model is
// closed: weights whose number format is not converted stay in the mapped files. Tensor names may
// have the prefix "transformer.". Every tensor of the stack must be there with its shape, and no
// others. New checks before each tensor whether ctx has ended.
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
	m := &Model{config: c, wanted: o.Format, resources: &resources{team: team,
		cache: engine.NewBudget(o.CacheBytes), turn: make(chan struct{}, 1)}}
	if o.Digest != nil {
		m.digest = sync.OnceValues(o.Digest)
	}
	l := loader{ctx: ctx, config: c, tensors: tensors, team: team, progress: o.Progress}
	l.wantCacheFormat(o.CacheFormat)
	m.params, err = l.load(o.Format)
	virtual, numbers := l.virtualName, l.virtualNumbers
	if m.noHead = l.noHead; err == nil && !o.Headless {
		err = l.noHead
	}
	if err == nil {
		m.format, m.ignored, m.notes, m.held = l.format, l.ignored, l.notes(), l.held
		if err = m.takeEdits(o.Edits, o.Device); err == nil {
			m.backend, err = m.open(ctx, o.Device)
		}
	}
	if err != nil {
		team.Close()
		return nil, err
	}
	m.device = o.Device != nil
	m.eval.init()
	m.turn <- struct{}{}
	if o.EditsOf != nil {
		more, err := o.EditsOf(m)
		if err == nil {
			err = m.takeEdits(slices.Concat(o.Edits, more), o.Device)
		}
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	if err := m.begins(ctx, virtual, numbers); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	runtime.AddCleanup(m, func(r *resources) { r.close() }, m.resources)
	return m, nil
}

// Check returns what New, with Options.Headless, would find in a configuration and tensors: the number format of the linear
// layers, and the names of the tensors that the model would ignore. It reads no element of the
// tensors, so it does not find errors that only the elements show.
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

// open returns the backend that computes the model: a device's, or the processor's.
func (m *Model) open(ctx context.Context, d engine.Device) (engine.Backend, error) {
	if d == nil {
		return cpu.New(m.team, m.params, m.cache), nil
	}
	return d.Open(ctx, m.params, m.cache, m.team)
}

// ErrClosed is returned by Eval and Save of a closed model.
var ErrClosed = errors.New("model: closed")

// ErrNoLogits is wrapped in the error of New and Eval for a checkpoint that has no head.
var ErrNoLogits = errors.New("no output head, so no logits")

// ErrNoContext is returned by functions whose context argument is nil.
var ErrNoContext = errors.New("context: nil, want one, such as context.Background()")

// ErrCacheFull is returned by Eval if the sessions' caches would take more than Options.CacheBytes.
// All sessions are as they were: the caller may try again after some have been released.
var ErrCacheFull = engine.ErrCacheFull

// ErrInVisit is returned by Eval, Save and Close when a Visit of the same model calls them: they
// would wait for that Visit for ever.
var ErrInVisit = errors.New("model: called inside Visit, which it would wait for")

// begin waits for the caller's turn to use the weights and the workers. The caller must call end
// afterwards.
func (m *Model) begin(ctx context.Context) error {
	if ctx == nil {
		return ErrNoContext
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case _, open := <-m.turn:
		return closedUnless(open)
	default:
	}
	if m.backend.Inside() {
		return ErrInVisit
	}
	select {
	case _, open := <-m.turn:
		return closedUnless(open)
	case <-ctx.Done():
		// A caller's own type of context may be done without an error.
		return cmp.Or(ctx.Err(), context.Canceled)
	}
}

// closedUnless returns ErrClosed unless a receive from Model.turn reported that it is open.
func closedUnless(open bool) error {
	if !open {
		return ErrClosed
	}
	return nil
}

func (m *Model) end() { m.turn <- struct{}{} }

// Work calls f on every worker of the model, at the same time, while no Eval runs. So f can run
// operations of package kernels on the weights, with the bits that Eval has. The rules of
// Input.Visit hold for f. The errors are those of Eval that no input causes; with one of them f has
// not run.
func (m *Model) Work(ctx context.Context, f func(w *kernels.Worker)) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	m.team.Run(f)
	return nil
}

// Close ends the workers and releases the memory of the device. It waits for a running Eval. A
// second Close does nothing, nor does that of a variant. The tensors that New was given stay open.
func (m *Model) Close() error {
	if m.base != nil {
		return nil
	}
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

// Resources are what a model shares with its variants, and releases once: in Close, or when the
// garbage collector finds that nothing refers to the model. They hold no pointer to the model,
// because then it would never be collected.
type resources struct {
	team    *kernels.Team
	backend engine.Backend
	cache   *engine.Budget
	closing sync.Once

	// holds one token: the goroutine that has taken it may use the model and eval; Close closes it
	turn chan struct{}
	eval evaluation
}

// close releases everything. A second call waits for the first one and does nothing.
func (r *resources) close() (err error) {
	r.closing.Do(func() {
		err = r.backend.Close()
		r.team.Close()
	})
	return err
}

// Config returns the model's configuration.
func (m *Model) Config() Config { return m.config }

// Params returns the sizes and the weights of the model, under GPT-2's names. They must not be
// changed.
func (m *Model) Params() *stack.Params { return m.params }

// Format returns the number format of the matrices, as stored or converted: "f32", "f16", "bf16",
// "q8" or "q4", which has the embedding in q8. It is "f32" of floats in several formats: logits
// have the bits that they would have if all were converted to it.
func (m *Model) Format() string { return m.format.String() }

// CacheFormat returns the number format of the sessions' keys and values, "f32", "f16" or "q8".
func (m *Model) CacheFormat() string { return m.params.CacheFormat.String() }

// Threads returns the number of workers.
func (m *Model) Threads() int { return m.team.Size() }

// Kernel returns the name of the kernels, or of the device, that computes the model.
func (m *Model) Kernel() string { return m.backend.Kernel() }

// DeviceLimits measures the device when it does nothing else. It returns the bytes of its memory
// that it reads in a second, and the float32 operations that it does in a second, two for each
// fused multiply-add. Both are 0 without Options.Device, or if the device cannot measure them.
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

// Leaves returns the kernels' operations on a row of logits. With a device they are the
// processor's.
func (m *Model) Leaves() kernels.Leaves { return m.team.Leaves() }

// CacheBytes returns the memory that the caches of all sessions take now, in bytes. Pages that
// several sessions share count once.
func (m *Model) CacheBytes() int64 { return m.cache.Used() }

// SessionBytes returns how many bytes of the cache a session takes at most on its way to n tokens,
// in Evals of any size, if it shares none. Where Options.CacheBytes is smaller, an Eval before may
// return ErrCacheFull, whatever other sessions have.
func (m *Model) SessionBytes(n int) int64 {
	n += m.virtual
	room := cpu.MostRoom(m.params.CacheFormat, n)
	if m.device { // whole pages
		room = (n + kernels.Block - 1) / kernels.Block * kernels.Block
	}
	keys, values := m.params.KVRow()
	return kernels.KVBytes(m.params.CacheFormat, (keys+values)*room)
}

// CacheLimit returns Options.CacheBytes; 0 means no bound.
func (m *Model) CacheLimit() int64 { return m.cache.Limit() }

// Ignored returns the names of the tensors that the file holds besides the decoder, in file order:
// causal mask buffers and the heads of other tasks.
func (m *Model) Ignored() []string { return m.ignored }

// Unused returns the names of a list that Ignored or Check returned without the causal masks, which
// hold no weights: the heads of other tasks, and whatever else was trained and is not the decoder.
func Unused(ignored []string) (names []string) {
	for _, name := range ignored {
		if !isMask(strings.TrimPrefix(name, "transformer.")) {
			names = append(names, name)
		}
	}
	return names
}

// Notes returns what the conversion of the weights to Options.Format has lost besides precision, a
// sentence each, for users: blocks, rows, or more than 0.1 % of a tensor's weights became zero. If
// all of a tensor's weights become zero, New fails.
func (m *Model) Notes() []string { return m.notes }

// Bytes returns the number of bytes of weights that one decoding step reads: the linear layers and
// the head.
func (m *Model) Bytes() int64 { return m.params.Bytes() }
