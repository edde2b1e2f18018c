//go:build !gpu

package work

// A program without drivers: the processor computes.

import (
	"context"
	"fmt"

	"picogpt/internal/engine"
)

func device(_ context.Context, name string) (engine.Device, error) {
	if name == "auto" {
		return nil, nil
	}
	return nil, fmt.Errorf("device %q: this program has no drivers of GPUs, which go build -tags gpu "+
		"adds", name)
}
