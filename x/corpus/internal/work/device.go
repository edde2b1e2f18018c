package work

// What computes the models of a process: the processor, or a GPU of this machine. Which of them it
// is changes no bit.

import (
	"context"
	"strings"

	"picogpt/internal/engine"
)

// Device returns the device that a job names on this machine, or nil for the processor.
func Device(ctx context.Context, name string) (engine.Device, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || name == "cpu" {
		return nil, nil
	}
	return device(ctx, name)
}
