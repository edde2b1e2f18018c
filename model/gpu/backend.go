package gpu

// A model on a device: opening, passes, closing, and what the device can do when it does nothing
// else. forward.go has the operations of a pass.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A backend holds the parameters of a model, the pages of its sessions, and the rows of the current
// pass.
type backend struct {
	info        *Info
	params      *stack.Params
	team        *kernels.Team
	driver      Driver
	stack       tensors
	loaded      []Buffer // the buffers of the stack
	weightBytes int64
	pool        pool

	scratch        scratch
	recordings     recordings
	plan           plan
	rows           int  // of the pass, with those that pad it
	small          bool // the pass is one of those that are recorded
	last           Launch
	engine.Outputs // the rows whose logits are wanted
	chooser        chooser
	handOut        func(*kernels.Worker)
	tilesOf        func(rows, out, segments int) tile // the probe has another choice

	lost error // the error with which the device has failed; after it nothing is computed
}

var _ engine.Backend = (*backend)(nil)

// Open implements engine.Device: it opens the device for one model.
func (d *Device) Open(
	ctx context.Context, p *stack.Params, cache *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if p.CacheFormat == kernels.Q8 {
		return nil, fmt.Errorf("%s: has no cache in %v, want f32 or f16", d.Name, p.CacheFormat)
	}
	driver, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	b := newBackend(&d.Info, p, cache, team, driver)
	if !d.trusted {
		err = probeOperations(driver, &d.Info)
	}
	for _, format := range layerFormats(p) {
		if err == nil && !d.trusted {
			err = probeModel(ctx, driver, team, &d.Info, format, p.CacheFormat, p.Activation)
		}
	}
	if err == nil {
		err = b.load(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, errors.Join(err, b.Close()))
	}
	return b, nil
}

// layerFormats returns the number formats of the linear layers: one, or several where an adapter is
// merged into some.
func layerFormats(p *stack.Params) (formats []kernels.Format) {
	for i := range p.H {
		b := &p.H[i]
		for _, l := range []*stack.Linear{&b.CFC, &b.CAttn, &b.AttnProj, &b.MLPProj} {
			if !slices.Contains(formats, l.Weight.Format) {
				formats = append(formats, l.Weight.Format)
			}
		}
	}
	return formats
}

func newBackend(
	info *Info, p *stack.Params, cache *engine.Budget, team *kernels.Team, d Driver,
) *backend {
	b := &backend{info: info, params: p, team: team, driver: d, tilesOf: tilesOf}
	b.pool = newPool(d, info, p, cache, b.room)
	b.handOut, b.chooser.pick = b.Deliver, b.pickBest
	b.recordings.recorder, _ = d.(Recorder)
	return b
}

// load writes the parameters to the device.
func (b *backend) load(ctx context.Context) error {
	if err := b.fits(); err != nil {
		return err
	}
	l := loader{ctx: ctx, driver: b.driver, info: b.info}
	b.stack = l.load(b.params)
	b.loaded, b.weightBytes = l.buffers, l.bytes
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

// free releases the device's memory.
func (b *backend) free() {
	b.recordings.forget()
	b.scratch.free(b.driver)
	for _, buffer := range append(b.loaded, b.pool.buffer) {
		if buffer != 0 {
			b.driver.Free(buffer)
		}
	}
	b.loaded, b.pool.buffer, b.pool.away = nil, 0, nil
}

// Run implements engine.Backend.
func (b *backend) Run(ctx context.Context, p *engine.Pass) error {
	if b.lost != nil {
		return b.lost
	}
	if err := b.lastOnly(p); err != nil {
		return err
	}
	b.Begin(b.params, p)
	defer b.End()
	if err := b.prepare(p); err != nil {
		return b.failed(err)
	}
	if err := b.queue().forward(ctx); err != nil {
		return b.failed(err)
	}
	return b.Err()
}

// lastOnly makes the spans of a pass that want hidden states after the last layer want logits too,
// which come with them. Those of other layers are refused.
func (b *backend) lastOnly(p *engine.Pass) error {
	for i := range p.Spans {
		s := &p.Spans[i]
		if n := len(b.params.H); s.Hidden && s.Layer != n {
			return fmt.Errorf("hidden states of layer %d: a GPU gives those of layer %d only, "+
				"want the processor (--device cpu), whose numbers are the same", s.Layer, n)
		}
		s.Hidden = false
	}
	return nil
}

// failed returns an error of the device, after which the device is not used again. The error of a
// context, of logits that are not finite, or of missing memory is no failure of the device.
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

// A deviceError is an error that a driver returned, except one for want of memory.
type deviceError struct{ error }

func (e *deviceError) Unwrap() error { return e.error }

// fromDevice marks a driver's error as a failure of the device.
func fromDevice(err error) error {
	if err == nil {
		return nil
	}
	return &deviceError{err}
}

// prepare makes the plan of a pass, and room for its rows on the device.
func (b *backend) prepare(p *engine.Pass) error {
	if err := b.pool.here(); err != nil {
		return err
	}
	size := b.Rows()
	if b.small = b.recordings.fit(p, size); b.small {
		size = sizeOf(size)
	}
	rows, words := size, planWords(max(size, b.scratch.rows), p)
	if !b.scratch.fits(rows, words) {
		rows, words = max(rows, b.scratch.rows), max(words, b.scratch.words)
		b.recordings.forget()
		b.scratch.free(b.driver)
		var err error
		if b.scratch, err = newScratch(
			b.driver, b.params, b.mostChosen(), rows, words); err != nil {
			return err
		}
	}
	b.plan.make(p, &b.Outputs, b.scratch.list(), size)
	b.rows, b.plan.only = size, false
	if b.small {
		b.plan.pad(p, &b.Outputs, size, sizeOf(b.plan.wanted))
	} else {
		b.plan.last(p, &b.Outputs)
	}
	return nil
}

// least is the shortest time of a measurement, so that the cost of a launch does not matter.
const least = 20 * time.Millisecond

// Limits implements engine.Measured.
func (b *backend) Limits(ctx context.Context) (l engine.Limits, err error) {
	if b.lost != nil {
		return l, b.lost
	}
	const items, groups = 256, 1024
	words := int64(1 << 26)
	for b.info.Memory > 0 && words*4 > b.info.Memory/8 {
		words /= 2
	}
	data, err := b.driver.Alloc(4 * words)
	if err != nil {
		return l, err
	}
	defer b.driver.Free(data)
	launch := func(kernel string, args ...Arg) func() error {
		return func() error {
			return b.driver.Launch(&Launch{Kernel: kernel, Groups: [3]int{groups, 1, 1},
				Items: items, Args: args})
		}
	}
	if l.Read, err = b.rate(ctx, data, float64(4*words), launch("read_peak", memory(data),
		memory(data), integer(int(words)))); err != nil {
		return l, b.failed(fromDevice(err))
	}
	const steps = 256
	if l.FMA, err = b.rate(ctx, data, 2*8*steps*items*groups, launch("fma_peak", memory(data),
		integer(steps), float(0.5))); err != nil {
		return l, b.failed(fromDevice(err))
	}
	return l, nil
}

// rate returns how much of something launches do in a second. It runs as many launches as take long
// enough.
func (b *backend) rate(
	ctx context.Context, data Buffer, one float64, launch func() error,
) (float64, error) {
	var word [4]byte
	for n := 1; ; n *= 2 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := time.Now()
		for range n {
			if err := launch(); err != nil {
				return 0, err
			}
		}
		if err := b.driver.Read(word[:], data, 0); err != nil {
			return 0, err
		}
		if took := time.Since(start); took >= least && n > 1 {
			return one * float64(n) / took.Seconds(), nil
		}
	}
}
