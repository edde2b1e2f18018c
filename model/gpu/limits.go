package gpu

// What a device can do when it does nothing else, for gpt bench.

import (
	"context"
	"time"

	"picogpt/internal/engine"
)

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
