package model

// Model: weights and workers, from opening to Close.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
	"picogpt/kernels"
	"picogpt/weights"
)

// Options are what a model is loaded with. The zero value takes every processor, the fastest kernels and the weights as
// they are stored.
type Options struct {
	Threads int    // workers; 0 for one for each processor that Go may use
	Format  string // "auto" or "" for the weights as stored, or "f32", "f16", "bf16", "q8", "q4" to convert them
	Kernel  string // one of kernels.Variants(), or "" for the fastest
}

// A Model is one checkpoint, ready to run. It is immutable, and safe for use by several goroutines: their calls of Eval
// take turns, each on all the workers.
type Model struct {
	config  Config
	params  *params
	format  kernels.Format
	ignored []string
	opened  *weights.Tensors // closed with the model where Load opened them; else nil

	turn   chan struct{} // holds one token: whoever has it may use eval; closed by Close
	eval   evaluation
	team   *kernels.Team
	single *kernels.Team // of one worker, for work that is not worth sharing
}

// Load opens a checkpoint: a directory that holds config.json beside its safetensors files, or one of those files with
// config.json beside it. Weights stay in the mapped file where their format allows. A context that ends
// is looked at before each tensor.
func Load(ctx context.Context, path string, o Options) (*Model, error) {
	config, err := ReadConfig(path)
	if err != nil {
		return nil, err
	}
	tensors, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := New(ctx, config, tensors, o)
	if err != nil {
		return nil, errors.Join(err, tensors.Close())
	}
	m.opened = tensors
	return m, nil
}

// ReadConfig reads the config.json of the checkpoint at path, a directory or a file in it.
func ReadConfig(path string) (Config, error) {
	fsys, _, err := folder.Split(path)
	if err != nil {
		return Config{}, err
	}
	return ReadConfigFS(fsys)
}

// ReadConfigFS reads the config.json of the checkpoint in fsys. Its errors begin with the file.
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

// New makes a model of a configuration and the tensors of an open checkpoint, which must stay open as long as the model is
// used.
// Tensor names may have the prefix "transformer."; every tensor of the stack must be there, with its shape, and none besides.
func New(ctx context.Context, c Config, tensors *weights.Tensors, o Options) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	team, err := kernels.NewTeam(o.Threads, o.Kernel)
	if err != nil {
		return nil, err
	}
	single, err := kernels.NewTeam(1, o.Kernel)
	if err != nil {
		team.Close()
		return nil, err
	}
	l := loader{ctx: ctx, config: c, tensors: tensors, team: team}
	p, err := l.load(o.Format)
	if err != nil {
		team.Close()
		single.Close()
		return nil, err
	}
	m := &Model{config: c, params: p, format: l.format, ignored: l.ignored, team: team, single: single, turn: make(chan struct{}, 1)}
	m.eval.init(m)
	m.turn <- struct{}{}
	return m, nil
}

// ErrClosed is what Eval and Save return on a closed model.
var ErrClosed = errors.New("model: closed")

// begin waits for the caller's turn to use the weights and the workers. Call end after it.
func (m *Model) begin(ctx context.Context) error {
	select {
	case _, open := <-m.turn:
		if !open {
			return ErrClosed
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Model) end() { m.turn <- struct{}{} }

// Close ends the workers and, where Load opened the weights, unmaps them. It waits for an Eval that is under way. A second Close does nothing.
func (m *Model) Close() error {
	if _, open := <-m.turn; !open {
		return nil
	}
	close(m.turn)
	m.team.Close()
	m.single.Close()
	if m.opened == nil {
		return nil
	}
	return m.opened.Close()
}

// Config returns the model's configuration.
func (m *Model) Config() Config { return m.config }

// Format returns the number format of the linear layers, "f32", "f16", "bf16", "q8" or "q4": as stored, or as converted.
func (m *Model) Format() string { return m.format.String() }

// Threads returns the number of workers.
func (m *Model) Threads() int { return m.team.Size() }

// Kernel returns the name of the kernels that the model runs.
func (m *Model) Kernel() string { return m.team.Variant() }

// Ignored returns the names of the tensors that the file holds beside the decoder, in file order: causal mask buffers and
// the heads of other tasks.
func (m *Model) Ignored() []string { return m.ignored }

// Bytes returns the size of the weights that one decoding step reads: the linear layers and the head.
func (m *Model) Bytes() int64 {
	n := m.params.head.Bytes()
	for i := range m.params.h {
		for _, l := range m.params.h[i].linears() {
			n += l.weight.Bytes()
		}
	}
	return n
}
