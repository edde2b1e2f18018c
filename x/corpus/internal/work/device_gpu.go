//go:build gpu

package work

// The devices of a program with drivers.

import (
	"context"
	"errors"

	"picogpt/internal/engine"
	"picogpt/model/gpu"
	"picogpt/model/gpu/drivers"
)

// device returns the device of a name; auto is the first GPU that passes the probe, or the
// processor.
func device(ctx context.Context, name string) (engine.Device, error) {
	devices, missing := drivers.Devices()
	if name == "auto" {
		if d, _ := gpu.Automatic(ctx, devices); d != nil {
			return d, nil
		}
		return nil, ctx.Err()
	}
	d, err := gpu.Choose(devices, name)
	if err == nil {
		return d, nil
	}
	if errors.Is(err, gpu.ErrNotFound) {
		err = errors.Join(err, missing)
	}
	return nil, err
}
