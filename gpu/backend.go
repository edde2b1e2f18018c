package gpu

// A model on a device: opening, the passes, and the end. forward.go says what a pass computes.

import (
	"context"
	"errors"
	"fmt"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// A backend is the parameters of a model, the pages of its sessions, and the rows of the current
// pass.
type backend struct {
	info   *Info
	params *engine.Params
	team   *kernels.Team
	driver Driver
	stack  stack
	loaded []Buffer // the stack's
	pool   pool

	scratch        scratch
	plan           []int32
	blocks         int  // that the longest text of the pass has
	side           bool // attention works on blocks side by side
	engine.Outputs      // the rows whose logits are wanted
	handOut        func(*kernels.Worker)

	lost error // what the device has failed with: nothing is computed any more
}

var _ engine.Backend = (*backend)(nil)

// Open implements engine.Device: it opens the device for one model.
func (d *Device) Open(
	ctx context.Context, p *engine.Params, cache *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	driver, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	b := newBackend(&d.Info, p, cache, team, driver)
	if !d.trusted {
		err = probeOperations(driver)
	}
	if err == nil && !d.trusted {
		err = probeModel(ctx, driver, team, p.H[0].CFC.Weight.Format, p.CacheFormat, p.Activation)
	}
	if err == nil {
		err = b.load(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, errors.Join(err, b.Close()))
	}
	return b, nil
}

func newBackend(
	info *Info, p *engine.Params, cache *engine.Budget, team *kernels.Team, d Driver,
) *backend {
	b := &backend{info: info, params: p, team: team, driver: d, pool: newPool(d, info, p, cache)}
	b.handOut = b.Deliver
	return b
}

// load writes the parameters to the device.
func (b *backend) load(ctx context.Context) error {
	l := loader{ctx: ctx, driver: b.driver, info: b.info}
	b.stack = l.load(b.params)
	b.loaded = l.buffers
	return l.err
}

// Kernel implements engine.Backend.
func (b *backend) Kernel() string { return b.info.Driver + " on " + b.info.Name }

// NewCache implements engine.Backend.
func (b *backend) NewCache() engine.Cache { return &cache{backend: b} }

// Inside implements engine.Backend: visits run on the team.
func (b *backend) Inside() bool { return b.team.Inside() }

// Close implements engine.Backend.
func (b *backend) Close() error {
	b.free()
	return b.driver.Close()
}

// free gives the device's memory back.
func (b *backend) free() {
	b.scratch.free(b.driver)
	for _, buffer := range append(b.loaded, b.pool.buffer) {
		if buffer != 0 {
			b.driver.Free(buffer)
		}
	}
	b.loaded, b.pool.buffer = nil, 0
}

// Run implements engine.Backend.
func (b *backend) Run(ctx context.Context, p *engine.Pass) error {
	if b.lost != nil {
		return b.lost
	}
	b.Begin(b.params, p)
	defer b.End()
	if err := b.prepare(p); err != nil {
		return b.failed(err)
	}
	if err := b.layers(ctx); err != nil {
		return b.failed(err)
	}
	if err := b.logitsOfRows(); err != nil {
		return b.failed(err)
	}
	return b.Err()
}

// failed returns an error of the device, after which it is not used again. That of a context, of
// what is not finite, or of memory that is not there, is no failure.
func (b *backend) failed(err error) error {
	if b.lost != nil {
		return b.lost
	}
	var device *deviceError
	if !errors.As(err, &device) {
		return err
	}
	b.lost = fmt.Errorf("the device %s has failed: %w; sessions are as they were, "+
		"but the model must be opened again", b.info.Name, err)
	return b.lost
}

// A deviceError is what a driver returned, but where it had no memory.
type deviceError struct{ error }

func (e *deviceError) Unwrap() error { return e.error }

// fromDevice makes a driver's error a failure of the device.
func fromDevice(err error) error {
	if err == nil {
		return nil
	}
	return &deviceError{err}
}

// prepare writes the plan of a pass to the device.
func (b *backend) prepare(p *engine.Pass) error {
	b.blocks = 0
	b.plan = b.plan[:0]
	for row, wanted := 0, 0; row < b.Rows(); row++ {
		i, at := b.At(row)
		s := &p.Spans[i]
		b.plan = append(b.plan, int32(s.Tokens[at]), int32(s.Position+at), 0, 0)
		if s.Wants(at) {
			b.plan[4*wanted+3] = int32(row)
			wanted++
		}
	}
	for i := range p.Spans {
		s := &p.Spans[i]
		pages := s.Cache.(*cache).pages
		for row := b.Start(i); row < b.Start(i)+len(s.Tokens); row++ {
			b.plan[4*row+2] = int32(len(b.plan))
		}
		b.plan = append(b.plan, pages...)
		b.blocks = max(b.blocks, pagesFor(s.Position+len(s.Tokens)))
	}
	if err := b.room(); err != nil {
		return err
	}
	return fromDevice(b.driver.Write(b.scratch.plan, 0, bytesOf(b.plan)))
}

// room makes the scratch memory large enough for the pass.
func (b *backend) room() error {
	rows, pairs := b.Rows(), b.Rows()*b.blocks
	if b.scratch.fits(rows, pairs, len(b.plan)) {
		return nil
	}
	rows, pairs = max(rows, b.scratch.rows), max(pairs, b.scratch.pairs)
	ints := max(len(b.plan), b.scratch.ints)
	b.scratch.free(b.driver)
	s, err := newScratch(b.driver, b.params, rows, pairs, ints)
	b.scratch = s
	return err
}
